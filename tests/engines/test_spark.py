"""Spark on a standalone cluster: the reference engine's integers exactly, ANSI rules required, cells never shown.

One session for all, and few plans: every statement costs a second or so.
"""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deniable as dp
from deniable.engines import connect, sql_engine
from deniable.engines import spark as spark_module
from deniable.engines.reference import ReferenceEngine
from deniable.engines.spark import SparkEngine
from deniable.errors import EngineFailed, InvalidArgument
from deniable.plan.codebook import Codebook
from deniable.plan.nodes import Bounding, Distinct, GroupAgg, Histogram, KeyColumn, RowCount, Total, Units, scan
from deniable.plan.translate import parse
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
    return GroupAgg(
        scan(book), (), Bounding(groups=1), (("rows", RowCount(1)), ("with", RowCount(1, of)), ("sum", total))
    )


def test_the_cluster_has_a_master_and_two_workers_of_their_own(spark: Any):
    """Nothing is computed in this process: the master is another one, and each worker runs one executor besides the driver."""
    spark.range(0, 1000, numPartitions=8).selectExpr("sum(id)").collect()
    assert spark.sparkContext.master.startswith("spark://127.0.0.1:")
    assert spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() == 3


@pytest.mark.parametrize("most", [2, 99])
@pytest.mark.parametrize("caps", [{}, {"rows_per_group": 3}, {"rows_per_unit": 5, "rows_per_group": 3}])
def test_a_units_rows_are_brought_together_once(spark: Any, caps: dict[str, int], most: int):
    """However rows and groups are bounded, one shuffle by unit is asked for, before anything is ranked."""
    book = Codebook.from_yaml("unit: {id: who}\ntable: t\nvariables: {who: integer, k: integer}")
    key = KeyColumn("k", parse("k", schema=book.tables[0].schema))
    plan = GroupAgg(scan(book), (key,), Bounding(groups=2, **caps), (("units", Units()), ("rows", RowCount(most))))
    engine = SparkEngine(spark.createDataFrame([(1, 2)], "who bigint, k bigint"), book, key=KEY)
    (text,) = engine.statements(plan)
    assert text.count("DISTRIBUTE BY `__deniable_unit_0`") == 1
    assert text.count(" OVER (") == 1 + 2 * len(
        caps
    )  # of rows that look alike their number among equals, then their rank


def test_medians_histograms_and_distinct_counts_are_one_statement_over_rows_read_once(
    spark: Any, monkeypatch: pytest.MonkeyPatch
):
    book = Codebook.from_yaml(
        "unit: {id: who}\ntable: t\nvariables:\n  who: integer\n  k: {type: integer, bounds: [0, 2]}\n"
        "  x: {type: integer, bounds: [0, 9]}\n  y: {type: integer, bounds: [0, 9]}\n  day: date\n"
    )
    known = book.tables[0].schema
    rows = {
        "t": {
            "who": [i // 7 for i in range(60)],
            "k": [i * i % 4 for i in range(60)],
            "x": [i % 11 for i in range(60)],
            "y": [None if i % 5 == 0 else i * 3 % 10 for i in range(60)],
            "day": [date(2024, 1, 1 + i % 9) for i in range(60)],
        }
    }
    x, y, day = (parse(name, schema=known) for name in ("x", "y", "day"))
    aggregates = (
        ("rows", RowCount(2)), ("units", Units()), ("of x", Histogram(x, 10, 2)), ("of y", Histogram(y, 10, 2)),
        ("days", Distinct(day, 2)), ("values", Distinct(y, 3)), ("sum", Total(x, *(Fraction(end) for end in (0, 18)))),
    )  # fmt: skip
    key = KeyColumn("k", parse("k", schema=known), (0, 1, 2))
    plan = GroupAgg(scan(book), (key,), Bounding(groups=1), aggregates)
    levels = replace(plan, levels=(("k",), ()))
    made = frames(spark, rows, {"t": {"who": "bigint", "k": "bigint", "x": "bigint", "y": "bigint", "day": "date"}})
    engine, asked = SparkEngine(made, book, key=KEY), list[list[str]]()
    collected = spark_module._collected

    def watched(parts: Any) -> Any:
        asked.append([frame._jdf.queryExecution().withCachedData().toString() for frame in parts])
        return collected(parts)

    monkeypatch.setattr(spark_module, "_collected", watched)
    for each in (plan, levels):
        assert as_values(engine.run(each)) == as_values(ReferenceEngine(rows, book, key=KEY).run(each))
        (parts,) = asked
        assert len(parts) == 5
        assert all("InMemoryRelation" in part for part in parts)
        asked.clear()
    assert spark._jsparkSession.sharedState().cacheManager().isEmpty()
    assert not [table.name for table in spark.catalog.listTables() if table.name.endswith("bounded")]


def test_threads_share_one_engine(spark: Any, monkeypatch: pytest.MonkeyPatch):
    """One plan is done with its statement while another, which keeps bounded rows, is about to run its own: it finds them."""
    book = Codebook.from_yaml(
        "unit: {id: who}\ntable: t\nvariables: {who: integer, x: {type: integer, bounds: [0, 9]}}\n"
    )
    rows = {"t": {"who": [1, 1, 2], "x": [3, 4, 5]}}
    of = parse("x", schema=book.tables[0].schema)
    plan = GroupAgg(scan(book), (), Bounding(groups=1), (("of x", Histogram(of, 10, 2)), ("values", Distinct(of, 2))))
    engine = SparkEngine(frames(spark, rows, {"t": {"who": "bigint", "x": "bigint"}}), book, key=KEY)
    inside, done, found = threading.Event(), threading.Event(), []
    result, written = sql_engine.fetched_result, SparkEngine._statements

    def last(*args: Any) -> Any:
        if threading.current_thread() is first:
            assert inside.wait(60)
        return result(*args)

    def statements(*args: Any) -> Any:
        if threading.current_thread() is second:
            inside.set()
            assert done.wait(60)
        return written(*args)

    monkeypatch.setattr(sql_engine, "fetched_result", last)
    monkeypatch.setattr(SparkEngine, "_statements", statements)
    first, second = (threading.Thread(target=lambda: found.append(as_values(engine.run(plan)))) for _ in range(2))
    first.start()
    while not engine._lock.locked() and first.is_alive():
        time.sleep(0.01)
    second.start()
    first.join()
    done.set()
    second.join()
    assert found == [as_values(ReferenceEngine(rows, book, key=KEY).run(plan))] * 2


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
        aggregates += [(f"with {name}", RowCount(1, of)), (f"sum {name}", Total(of, *ends))]
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
    monkeypatch.setattr(engine, "_seconds", 3600.0)  # what is asked next must run, also where a second is short
    assert as_values(engine.run(_total(book, "x")))["sum"] == [1]
