"""Tables of counts in one pass: the same integers on every engine, and the same as counting the rows that are handed out."""

from __future__ import annotations

from datetime import date
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import deniable as dp
from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.reference import ReferenceEngine
from deniable.engines.sql_engine import SqlEngine
from deniable.engines.table_space import PrivateTables
from deniable.errors import InvalidArgument, QueryRefused
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column
from deniable.plan.nodes import UnitRows, scan
from deniable.plan.unit_tables import UnitTables
from deniable.synth.measured.cells_of_codebook import synthesizable
from deniable.synth.measured.coded import CellReading, cell_rows, row_order
from deniable.synth.measured.engine_cells import EngineCells
from tests.engines.everywhere import ENGINES, placed, servers_of
from tests.engines.sql_schemas import World
from tests.unit.synth.people import BOOK, COLUMNS, people_rows

_WORLD = World(
    {
        "unit": {"id": "who", "groups": 1, "rows_per_group": 2},
        "table": "t",
        "variables": {
            "who": "string",
            "ward": {"type": "string", "categories": ["a", "b", "é"]},
            "cost": {"type": "number", "bounds": [-2, 7], "step": 0.25, "bins": [-2, 0, 0.5, 3, 7]},
            "age": {"type": "integer", "bounds": [0, 4], "missing": {"impute": 2}},
            "urgent": "boolean",
            "day": {"type": "date", "bounds": ["2020-01-01", "2020-12-31"]},
        },
    },
    {
        "t": {
            "who": [f"person {i * i % 11}" if i % 13 else None for i in range(60)],
            "ward": [["a", "b", "é", "z", None][i % 5] for i in range(60)],
            "cost": [None if i % 7 == 3 else i / 4 - 5 for i in range(60)],
            "age": [None if i % 4 == 1 else i % 6 for i in range(60)],
            "urgent": [[True, False, None][i % 3] for i in range(60)],
            "day": [f"2020-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(60)],
        }
    },
    {"t": {"who": "VARCHAR", "ward": "VARCHAR", "cost": "DOUBLE", "age": "BIGINT", "urgent": "BOOLEAN", "day": "VARCHAR"}},
)  # fmt: skip


def _reading(book: Codebook, table: str, bins: dict[str, int]) -> CellReading:
    return cell_rows(book, table, synthesizable(book, None, "all", bins), rows=None)[0]


def _same(reading: CellReading, data: PrivateTables, levels: list[tuple[int, ...]]) -> EngineCells:
    """Every table both ways; groups of cells too."""
    counted, rows, sizes = EngineCells(data, reading.plan, reading.attributes), reading(data), reading.attributes.sizes
    counted.fetch(levels)
    groups = [np.arange(size) // 2 for size in sizes]
    for level in levels:
        shape = tuple(sizes[place] for place in level)
        assert counted.table(level, shape).tolist() == rows.table(level, shape).tolist()
        shape = tuple(int(groups[place].max()) + 1 for place in level)
        assert counted.mapped(groups).table(level, shape).tolist() == rows.mapped(groups).table(level, shape).tolist()
    return counted


@pytest.mark.parametrize("engine", ENGINES)
def test_tables_are_the_same_on_every_engine_and_as_rows(request: pytest.FixtureRequest, engine: str) -> None:
    book = Codebook.from_record(_WORLD.codebook)
    reading = _reading(book, "t", {})
    levels = [(), (1,), (2,), (0, 1), (1, 4), (2, 3), (0, 2, 4)]
    data = PrivateTables(placed(engine, _WORLD, servers_of(request))._engine, book)
    found = _same(reading, data, [*levels, (4, 1)])
    here = PrivateTables(ReferenceEngine(_WORLD.tables, book, key=bytes(range(1, 33))), book)
    expected = EngineCells(here, reading.plan, reading.attributes)
    for level in levels:
        shape = tuple(reading.attributes.sizes[place] for place in level)
        assert found.table(level, shape).tolist() == expected.table(level, shape).tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_the_first_or_the_last_row_of_a_unit_is_kept_on_every_engine(
    request: pytest.FixtureRequest, engine: str
) -> None:
    """As counted by hand; servers are asked for the last one only."""
    book = Codebook.from_record(_WORLD.codebook)
    attributes, data = synthesizable(book, None, "all", {}), placed(engine, _WORLD, servers_of(request))._engine
    days: dict[str, list[str]] = {}
    for who, day in zip(_WORLD.tables["t"]["who"], _WORLD.tables["t"]["day"], strict=True):
        if who is not None:
            days.setdefault(who, []).append(day)
    size, found = attributes.sizes[4], []
    for order, best in (((None, None), None), (("day", None), min), ((None, "day"), max))[
        2 * (engine in ("PostgreSQL", "Spark")) :
    ]:
        reading = cell_rows(book, "t", attributes, rows=1, order=row_order(book, "t", *order))[0]
        found.append(_same(reading, PrivateTables(data, book), [(4,)]).table((4,), (size,)).tolist())
        if best is not None:
            kept = [(date.fromisoformat(best(each)) - date(1970, 1, 1)).days for each in days.values()]
            assert found[-1] == np.bincount(attributes.columns[4].encode(np.array(kept)), minlength=size).tolist()
    assert all(one != other for one, other in combinations(found, 2)), "which row is kept makes a difference"


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_of_a_unit_are_summed_up_alike_on_every_engine(request: pytest.FixtureRequest, engine: str) -> None:
    """Of each person one row: how many, the latest day, the mean cost, the frequent ward; the first two as counted by hand."""
    book = Codebook.from_record(_WORLD.codebook)
    session = dp.Dataset(placed(engine, _WORLD, servers_of(request))._engine, codebook=book).session(
        dp.budget(epsilon=1)
    )
    asked = (
        session.query()
        .where("age < 5")
        .per_unit(
            n=dp.count(),
            day=dp.maximum("day"),
            cost=dp.mean("cost"),
            ward=dp.mode("ward"),
            high=dp.quantile("cost", 0.9),
            bounds={"n": (0, 6)},
        )
    )
    attributes = synthesizable(book, asked.source, "all", {"cost": 7})
    reading, moved, _ = cell_rows(book, asked.source, attributes, rows=None)
    assert moved.rows == 1
    levels = [(), (0,), (1,), (0, 3), (2, 4), (1, 2, 3)]
    found = _same(reading, session._data, levels)
    here = PrivateTables(ReferenceEngine(_WORLD.tables, book, key=bytes(range(1, 33))), book)
    expected = EngineCells(here, reading.plan, reading.attributes)
    for level in levels:
        shape = tuple(attributes.sizes[place] for place in level)
        assert found.table(level, shape).tolist() == expected.table(level, shape).tolist()
    days: dict[str, list[str]] = {}
    for who, day in zip(_WORLD.tables["t"]["who"], _WORLD.tables["t"]["day"], strict=True):
        if who is not None:
            days.setdefault(who, []).append(day)
    assert (
        found.table((0,), (7,)).tolist()
        == np.bincount([min(len(each), 6) for each in days.values()], minlength=7).tolist()
    )
    latest = [(date.fromisoformat(max(each)) - date(1970, 1, 1)).days for each in days.values()]
    cells = attributes.columns[1].encode(np.array(latest))
    assert (
        found.table((1,), (attributes.sizes[1],)).tolist() == np.bincount(cells, minlength=attributes.sizes[1]).tolist()
    )


@pytest.mark.parametrize("count", [0, 1, 40])
def test_no_rows_one_row_and_units_with_many(count: int) -> None:
    book, rows = Codebook.from_yaml(BOOK), people_rows(count, per_unit=5)
    data = PrivateTables(DuckDBEngine({"people": rows}, book, key=7), book)
    _same(_reading(book, "people", {}), data, list(combinations(range(6), 2)))


def test_one_pass_counts_all_pairs_and_smaller_tables_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    book = Codebook.from_yaml(BOOK)
    data = PrivateTables(DuckDBEngine({"people": people_rows(20)}, book, key=7), book)
    reading = _reading(book, "people", {})
    counted, passes = EngineCells(data, reading.plan, reading.attributes), []
    honest = SqlEngine._execute
    monkeypatch.setattr(SqlEngine, "_execute", lambda self, statement: (passes.append(1), honest(self, statement))[1])
    counted.fetch(combinations(range(6), 2))
    for place, size in enumerate(reading.attributes.sizes):
        counted.table((place,), (size,))
    counted.table((), ())
    assert len(passes) == 1


def _twin(data: dp.Dataset, seed: int, **words: Any) -> list[Any]:
    from deniable.testing import Seeded

    session = data.session(dp.budget(epsilon=10, delta=1e-6), entropy=Seeded(seed))
    stored = session.synthesizer(columns=COLUMNS[:4], **words).release(epsilon=5).measurements
    return [(table.places, table.counts.tolist()) for table in stored.marginals]


@pytest.mark.parametrize("method", ["pairs", "aim", "privbayes"])
def test_a_twin_is_the_same_whichever_way_its_tables_are_counted(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    import pandas

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    pandas.DataFrame(people_rows(60)).to_parquet(tmp_path / "people.parquet")
    handed: list[int] = []
    honest = SqlEngine.rows
    monkeypatch.setattr(SqlEngine, "rows", lambda self, plan: (handed.append(1), honest(self, plan))[1])
    data = dp.Dataset(
        DuckDBEngine(str(tmp_path / "people.parquet"), Codebook.from_yaml(BOOK), key=7),
        codebook=Codebook.from_yaml(BOOK),
    )
    by_rows = _twin(data, 3, method=method)
    assert handed == [1]
    monkeypatch.setattr("deniable.synth.measured.coded.MOST_BYTES", 100)
    by_engine = _twin(data, 3, method=method)
    assert handed == [1], "above the memory limit no row is handed out"
    assert by_engine == by_rows


def test_tables_too_large_for_any_engine_are_left_out_and_do_not_raise_after_the_charge(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs of columns have 196 cells, triples 2,744, and groups are fewer; an engine counts a thousand at most."""
    import pandas

    for module in (
        "plan.unit_tables",
        "synth.resources",
        *(f"synth.measured.{name}" for name in ("aim_rounds", "on_data")),
    ):
        monkeypatch.setattr(f"deniable.{module}.MOST_TABLE_CELLS", 1000)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("deniable.synth.measured.coded.MOST_BYTES", 0)
    file = tmp_path / "t.parquet"
    pandas.DataFrame(
        {name: [i * i * step % 10_000 for i in range(300)] for step, name in enumerate("abc", 1)}
    ).to_parquet(file)
    columns = {name: {"type": "integer", "bounds": [0, 9_999]} for name in "abc"}
    book = Codebook.from_record({"name": "t", "unit": "rows", "tables": {"t": {"variables": columns}}})
    data = dp.Dataset(DuckDBEngine(str(file), book, key=7), codebook=book)
    session = data.session(dp.budget(epsilon=100, delta=1e-6))
    plan = session.synthesizer(method="aim", rounds=1, bins=dict.fromkeys("abc", 13))
    twin = plan.release(epsilon=50)
    assert all(len(table.places) < 3 for table in twin.measurements.marginals)
    assert set(session.evaluate(twin, epsilon=10).values) == {"1-way TVD", "2-way TVD"}
    with pytest.raises(InvalidArgument, match="a pair of columns has 1,681 cells"):
        session.synthesizer(bins={"a": 40, "b": 40, "c": 3})


def test_a_count_that_skips_the_bound_on_units_would_be_seen() -> None:
    """The planted fault: rows counted without their bound are more than a unit may have."""
    book, rows = Codebook.from_yaml(BOOK), people_rows(5, per_unit=5)
    data = PrivateTables(ReferenceEngine({"people": rows}, book, key=7), book)
    reading = _reading(book, "people", {})
    loose = UnitRows(reading.plan.source, reading.plan.columns, 10)
    bound, free = (EngineCells(data, plan, reading.attributes).table((), ())[0] for plan in (reading.plan, loose))
    assert bound < free == len(rows["who"])


def test_plans_that_cannot_be_counted_are_refused_from_the_plan() -> None:
    book = Codebook.from_yaml(BOOK)
    rows = UnitRows(scan(book), (("age", Column("age")), ("pay", Column("pay"))), 2)
    for cuts, levels, said in (
        (((1,),), ((0,),), "cuts of every column"),
        (((2, 1), (1,)), ((0,),), "rising"),
        (((1,), (1,)), ((1, 0),), "in their order"),
        (((1,), (1,)), ((2,),), "in their order"),
        (((1,), (1,)), ((0,), (0,)), "that differ"),
        (((1,), (1,)), (), "that differ"),
        ((tuple(range(20_000)), tuple(range(20_000))), ((0, 1),), "cells together"),
    ):
        with pytest.raises(InvalidArgument, match=said):
            UnitTables(rows, cuts, levels)
    engine = ReferenceEngine({"people": people_rows(2)}, book, key=7)
    with pytest.raises(QueryRefused, match="may be missing"):
        engine.tables(UnitTables(rows, ((1,), (1,)), ((0,),)))
