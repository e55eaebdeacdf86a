"""The oracles of `test_sql_threats` on every engine: whether one odd person is in the data shows nowhere, and is charged.

Each engine raises on other things (PostgreSQL on a division by zero and a cast, Spark on an overflow, all on their own
functions), so what holds in DuckDB is asked of each. Spark is asked one oracle of each kind.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from deniable.accounting import budget
from deniable.errors import DeniableError
from deniable.release.answer import Release
from deniable.release.session import Session
from deniable.testing import Seeded, Silent
from tests.attacks.test_sql_threats import BOOK, ORACLES, outcome, people
from tests.engines.everywhere import placed, servers_of
from tests.engines.sql_schemas import World
from tests.servers import POSTGRES, SPARK

NAMED = {
    "division by zero": "SELECT COUNT(*) FROM t WHERE 1 / (x - 3) > 0",
    "division by zero in a sum": "SELECT SUM(100 / (x - 3)) FROM t",
    "cast": "SELECT COUNT(*) FROM t WHERE CAST(word AS INTEGER) = 1",
    "cast to a date": "SELECT COUNT(*) FROM t WHERE CAST(word AS DATE) = DATE '2024-01-01'",
    "overflow": "SELECT COUNT(*) FROM t WHERE x * x * x * x * x * x * x * x * x * x > 1",
    "overflow in a sum": "SELECT SUM(x * 9000000000000000000) FROM t",
    "exists": "SELECT COUNT(*) FROM t a WHERE EXISTS (SELECT 1 FROM t b WHERE b.uid = a.uid AND b.x = 3)",
    "in sub-query": "SELECT COUNT(*) FROM t WHERE uid IN (SELECT uid FROM t WHERE x = 3)",
    "case on the id": "SELECT CASE WHEN uid = 777 THEN 'him' ELSE 'others' END AS who, COUNT(*) FROM t GROUP BY 1",
    "order by": "SELECT kind, COUNT(*) AS n FROM t GROUP BY kind ORDER BY n LIMIT 1",
    "order by below the noise": "SELECT COUNT(*) FROM (SELECT * FROM t ORDER BY x LIMIT 1) s",
    "unique key": "SELECT word, COUNT(*) FROM t GROUP BY word",
}
_TYPES = {
    "t": {"uid": "BIGINT", "x": "BIGINT", "word": "VARCHAR", "kind": "VARCHAR"},
    "names": {"name": "VARCHAR"},
}
_REST = [query for query in ORACLES if query not in NAMED.values()]
ASKED = [
    *(pytest.param("reference", query) for query in NAMED.values()),
    *(pytest.param("PostgreSQL", query, marks=POSTGRES) for query in [*NAMED.values(), *_REST]),
    *(pytest.param("Spark", query, marks=SPARK) for query in NAMED.values()),
]


@pytest.fixture(scope="module")
def opened(request: pytest.FixtureRequest) -> Any:
    """A session on an engine, with or without the odd person; silent ones tell the integers underneath."""

    @cache
    def data(engine: str, odd: bool) -> Any:
        return placed(engine, World(BOOK, people(odd=odd), _TYPES), servers_of(request))

    @cache
    def on(engine: str, odd: bool, silent: bool) -> Session:
        entropy = Silent() if silent else Seeded(5)
        return data(engine, odd).session(budget(epsilon=1000, delta=1e-3), entropy=entropy)  # type: ignore[no-any-return]

    return on


def _silent(session: Session, query: str) -> object:
    try:
        release = session.sql(query, epsilon=10)
    except DeniableError as refusal:
        return str(refusal)
    assert isinstance(release, Release)
    return release.table


@cache
def _in_duckdb(opened: Any, query: str) -> tuple[str, Any]:
    """Asked once: the second time it would come from the store, free."""
    return outcome(opened("DuckDB", True, False), query)


@pytest.mark.parametrize(("engine", "query"), ASKED)
def test_one_person_shows_in_no_refusal_price_or_layout(opened: Any, engine: str, query: str) -> None:
    seen = outcome(opened(engine, True, False), query)
    assert seen == outcome(opened(engine, False, False), query)
    assert seen == _in_duckdb(opened, query), "and every engine says the same"


@pytest.mark.parametrize(("engine", "query"), [each for each in ASKED if each.values[1] in NAMED.values()])
def test_the_integers_underneath_are_the_same_everywhere(opened: Any, engine: str, query: str) -> None:
    assert _silent(opened(engine, True, True), query) == _silent(opened("DuckDB", True, True), query)


def test_the_named_oracles_are_answered_or_refused_as_told(opened: Any) -> None:
    """A list of refusals alone would prove little: the partial functions, semi-joins and keys among them are answered."""
    answered = {name for name, query in NAMED.items() if _in_duckdb(opened, query)[0] == "answered"}
    assert answered >= {
        "division by zero",
        "division by zero in a sum",
        "exists",
        "in sub-query",
        "order by",
        "unique key",
    }
