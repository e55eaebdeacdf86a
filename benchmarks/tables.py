"""Private tables: what bounding, noise and the ledger cost beside the plain query, and beside other libraries.

The data is made up by a fixed formula, written into the system's temporary folder and deleted at the end. All times are CPU
seconds of the whole process tree, from the public call to the released table. `--rows 1000000` is a try on smaller tables.
Every reading is noted as soon as it is there: a run that stops goes on where it was, `--only spark` takes those readings alone,
and `--page` writes the page from what is noted.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import dev
from benchmarks.peers import OURS, Reading, answer, cpu, peer, version
from benchmarks.report import Report, number
from benchmarks.table_errors import errors_page, measured

FOLDER = Path(tempfile.gettempdir()) / "deniable-bench"
PAGE = "--page" in sys.argv
ONLY = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""

MAKE = """
import duckdb, pathlib
duckdb.sql("SET enable_progress_bar=false; SET memory_limit='4GB'; SET preserve_insertion_order=false")
path = pathlib.Path({path!r})
path.parent.mkdir(parents=True, exist_ok=True)
who = "'u' || lpad(u::varchar, 9, '0')" if {text} else "u"
duckdb.sql(f'''COPY (SELECT {{who}} AS "user", g AS grp, v FROM (SELECT
    {who} AS u, (hash(i * 7 + 1) % {groups})::bigint AS g, (hash(i * 11 + 5) % 12000) / 100.0 AS v
    FROM range({rows}) t(i))) TO '{{path}}' (FORMAT parquet)''')
answer = True
"""

BOOK = """
format: 1
name: bench
unit: {{id: user, groups: 5, rows_per_group: 2{unique}}}
tables:
  bench:
    variables:
      user: {{type: {kind}}}
      grp: {{type: integer{bounds}}}
      v: {{type: number, bounds: [0, 100], step: 0.0009765625, missing: {{impute: 0}}}}
