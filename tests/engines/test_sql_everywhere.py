"""Accepted queries of the corpus give on each engine what they give in DuckDB, whose answers are held to plain SQL's.

PostgreSQL is asked all of them. The reference and Spark are slow and have every few here; `python -m tests.engines.rates`
asks every engine everything, and its table is in `docs/engines.md`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from deniable.accounting import budget
from deniable.release.session import Session
from deniable.testing import Silent
from tests.engines.everywhere import placed, servers_of
from tests.engines.sql_corpus import ANSWERED
from tests.engines.sql_schemas import session, world
from tests.servers import POSTGRES, SPARK

ASKED = [
    *(pytest.param("reference", *asked) for asked in ANSWERED[::5]),
    *(pytest.param("PostgreSQL", *asked, marks=POSTGRES) for asked in ANSWERED),
    *(pytest.param("Spark", *asked, marks=SPARK) for asked in ANSWERED[::4]),
]


@pytest.fixture(scope="module")
def opened(request: pytest.FixtureRequest) -> Any:
    """A silent session over a world on an engine, opened once."""

    @cache
    def on(engine: str, name: str) -> Session:
        if engine == "DuckDB":
            return session(name)
        data = placed(engine, world(name), servers_of(request), name=name)
        return data.session(budget(epsilon=10**6, delta=0.5), entropy=Silent())

    return on


@pytest.mark.parametrize(("engine", "name", "query"), ASKED)
def test_an_accepted_query_gives_the_same_everywhere(opened: Any, engine: str, name: str, query: str) -> None:
    there, here = opened(engine, name), opened("DuckDB", name)
    assert there.sql(query, epsilon=100).table == here.sql(query, epsilon=100).table
