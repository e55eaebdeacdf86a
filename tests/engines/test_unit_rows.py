"""Rows for the calculus: the same integers on every engine, no unit beyond its bound, and nobody else's row moves with a unit."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.kit import kit_codebook
from deniable.engines.reference import ReferenceEngine
from deniable.engines.table_space import PrivateTables, column_rows, frame_rows
from deniable.engines.unit_rows import checked_rows
from deniable.errors import QueryRefused
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Case, Literal
from deniable.plan.nodes import UnitRows, scan
from deniable.plan.relation import schema, shape
from deniable.plan.translate import parse
from tests.engines.everywhere import ENGINES, placed, servers_of
from tests.engines.random_plans import KEY, UNITS, codebook, tables
from tests.engines.sql_schemas import World
from tests.engines.test_neighbours import _units, _without

_LOOSE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
_COLUMNS = ("minutes", "price", "count", "urgent", "ward", "day")
_BOUND = 3


def _frame(book: Codebook, engine: Any) -> dict[str, Any]:
    source = scan(book, "visits")
    read = {name: parse(name, schema=schema(source)) for name in _COLUMNS}
    transformation = frame_rows(book, source, read, rows=_bound(book))
    frame = transformation.function(PrivateTables(engine, book), None)
    assert frame in transformation.target.domain
    return frame


def _bound(book: Codebook) -> int:
    return shape(scan(book, "visits")).most_rows or _BOUND


def _rows(frame: dict[str, Any]) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(list(column) for column in frame.values()), strict=True))


@pytest.mark.parametrize("kind", UNITS)
@settings(max_examples=12, suppress_health_check=_LOOSE)
@given(data=st.data())
def test_engines_hand_out_the_same_rows(kind: str, data: st.DataObject) -> None:
    book, rows = codebook(kind), data.draw(tables(kind=kind))
    expected = _frame(book, ReferenceEngine(rows, book, key=KEY))
    found = _frame(book, DuckDBEngine(rows, book, key=KEY))
    assert list(expected) == list(found)
    for name in expected:
        assert list(expected[name]) == list(found[name]), name


@pytest.mark.parametrize("kind", ["integer", "text", "period", "rows"])
@settings(max_examples=25, suppress_health_check=_LOOSE)
@given(data=st.data())
def test_one_unit_moves_its_own_rows_and_no_more_than_its_bound(kind: str, data: st.DataObject) -> None:
    book, rows = codebook(kind), data.draw(tables(kind=kind))
    units = [unit for unit in _units(book, rows["visits"]) if unit is not None]
    if not units:
        return
    out = data.draw(st.sampled_from(sorted(set(units), key=repr)))
    gone = [unit == out for unit in _units(book, rows["visits"])]
    neighbour = {**rows, "visits": _without(rows["visits"], gone)}
    here, there = (_rows(_frame(book, ReferenceEngine(part, book, key=KEY))) for part in (rows, neighbour))
    assert not there - here
    moved = here - there
    assert sum(moved.values()) <= _bound(book)
    if kind != "rows":
        assert len({row[0] for row in moved}) <= 1
        assert max(Counter(row[0] for row in here.elements()).values(), default=0) <= _BOUND


_WORLD = World(
    {
        "unit": {"id": "who", "groups": 1, "rows_per_group": 2},
        "table": "t",
        "variables": {
            "who": "string",
            "ward": {"type": "string", "categories": ["a", "b", "é"]},
            "cost": {"type": "number", "bounds": [-2, 7], "step": 0.25},
            "urgent": "boolean",
            "day": {"type": "date", "bounds": ["2020-01-01", "2020-12-31"]},
        },
    },
    {
        "t": {
            "who": [f"person {i * i % 11}" if i % 13 else None for i in range(60)],
            "ward": [["a", "b", "é", "z", None][i % 5] for i in range(60)],
            "cost": [None if i % 7 == 3 else i / 4 - 5 for i in range(60)],
            "urgent": [[True, False, None][i % 3] for i in range(60)],
            "day": [f"2020-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(60)],
        }
    },
    {"t": {"who": "VARCHAR", "ward": "VARCHAR", "cost": "DOUBLE", "urgent": "BOOLEAN", "day": "VARCHAR"}},
)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_are_the_same_on_every_engine(request: pytest.FixtureRequest, engine: str) -> None:
    book = Codebook.from_record(_WORLD.codebook)
    source = scan(book)
    columns = {name: parse(name, schema=schema(source)) for name in ("ward", "cost", "urgent", "day")}
    taken = frame_rows(book, source, columns, rows=3)
    data = placed(engine, _WORLD, servers_of(request))._engine
    reference = placed("reference", _WORLD, servers_of(request))._engine
    found, expected = (taken.function(PrivateTables(each, book), None) for each in (data, reference))
    assert {name: list(column) for name, column in found.items()} == {name: list(c) for name, c in expected.items()}
    costs = column_rows(book, source, columns["cost"], rows=2).function(PrivateTables(data, book), None)
    assert costs.dtype == np.int64
    assert list(costs) == list(
        column_rows(book, source, columns["cost"], rows=2).function(PrivateTables(reference, book), None)
    )


def test_a_column_is_on_the_codebooks_grid_and_its_stability_is_the_bound() -> None:
    book = Codebook.from_record(_WORLD.codebook)
    source = scan(book)
    taken = column_rows(book, source, parse("cost", schema=schema(source)), rows=5)
    domain = taken.target.domain.element
    assert (domain.step, domain.lower, domain.upper, domain.missing) == (Fraction(1, 4), -8, 28, False)
    assert taken.map(d_in=1) == 5
    assert taken.map(d_in=2) == 10


def test_a_replaced_row_moves_two() -> None:
    book = codebook("changed rows")
    source = scan(book, "visits")
    assert column_rows(book, source, parse("minutes", schema=schema(source)), rows=1).map(d_in=1) == 2


@pytest.mark.parametrize("column", ["word", "at", "patient"])
def test_what_has_no_public_range_is_refused_from_the_plan(column: str) -> None:
    book = codebook("integer")
    source = scan(book, "visits")
    with pytest.raises(QueryRefused):
        column_rows(book, source, parse(column, schema=schema(source)), rows=1)


@pytest.mark.parametrize("first", [True, False])
def test_truths_are_refused_whether_or_not_equal_numbers_were_handed_out_before(first: bool) -> None:
    """What is remembered of a plan is not said of one that only compares equal to it in Python, where True is 1."""
    checked_rows.cache_clear()
    source = scan(kit_codebook(), "kit")
    asked = {
        "number": UnitRows(source, (("c", Case(((Literal(True), Literal(1)),), Literal(0))),), 3),
        "truth": UnitRows(source, (("c", Case(((Literal(True), Literal(True)),), Literal(False))),), 3),
    }
    for kind in sorted(asked, reverse=first):
        if kind == "number":
            checked_rows(asked[kind])
        else:
            with pytest.raises(QueryRefused, match="boolean"):
                checked_rows(asked[kind])
