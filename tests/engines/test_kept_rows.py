"""A plan of several statements on DuckDB: its bounded rows are kept while it runs, and give the integers of the rows themselves.

Rows of a unit within the bound are added up as they are; only those of other units are put in order again. Faults in
either half are planted and must be seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from hashlib import blake2b
from typing import Any

import pytest
from sqlglot import exp

from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.reference import ReferenceEngine
from deniable.engines.sql import groups as sql_groups
from deniable.engines.sql import spreading
from deniable.engines.sql.groups import Groups
from deniable.errors import EngineFailed
from deniable.plan.codebook import Codebook
from deniable.plan.even_weights import Spread
from deniable.plan.expression import Column
from deniable.plan.nodes import (
    Aggregate,
    Bounding,
    Distinct,
    GroupAgg,
    Histogram,
    KeyColumn,
    RowCount,
    Total,
    Units,
    scan,
)
from deniable.plan.sql_trees import number
from deniable.plan.translate import parse
from tests.engines.random_plans import KEY, as_values

BOOK = Codebook.from_yaml(
    """
unit: {id: who, groups: 2, rows_per_group: 2}
tables:
  t:
    unit: who
    variables:
      who: {type: string}
      k: {type: integer}
      w: {type: string}
      x: {type: integer, bounds: [-3, 5]}
"""
)
SPREAD = Spread(2, 10)
EVEN = (
    ("units", Units()),
    ("rows", RowCount(2)),
    ("present", RowCount(2, Column("x"), SPREAD)),
    ("sum", Total(Column("x"), Fraction(-6), Fraction(10), SPREAD)),
    ("above", Total(parse("x + 3"), Fraction(0), Fraction(16), SPREAD)),
    ("bins", Histogram(parse("x + 3"), 9, 2, 10)),
    ("values", Distinct(Column("x"), 2)),
)
"""Of a unit with at most two rows in a group, all of these are plain sums."""
OTHERS = {
    "a sum that is clipped": (*EVEN, ("clipped", Total(Column("x"), Fraction(-1), Fraction(2)))),
    "a sum clipped above nought": (*EVEN, ("least", Total(parse("x + 4"), Fraction(3), Fraction(18)))),
    "a count of one row": (*EVEN, ("once", RowCount(1))),
    "units with a value": (*EVEN, ("some", Units(Column("x")))),
    "a finer bound": (*EVEN[:-2], ("bins", Histogram(parse("x + 3"), 9, 1, 10))),
    "no sums": (EVEN[0], *EVEN[-2:]),
}


def _table(seed: int, rows: int = 60) -> dict[str, list[Any]]:
    """Units with one to six rows in a group and up to five groups, some keys and values missing."""
    table: dict[str, list[Any]] = {"who": [], "k": [], "w": [], "x": []}
    for place in range(rows):
        mixed = blake2b(bytes([seed, place]), digest_size=8).digest()
        values = (None, -3, 0, 1, 5, 5)
        cells = f"u{mixed[0] % 5}", (None, 1, 7, 2**40, -3)[mixed[1] % 5], "ab"[mixed[2] % 2], values[mixed[3] % 6]
        for name, cell in zip(table, cells, strict=True):
            table[name].append(cell)
    return table


def _plan(aggregates: Any, keys: str = "k", levels: Any = None, **bounds: Any) -> GroupAgg:
    domains = {"k": (1, 7, -3), "w": ("a", "b")} if levels else dict.fromkeys(keys)
    columns = tuple(KeyColumn(name, Column(name), domains[name], name == "k") for name in keys)
    return GroupAgg(scan(BOOK, "t"), columns, Bounding(groups=2, **bounds), aggregates, levels)


PLANS = {
    "one key": _plan(EVEN),
    "two keys": _plan(EVEN, "kw"),
    "levels": _plan(EVEN[1:], "kw", (("k", "w"), ("k",), ())),
    "levels and units": _plan(EVEN, "kw", (("k", "w"), ("w",))),
    "rows limited": _plan(EVEN, rows_per_group=3, rows_per_unit=5),
} | {name: _plan(aggregates) for name, aggregates in OTHERS.items()}


def _same(plan: GroupAgg, seeds: int = 3) -> bool:
    """Whether DuckDB gives the reference's integers, from rows it keeps once."""
    told = []
    for seed in range(seeds):
        table = {"t": _table(seed)}
        engine = DuckDBEngine(table, BOOK, key=KEY, threads=1)
        texts: list[str] = []
        do = engine._do

        def told_of(text: str, do: Callable[[str], None] = do, texts: list[str] = texts) -> None:
            texts.append(text)
            do(text)

        engine._do = told_of  # type: ignore[method-assign,assignment]
        told.append(as_values(engine.run(plan)) == as_values(ReferenceEngine(table, BOOK, key=KEY).run(plan)))
        assert [text.split()[0] for text in texts] == ["CREATE", "DROP"]
        assert engine._connection().connection.execute("SHOW TABLES").fetchall() == [("deniable_table_0",)]
        engine.close()
    return all(told)