"""

OURS_SETUP = """
import itertools, tempfile, os
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()
import deniable as dp
data = dp.Dataset({path!r}, codebook=dp.Codebook.from_yaml({book!r}))
session = data.session(dp.budget(epsilon=10**6, delta=1e-3), ledger=tempfile.mkdtemp() + "/bench.ledger")
query = session.query().group_by("grp").agg({aggregates})
prices = itertools.count(1)
"""
LIMITED = """
from deniable.engines.duckdb import DuckDBEngine
from deniable.noise import system_entropy
book = dp.Codebook.from_yaml({book!r})
data = dp.Dataset(DuckDBEngine({path!r}, book, key=system_entropy().bits(256), memory={memory!r}), codebook=book)
session = data.session(dp.budget(epsilon=10**6, delta=1e-3))
query = session.query().group_by("grp").agg({aggregates})
"""
WARM = {"rounds": 3, "most": 1}
"""For us and for every peer: one call to warm up, then the least of three."""
OURS_CALL = "query.release(epsilon=1 + next(prices) / 1000, delta=1e-6)"
THREE = 's=dp.sum("v"), n=dp.count(), units=dp.count_distinct()'
FOUR = THREE + ', m=dp.mean("v")'
MEDIAN = FOUR + ', q=dp.median("v")'
TWO = 's=dp.sum("v"), n=dp.count()'

PLAIN_SETUP = "import duckdb\ncon = duckdb.connect()\ncon.execute('SET enable_progress_bar=false')"
PLAIN_CALL = "con.execute(\"SELECT grp, {columns} FROM '{path}' GROUP BY grp\").fetchnumpy()"
PLAIN_TWO = "SUM(least(greatest(v, 0), 100)), COUNT(*)"
PLAIN_THREE = PLAIN_TWO + ', COUNT(DISTINCT \\"user\\")'
PLAIN_FOUR = PLAIN_THREE + ", AVG(least(greatest(v, 0), 100))"
PLAIN_MEDIAN = PLAIN_FOUR + ", MEDIAN(least(greatest(v, 0), 100))"
PLAIN_BARE = "SUM(v), COUNT(*)"

PIPELINE_SETUP = """
import pandas, pipeline_dp
frame = pandas.read_parquet({path!r})
rows = list(frame.itertuples(index=False, name=None))
"""
PIPELINE_CALL = """
accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-6)
engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
M = pipeline_dp.Metrics
params = pipeline_dp.AggregateParams(noise_kind=pipeline_dp.NoiseKind.LAPLACE, metrics=[M.SUM, M.COUNT, M.PRIVACY_ID_COUNT], max_partitions_contributed=5, max_contributions_per_partition=2, min_value=0, max_value=100)
extract = pipeline_dp.DataExtractors(privacy_id_extractor=lambda r: r[0], partition_extractor=lambda r: r[1], value_extractor=lambda r: r[2])
result = engine.aggregate(rows, params, extract)
accountant.compute_budgets()
list(result)
"""
OPENDP_SETUP = """
import warnings
warnings.simplefilter("ignore")
import opendp.prelude as dp, polars as pl
dp.enable_features("contrib")
"""
OPENDP_CALL = """
lazy = pl.read_parquet({path!r}).lazy()
margin = dp.polars.Margin(by=["grp"], max_length=10**6, max_groups=10**5)
context = dp.Context.compositor(data=lazy, privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user")), privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-6), split_evenly_over=1, margins=[margin])
bounded = context.query().truncate_per_group(2, by=["grp"]).truncate_num_groups(5, by=["grp"], keep="first")
bounded.group_by("grp").agg(dp.len(), pl.col("v").fill_nan(0.0).fill_null(0.0).dp.sum((0.0, 100.0))).release().collect()
"""
TUMULT_SETUP = """
import os, sys, warnings
warnings.simplefilter("ignore")
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from tmlt.analytics import AddRowsWithID, KeySet, MaxGroupsPerID, MaxRowsPerGroupPerID, PureDPBudget, QueryBuilder, Session
spark = SparkSession.builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "8").config("spark.driver.memory", "4g").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
spark.range(1000).count()
"""
TUMULT_CALL = """
frame = spark.read.parquet({path!r})
session = Session.from_dataframe(privacy_budget=PureDPBudget(1), source_id="t", dataframe=frame, protected_change=AddRowsWithID(id_column="user"))
query = QueryBuilder("t").enforce(MaxGroupsPerID("grp", 5)).enforce(MaxRowsPerGroupPerID("grp", 2)).groupby(KeySet.from_dict({{"grp": list(range(100))}})).sum("v", 0, 100)
session.evaluate(query, PureDPBudget(1)).collect()
"""


def noted(name: str, measure: Callable[[], Any]) -> Any:
    """A reading, taken once: again after an interruption it comes from the notes."""
    notes = FOLDER / "readings.json"
    found = json.loads(notes.read_text(encoding="utf-8")) if notes.exists() else {}
    if name not in found and ONLY in name and not PAGE:
        dev.say(name)
        reading = measure()
        found = json.loads(notes.read_text(encoding="utf-8")) if notes.exists() else {}
        found[name] = asdict(reading) if isinstance(reading, Reading) else reading
        FOLDER.mkdir(parents=True, exist_ok=True)
        notes.write_text(json.dumps(found), encoding="utf-8")
    reading = found.get(name)
    return Reading(**reading) if isinstance(reading, dict) and "peak" in reading else reading


def made(rows: int, users: int, groups: int, *, text: bool = False, unique: bool = False) -> str:
    """The path of a made-up table."""
    path = str(FOLDER / f"t_{rows}_{users}_{groups}_{'s' if text else 'i'}{'u' if unique else ''}.parquet")
    who = "i" if unique else f"(hash(i) % {users})::bigint"
    if not Path(path).exists():
        answer(OURS, MAKE.format(path=path, who=who, groups=groups, rows=rows, text=text))
    return path


def book(*, text: bool = False, unique: bool = False, narrow: bool = False) -> str:
    """The codebook of a made-up table; `narrow` keys are declared to fit 31 bits."""
    bounds = ", bounds: [0, 2000000000]" if narrow else ""
    return BOOK.format(kind="string" if text else "integer", unique=", unique: true" if unique else "", bounds=bounds)


def ours(
    path: str, *, aggregates: str = THREE, then: str = "", rounds: int = 2, most: int = 3, **kind: bool
) -> Reading | None:
    """From the public call to the released table."""
    setup = OURS_SETUP.format(path=path, book=book(**kind), aggregates=aggregates) + then
    return cpu(OURS, setup=setup, call=OURS_CALL, least=0.1, rounds=rounds, most=most)


def plain(path: str, columns: str) -> Reading | None:
    """The query without any privacy, on DuckDB."""
    return cpu(OURS, setup=PLAIN_SETUP, call=PLAIN_CALL.format(columns=columns, path=path), least=0.1, rounds=2, most=3)


def verdict(value: float | None, most: float) -> str:
    """Whether a target was met."""
    return "not measured" if value is None else "met" if value <= most else "not met"


def over(left: Reading | None, right: Reading | None) -> float | None:
    """How many times as much CPU."""
    return left.seconds / right.seconds if left and right else None


def seconds(found: Reading | None) -> float | None:
    """CPU seconds, if measured."""
    return found.seconds if found else None


def three(rows: int, label: str, kind: dict[str, Any], columns: str, aggregates: str) -> list[Any]:
    """The bare query, the one with the same columns, and ours."""

    def path() -> str:
        units, stored = rows if kind.get("unique") else rows // 10, {k: v for k, v in kind.items() if k != "narrow"}
        return made(rows, units, rows // 100, **stored)

    return [
        noted(f"{rows}, {label}: bare", lambda: plain(path(), PLAIN_BARE)),
        noted(f"{rows}, {label}: same", lambda: plain(path(), columns)),
        noted(f"{rows}, {label}: private", lambda: ours(path(), aggregates=aggregates, **kind)),
    ]


def large(report: Report, rows: int) -> dict[str, dict[str, float | None]]:
    """The ratios to the plain query; what the chart shows of them."""
    users, groups, lines, chart = rows // 10, rows // 100, [], {}
    cases: list[tuple[str, dict[str, Any], str, str, float]] = [
        ("integer ids", {}, PLAIN_FOUR, FOUR, 2.2),
        ("integer ids, keys of 31 bits", {"narrow": True}, PLAIN_FOUR, FOUR, 2.2),
        ("string ids", {"text": True}, PLAIN_FOUR, FOUR, 3.2),
        ("integer ids, with a median", {}, PLAIN_MEDIAN, MEDIAN, 3),
        ("one row per unit, declared", {"unique": True}, PLAIN_TWO, TWO, 1.6),
    ]
    for label, kind, columns, aggregates, most in cases:
        bare, same, private = three(rows, label, kind, columns, aggregates)
        times = over(private, same)
        peak = private.peak / 1e9 if private else None
        told = [number(seconds(found), " s") for found in (bare, same, private)]
        by_integer = not kind or "narrow" in kind
        target = f"≤ {most}×" + (", < 1.2 GB" if by_integer else "")
        met = (
            verdict(times, most) if not by_integer or peak is None else verdict(max((times or 9) / most, peak / 1.2), 1)
        )
        lines.append(
            (label, *told, number(times, "×"), target, met, number(over(private, bare), "×"), number(peak, " GB"))
        )
        chart[label] = {"bare DuckDB": seconds(bare), "same columns": seconds(same), "deniable": seconds(private)}
    report.note(
        f"{rows:,} rows, {users:,} units, {groups:,} groups, at most 5 groups a unit and 2 rows in each, Parquet: grouped sum, count, "
        "number of units and mean (and a median where it is said). *Bare* is `SUM(v), COUNT(*)`; *same columns* adds the clamp and `COUNT(DISTINCT user)` (not with one row per unit). "
        "In the second row the codebook says that group keys lie between 0 and 2·10⁹, in the others it says nothing."
    )
    heads = ["", "bare DuckDB", "same columns", "deniable", "to same columns", "target", "", "to bare", "peak memory"]
    report.table(heads, lines)
    again = noted(f"{rows}, kept rows", lambda: ours(made(rows, users, groups), then="query.prepare()\n"))
    kept = noted(f"{rows}, keeping rows", lambda: keeping(made(rows, users, groups)))
    report.note(
        f"With integer ids, bounded rows kept once (`query.prepare()`, {number(seconds(kept), ' s')} the first time): every further query with the same filters, "
        f"keys and bounds takes {number(seconds(again), ' s')}."
    )
    chart["integer ids, kept rows"] = {"deniable": seconds(again)}
    return chart


def keeping(path: str) -> Reading | None:
    """What it costs to keep the bounded rows."""
    setup = OURS_SETUP.format(path=path, book=book(), aggregates=THREE)
    return cpu(OURS, setup=setup, call="query.prepare()", most=0, rounds=1)


def beside_others(report: Report) -> dict[str, float | None]:
    """The same task on a million rows in other libraries, as near as each can express it."""
    pipeline, opendp = peer("pipeline-dp", "pipeline-dp", "pandas", "pyarrow"), peer("opendp-polars", "opendp[polars]")
    tumult = peer("tumult-analytics", "tmlt.analytics")

    def small() -> str:
        return made(10**6, 10**5, 100)

    mine = noted("10^6 rows: private", lambda: ours(small(), **WARM))
    in_memory = noted(
        "10^6 rows: PipelineDP",
        lambda: cpu(pipeline, setup=PIPELINE_SETUP.format(path=small()), call=PIPELINE_CALL, **WARM),
    )
    frame = noted(
        "10^6 rows: OpenDP",
        lambda: cpu(opendp, setup=OPENDP_SETUP, call=OPENDP_CALL.format(path=small()), **WARM),
    )
    spark = noted(
        "10^6 rows: Tumult, spark",
        lambda: cpu(tumult, setup=TUMULT_SETUP, call=TUMULT_CALL.format(path=small()), **WARM),
    )
    found = {"PipelineDP, local": in_memory, "OpenDP frame": frame, "Tumult on Spark": spark}
    notes = {
        "PipelineDP, local": ("all three columns; rows are in memory already", 20),
        "OpenDP frame": ("sum and count; groups kept by order, since sampled groups fail in this version", 5),
        "Tumult on Spark": ("sum alone, keys declared; Spark is running already", 20),
    }
    lines = [("deniable", number(seconds(mine), " s"), "1×", "", "", "all three columns, file to release")]
    for name, reading in found.items():
        note, most = notes[name]
        times = over(reading, mine)
        met = verdict(None if times is None else most / times, 1)
        lines.append((name, number(seconds(reading), " s"), number(times, "×"), f"≥ {most}×", met, note))
    versions = {"pipeline-dp": pipeline, "opendp": opendp, "tmlt.analytics": tumult, "pyspark": tumult}
    told = ", ".join(f"{name} {version(python, name)}" for name, python in versions.items())
    report.note(
        f"A million rows, 10⁵ units, 100 groups: grouped sum, count and number of units, or what comes nearest ({told}). "
        "Every library is called once to warm up; then the least of three calls."
    )
    report.table(["", "CPU", "times ours", "target", "", "what was asked"], lines)
    return {"deniable": seconds(mine)} | {name: seconds(reading) for name, reading in found.items()}


def waiting(report: Report) -> None:
    """The price of a query, and the first answer of a new process."""
    path = "" if PAGE else made(10**6, 10**5, 100)
    setup = OURS_SETUP.format(path=path, book=book(), aggregates=THREE)
    price = noted("price", lambda: cpu(OURS, setup=setup, call="query.price(epsilon=1, delta=1e-6)"))
    cold = noted("cold", lambda: cpu(OURS, call=f"exec({setup + OURS_CALL!r}, {{}})", rounds=1, most=0))
    lines = [
        ("price of that query, warm", number(price.seconds * 1000 if price else None, " ms"), "< 10 ms",
         verdict(price.seconds if price else None, 0.01)),
        ("first answer of a new process, imports and file included", number(seconds(cold), " s"), "< 1.2 s",
         verdict(seconds(cold), 1.2)),
    ]  # fmt: skip
    report.table(["on the same million rows", "CPU", "target", ""], lines)


def growth(report: Report, *, most: int) -> None:
    """How time and memory grow with the rows; the largest table within 4 GB, by spilling."""
    lines = []
    for power in (power for power in (5, 6, 7, 8) if 10**power <= most):
        rows = 10**power
        memory = "4GB" if power == 8 else "1GB"

        def grown(rows: int = rows, memory: str = memory, power: int = power) -> Reading | None:
            path = made(rows, rows // 10, min(rows // 100, 10**5))
            limits = LIMITED.format(book=book(), path=path, memory=memory, aggregates=THREE)
            setup = OURS_SETUP.format(path=path, book=book(), aggregates=THREE) + limits
            found = cpu(OURS, setup=setup, call=OURS_CALL, rounds=1, most=0 if power == 8 else 1)
            if power == 8:
                Path(path).unlink(missing_ok=True)
            return found

        found = noted(f"growth, 10^{power}", grown)
        each = found.seconds / rows * 1e6 if found else None
        peak = number(found.peak / 1e9 if found else None, " GB")
        lines.append((f"10^{power}", number(seconds(found), " s"), number(each, " µs"), memory, peak))
    report.note(
        "Growth, integer ids, groups as above (10⁵ from 10⁷ rows on), the engine held to the memory in the fourth column and spilling beyond it. "
        "One warm call each; of 10⁸ rows the first call."
    )
    report.table(["rows", "CPU", "CPU per row", "engine's limit", "peak of the process"], lines)


def main() -> None:
    """Measure and write the page."""
    words = sys.argv[1:]
    rows = int(words[words.index("--rows") + 1]) if "--rows" in words else 10**7
    versions = {"deniable": version(OURS, "deniable"), "DuckDB": version(OURS, "duckdb")}
    report = Report("tables", title="Private tables", versions=versions)
    chart = large(report, rows)
    chart["10⁶ rows, 100 groups"] = beside_others(report)
    waiting(report)
    growth(report, most=rows * 10)
    errors_page(report, noted("errors", measured))
    if ONLY:
        return
    load = os.getloadavg()[2] if hasattr(os, "getloadavg") else 0.0
    report.note(
        f"Readings were taken part by part. The machine's load meanwhile (15 minutes): {load:.1f} on {os.cpu_count()} cores; a busy machine makes CPU time longer."
    )
    report.bars("CPU seconds, from the public call to the released table", chart)
    report.write()
    if not PAGE:
        shutil.rmtree(FOLDER, ignore_errors=True)


if __name__ == "__main__":
    main()
