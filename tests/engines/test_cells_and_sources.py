"""Every source and every odd cell: nothing raises, nothing changes the schema, all engines read the same."""

from __future__ import annotations

import csv
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.engines import connect
from deniable.engines.cell_rules import read
from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.reference import ReferenceEngine
from deniable.errors import InvalidArgument
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column
from deniable.plan.nodes import Bounding, GroupAgg, KeyColumn, RowCount, Total, Units, scan
from deniable.plan.variable import Type, Variable
from tests.engines.random_plans import KEY, as_values
from tests.naming import case

BOOK = Codebook.from_yaml(
    """
unit: {id: who, groups: 2, rows_per_group: 2}
table: t
variables:
  who: integer
  name: string
  v: {type: number, bounds: [0, 10], step: 0.5}
  n: {type: integer, bounds: [0, 9]}
  yes: boolean
  day: date
  at: timestamp
"""
)
GOOD: dict[str, list[Any]] = {
    "who": [1, 1, 2, None, 2**62],
    "name": ["a", "é", None, "b", 'it\'s, "so"'],
    "v": [1.5, 20.0, None, 3.0, 0.25],
    "n": [1, 12, None, 3, 5],
    "yes": [True, False, None, True, False],
    "day": [date(2020, 2, 29), None, date(1999, 1, 1), date(2020, 1, 1), date(2024, 12, 31)],
    "at": [
        datetime(2020, 1, 1, 12),
        None,
        datetime(1969, 12, 31, 23, 59, 59),
        datetime(2020, 1, 1),
        datetime(2021, 1, 1),
    ],
}


def _plans(book: Codebook = BOOK) -> list[GroupAgg]:
    rows = scan(book)
    aggregates = (
        ("units", Units()),
        ("rows", RowCount(5)),
        ("v", Total(Column("v"), Fraction(0), Fraction(100))),
        ("n", Total(Column("n"), Fraction(0), Fraction(100))),
        ("days", Units(Column("day"))),
        ("times", Units(Column("at"))),
    )
    names = ("name", "yes", "day", "at", "n")
    keys = [(KeyColumn("key", Column(name), keep_missing=True),) for name in names]
    return [GroupAgg(rows, key, Bounding(groups=9), aggregates) for key in [(), *keys]]


def _answers(engine: Any) -> list[dict[str, Any]]:
    return [as_values(engine.run(plan)) for plan in _plans()]


def _sources(folder: Path) -> dict[str, Any]:
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in GOOD.items()})
    arrow = pa.table(GOOD)
    pq.write_table(arrow, folder / "t.parquet")
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(GOOD)
        writer.writerows([["" if cell is None else cell for cell in row] for row in zip(*GOOD.values(), strict=True)])
    return {
        "columns": GOOD,
        "table by name": {"t": GOOD},
        "pandas objects": frame,
        "pandas typed": frame.astype(
            {"who": "Int64", "name": "string", "v": "float64", "n": "Int64", "yes": "boolean"}
        ),
        "pandas inferred": pd.DataFrame(GOOD),
        "polars": pl.DataFrame(GOOD),
        "polars lazy": pl.DataFrame(GOOD).lazy(),
        "arrow": arrow,
        "arrow text": pa.table({name: [None if c is None else str(c) for c in cells] for name, cells in GOOD.items()}),
        "parquet": folder / "t.parquet",
        "parquet files": [str(folder / "t.parquet")],
        "csv": str(folder / "t.csv"),
    }


def test_every_source_gives_the_same_integers(tmp_path: Path) -> None:
    wanted = _answers(ReferenceEngine({"t": GOOD}, BOOK, key=KEY))
    for name, source in _sources(tmp_path).items():
        engine = connect(source, BOOK, key=KEY)
        assert _answers(engine) == wanted, name
        engine.close()


