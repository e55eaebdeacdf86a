"""The exactness gate: with silent noise every accepted query gives what plain SQL gives on the same tables."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from typing import Any

import duckdb
import pytest

from deniable.release.answer import Release
from deniable.release.session import Session
from tests.engines.sql_corpus import ANSWERED
from tests.engines.sql_schemas import plain, session


@cache
def _session(world: str) -> Session:
    return session(world)


@cache
def _plain(world: str) -> duckdb.DuckDBPyConnection:
    return plain(world)


def _same(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, Decimal | float) or isinstance(ours, float):
        return theirs is not None and ours == pytest.approx(float(theirs), rel=1e-9, abs=1e-6)
    if hasattr(theirs, "isoformat") and ours is not None:
        return str(ours)[:10] == str(theirs)[:10]
    return bool(ours == theirs)


def _text(key: Any) -> str:
    return str(int(key)) if isinstance(key, float) and key.is_integer() else str(key)[:10]


def _row(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
    return all(_same(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize(("world", "query"), ANSWERED)
def test_an_accepted_query_gives_what_plain_sql_gives(world: str, query: str) -> None:
    cursor = _plain(world).execute(query)
    names = [entry[0].lower() for entry in cursor.description or []]
    truth = cursor.fetchall()
    release = _session(world).sql(query, epsilon=100)
    assert isinstance(release, Release)
    ours = [tuple(row[_named(row, name)] for name in names) for row in release.table]
    keys = [index for index, name in enumerate(names) if name in {key.lower() for key in release.keys}]
    seen = {tuple(_text(row[index]) for index in keys) for row in truth}
    shown = [row for row in ours if not keys or tuple(_text(row[index]) for index in keys) in seen]
    if "ORDER BY" not in query:
        shown, truth = sorted(shown, key=repr), sorted(truth, key=repr)
        truth = (
            [next((t for t in truth if _row(row, t)), truth[0]) for row in shown] if len(shown) == len(truth) else truth
        )
    assert len(shown) == len(truth)
    assert all(_row(a, b) for a, b in zip(shown, truth, strict=True)), (shown, truth)


def _named(row: dict[str, Any], name: str) -> str:
    found = [each for each in row if each.lower() == name or (name == "count_star()" and each == "count(*)")]
    return found[0]


def test_the_corpus_is_as_large_as_promised() -> None:
    assert len(ANSWERED) == len(set(ANSWERED)) >= 150
