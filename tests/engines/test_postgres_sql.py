"""Every accepted query of the corpus gives in PostgreSQL what it gives in DuckDB, whose answers are held to plain SQL's."""

from __future__ import annotations

from typing import Any

import pytest

from deniable.accounting import budget
from deniable.plan.codebook import Codebook
from deniable.release.dataset import Dataset
from deniable.release.session import Session
from deniable.testing import Silent
from tests.engines.sql_corpus import ANSWERED
from tests.engines.sql_schemas import session, world
from tests.needs import require_module
from tests.servers import POSTGRES, Postgres

pytestmark = POSTGRES
_TYPES = {"DOUBLE": "double precision", "VARCHAR": "text"}


def _loaded(server: Postgres, name: str) -> Session:
    here, schema = world(name), server.fresh("world")
    with require_module("psycopg").connect(server.url(), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        for table, columns in here.types.items():
            written = ", ".join(f'"{column}" {_TYPES.get(kind, kind)}' for column, kind in columns.items())
            connection.execute(f"CREATE TABLE {schema}.{table} ({written})")
            rows = list(zip(*(here.tables[table][column] for column in columns), strict=True))
            marks = ", ".join(["%s"] * len(columns))
            connection.cursor().executemany(f"INSERT INTO {schema}.{table} VALUES ({marks})", rows)
    book = Codebook.from_record(here.codebook)
    data = Dataset(server.url(), tables={table: f"{schema}.{table}" for table in here.types}, codebook=book, name=name)
    return data.session(budget(epsilon=10**6, delta=0.5), entropy=Silent())


@pytest.fixture(scope="module")
def sessions(postgres: Postgres) -> dict[str, tuple[Session, Session]]:
    names = dict.fromkeys(name for name, _ in ANSWERED)
    return {name: (_loaded(postgres, name), session(name)) for name in names}


@pytest.mark.parametrize(("world", "query"), ANSWERED)
def test_an_accepted_query_gives_the_same_in_postgresql(sessions: dict[str, Any], world: str, query: str) -> None:
    there, here = sessions[world]
    assert there.sql(query, epsilon=100).table == here.sql(query, epsilon=100).table
