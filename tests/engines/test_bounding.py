"""Contribution bounding on data made to break it: heavy units, duplicated keys, joins that multiply rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.engine import Engine, Result
from deniable.engines.reference import ReferenceEngine
from deniable.plan.codebook import Codebook
from deniable.plan.even_weights import Spread
from deniable.plan.expression import Column
from deniable.plan.nodes import (
    Bounding,
    ByOrder,
    Distinct,
    GroupAgg,
    Histogram,
    Join,
    KeyColumn,
    Project,
    RowCount,
    Total,
    Union,
    Units,
    scan,
)
from deniable.plan.sensitivity import sensitivities
from deniable.plan.translate import parse
from tests.engines.random_plans import KEY, as_values, cells

BOOK = Codebook.from_yaml(
    """
unit: {id: person, groups: 3, rows_per_group: 2}
tables:
  log:
    variables:
      person: integer
      order: integer
      shop: {type: integer, bounds: [0, 999]}
      paid: {type: integer, bounds: [0, 10]}
      name: string
  lines:
    links: [order_of -> log.order]
    variables: {order_of: integer, amount: {type: integer, bounds: [0, 5]}}
  towns:
    public: true
    variables: {shop_of: {type: integer, bounds: [0, 999]}, town: string}
"""
)


def _data(heavy: int = 40) -> dict[str, dict[str, list[Any]]]:
    """Person 1 is in many shops with many rows each; persons 2 to 9 are light; order 7 stands twice in the log."""
    people = [1] * (3 * heavy) + [2 + index % 8 for index in range(30)]
    count = len(people)
    log = {
        "person": people,
        "order": [7 if index in (3, 5) else index for index in range(count)],
        "shop": [index % heavy for index in range(count)],
        "paid": [index % 13 for index in range(count)],
        "name": [f"n{index % 17}" for index in range(count)],
    }
    lines = {"order_of": [7] * 20 + list(range(10)), "amount": [index % 6 for index in range(30)]}
    return {"log": log, "lines": lines, "towns": {"shop_of": [0, 0, 0, 1, 2], "town": ["a", "b", "c", "d", "d"]}}


def _engines(rows: Any) -> list[Engine]:
    return [ReferenceEngine(rows, BOOK, key=KEY), DuckDBEngine(rows, BOOK, key=KEY, threads=1)]


def _without_person_1(rows: dict[str, dict[str, list[Any]]]) -> dict[str, dict[str, list[Any]]]:
    kept = [index for index, person in enumerate(rows["log"]["person"]) if person != 1]
    return {**rows, "log": {name: [column[index] for index in kept] for name, column in rows["log"].items()}}


LOG = scan(BOOK, "log")
SHOP = KeyColumn("shop", Column("shop"))
ALL = (
    ("units", Units()),
    ("rows", RowCount(2)),
    ("paid", Total(Column("paid"), Fraction(0), Fraction(11))),
    ("names", Distinct(Column("name"), 2)),
    ("bins", Histogram(parse("bin(paid, 0, 3, 6, 10)"), 3, 2)),
    ("even rows", RowCount(2, parse("case when paid > 4 then paid end"), Spread(2, 10))),
    ("even paid", Total(Column("paid"), Fraction(0), Fraction(20), Spread(2, 10))),
    ("even distance", Total(parse("paid - 5"), Fraction(-10), Fraction(10), Spread(2, 10))),
    ("even bins", Histogram(parse("bin(paid, 0, 3, 6, 10)"), 3, 2, 10)),
)
PLANS = {
    "observed": GroupAgg(LOG, (SHOP,), Bounding(groups=3), ALL),
    "many rows": GroupAgg(LOG, (SHOP,), Bounding(groups=3), (("units", Units()), ("rows", RowCount(50)))),
    "by name": GroupAgg(LOG, (KeyColumn("name", Column("name")),), Bounding(groups=3), ALL),
    "two keys": GroupAgg(LOG, (SHOP, KeyColumn("name", Column("name"))), Bounding(groups=2), ALL),
    "sampled": GroupAgg(LOG, (SHOP,), Bounding(groups=3, rows_per_group=1, rows_per_unit=2), ALL),
    "first": GroupAgg(LOG, (SHOP,), Bounding(groups=2, choice=ByOrder(Column("order"))), ALL),
    "last": GroupAgg(LOG, (SHOP,), Bounding(groups=2, choice=ByOrder(Column("order"), last=True)), ALL),
    "no keys": GroupAgg(LOG, (), Bounding(groups=1), ALL),
    "self-join": GroupAgg(
        Join(LOG, Project(LOG, (("other", Column("person")), ("shop_2", Column("shop")))), (("person", "other"),)),
        (SHOP,), Bounding(groups=3), ALL,
    ),
    "self-union": GroupAgg(Union((LOG, LOG)), (SHOP,), Bounding(groups=3), ALL),
    "public join": GroupAgg(
        Join(LOG, scan(BOOK, "towns"), (("shop", "shop_of"),)), (KeyColumn("town", Column("town")),), Bounding(groups=2), ALL
    ),
    "linked": GroupAgg(
        scan(BOOK, "lines"), (KeyColumn("amount", Column("amount")),), Bounding(groups=2),
        (("units", Units()), ("rows", RowCount(3)), ("sum", Total(Column("amount"), Fraction(0), Fraction(6)))),
    ),
}  # fmt: skip


def _changes(here: Result, there: Result, name: str) -> list[int]:
    before, after = cells(here, name), cells(there, name)
    moved = [abs(before.get(cell, 0) - after.get(cell, 0)) for cell in {*before, *after}]
    return [change for change in moved if change]


@pytest.mark.parametrize("name", list(PLANS))
def test_a_heavy_unit_moves_every_engine_by_at_most_the_triple(name: str) -> None:
    plan, rows = PLANS[name], _data()
    for engine, other in zip(_engines(rows), _engines(_without_person_1(rows)), strict=True):
        here, there = engine.run(plan), other.run(plan)
        for aggregate, bound in sensitivities(plan).items():
            changes = _changes(here, there, aggregate)
            assert len(changes) <= bound.l0
            assert sum(changes) <= bound.l1
            assert max(changes, default=0) <= bound.linf
            assert changes or aggregate != "units", "person 1 is heavy: the test must be able to see it"
        engine.close()
        other.close()


@pytest.mark.parametrize("name", list(PLANS))
def test_engines_agree_on_heavy_units(name: str) -> None:
    reference, duckdb = _engines(_data())
    assert as_values(reference.run(PLANS[name])) == as_values(duckdb.run(PLANS[name]))
    duckdb.close()


def test_the_cap_binds_exactly() -> None:
    """Person 1 alone is in 40 shops: it keeps exactly three, with exactly two rows in each."""
    rows = _data()
    alone = {**rows, "log": {name: column[:120] for name, column in rows["log"].items()}}
    for engine in _engines(alone):
        result = engine.run(PLANS["observed"])
        assert result.groups == 3
        assert result.columns["units"].tolist() == [1, 1, 1]
        assert result.columns["rows"].tolist() == [2, 2, 2]
        engine.close()


def test_first_and_last_are_by_the_public_order() -> None:
    rows = _data()
    alone = {**rows, "log": {name: column[10:50] for name, column in rows["log"].items()}}
    for engine in _engines(alone):
        assert engine.run(PLANS["first"]).keys["shop"] == (10, 11)
        assert engine.run(PLANS["last"]).keys["shop"] == (8, 9)
        engine.close()


def test_the_order_key_changes_who_is_kept_and_nothing_else() -> None:
    rows = _data()
    results = [DuckDBEngine(rows, BOOK, key=bytes([seed]) * 32).run(PLANS["observed"]) for seed in (1, 2)]
    assert results[0].keys["shop"] != results[1].keys["shop"]
    assert sum(results[0].columns["units"]) == sum(results[1].columns["units"])


def test_row_order_does_not_matter() -> None:
    rows = _data()
    turned = {table: {name: column[::-1] for name, column in columns.items()} for table, columns in rows.items()}
    for name in ("observed", "by name", "sampled", "linked"):
        (_, first), (_, second) = _engines(rows), _engines(turned)
        assert as_values(first.run(PLANS[name])) == as_values(second.run(PLANS[name]))


def test_an_undeclared_key_is_left_out_even_where_missing_ones_are_kept() -> None:
    """A key that cannot be missing, `keep_missing` or not, counts only where it is declared."""
    declared = KeyColumn("k", parse("coalesce(shop, 0)"), (0, 2), keep_missing=True)
    plan = GroupAgg(LOG, (declared,), Bounding(groups=3), (("units", Units()), ("rows", RowCount(9))))
    for engine in _engines(_data()):
        assert engine.run(plan).keys["k"] == (0, 2)
        engine.close()


@pytest.mark.parametrize("wide", [20, 60])
def test_rows_of_many_columns_are_kept_alike(wide: int) -> None:
    """A statement does not nest deeper than engines read, however many values tell rows apart."""
    variables = {f"c{index}": {"type": "integer", "bounds": [0, 9]} for index in range(wide)}
    unit = {"id": "p", "groups": 1, "rows_per_group": 3}
    book = Codebook.from_record({"unit": unit, "tables": {"t": {"variables": {"p": "string", **variables}}}})
    rows = {"t": {"p": ["a"] * 9, **{name: [(i * i + len(name)) % 7 for i in range(9)] for name in variables}}}
    sums = tuple((name, Total(Column(name), Fraction(0), Fraction(99))) for name in variables)
    plan = GroupAgg(scan(book, "t"), (), Bounding(groups=1, rows_per_unit=3), sums)
    first, second = ReferenceEngine(rows, book, key=KEY), DuckDBEngine(rows, book, key=KEY, threads=1)
    assert as_values(first.run(plan)) == as_values(second.run(plan))
    second.close()
