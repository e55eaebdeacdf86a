"""Growth with the number of rows, on one machine: what a release costs in DuckDB and in Spark, and what Spark sends around.

One person has ten rows on average, a thousand groups, five groups a person. `docs/scale.md` reckons from these numbers. The page
is written again after every reading, so a run that stops loses nothing.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import dev
from benchmarks.peers import OURS, answer, used, version
from benchmarks.report import Report, number, ratio
from benchmarks.tables import BOOK, made
from tests.servers import running_spark

GROUPS = 1000
LOCAL = (10**6, 3 * 10**6, 10**7, 3 * 10**7)
CLUSTER = (10**5, 3 * 10**5, 10**6, 3 * 10**6, 10**7)
JVM = "-XX:+UseSerialGC"
"""The tests' Spark compiles no further than it must, to start quickly; here it compiles as it does by default."""

OURS_CODE = """
import resource, tempfile, time
import deniable as dp
data = dp.Dataset({path!r}, codebook=dp.Codebook.from_yaml({book!r}))
session = data.session(dp.budget(epsilon=10**6, delta=1e-3), ledger=tempfile.mkdtemp() + "/bench.ledger")
query = session.query().group_by("grp").agg(s=dp.sum("v"), n=dp.count())
took = []
for turn in range(2):
    start = time.process_time(); query.release(epsilon=1 + turn / 1000, delta=1e-6); took.append(time.process_time() - start)
answer = [min(took), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]
"""


@dataclass(frozen=True, slots=True)
class Turn:
    """CPU seconds of the process tree, seconds on the clock, and bytes the shuffles wrote."""

    cpu: float
    wall: float
    shuffled: int


def in_duckdb(rows: int) -> tuple[float, float] | None:
    """CPU seconds of a release, and peak memory."""
    book = BOOK.format(kind="integer", unique="", bounds="")
    found = answer(OURS, OURS_CODE.format(path=made(rows, rows // 10, GROUPS), book=book))
    return None if found is None else (found[0], found[1])


def in_spark(spark: Any, rows: int, *, turns: int = 2) -> tuple[Turn, Turn, Turn]:
    """The plain query, the plain query by person and group first, and a release: of each the turn with the least CPU."""
    import deniable as dp

    frame = spark.read.parquet(made(rows, rows // 10, GROUPS))
    book = dp.Codebook.from_yaml(BOOK.format(kind="integer", unique="", bounds=""))
    session = dp.Dataset(frame, codebook=book).session(dp.budget(epsilon=10**6, delta=1e-3))
    query = session.query().group_by("grp").agg(s=dp.sum("v"), n=dp.count())
    frame.createOrReplaceTempView("bench")
    plain = "SELECT grp, SUM(v) AS s, COUNT(*) AS n FROM bench GROUP BY grp"
    people = "SELECT grp, SUM(s) AS s, SUM(n) AS n FROM (SELECT user, grp, SUM(v) AS s, COUNT(*) AS n FROM bench GROUP BY user, grp) GROUP BY grp"
    prices = count(1)
    calls: list[Callable[[], Any]] = [
        lambda: spark.sql(plain).collect(),
        lambda: spark.sql(people).collect(),
        lambda: query.release(epsilon=1 + next(prices) / 1000, delta=1e-6),
    ]
    one, two, three = (min((_turn(spark, call) for _ in range(turns)), key=lambda turn: turn.cpu) for call in calls)
    return one, two, three


def _turn(spark: Any, call: Callable[[], Any]) -> Turn:
    before, cpu, start = _shuffled(spark), used(), time.perf_counter()
    call()
    wall, cpu = time.perf_counter() - start, used() - cpu
    time.sleep(0.5)  # the executors' own sums arrive a moment later
    return Turn(cpu, wall, _shuffled(spark) - before)


def _shuffled(spark: Any) -> int:
    executors = spark.sparkContext._jsc.sc().statusStore().executorList(True)
    return sum(executors.apply(i).totalShuffleWrite() for i in range(executors.size()))


def page(versions: dict[str, str], local: dict[int, Any], cluster: dict[int, tuple[Turn, Turn, Turn]]) -> None:
    """Write what is measured so far."""
    report = Report("scale", title="Growth", versions=versions)
    report.note(
        f"Sum and count by one of {GROUPS:,} groups, ten rows a person on average, at most 5 groups and 2 rows a group, from the call "
        "to the release. "
        "Everything on this page is measured; what is reckoned from it stands on [its own page](../scale.md)."
    )
    if cluster:
        report.note(
            "Spark, two executors of one core and 1 GB each, otherwise as it comes. CPU seconds of client, driver and both executors, "
            "the better of two (the largest: once) after a warm-up. *By person* is plain SQL too, "
            "but added up by person and group first, as whatever bounds a person has to. *Shuffled* is what the release's shuffles wrote, compressed."
        )
        heads = [
            "rows",
            "plain",
            "by person",
            "release",
            "to plain",
            "to by person",
            "release, clock",
            "shuffled",
            "a row",
        ]
        report.table(heads, [_far(rows, *found) for rows, found in cluster.items()])
    if local:
        report.note("DuckDB: CPU seconds of a release, the better of two.")
        report.table(["rows", "DuckDB", "a row", "peak memory"], [_near(rows, found) for rows, found in local.items()])
    report.write()


def _far(rows: int, plain: Turn, people: Turn, ours: Turn) -> list[str]:
    times = [number(turn.cpu, " s") for turn in (plain, people, ours)]
    ratios = [ratio(ours.cpu, plain.cpu), ratio(ours.cpu, people.cpu)]
    sent = [number(ours.shuffled / 1e6, " MB"), number(ours.shuffled / rows, " B")]
    return [f"{rows:,}", *times, *ratios, number(ours.wall, " s"), *sent]


def _near(rows: int, found: tuple[float, float] | None) -> list[str]:
    each = (found[0], found[0] / rows * 1e6, found[1] / 1e9) if found else (None, None, None)
    return [f"{rows:,}", *(number(value, unit) for value, unit in zip(each, (" s", " µs", " GB"), strict=True))]


def main() -> None:
    """Measure and write the page."""
    warnings.simplefilter("ignore")
    versions = {name: version(OURS, name) for name in ("deniable", "duckdb", "pyspark")}
    local: dict[int, Any] = {}
    cluster: dict[int, tuple[Turn, Turn, Turn]] = {}
    with running_spark(
        spark_driver_extraJavaOptions=JVM, spark_executor_extraJavaOptions=JVM, spark_sql_shuffle_partitions="200"
    ) as spark:
        in_spark(spark, 10**6)  # the first plans pay for the compilers
        for rows in CLUSTER:
            dev.say(f"Spark, {rows:,} rows")
            cluster[rows] = in_spark(spark, rows, turns=1 if rows == CLUSTER[-1] else 2)
            page(versions, local, cluster)
    for rows in LOCAL:
        dev.say(f"DuckDB, {rows:,} rows")
        local[rows] = in_duckdb(rows)
        page(versions, local, cluster)


if __name__ == "__main__":
    main()