@pytest.mark.parametrize("name", list(PLANS))
def test_rows_that_are_kept_give_the_integers_of_the_rows_themselves(name: str) -> None:
    assert _same(PLANS[name])


def test_rows_within_the_bound_are_added_up_as_they_are() -> None:
    """Where all aggregates allow it no unit has a row of its own, and where one does not every unit has."""
    engine = DuckDBEngine({"t": _table(0)}, BOOK, key=KEY, threads=1)

    def whole(plan: GroupAgg) -> int:
        kept, _ = Groups(plan, engine._relations(), engine._profile, engine._key).bounded("kept")
        groups = Groups(plan, engine._relations(), engine._profile, engine._key, kept)
        added: list[Aggregate] = [each for _, each in plan.aggregates if not isinstance(each, Histogram | Distinct)]
        return groups._added_whole(added)

    found = {name: whole(plan) for name, plan in PLANS.items()}
    engine.close()
    alike = dict.fromkeys(["one key", "two keys", "levels", "rows limited", "a finer bound"], 2)
    assert found == alike | {"levels and units": 0, "units with a value": 0, "no sums": 0} | {
        "a sum that is clipped": 0,
        "a sum clipped above nought": 0,
        "a count of one row": 1,
    }


def _one_more(right: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: right(*given) + 1


def _other_bound(right: Callable[..., Any]) -> Callable[..., Any]:
    return lambda rows, spread: right(rows, replace(spread, rows=spread.rows + 1))


def _all_stand(right: Callable[..., Any]) -> Callable[..., Any]:
    def wrong(*given: Any) -> Any:
        tree = right(*given)
        tree.expressions[-1].set("this", number(1))
        return tree

    return wrong


def _counted_alone(right: Callable[..., Any]) -> Callable[..., Any]:
    """Each row is the only one of its unit in its group."""

    def wrong(*given: Any) -> Any:
        tree = right(*given)
        for spec in tree.find_all(exp.WindowSpec):
            spec.set("kind", "ROWS")
        return tree

    return wrong


@pytest.mark.parametrize(
    ("where", "name", "fault"),
    [
        (Groups, "_added_whole", _one_more),
        (spreading, "_few", _other_bound),
        (sql_groups, "first_groups", _all_stand),
        (sql_groups, "first_groups", _counted_alone),
    ],
    ids=[
        "a row too many is whole",
        "a row too many is not spread",
        "each row stands for its unit",
        "every row is alone",
    ],
)
def test_faults_are_noticed(monkeypatch: pytest.MonkeyPatch, where: Any, name: str, fault: Any) -> None:
    monkeypatch.setattr(where, name, fault(getattr(where, name)))
    assert not _same(PLANS["one key"])


def test_nothing_is_left_of_a_plan_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = DuckDBEngine({"t": _table(0)}, BOOK, key=KEY, threads=1)
    fetch = engine._fetch
    monkeypatch.setattr(engine, "_fetch", lambda written: fetch("SELECT 'private cell'::INTEGER"))
    with pytest.raises(EngineFailed) as failed:
        engine.run(PLANS["one key"])
    assert "private cell" not in str(failed.value)
    assert failed.value.__context__ is None
    monkeypatch.undo()
    assert engine._connection().connection.execute("SHOW TABLES").fetchall() == [("deniable_table_0",)]
    assert engine.run(PLANS["one key"]).groups
    engine.close()


@pytest.mark.parametrize("unit", ["rows", "changed rows"])
def test_rows_of_which_nothing_is_read_are_kept_and_counted(unit: str) -> None:
    """Where every row is a unit, a count of all of them reads no column."""
    book = Codebook.from_yaml(f"{{unit: {unit}, tables: {{t: {{variables: {{x: integer}}}}}}}}")
    engine = DuckDBEngine({"t": {"x": [1, None, 3]}}, book, key=KEY, threads=1)
    plan = GroupAgg(scan(book, "t"), (), Bounding(groups=1), (("rows", RowCount(1)), ("units", Units())))
    engine.prepare(plan)
    assert engine.run(plan).columns["rows"].tolist() == engine.run(plan).columns["units"].tolist() == [3]
    engine.close()
