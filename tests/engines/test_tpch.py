"""TPC-H: each of the 22 queries is answered as plain SQL answers it, or refused with a code; the page shows this table."""

from __future__ import annotations

from functools import cache

import duckdb
import pytest

from deniable.accounting import budget
from deniable.errors import QueryRefused
from deniable.release.answer import Release
from deniable.release.dataset import Dataset
from deniable.release.session import Session
from deniable.testing import Silent
from tests.docs.pages import ROOT
from tests.engines.plain_sql import Compared, compared
from tests.tpch import BOOK, files, queries

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("tpch")]


@cache
def _results() -> dict[int, Compared | str]:
    """What became of each query: how it compares with plain SQL, or the code of its refusal."""
    session = Dataset(files(), codebook=BOOK).session(budget(epsilon=10**6, delta=0.5), entropy=Silent())
    database = duckdb.connect()
    for name, path in files().items():
        database.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{path}')")
    return {number: _result(text, session, database) for number, text in queries().items()}


def _result(text: str, session: Session, database: duckdb.DuckDBPyConnection) -> Compared | str:
    before = session.spent
    try:
        release = session.sql(text, epsilon=100)
    except QueryRefused as refusal:
        assert session.spent == before
        return refusal.code
    assert isinstance(release, Release)
    assert (session.spent == before) == release.guarantee.startswith("Public")
    return compared(release, text, database)


def _line(number: int, result: Compared | str) -> str:
    if isinstance(result, str):
        return f"| {number} | refused: `{result}` | | | |"
    return f"| {number} | answered | {result.equal} | {result.empty or ''} | {result.hidden or ''} |".replace(
        "  |", " |"
    )


def test_at_least_fourteen_are_answered_and_none_is_wrong() -> None:
    answered = [result for result in _results().values() if isinstance(result, Compared)]
    assert len(_results()) == 22
    assert len(answered) >= 14
    assert sum(result.wrong for result in answered) == 0
    assert sum(result.equal for result in answered) > 0


def test_the_table_on_the_page_is_what_happens() -> None:
    head = "| query | outcome | rows equal to plain SQL's | empty groups shown besides | groups hidden |\n|---|---|---|---|---|\n"
    table = head + "".join(f"{_line(number, result)}\n" for number, result in _results().items())
    assert table in (ROOT / "docs/sql.md").read_text(encoding="utf-8"), table
