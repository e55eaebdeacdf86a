"""The documentation site, a report and the notebook's forms in a real browser, on a phone and on a desk: nothing is cut off."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import deniable as dp
from deniable.testing import Seeded
from tests.browser import WIDTHS, open_browser, open_page, too_wide
from tests.docs.pages import ROOT
from tests.needs import without

BOOK = {
    "name": "clinic",
    "unit": {"id": "p", "groups": 1, "rows_per_group": 1},
    "table": "v",
    "variables": {
        "p": "integer",
        "minutes": {"type": "number", "bounds": [0, 100], "step": 0.5},
        "ward": {"type": "string", "categories": ["a ward with a rather long name", "west", "empty"]},
    },
}
DATA = {
    "p": list(range(900)),
    "minutes": [i % 100 for i in range(900)],
    "ward": [("a ward with a rather long name", "west")[i % 2] for i in range(900)],
}
SQL = "SELECT ward, COUNT(*) AS n, AVG(minutes) AS average, MEDIAN(minutes) AS middle, STDDEV(minutes) AS sd FROM v GROUP BY ward"


@pytest.fixture(scope="module")
def browser():
    with open_browser() as found:
        yield found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `python3 dev.py docs` builds it, with the environment that made for it, or one on the path."""
    scripts = ROOT / ".venv-docs" / ("Scripts" if os.name == "nt" else "bin")
    mkdocs = shutil.which("mkdocs", path=str(scripts)) or shutil.which("mkdocs")
    if mkdocs is None:
        without("mkdocs (`python3 dev.py docs` makes an environment for it)")
    folder = tmp_path_factory.mktemp("site")
    paths = {"PYTHONPATH": str(ROOT / "src"), "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(
        [mkdocs, "build", "--quiet", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | paths,
        check=True,
    )
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_of_the_site_and_no_block_of_code_is_cut_off(browser, site: Path, width: int) -> None:
    page, files = open_page(browser, width), sorted(site.rglob("index.html"))
    assert len(files) > 50
    assert {str(file.relative_to(site)): found for file in files if (found := too_wide(page, file))} == {}


@pytest.mark.slow
def test_one_screen_shows_a_question_its_price_an_answer_and_a_picture(browser, site: Path) -> None:
    page = open_page(browser, 1280)
    page.goto((site / "index.html").as_uri())
    for what in ("question = wards.agg", "costs epsilon = 0.25", "north  2,", ".look img"):
        seen = page.locator(what if what.startswith(".") else f".look code:has-text('{what}')").first
        box = seen.bounding_box()
        assert box is not None, what
        assert box["y"] + box["height"] <= 800, f"{what} is below the first screen"
    assert page.locator(".md-tabs__link").all_inner_texts()[:2] == ["Start here", "Tables and SQL"]


@pytest.fixture(scope="module")
def session():
    with dp.Dataset(DATA, codebook=BOOK).session(dp.budget(epsilon=100), entropy=Seeded(3)) as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_a_report_fits_a_phone_and_a_desk(browser, session, tmp_path: Path, width: int) -> None:
    session.sql(SQL, epsilon=2)
    session.describe(epsilon=2)
    page = open_page(browser, width)
    assert too_wide(page, session.report(tmp_path / "report.html")) == []
    assert page.locator("section").count() >= 2
    labels = page.evaluate(
        "[...document.querySelectorAll('svg text')].map(t => parseFloat(getComputedStyle(t).fontSize) * "
        "t.ownerSVGElement.getBoundingClientRect().width / t.ownerSVGElement.viewBox.baseVal.width)"
    )
    assert labels
    assert min(labels) >= 10.9, "labels of at least 11 px"


@pytest.mark.slow
@pytest.mark.parametrize("width", [600, *WIDTHS])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_forms_of_a_notebook_fit_their_cell(browser, session, tmp_path: Path, width: int, scheme: str) -> None:
    query = session.query().group_by("ward").agg(n=dp.count(), average=dp.mean("minutes"), middle=dp.median("minutes"))
    explained = session.sql(f"EXPLAIN DP {SQL}", epsilon=1)
    look = session.describe(epsilon=1)
    things = [query.release(epsilon=1), query.price(epsilon=1), explained, session, session.codebook, look]
    cells = "".join(f"<section>{thing._repr_html_()}</section>" for thing in things)
    file = tmp_path / "cells.html"
    file.write_text(
        '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><style>'
        f":root {{ color-scheme: light dark }}</style>{cells}",
        encoding="utf-8",
    )
    page = open_page(browser, width, color_scheme=scheme)
    assert too_wide(page, file, blocks="section") == []
    ink, paper = page.evaluate(
        "[...document.querySelectorAll('td')].slice(0, 1).map(t => getComputedStyle(t).color)[0] + '|' + "
        "getComputedStyle(document.documentElement).colorScheme"
    ).split("|")
    light = sum(map(int, ink.removeprefix("rgb(").removesuffix(")").split(",")[:3])) > 380
    assert light is (scheme == "dark"), f"{ink} on {paper}"
