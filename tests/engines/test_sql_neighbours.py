"""The neighbour test: remove one person, and the integers under every accepted query move by no more than was declared."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from deniable.engines import connect
from deniable.engines.engine import Engine, Result
from deniable.plan.codebook import Codebook
from deniable.plan.sensitivity import sensitivities
from deniable.query import lowered
from deniable.query.sql import compiled, public_tables, read
from tests.engines.sql_corpus import ANSWERED
from tests.engines.sql_schemas import world

_KEY = 2**200 + 12345
_TIGHT = {"clinic": ("patient_id", 2, 3), "shop": ("customer_id", 2, 2)}
"""Bounds that do bind."""


class _Nobody:
    def price_of(self, query: Any, **terms: Any) -> Any:
        raise AssertionError

    def release_of(self, query: Any, **terms: Any) -> Any:
        raise AssertionError


@cache
def _book(name: str) -> Codebook:
    unit, groups, rows = _TIGHT[name]
    return Codebook.from_record(
        {**world(name).codebook, "unit": {"id": unit, "groups": groups, "rows_per_group": rows}}
    )


@cache
def _engine(name: str, removed: int | None) -> Engine:
    """The tables; without the rows that carry one identifier when it is `removed` (rows linked to them go with them)."""
    tables = {}
    for table, columns in world(name).tables.items():
        unit = columns.get(_TIGHT[name][0])
        keep = [True] * len(next(iter(columns.values()))) if unit is None else [each != removed for each in unit]
        tables[table] = {c: [v for v, kept in zip(cells, keep, strict=True) if kept] for c, cells in columns.items()}
    return connect(tables, _book(name), key=_KEY)


def _cells(result: Result, name: str) -> dict[tuple[Any, ...], int]:
    groups = list(zip(*result.keys.values(), strict=True)) if result.keys else [()] * result.groups
    if name in result.columns:
        return {group: int(value) for group, value in zip(groups, result.columns[name], strict=True)}
    found = result.histograms[name]
    return {
        (*groups[int(group)], int(place)): int(count)
        for group, place, count in zip(found.group, found.bin, found.count, strict=True)
    }


_PRIVATE = [
    (name, query) for name, query in ANSWERED if name in _TIGHT and public_tables(read(query), _book(name)) is None
][::3]


@pytest.mark.parametrize(("name", "query"), _PRIVATE)
def test_one_person_moves_the_integers_by_at_most_the_declared_amounts(name: str, query: str) -> None:
    book = _book(name)
    assert book.unit is not None
    plan = lowered(compiled(read(query), book, _Nobody()).query, book.unit).plan
    declared = sensitivities(plan)
    full = _engine(name, None).run(plan)
    for person in (3, 40):
        fewer = _engine(name, person).run(plan)
        for column, _ in plan.aggregates:
            before, after = _cells(full, column), _cells(fewer, column)
            moved = np.array([before.get(cell, 0) - after.get(cell, 0) for cell in before.keys() | after.keys()])
            assert np.count_nonzero(moved) <= declared[column].l0
            assert np.abs(moved).sum() <= declared[column].l1
            assert np.abs(moved).max(initial=0) <= declared[column].linf
