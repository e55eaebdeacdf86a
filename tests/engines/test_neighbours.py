"""Take one unit out of random data: no integer of a random plan moves further than the plan's declared triple.

On DuckDB each of those integers, on the data and on its neighbour, is also the reference engine's.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deniable.cost import Neighbours
from deniable.engines.cell_rules import read
from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.engine import Engine, Result
from deniable.engines.reference import ReferenceEngine
from deniable.plan.codebook import Codebook
from deniable.plan.functions.calendar import truncated_date
from deniable.plan.nodes import GroupAgg
from deniable.plan.sensitivity import sensitivities
from tests.engines.random_plans import KEY, UNITS, as_values, cells, codebook, plans, tables

_LOOSE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def _units(book: Codebook, visits: dict[str, list[Any]]) -> list[Any]:
    """The unit of every visit, as the codebook reads it."""
    table = book["visits"]
    assert book.unit is not None
    if book.unit.is_row:
        return list(range(len(visits["patient"])))
    ids = [read(cell, table["patient"]) for cell in visits["patient"]]
    if book.unit.period is None:
        return ids
    days = [read(cell, table["day"]) for cell in visits["day"]]
    length = book.unit.period.length
    return [None if i is None or d is None else (i, truncated_date(d, length)) for i, d in zip(ids, days, strict=True)]  # type: ignore[arg-type]


def _without(rows: dict[str, list[Any]], gone: list[bool]) -> dict[str, list[Any]]:
    return {name: [cell for cell, out in zip(column, gone, strict=True) if not out] for name, column in rows.items()}


def _moves(here: Result, there: Result, plan: GroupAgg) -> None:
    for place, level in enumerate(plan.grouping):
        for name, bound in sensitivities(plan, level).items():
            before, after = cells(here, name, place), cells(there, name, place)
            changes = [abs(before.get(cell, 0) - after.get(cell, 0)) for cell in {*before, *after}]
            changes = [change for change in changes if change]
            assert len(changes) <= bound.l0, (name, level)
            assert max(changes, default=0) <= bound.linf, (name, level)
            assert sum(changes) <= bound.l1, (name, level)
            assert sum(change**2 for change in changes) <= bound.l2_squared, (name, level)


class _Compared:
    """DuckDB, whose integers are the reference engine's, exactly."""

    def __init__(self, rows: Any, book: Codebook) -> None:
        self._engine, self._reference = DuckDBEngine(rows, book, key=KEY, threads=1), _reference(rows, book)

    def run(self, plan: GroupAgg) -> Result:
        result = self._engine.run(plan)
        assert as_values(result) == as_values(self._reference.run(plan))
        return result

    def close(self) -> None:
        self._engine.close()


def _check(kind: str, data: st.DataObject, build: Any) -> None:
    book = codebook(kind)
    rows = data.draw(tables(kind))
    units = [unit for unit in _units(book, rows["visits"]) if unit is not None]
    if not units:
        return
    out = data.draw(st.sampled_from(sorted(set(units), key=repr)))
    gone = [unit == out for unit in _units(book, rows["visits"])]
    neighbour = {**rows, "visits": _without(rows["visits"], gone)}
    assert book.unit is not None
    if book.unit.neighbours is Neighbours.REPLACE:
        new = data.draw(tables(most=1))["visits"]
        place = gone.index(True)
        changed = {name: [*column] for name, column in rows["visits"].items()}
        if new["patient"]:
            for name in changed:
                changed[name][place] = new[name][0]
        neighbour = {**rows, "visits": changed}
    first, second = build(rows, book), build(neighbour, book)
    try:
        for _ in range(4):
            plan = data.draw(plans(book))
            _moves(first.run(plan), second.run(plan), plan)
    finally:
        first.close()
        second.close()


def _reference(rows: Any, book: Codebook) -> Engine:
    return ReferenceEngine(rows, book, key=KEY)


@pytest.mark.parametrize("kind", list(UNITS))
@settings(max_examples=12, suppress_health_check=_LOOSE)
@given(data=st.data())
def test_one_unit_moves_the_reference_by_at_most_its_triple(kind: str, data: st.DataObject) -> None:
    _check(kind, data, _reference)


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(UNITS))
@settings(max_examples=30, suppress_health_check=_LOOSE)
@given(data=st.data())
def test_one_unit_moves_many_plans_by_at_most_their_triple(kind: str, data: st.DataObject) -> None:
    _check(kind, data, _reference)


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(UNITS))
@settings(max_examples=8, suppress_health_check=_LOOSE)
@given(data=st.data())
def test_one_unit_moves_duckdb_by_at_most_its_triple(kind: str, data: st.DataObject) -> None:
    _check(kind, data, _Compared)
