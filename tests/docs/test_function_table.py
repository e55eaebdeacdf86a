"""The table of functions on the SQL page is the table of functions of the code."""

from __future__ import annotations

from deniable.plan.functions.catalogue import FUNCTIONS
from tests.docs.pages import ROOT


def _rows() -> list[str]:
    return [
        f"| {', '.join(f'`{spelling.form}`' for spelling in row.spellings)} | {row.meaning} |"
        for row in FUNCTIONS
        if row.spellings
    ]


def test_the_page_lists_every_function() -> None:
    page = (ROOT / "docs/sql.md").read_text(encoding="utf-8")
    table = page.partition("<!-- functions -->")[2].partition("<!-- end -->")[0]
    assert table.strip().splitlines() == ["| written | what it is |", "|---|---|", *_rows()]
