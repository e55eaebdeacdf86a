"""Tables split by unit, asked apart and added up, give the integers of the whole; so a cluster needs no engine of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deniable.engines import connect
from deniable.engines.merge import merged
from deniable.engines.reference import ReferenceEngine
from deniable.errors import InvalidArgument
from deniable.plan.expression import Column
from deniable.plan.nodes import Bounding, Distinct, GroupAgg, Histogram, KeyColumn, RowCount, Scan, Units, scan
from deniable.plan.translate import parse
from tests.engines.random_plans import KEY, as_values, codebook, plans, tables

_LOOSE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
SHARDS = 3


def _part(rows: dict[str, dict[str, list[Any]]], shard: int) -> dict[str, dict[str, list[Any]]]:
    """The visits of a third of the patients, by the patient's number as the codebook reads it; public tables whole."""
    visits = rows["visits"]
    mine = [_number(cell) % SHARDS == shard for cell in visits["patient"]]
    kept = {name: [cell for cell, keep in zip(cells, mine, strict=True) if keep] for name, cells in visits.items()}
    return {**rows, "visits": kept}


def _number(cell: Any) -> int:
    try:
        return int(float(cell))
    except (TypeError, ValueError, OverflowError):
        return 0  # no unit: the row belongs to nobody, wherever it is


def _without_links(plan: GroupAgg) -> bool:
    """Whether the plan reads visits and public tables only: items have no patient to be split by."""
    seen, waiting = [], [plan.source]
    while waiting:
        node = waiting.pop()
        seen.append(node)
        waiting += [part for name in node.__slots__ for part in _parts(getattr(node, name))]
    return not any(isinstance(node, Scan) and node.table == "items" for node in seen)


def _parts(value: Any) -> list[Any]:
    values = value if isinstance(value, tuple) else (value,)
    return [each for each in values if type(each).__module__ == "deniable.plan.nodes" and hasattr(each, "__slots__")]


@settings(max_examples=25, suppress_health_check=_LOOSE)
@given(data=st.data())
def test_shards_by_unit_add_up_to_the_whole(data: st.DataObject) -> None:
    book = codebook("integer")
    rows = data.draw(tables())
    plan = data.draw(plans(book).filter(_without_links))
    plan = replace(plan, aggregates=tuple(each for each in plan.aggregates if not isinstance(each[1], Distinct)))
    whole = ReferenceEngine(rows, book, key=KEY).run(plan)
    parts = [ReferenceEngine(_part(rows, shard), book, key=KEY).run(plan) for shard in range(SHARDS)]
    assert as_values(merged(plan, parts)) == as_values(whole)
    assert as_values(merged(plan, [whole])) == as_values(whole)


def test_shards_on_duckdb_add_up(sharded_rows: dict[str, dict[str, list[Any]]]) -> None:
    book = codebook("integer")
    plan = _plan(book)
    parts = [connect(_part(sharded_rows, shard), book, key=KEY).run(plan) for shard in range(SHARDS)]
    assert as_values(merged(plan, parts)) == as_values(connect(sharded_rows, book, key=KEY).run(plan))


def test_a_unit_in_two_shards_is_what_the_promise_excludes(sharded_rows: dict[str, dict[str, list[Any]]]) -> None:
    """Split by row instead of by unit, the bounds are kept in each shard and so broken in the sum."""
    book, visits = codebook("integer"), sharded_rows["visits"]
    plan = _plan(book)
    halves = [{**sharded_rows, "visits": {n: cells[half::2] for n, cells in visits.items()}} for half in (0, 1)]
    apart = merged(plan, [connect(half, book, key=KEY).run(plan) for half in halves])
    assert apart.columns["rows"].sum() > connect(sharded_rows, book, key=KEY).run(plan).columns["rows"].sum()


def test_distinct_values_are_not_added_up() -> None:
    book = codebook("integer")
    plan = replace(_plan(book), keys=(), aggregates=(("distinct", Distinct(Column("word"), 2)),))
    with pytest.raises(InvalidArgument, match="distinct values of shards cannot be added up"):
        merged(plan, [])
    with pytest.raises(InvalidArgument, match="at least one shard"):
        merged(_plan(book), [])


def _plan(book: Any) -> GroupAgg:
    key = KeyColumn("ward", Column("ward"), keep_missing=True)
    bins = Histogram(parse("bin(minutes, -20, 0, 1.3, 10, 60)"), 4, 2)
    aggregates = (("units", Units()), ("rows", RowCount(2)), ("bins", bins))
    return GroupAgg(scan(book, "visits"), (key,), Bounding(groups=2), aggregates)


@pytest.fixture
def sharded_rows() -> dict[str, dict[str, list[Any]]]:
    count = 240
    visits = {
        "patient": [i // 6 for i in range(count)],
        "visit": list(range(count)),
        "ward": ["a", "b", "é", None, "zz"] * (count // 5),
        "word": ["w"] * count,
        "minutes": [(i * 7) % 60 for i in range(count)],
        "price": [1] * count,
        "count": [1] * count,
        "urgent": [True] * count,
        "day": [None] * count,
        "at": [None] * count,
        "off": [0] * count,
        "tens": [0] * count,
    }
    return {
        "visits": visits,
        "items": {"visit_of": [], "kind": [], "weight": []},
        "wards": {"ward_name": ["a"], "size": [1]},
    }
