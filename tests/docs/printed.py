"""What the Python blocks of a page print beside what the page shows; `python -m tests.docs.printed PAGE...` writes it anew.

A `text` block directly after a `python` block shows its output, word for word except for numbers in lines that carry noise.
A last line `...` stands for the rest of the output.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tests.docs.pages import ROOT

_BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_REST = "..."
_RANDOM = [
    (r"\b[0-9a-f]{12}-\d+\b", "receipt"),
    (r"request-[0-9a-f]{32}", "request"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*", "time"),
    (r"(?<=spent in )\d{4}-\d\d", "month"),
    (r"[▁▂▃▄▅▆▇█]+", "bars"),
]
"""What differs from run to run besides noise."""
_NOISY = re.compile(r"\d( [±\[]|, off by at most )|'\w+_low':")
"""A value with its error; a price has no value before the error."""


class Shown(NamedTuple):
    """An output on a page: where it stands, what the page says, what was printed."""

    start: int
    end: int
    said: str
    printed: str


def shows_output(page: str) -> bool:
    """Whether a page has a `text` block directly after a `python` block."""
    return any(True for _ in _outputs((ROOT / page).read_text(encoding="utf-8")))


def _outputs(text: str) -> Iterator[re.Match[str]]:
    """The `text` blocks that show an output: directly after a `python` block."""
    found = list(_BLOCK.finditer(text))
    for block, after in pairwise(found):
        if block[1] == "python" and after[1] == "text" and not text[block.end() : after.start()].strip():
            yield after


def run_page(page: str) -> list[Shown]:
    """Run a page's blocks in the current folder, and pair what they print with what stands after them."""
    text = (ROOT / page).read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    after = {place.start(): place for place in _outputs(text)}
    shown, printed = [], ""
    for block in _BLOCK.finditer(text):
        if block[1] == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile("\n" * text[: block.start(2)].count("\n") + block[2], page, "exec"), names)
            printed = out.getvalue()
        elif block.start() in after:
            shown.append(Shown(block.start(2), block.end(2), block[2], printed))
    return shown


def differs(output: Shown) -> bool:
    """Whether the page says something else than was printed, noise aside."""
    said, printed = plain(output.said), plain(output.printed)
    if said and said[-1] == _REST:
        return said[:-1] != printed[: len(said) - 1]
    return said != printed


def plain(text: str) -> list[str]:
    """The lines, widths left out; in a line with an interval the numbers are noisy and left out too."""
    for pattern, word in _RANDOM:
        text = re.sub(pattern, word, text)
    lines = [" ".join(re.sub(r"-{2,}", "--", line).split()) for line in text.strip().splitlines()]
    return [
        re.sub(r"-?[\d.,]*\d", "#", line).replace("[#, #]", "± #") if _NOISY.search(line) else line for line in lines
    ]


def written_anew(page: str) -> str:
    """The page with what was printed today; a block that ends in `...` keeps as many lines as it has."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for output in reversed(run_page(page)):
        if differs(output):
            lines, said = output.printed.rstrip().splitlines(), output.said.rstrip().splitlines()
            kept = [*lines[: len(said) - 1], _REST] if said and said[-1] == _REST else lines
            text = text[: output.start] + "\n".join(kept) + "\n" + text[output.end :]
    return text


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            os.environ["XDG_STATE_HOME"] = folder
            anew = written_anew(name)
        Path(ROOT / name).write_text(anew, encoding="utf-8")
