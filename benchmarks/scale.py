"""Growth with the number of rows, on one machine: what a release costs in DuckDB and in Spark, and what Spark sends around.

One person has ten rows on average, a thousand groups, five groups a person. `docs/scale.md` reckons from these numbers.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import dev
from benchmarks.peers import OURS, answer, version
from benchmarks.report import Report, number
from benchmarks.tables import BOOK, made
from tests.servers import running_spark

GROUPS = 1000
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


def in_duckdb(rows: int) -> tuple[float, float] | None:
    """CPU seconds of a release, and peak memory."""
    book = BOOK.format(kind="integer", unique="", bounds="")
    found = answer(OURS, OURS_CODE.format(path=made(rows, rows // 10, GROUPS), book=book))
    return None if found is None else (found[0], found[1])


def in_spark(spark: Any, rows: int) -> tuple[float, int, int]:
    """Wall seconds of a release, and the bytes and records its shuffles wrote."""
    import deniable as dp

    frame = spark.read.parquet(made(rows, rows // 10, GROUPS))
    book = dp.Codebook.from_yaml(BOOK.format(kind="integer", unique="", bounds=""))
    session = dp.Dataset(frame, codebook=book).session(dp.budget(epsilon=10**6, delta=1e-3))
    query = session.query().group_by("grp").agg(s=dp.sum("v"), n=dp.count())
    before, start = _shuffled(spark), time.perf_counter()
    query.release(epsilon=1, delta=1e-6)
    return time.perf_counter() - start, _shuffled(spark) - before, rows


def _shuffled(spark: Any) -> int:
    executors = spark.sparkContext._jsc.sc().statusStore().executorList(True)
    return sum(executors.apply(i).totalShuffleWrite() for i in range(executors.size()))


def main() -> None:
    """Measure and write the page."""
    warnings.simplefilter("ignore")
    versions = {name: version(OURS, name) for name in ("deniable", "duckdb", "pyspark")}
    report = Report("scale", title="Growth", versions=versions)
    report.note(
        f"Sum and count by one of {GROUPS} groups, ten rows a person on average, at most 5 groups and 2 rows a group, from the call "
        "to the release. DuckDB: CPU seconds, the better of two. Spark: wall seconds, once, on two executors of one core and "
        "1 GB each, and the bytes their shuffles wrote."
    )
    local = {}
    for rows in (10**6, 3 * 10**6, 10**7, 3 * 10**7):
        dev.say(f"DuckDB, {rows:,} rows")
        local[rows] = in_duckdb(rows)
        dev.say(f"{local[rows]}")
    cluster = {}
    with running_spark() as spark:
        in_spark(spark, 10**6)  # the first plan pays for the compilers
        for rows in (10**6, 3 * 10**6, 10**7):
            dev.say(f"Spark, {rows:,} rows")
            cluster[rows] = in_spark(spark, rows)
            dev.say(f"{cluster[rows]}")
    lines = []
    for rows, found in local.items():
        far = cluster.get(rows)
        lines.append(
            (
                f"{rows:,}",
                number(found[0] if found else None, " s"),
                number(found[0] / rows * 1e6 if found else None, " µs"),
                number(found[1] / 1e9 if found else None, " GB"),
                number(far[0] if far else None, " s"),
                number(far[1] / 1e6 if far else None, " MB"),
                number(far[1] / rows if far else None),
            )
        )
    heads = ["rows", "DuckDB", "a row", "peak memory", "Spark", "shuffled", "bytes a row"]
    report.table(heads, lines)
    report.write()


if __name__ == "__main__":
    main()
