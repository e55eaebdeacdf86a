"""What the SQL pages show is what their blocks print: word for word, except for numbers in lines that carry noise."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n", flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["docs/sql.md", "docs/students.md"])
def test_the_output_on_the_page_is_what_is_printed(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    names: dict[str, object] = {"__name__": "__main__"}
    text = (ROOT / page).read_text(encoding="utf-8")
    printed, end, compared = "", -1, 0
    for block in _BLOCK.finditer(text):
        if block[1] == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block[2], page, "exec"), names)
            printed = out.getvalue()
        elif block[1] == "text" and not text[end : block.start()].strip() and printed:
            assert _plain(block[2]) == _plain(printed)
            compared += 1
        end = block.end()
    assert compared >= 2


def _plain(text: str) -> list[str]:
    """The lines, widths left out; in a line with an interval the numbers are noisy and left out too."""
    lines = [" ".join(re.sub(r"-{2,}", "--", line).split()) for line in text.strip().splitlines()]
    return [re.sub(r"-?[\d.,]*\d", "#", line).replace("[#, #]", "± #") if _noisy(line) else line for line in lines]


def _noisy(line: str) -> bool:
    return bool(re.search(r"\d [±\[]|'\w+_low':", line)) and not line.startswith("  ")
