"""What a page shows as output is what its blocks print: word for word, except for numbers in lines that carry noise."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import pages
from tests.docs.printed import Shown, differs, plain, run_page, shows_output

WITH_OUTPUT = [page for page in pages() if shows_output(page)]


@pytest.mark.parametrize("page", WITH_OUTPUT)
def test_the_output_on_the_page_is_what_is_printed(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    outputs = run_page(page)
    assert outputs
    for output in outputs:
        assert not differs(output), (
            f"{plain(output.said)}\n{plain(output.printed)}\npython -m tests.docs.printed {page}"
        )


def test_the_pages_a_newcomer_reads_show_their_output() -> None:
    assert {"README.md", "docs/index.md", "docs/students.md", "docs/tables.md", "docs/sql.md"} <= set(WITH_OUTPUT)


@pytest.mark.parametrize(
    ("said", "printed", "different"),
    [
        ("n 12 ± 3", "n 15 ± 3", False),
        ("north 12 ± 3", "south 12 ± 3", True),
        ("  n: ± 3 for 10 rows", "  n: ± 4 for 10 rows", True),
        ("epsilon = 1", "epsilon = 2", True),
        ("a\n...", "a\nb\nc", False),
        ("b\n...", "a\nb\nc", True),
        ("a", "a\nb", True),
        ("receipt 1d4218ba90a5-8: epsilon = 1", "receipt ce971fde3de3-9: epsilon = 1", False),
        ("receipt 1d4218ba90a5-8: epsilon = 1", "receipt 1d4218ba90a5-8: epsilon = 2", True),
    ],
)
def test_noise_is_left_aside_and_nothing_else(said: str, printed: str, different: bool) -> None:
    assert differs(Shown(0, 0, said, printed)) is different
