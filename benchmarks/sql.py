"""SQL: what compiling and pricing cost, what privacy adds to a query on each engine, and the same queries elsewhere.

TPC-H at scale 0.01 comes from `tests.tpch`; the servers are those of the tests. Engines are timed by CPU seconds of all processes
that take part; other libraries by the clock on the wall, since Qrlew's work is done by a server, and the page says how busy the machine was.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import dev
from benchmarks.peers import OURS, answer, used, version
from benchmarks.report import Report, number, ratio
from benchmarks.sql_peers import QUERIES, cell, measured, peers, rewrites
from benchmarks.tables import BOOK, THREE, made
from tests.engines.everywhere import parquet_in_postgres
from tests.servers import running_postgres, running_spark

PRICES = """
import time
import deniable as dp
from deniable.errors import QueryRefused
from tests.tpch import BOOK, files, queries
session = dp.Dataset(files(), codebook=BOOK).session(dp.budget(epsilon=10**6, delta=1e-3))
answer = {}
for number, text in queries().items():
    took = []
    for turn in range(7):
        start = time.process_time()
        try:
            session.sql("EXPLAIN DP " + text, epsilon=10**4 + max(0, turn - 3), delta=1e-6)
            kind = "answered"
        except QueryRefused as refusal:
            kind = f"refused: `{refusal.code}`"
        took.append(time.process_time() - start)
    answer[number] = [kind, took[0], min(took[1:4]), min(took[4:])]
"""

SHARE = """
import tempfile, time
import deniable as dp
data = dp.Dataset({path!r}, codebook=dp.Codebook.from_yaml({book!r}))
session = data.session(dp.budget(epsilon=10**6, delta=1e-3), ledger=tempfile.mkdtemp() + "/bench.ledger")
spent, run = [], type(session._engine).run
def timed(self, plan):
    start = time.process_time(); found = run(self, plan); spent.append(time.process_time() - start)
    return found
type(session._engine).run = timed
query = session.query().group_by("grp").agg({aggregates})
totals = []
for turn in range(3):
    start = time.process_time(); release = query.release(epsilon=50 + turn, delta=1e-6); totals.append(time.process_time() - start)