ODD: list[Any] = [
    None, float("nan"), float("inf"), -float("inf"), -0.0, 1e308, -1e308, 5e-324, "", " ", "n/a", "NaN", "1e999", "1e99",
    " 7 ", "٣", "7\n", "x" * 100_000, "\0", "a\0b", "\ud800", "😀", b"7", bytearray(b"7"), [7], {"a": 7}, object(), 7 + 0j,
    2**63, -(2**63), 2**64, 10**40, -(10**400), True, Decimal("7.5"), Decimal("NaN"), Decimal("sNaN"), Decimal("1e400"),
    np.int8(7), np.float32(0.1), np.float16(7), np.datetime64("2020-01-01"), np.datetime64("NaT"), np.str_("7"), np.bool_(True),
    date(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), datetime(2020, 1, 1, tzinfo=UTC), pd.NaT, pd.NA,
    pd.Timestamp("2020-01-01 00:00:00.000001"), "2020-02-30", "2020-02-29T24:00", "2020-01-01T00:00Z", "0000-01-01",
]  # fmt: skip


def test_odd_cells_never_raise_and_all_engines_read_the_same() -> None:
    columns: dict[str, list[Any]] = {name: [*ODD, *GOOD[name]] for name in GOOD}
    columns["who"] = [index % 4 for index in range(len(ODD) + 5)]
    wanted = _answers(ReferenceEngine({"t": columns}, BOOK, key=KEY))
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    for source in (columns, frame):
        assert _answers(connect(source, BOOK, key=KEY)) == wanted
    columns["who"] = [*ODD, 1, 2, 3, 4, 5]
    assert _answers(connect(columns, BOOK, key=KEY)) == _answers(ReferenceEngine({"t": columns}, BOOK, key=KEY))


@pytest.mark.parametrize("odd", ODD, ids=lambda cell: case(cell, 30))
def test_one_odd_cell_changes_no_other_cell(odd: Any) -> None:
    """An odd cell of another person leaves every group it is not in as it was, and the dtype of all of them."""
    plain = {**GOOD, "v": [1.5, 2.0, 3.0, 4.0, 5.0]}
    with_odd = {
        name: [*cells, odd if name in ("v", "n", "name", "yes", "day", "at") else 77] for name, cells in plain.items()
    }
    plan = GroupAgg(
        scan(BOOK),
        (KeyColumn("who", Column("who")),),
        Bounding(groups=1),
        (("units", Units()), ("v", Total(Column("v"), Fraction(0), Fraction(100)))),
    )
    before, after = (connect(rows, BOOK, key=KEY).run(plan) for rows in (plain, with_odd))
    kept = [index for index, who in enumerate(after.keys["who"]) if who != 77]
    assert [after.keys["who"][index] for index in kept] == list(before.keys["who"])
    assert after.columns["v"][kept].tolist() == before.columns["v"].tolist()
    assert {column.dtype for result in (before, after) for column in result.columns.values()} == {np.dtype(np.int64)}


@pytest.mark.parametrize("typed", [np.int64, np.float64, np.float32, np.bool_, "datetime64[ns]", "U5", np.uint64])
def test_numpy_columns_of_any_type_are_read(typed: Any) -> None:
    columns = {name: np.zeros(3).astype(np.int64).astype(typed) for name in GOOD}
    engine = connect(columns, BOOK, key=KEY)
    assert _answers(engine) == _answers(ReferenceEngine({"t": {n: list(c) for n, c in columns.items()}}, BOOK, key=KEY))


