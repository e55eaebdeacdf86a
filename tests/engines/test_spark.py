"""Spark on a cluster of two executors: the reference engine's integers exactly, ANSI rules required, cells never shown.

One session for all, and few plans: every statement costs a second or so.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deniable as dp
from deniable.engines import connect
from deniable.engines.reference import ReferenceEngine
from deniable.engines.spark import SparkEngine
from deniable.errors import EngineFailed, InvalidArgument
from deniable.plan.codebook import Codebook
from deniable.plan.nodes import Bounding, GroupAgg, KeyColumn, Rows, Total, Units, scan
from deniable.plan.parse import parse
from tests.engines.random_plans import KEY, UNITS, as_values, codebook, plans, tables
from tests.engines.stored import Kinds, kinds, stored
from tests.engines.stored import Rows as Stored
from tests.servers import SPARK

pytestmark = SPARK
_LOOSE = [*HealthCheck]
_TYPES = {"text": "string", "numeric": "decimal(38,4)", "zoned": "timestamp", "timestamp": "timestamp_ntz"}


def frames(spark: Any, rows: Stored, chosen: Kinds) -> dict[str, Any]:
    """The rows as Spark DataFrames of the chosen types."""
    made = {}
    for table, columns in rows.items():
        schema = ", ".join(f"`{name}` {_TYPES.get(kind, kind)}" for name, kind in chosen[table].items())
        cells = [tuple(row) for row in zip(*(columns[name] for name in chosen[table]), strict=True)]
        made[table] = spark.createDataFrame(cells, schema)
    return made


def _book(*variables: str) -> Codebook:
    return Codebook.from_yaml("unit: rows\ntable: t\nvariables:\n" + "".join(f"  {each}\n" for each in variables))


def _total(book: Codebook, name: str) -> GroupAgg:
    known = book.tables[0].schema
    of = parse(name, schema=known)
    total = Total(of, *(end * known[name].step for end in known[name].ends))
    return GroupAgg(scan(book), (), Bounding(groups=1), (("rows", Rows(1)), ("with", Rows(1, of)), ("sum", total)))


def test_there_are_two_executors_besides_the_driver(spark: Any):
    """Two processes of their own do the work; a task on each says who ran it."""
    spark.range(0, 1000, numPartitions=8).selectExpr("sum(id)").collect()
    assert spark.sparkContext.master.startswith("local-cluster[2")
    assert spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() == 3


@pytest.mark.parametrize("most", [2, 99])
@pytest.mark.parametrize("caps", [{}, {"rows_per_group": 3}, {"rows_per_unit": 5, "rows_per_group": 3}])
def test_a_units_rows_are_brought_together_once(spark: Any, caps: dict[str, int], most: int):
    """However rows and groups are bounded, one shuffle by unit is asked for, before anything is ranked."""
    book = Codebook.from_yaml("unit: {id: who}\ntable: t\nvariables: {who: integer, k: integer}")
    key = KeyColumn("k", parse("k", schema=book.tables[0].schema))
    plan = GroupAgg(scan(book), (key,), Bounding(groups=2, **caps), (("units", Units()), ("rows", Rows(most))))
    engine = SparkEngine(spark.createDataFrame([(1, 2)], "who bigint, k bigint"), book, key=KEY)
    (text,) = engine.statements(plan)
    assert text.count("DISTRIBUTE BY `__deniable_unit_0`") == 1
    assert text.count(" OVER (") == 1 + 2 * len(
        caps
    )  # of rows that look alike their number among equals, then their rank


@pytest.mark.parametrize("kind", list(UNITS))
@settings(max_examples=2, suppress_health_check=_LOOSE)
@given(data=st.data())
def test_random_plans_agree_with_the_reference(spark: Any, kind: str, data: st.DataObject) -> None:
    book = codebook(kind)
    chosen = data.draw(kinds(book))
    rows = stored(data.draw(tables(kind)), chosen)
    engine, reference = SparkEngine(frames(spark, rows, chosen), book, key=KEY), ReferenceEngine(rows, book, key=KEY)
    for _ in range(2):
        plan = data.draw(plans(book))
        assert as_values(engine.run(plan)) == as_values(reference.run(plan))
    engine.close()


def test_odd_cells_of_a_real_table_are_read_as_the_reference_reads_them(spark: Any):
    """Under ANSI rules casting each of these would raise, and an error is an oracle; one statement reads them all."""
    nan, inf = float("nan"), float("inf")
    rows = {
        "t": {
            "a": [5e-324, nan, inf, -inf, -0.0, 2.5, 1e300],
            "b": ["9" * 30, "5\n", " 7 ", "+3", "1e2", "2.0", None],
            "c": ["1e99", "1e-99", "inf", ".5", "5.", "0x1", "1d"],
            "d": [9.3e18, -9.3e18, 2.0, 2.5, nan, inf, None],
        }
    }
    book = _book(
        "a: {type: number, bounds: [-50, 50], step: 5}", "b: {type: integer, bounds: [-50, 50]}",
        "c: {type: number, bounds: [-50, 50], step: 0.25}", "d: {type: integer, bounds: [-50, 50]}",
    )  # fmt: skip
    known = book.tables[0].schema
    aggregates: list[Any] = []
    for name in "abcd":
        of = parse(name, schema=known)
        ends = (end * known[name].step for end in known[name].ends)
        aggregates += [(f"with {name}", Rows(1, of)), (f"sum {name}", Total(of, *ends))]
    plan = GroupAgg(scan(book), (), Bounding(groups=1), tuple(aggregates))
    chosen = {"t": {"a": "double", "b": "text", "c": "text", "d": "double"}}
    engine = SparkEngine(frames(spark, rows, chosen), book, key=KEY)
    assert as_values(engine.run(plan)) == as_values(ReferenceEngine(rows, book, key=KEY).run(plan))


@pytest.mark.parametrize(
    ("name", "bad", "good"),
    [("spark.sql.ansi.enabled", "false", "true"), ("spark.sql.session.timeZone", "Europe/Vienna", "UTC")],
)
def test_a_session_with_other_rules_is_refused_when_opened_and_when_asked(spark: Any, name: str, bad: str, good: str):
    book = _book("x: {type: integer, bounds: [0, 9]}")
    frame = spark.createDataFrame([(1,)], "x bigint")
    engine = connect(frame, book, key=KEY)
    spark.conf.set(name, bad)
    try:
        with pytest.raises(InvalidArgument, match=f"{name} must be {good}, got {bad}"):
            connect(frame, book, key=KEY)
        with pytest.raises(InvalidArgument, match=f"{name} must be {good}, got {bad}"):
            engine.run(_total(book, "x"))
    finally:
        spark.conf.set(name, good)
    assert engine.run(_total(book, "x")).columns["sum"].tolist() == [1]


def test_a_failure_has_one_constant_text(spark: Any):
    book = _book("x: {type: integer, bounds: [0, 9]}")
    engine = SparkEngine(spark.createDataFrame([(1,)], "x bigint"), book, key=KEY)
    assert engine._fetch_all(["SELECT CAST('secret cell' AS INT)"]) is None
    engine._views = {}
    with pytest.raises(EngineFailed) as failed:
        engine.run(_total(book, "x"))
    assert str(failed.value) == str(EngineFailed())
    assert failed.value.__context__ is None


def test_what_deniable_does_not_read_is_refused_from_the_schema(spark: Any):
    frame = spark.createDataFrame([([1],)], "x array<int>")
    with pytest.raises(InvalidArgument, match=r"column 'x' has type array<int>, which deniable does not read"):
        SparkEngine(frame, _book("x: string"), key=KEY)
    with pytest.raises(InvalidArgument, match="no single column 'y'"):
        SparkEngine(frame, _book("y: string"), key=KEY)
    with pytest.raises(InvalidArgument, match="Spark has no table 'nowhere'"):
        SparkEngine(spark, _book("y: string"), key=KEY, tables=["nowhere"])


def test_from_a_session_to_a_charged_answer(spark: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    rows = [(i % 50, float(i % 40)) for i in range(500)]
    spark.createDataFrame(rows, "customer bigint, amount double").createOrReplaceTempView("shop_orders")
    book = {
        "unit": {"id": "customer", "groups": 1, "rows_per_group": 10},
        "table": "orders",
        "variables": {"customer": "integer", "amount": {"type": "number", "bounds": [0, 100], "step": 0.01}},
    }
    shop = dp.Dataset(spark, tables={"orders": "shop_orders"}, codebook=book)
    session = shop.session(dp.budget(epsilon=1), ledger=tmp_path / "shop.ledger")
    release = session.sql("SELECT COUNT(*) AS n FROM orders", epsilon=0.5)
    assert abs(release.table[0]["n"] - 500) < 2000
    assert session.spent.loss * 2 == 1


def test_a_statement_over_its_time_limit_is_cancelled(spark: Any, monkeypatch: pytest.MonkeyPatch):
    book = _book("x: {type: integer, bounds: [0, 9]}")
    engine = connect(spark.createDataFrame([(1,)], "x bigint"), book, key=KEY, time_limit=1)
    endless = "SELECT COUNT(*) AS cell_0 FROM RANGE(0, 1000000000000000, 1, 4) WHERE HASH(id) = 5"
    with monkeypatch.context() as patch:
        patch.setattr(engine, "_text", lambda _: endless)
        with pytest.raises(EngineFailed):
            engine.run(_total(book, "x"))
    assert as_values(engine.run(_total(book, "x")))["sum"] == [1]
