"""TPC-H: each of the 22 queries is answered as plain SQL answers it, or refused with a code; the page shows these tables.

The same on every engine that holds the data; plain SQL is plain DuckDB's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import pytest

from deniable.accounting import budget
from deniable.errors import QueryRefused
from deniable.release.answer import Release
from deniable.release.session import Session
from deniable.testing import Silent
from tests.docs.pages import ROOT
from tests.engines.everywhere import REMOTE, servers_of
from tests.engines.plain_sql import Compared, compared
from tests.engines.rates import tpch
from tests.tpch import plain, queries

Results: TypeAlias = dict[int, Compared | str]
"""What became of each query: how it compares with plain SQL, or the code of its refusal."""

EVERYWHERE = pytest.mark.parametrize(
    "engine", [pytest.param("DuckDB", marks=[pytest.mark.slow, pytest.mark.xdist_group("tpch")]), *REMOTE]
)


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest) -> Callable[[str], Results]:
    """The results on an engine, asked once."""

    @cache
    def on(engine: str) -> Results:
        data = tpch(engine, servers_of(request))
        session = data.session(budget(epsilon=10**6, delta=0.5), entropy=Silent())
        return {number: _result(text, session) for number, text in queries().items()}

    return on


def _result(text: str, session: Session) -> Compared | str:
    before = session.spent
    try:
        release = session.sql(text, epsilon=10_000)
    except QueryRefused as refusal:
        assert session.spent == before
        return refusal.code
    assert isinstance(release, Release)
    assert (session.spent == before) == release.guarantee.startswith("Public")
    return compared(release, text, plain())


def _line(number: int, result: Compared | str) -> str:
    if isinstance(result, str):
        return f"| {number} | refused: `{result}` | | | |"
    return f"| {number} | answered | {result.equal} | {result.empty or ''} | {result.hidden or ''} |".replace(
        "  |", " |"
    )


def _page() -> str:
    return (ROOT / "docs/sql.md").read_text(encoding="utf-8")


@EVERYWHERE
def test_nineteen_are_answered_and_none_is_wrong(results: Callable[[str], Results], engine: str) -> None:
    found = results(engine)
    answered = [result for result in found.values() if isinstance(result, Compared)]
    assert len(found) == 22
    assert len(answered) == 19
    assert [number for number, result in found.items() if result == "group-by-unit"] == [3, 10, 18]
    assert sum(result.wrong for result in answered) == 0
    assert sum(result.equal for result in answered) > 0


@EVERYWHERE
def test_the_table_on_the_page_is_what_happens(results: Callable[[str], Results], engine: str) -> None:
    head = "| query | outcome | rows equal to plain SQL's | empty groups shown besides | groups hidden |\n|---|---|---|---|---|\n"
    table = head + "".join(f"{_line(number, result)}\n" for number, result in results(engine).items())
    assert table in _page(), table


@EVERYWHERE
def test_the_rate_on_the_page_is_what_happens(results: Callable[[str], Results], engine: str) -> None:
    answered = [result for result in results(engine).values() if isinstance(result, Compared)]
    exact = sum(result.wrong == 0 for result in answered)
    line = f"| {engine} | {exact} | {len(queries()) - len(answered)} | {len(answered) - exact} |"
    assert line in _page().splitlines(), line