def test_empty_data_gives_the_same_shape() -> None:
    empty: dict[str, list[Any]] = {name: [] for name in GOOD}
    for engine in (connect(empty, BOOK, key=KEY), ReferenceEngine({"t": empty}, BOOK, key=KEY)):
        without, *grouped = (engine.run(plan) for plan in _plans())
        assert without.groups == 1
        assert [column.tolist() for column in without.columns.values()] == [[0]] * 6
        assert all(result.groups == 0 for result in grouped)
        assert all(column.dtype == np.int64 for result in grouped for column in result.columns.values())


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ({"who": [1]}, "no column"),
        ({**GOOD, "v": [1]}, "different lengths"),
        ("nowhere.parquet", "there is no file"),
        (__file__, "expected .parquet"),
        (7, "got int"),
        (pd.DataFrame({"who": [1]}), "no column"),
        (pd.Series([1]), "DataFrame"),
    ],
)
def test_sources_that_do_not_fit_are_refused(source: Any, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        connect(source, BOOK, key=KEY)


def test_a_broken_file_is_refused_without_its_words(tmp_path: Path) -> None:
    (tmp_path / "secret.parquet").write_bytes(b"PAR1 Alice 42 PAR1")
    with pytest.raises(InvalidArgument) as refused:
        connect(tmp_path / "secret.parquet", BOOK, key=KEY)
    assert "Alice" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    ("cell", "type", "value"),
    [
        ("5.0", Type.INTEGER, 5), (5.5, Type.INTEGER, None), ("5.5", Type.INTEGER, None), (True, Type.INTEGER, 1),
        (2**63, Type.INTEGER, None), ("9223372036854775807", Type.INTEGER, 2**63 - 1), ("1_0", Type.INTEGER, None),
        ("yes", Type.BOOLEAN, True), ("0", Type.BOOLEAN, False), (2, Type.BOOLEAN, None),
        (7.0, Type.STRING, "7"), (7.5, Type.STRING, None), (True, Type.STRING, "true"), (" x ", Type.STRING, " x "),
        ("2020-02-29", Type.DATE, date(2020, 2, 29)), ("2019-02-29", Type.DATE, None), ("20200229", Type.DATE, None),
        ("2020-01-01 10:30", Type.DATE, date(2020, 1, 1)), (20200101, Type.DATE, None),
        ("2020-01-01T10:30:05.25Z", Type.TIMESTAMP, datetime(2020, 1, 1, 10, 30, 5, 250000)),
    ],
)  # fmt: skip
def test_how_cells_are_read(cell: Any, type: Type, value: Any) -> None:
    assert read(cell, Variable(name="x", type=type)) == value


def test_numbers_are_clamped_and_rounded_once() -> None:
    variable = Variable(name="x", type=Type.NUMBER, lower=0, upper=1, step=Fraction(1, 10))
    assert [read(cell, variable) for cell in (-5, 0.04, 0.05, 0.06, 0.95, 7)] == [
        0, 0, Fraction(1, 10), Fraction(1, 10), 1, 1,
    ]  # fmt: skip


def test_a_large_memory_limit_is_not_needed(tmp_path: Path) -> None:
    """The same integers with a few threads and little memory: the engine spills to its private folder."""
    rows = {name: cells * 2000 for name, cells in GOOD.items()}
    plan = _plans()[1]
    for memory in ("lots", "2", "-1GB"):
        with pytest.raises(InvalidArgument, match="memory is a size such as '2GB', got"):
            DuckDBEngine(rows, BOOK, key=KEY, memory=memory)
    small = DuckDBEngine(rows, BOOK, key=KEY, threads=1, memory="100MB")
    assert as_values(small.run(plan)) == as_values(DuckDBEngine(rows, BOOK, key=KEY, threads=2).run(plan))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "url",
    [
        "mysql://ann:secret@db/shop",
        "postgresql:ann:secret@db",
        " postgresql://ann:secret@db",
        "POSTGRES://ann:secret@db",
    ],
)
def test_a_url_is_no_file_and_is_not_shown(url: str) -> None:
    for source in (url, Path(url), {"t": url}, [url], {"t": "postgresql://ann:secret@db/shop"}):
        with pytest.raises(InvalidArgument, match="this URL names no file; a database is given as Dataset") as refusal:
            connect(source, BOOK, key=KEY)
        assert "secret" not in str(refusal.value)
