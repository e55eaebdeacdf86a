"""A release beside what plain SQL gives on the same tables: which groups are equal, wrong, empty or hidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from deniable.release.answer import Release


@dataclass(frozen=True)
class Compared:
    """How many groups of plain SQL a release shows equal and wrong; how many it shows besides, empty; how many it hides."""

    equal: int
    wrong: int
    empty: int
    hidden: int


def same(ours: Any, theirs: Any) -> bool:
    """Whether two cells are the same value."""
    if isinstance(theirs, Decimal | float) or isinstance(ours, float):
        return theirs is not None and ours == pytest.approx(float(theirs), rel=1e-9, abs=1e-6)
    if hasattr(theirs, "isoformat") and ours is not None:
        return str(ours)[:10] == str(theirs)[:10]
    return bool(ours == theirs)


def compared(release: Release, query: str, database: duckdb.DuckDBPyConnection) -> Compared:
    """A silent release against the same query on plain tables; where the query orders its rows, their order counts."""
    cursor = database.execute(query)
    names = [entry[0].lower() for entry in cursor.description or []]
    truth = cursor.fetchall()
    ours = [tuple(row[_named(row, name)] for name in names) for row in release.table]
    keys = [index for index, name in enumerate(names) if name in {key.lower() for key in release.keys}]
    if not keys:
        truth = _sums_of_nothing(ours, truth)
        equal = _equal(ours, truth, ordered=_ordered(query))
        return Compared(equal, max(len(ours), len(truth)) - equal, 0, 0)
    shown, seen = {_key(row, keys) for row in ours}, {_key(row, keys) for row in truth}
    beside = [row for row in ours if _key(row, keys) not in seen]
    kinds = {name.lower(): column.kind for name, column in release.columns.items()}
    additive = [index for index, name in enumerate(names) if kinds.get(name) == "number"]
    filled = [row for row in beside if any(row[index] for index in additive)]
    ours = [row for row in ours if _key(row, keys) in seen]
    kept = [row for row in truth if _key(row, keys) in shown]
    equal = _equal(ours, kept, ordered=_ordered(query))
    wrong = max(len(ours), len(kept)) - equal + len(filled)
    return Compared(equal, wrong, len(beside), len(truth) - len(kept))


def _sums_of_nothing(ours: Sequence[tuple[Any, ...]], truth: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """One row without groups: plain SQL says NULL for a sum of no rows, where a noisy one is 0; docs/sql.md says so."""
    if len(ours) != 1 or len(truth) != 1:
        return truth
    return [tuple(0 if b is None and a == 0 else b for a, b in zip(ours[0], truth[0], strict=True))]


def _ordered(query: str) -> bool:
    return "ORDER BY" in query.upper()


def _equal(ours: Sequence[tuple[Any, ...]], theirs: Sequence[tuple[Any, ...]], *, ordered: bool) -> int:
    """How many rows are the same, in order or in any order."""
    if ordered:
        return sum(_row(a, b) for a, b in zip(ours, theirs, strict=False))
    left, equal = list(theirs), 0
    for row in ours:
        found = next((index for index, other in enumerate(left) if _row(row, other)), None)
        if found is not None:
            left.pop(found)
            equal += 1
    return equal


def _row(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
    return all(same(a, b) for a, b in zip(ours, theirs, strict=True))


def _key(row: Sequence[Any], keys: Sequence[int]) -> tuple[str, ...]:
    return tuple(_text(row[index]) for index in keys)


def _text(key: Any) -> str:
    return str(int(key)) if isinstance(key, float) and key.is_integer() else str(key)[:10]


def _named(row: dict[str, Any], name: str) -> str:
    return next(each for each in row if each.lower() == name or (name == "count_star()" and each == "count(*)"))
