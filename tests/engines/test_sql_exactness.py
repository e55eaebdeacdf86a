"""The exactness gate: with silent noise every accepted query gives what plain SQL gives on the same tables."""

from __future__ import annotations

from functools import cache

import duckdb
import pytest

from deniable.release.answer import Release
from deniable.release.session import Session
from tests.engines.plain_sql import compared
from tests.engines.sql_corpus import ANSWERED
from tests.engines.sql_schemas import plain, session


@cache
def _session(world: str) -> Session:
    return session(world)


@cache
def _plain(world: str) -> duckdb.DuckDBPyConnection:
    return plain(world)


@pytest.mark.parametrize(("world", "query"), ANSWERED)
def test_an_accepted_query_gives_what_plain_sql_gives(world: str, query: str) -> None:
    release = _session(world).sql(query, epsilon=10_000)
    assert isinstance(release, Release)
    found = compared(release, query, _plain(world))
    assert (found.wrong, found.hidden) == (0, 0)


def test_the_corpus_is_as_large_as_promised() -> None:
    assert len(ANSWERED) == len(set(ANSWERED)) >= 150