best = min(range(3), key=totals.__getitem__)
answer = {{"total": totals[best], "engine": spent[best], "groups": len(release.groups)}}
"""

QUESTION = "SELECT grp, SUM(v) AS s, COUNT(*) AS n FROM bench GROUP BY grp"


def least(run: Callable[[], object], clock: Callable[[], float], calls: int = 1) -> float:
    """Seconds of one call, by this clock, in the quickest of three turns of so many calls."""
    took = []
    for _ in range(3):
        start = clock()
        for _ in range(calls):
            run()
        took.append((clock() - start) / calls)
    return min(took)


def with_server(main_process: int) -> float:
    """CPU seconds so far of this process and of a server: its main process, those it started and those of them that ended."""
    ticks = 0
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            words = place.read_text().rsplit(")", 1)[1].split()
            if main_process in (int(place.parent.name), int(words[1])):
                ticks += sum(map(int, words[11:15]))
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def private(source: Any, **options: Any) -> Callable[[], object]:
    """Our answer to the question, at a new price every time: the same price would be the stored answer."""
    import deniable as dp

    book = dp.Codebook.from_yaml(BOOK.format(kind="integer", unique="", bounds=""))
    session = dp.Dataset(source, codebook=book, **options).session(dp.budget(epsilon=10**6, delta=1e-3))
    prices = iter(range(1, 1000))
    return lambda: session.sql(QUESTION, epsilon=1 + next(prices) / 1000, delta=1e-6)


def overheads(stack: ExitStack, path: str) -> list[tuple[str, float, float]]:
    """Engine, the plain query, ours: each over the same 10⁶ rows."""
    import duckdb
    import psycopg

    database = duckdb.connect()
    plain = QUESTION.replace("bench", f"'{path}'")
    cpu = time.process_time
    found = [("DuckDB", least(lambda: database.execute(plain).fetchall(), cpu), least(private(path), cpu))]
    dev.say("PostgreSQL")
    server = stack.enter_context(running_postgres())
    place = parquet_in_postgres(server, {"bench": path})["bench"]
    postmaster = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])

    def both() -> float:
        return with_server(postmaster)

    with psycopg.connect(server.url()) as connection:
        ask = QUESTION.replace("bench", place)
        bare = least(lambda: connection.execute(ask).fetchall(), both, 10)  # type: ignore[arg-type]
    found.append(("PostgreSQL", bare, least(private(server.url(), tables=[place]), both, 2)))
    dev.say("Spark")
    spark = stack.enter_context(running_spark())
    frame = spark.read.parquet(path)
    frame.createOrReplaceTempView("bench")
    found.append(("Spark", least(lambda: spark.sql(QUESTION).collect(), used, 5), least(private(frame), used, 2)))
    return found


def main() -> None:
    """Measure and write the page."""
    warnings.simplefilter("ignore")
    busy = os.getloadavg()[0]
    versions = {name: version(OURS, name) for name in ("deniable", "sqlglot", "duckdb", "pyspark")}
    smartnoise, qrlew = peers()
    versions |= {"smartnoise-sql": version(smartnoise, "smartnoise-sql"), "pyqrlew": version(qrlew, "pyqrlew")}
    report = Report("sql", title="SQL and engines", versions=versions, how="each table says which clock it was")
    _prices(report)
    with ExitStack() as stack:
        dev.say("overhead by engine")
        small = made(10**6, 10**5, 100)
        rows = [(e, number(p, " s"), number(o, " s"), ratio(o, p)) for e, p, o in overheads(stack, small)]
        report.note(
            f"`{QUESTION}` over 10⁶ rows of 10⁵ units in 100 groups, from the call to the released table; contributions are "
            "bounded to 5 groups and 2 rows a group. CPU seconds of one call, the server's processes included, in the quickest of three turns; Spark has two "
            "executors of one core each."
        )
        report.table(["engine", "plain query", "deniable", "ratio"], rows)
        _share(report)
        dev.say("SmartNoise SQL and Qrlew")
        server = stack.enter_context(running_postgres())
        _beside(report, server.url())
    before, after = busy, os.getloadavg()[0]
    report.note(f"Load average before and after, on {os.cpu_count()} cores: {before:.1f} and {after:.1f}.")
    report.write()


def _prices(report: Report) -> None:
    dev.say("compile and price")
    found = answer(OURS, PRICES) or {}
    slowest = max((entry[3] for entry in found.values()), default=None)
    report.note(
        "Compile and price each of the 22 TPC-H queries (`EXPLAIN DP`, nothing is read): CPU milliseconds of the first call, then "
        "the least of three at the same price and of three at prices never asked before; "
        f"the slowest takes {number(slowest * 1000 if slowest else None, ' ms')}, the aim is 25 ms."
    )
    lines = [(each, kind, *(number(time * 1000) for time in times)) for each, (kind, *times) in found.items()]
    report.table(["query", "outcome", "first, ms", "same price, ms", "new price, ms"], lines)


def _share(report: Report) -> None:
    dev.say("noise at 100,000 groups")
    book = BOOK.format(kind="integer", unique="", bounds="")
    found = answer(OURS, SHARE.format(path=made(10**7, 10**6, 10**5), book=book, aggregates=THREE))
    if found:
        beside = found["total"] - found["engine"]
        report.note(
            f"Sum, count and units of 10⁷ rows in 10⁵ groups, {found['groups']:,} shown (epsilon 50): {number(found['total'], ' s')} of CPU, of which noise, threshold, "
            f"post-processing, release and ledger {number(beside, ' s')}, {100 * beside / found['total']:.1f} %; the aim was 5 %."
        )


def _beside(report: Report, url: str) -> None:
    found = measured(url)
    systems = ("deniable", "SmartNoise SQL", "Qrlew")
    report.note(
        "The same queries elsewhere: 11,000 rows, 2,000 people with one to ten rows each, all in one of three declared groups. Wall "
        "milliseconds of one answer, the least of twelve; mean relative error of twelve answers at epsilon 1 (delta 10⁻⁶) for the whole query; **wrong** where the answer "
        "at epsilon 10⁴ differs from the truth by more than a thousandth. SmartNoise's epsilon is per column: it is divided so "
        "that the cost it reports is 1. In the events Qrlew reports, each Gaussian mechanism has the noise of the whole epsilon and "
        "delta: where a query has two or three (averages, variance), they compose to more than was asked; that is left as it is. "
        f"Qrlew runs in PostgreSQL, the others in this process. Queries are asked as they stand, except: {rewrites()}."
    )
    lines = [(name, *(cell(found[s].get(name), found["truth"][name]) for s in systems)) for name in QUERIES]
    report.table(["query", *systems], lines)


if __name__ == "__main__":
    main()
