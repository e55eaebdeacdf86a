"""Pages in a real browser: Playwright drives the Chromium of the machine. What does not fit its window is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.needs import require, require_module

WIDTHS = (390, 1280)

_TOO_WIDE = """(blocks) => {
  const page = document.documentElement;
  const found = page.scrollWidth > page.clientWidth ? [`the page: ${page.scrollWidth} in ${page.clientWidth} px`] : [];
  for (const each of document.querySelectorAll(blocks))
    if (each.scrollWidth > each.clientWidth + 1) found.push(each.innerText.slice(0, 60));
  return found;
}"""


@contextmanager
def open_browser() -> Iterator[Any]:
    """A browser without a window; the test is left out where there is none."""
    require_module("playwright")
    chromium = require("chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        yield browser
        browser.close()


def open_page(browser: Any, width: int, **options: Any) -> Any:
    """A page in a window of this width, as tall as a small laptop's."""
    return browser.new_page(viewport={"width": width, "height": 800}, **options)


def too_wide(page: Any, file: Path, *, blocks: str = "pre, pre code") -> list[str]:
    """What is wider than its room on a page that lies in a file: the page itself, or one of these blocks."""
    page.goto(file.absolute().as_uri())
    return list(page.evaluate(_TOO_WIDE, blocks))
