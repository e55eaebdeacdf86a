"""SmartNoise SQL and Qrlew beside deniable: the same table, the same queries, each in its own environment.

Every system says, for each query, whether it accepts it, how long one answer takes, what it answers when the noise is made
negligible (epsilon 10⁴) and how far off it is at epsilon 1. A person has one to ten rows, all in one group; each system is told
that ten is the most. What is asked in other words than the others are asked is in `REWRITES`, and the page says it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.peers import OURS, answer, peer

QUERIES = {
    "count": "SELECT COUNT(*) AS a FROM t",
    "count by group": "SELECT kind, COUNT(*) AS a FROM t GROUP BY kind",
    "sum by group": "SELECT kind, SUM(x) AS a FROM t GROUP BY kind",
    "average by group": "SELECT kind, AVG(x) AS a FROM t GROUP BY kind",
    "average with missing values": "SELECT AVG(y) AS a FROM t",
    "count of what is there": "SELECT COUNT(y) AS a FROM t",
    "filtered count": "SELECT COUNT(*) AS a FROM t WHERE x > 50 AND kind <> 'a'",
    "sum of an expression": "SELECT SUM(x * 2 + 1) AS a FROM t",
    "sum of a quotient": "SELECT SUM(100 / (x + 1)) AS a FROM t",
    "conditional sum": "SELECT SUM(CASE WHEN x > 90 THEN x ELSE 0 END) AS a FROM t",
    "variance": "SELECT VARIANCE(x) AS a FROM t",
    "number of people": "SELECT COUNT(DISTINCT uid) AS a FROM t",
    "having, ordered": "SELECT kind, COUNT(*) AS a FROM t GROUP BY kind HAVING COUNT(*) > 100 ORDER BY kind DESC",
    "rows per person, averaged": "SELECT AVG(n) AS a FROM (SELECT uid, COUNT(*) AS n FROM t GROUP BY uid) AS s",
    "semi-join": "SELECT COUNT(*) AS a FROM t WHERE uid IN (SELECT uid FROM t WHERE x > 99)",
}

REWRITES = {
    "deniable": {"AVG(n)": "AVG(CLAMP(n, 0, 10))"},
    "SmartNoise SQL": {"FROM t": "FROM T.t"},
    "Qrlew": {},
}
"""What each system is asked in other words: ours needs the bound of a person's rows in the query, SmartNoise a schema."""

TABLE = """
import json, statistics, time
import pandas
PEOPLE = 2000
uid = [person for person in range(PEOPLE) for _ in range(1 + person % 10)]
N = len(uid)
frame = pandas.DataFrame({"uid": uid, "kind": ["abc"[person % 3] for person in uid],
    "x": [float(i * 7919 % 101) for i in range(N)], "y": [None if i % 16 == 0 else float(i * 104729 % 97) for i in range(N)]})
QUERIES = @QUERIES@
REWRITES = @REWRITES@

def words(system, text):
    for here, there in REWRITES[system].items():
        text = text.replace(here, there)
    return text

def flat(rows):
    rows = [list(row) for row in rows]
    if rows and rows[0] and len(rows[0]) == 2:
        rows = sorted(rows, key=lambda row: str(row[0]))
    return [None if row[-1] is None else float(row[-1]) for row in rows]

def told(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:90]

answer = {}
def ask(name, run, runs=12):
    try:
        start = time.perf_counter(); quiet = run(1e4); first = time.perf_counter() - start
        seconds, noisy = [], []
        for _ in range(runs):
            start = time.perf_counter(); noisy.append(flat(run(1.0))); seconds.append(time.perf_counter() - start)
        answer[name] = {"quiet": flat(quiet), "noisy": noisy, "seconds": min(seconds), "first": first}
    except BaseException as error:  # a panic of Rust code is no Exception
        answer[name] = {"refused": told(error)}
"""

OURS_CODE = """
import deniable as dp
book = {"unit": {"id": "uid", "groups": 1, "rows_per_group": 10}, "table": "t", "variables": {"uid": "integer",
    "kind": {"type": "string", "categories": ["a", "b", "c"]}, "x": {"type": "number", "bounds": [0, 100], "step": 0.001},
    "y": {"type": "number", "bounds": [0, 100], "step": 0.001}}}
session = dp.Dataset(frame, codebook=book).session(dp.budget(epsilon=10**9, delta=1e-3))
asked = 0
def run_of(text):
    text = words("deniable", text)
    def run(epsilon):
        global asked
        asked += 1  # the same question at the same price would be the stored answer, free
        release = session.sql(text, epsilon=epsilon + asked * 1e-6, delta=1e-6)
        return [[row[key] for key in (*release.keys, "a")] for row in release.table]
    return run
for name, text in QUERIES.items():
    ask(name, run_of(text))
"""

TRUTH = """
import duckdb
base = duckdb.connect()
base.register("seen", frame)
base.execute("CREATE TABLE t AS SELECT uid, kind, x, CAST(y AS DOUBLE) AS y FROM seen")
base.execute("UPDATE t SET y = NULL WHERE isnan(y)")
answer = {name: flat(base.execute(text).fetchall()) for name, text in QUERIES.items()}
"""

SMARTNOISE = """
import warnings
warnings.simplefilter("ignore")
import snsql, tempfile, yaml
from snsql import Privacy
column = {"type": "float", "lower": 0.0, "upper": 100.0}
book = {"": {"T": {"t": {"row_privacy": False, "max_ids": 10, "rows": N, "uid": {"type": "int", "private_id": True},
    "kind": {"type": "string"}, "x": column, "y": {**column, "nullable": True}}}}}
with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False) as file:
    yaml.dump(book, file)
def run_of(text):
    text = words("SmartNoise SQL", text)
    # `epsilon` there is per column; what a query costs in all is asked for, and the same total is paid
    total = snsql.from_df(frame, privacy=Privacy(epsilon=1.0, delta=1e-6), metadata=file.name).get_privacy_cost(text)[0]
    def run(epsilon):
        reader = snsql.from_df(frame, privacy=Privacy(epsilon=epsilon / float(total), delta=1e-6), metadata=file.name)
        return reader.execute(text)[1:]
    return run
for name, text in QUERIES.items():
    try:
        ask(name, run_of(text))
    except Exception as error:
        answer[name] = {"refused": told(error)}
"""

QRLEW = """
import pyqrlew, sqlalchemy
engine = sqlalchemy.create_engine("@URL@".replace("postgresql://", "postgresql+psycopg2://"))
frame.to_sql("t", engine, index=False, if_exists="replace")
data = pyqrlew.Dataset.from_database("db", engine, None, ranges=False)
data = data.with_range(None, "t", "x", 0.0, 100.0).with_range(None, "t", "y", 0.0, 100.0)
data = data.with_possible_values(None, "t", "kind", ["a", "b", "c"])
def run_of(text):
    def run(epsilon):
        private = data.relation(text).rewrite_with_differential_privacy(data, [("t", [], "uid")],
            {"epsilon": epsilon, "delta": 1e-6}, max_multiplicity=10, max_multiplicity_share=1.0)
        with engine.connect() as connection:
            query = private.relation().to_query(pyqrlew.Dialect.PostgreSql).replace(":", "\\\\:")
            return connection.execute(sqlalchemy.text(query)).fetchall()
    return run
for name, text in QUERIES.items():
    ask(name, run_of(text))
for name, text in QUERIES.items():
    if "refused" not in answer[name]:
        event = data.relation(text).rewrite_with_differential_privacy(data, [("t", [], "uid")],
            {"epsilon": 1.0, "delta": 1e-6}, max_multiplicity=10, max_multiplicity_share=1.0).dp_event()
        answer[name]["mechanisms"] = str(event).count("noise_multiplier") + str(event).count("EpsilonDelta")
"""


def table() -> str:
    """The code that makes the table and asks."""
    return TABLE.replace("@QUERIES@", repr(QUERIES)).replace("@REWRITES@", repr(REWRITES))


def rewrites() -> str:
    """What was asked in other words, for the page."""
    return "; ".join(
        f"{system} is asked `{there}` for `{here}`"
        for system, pairs in REWRITES.items()
        for here, there in pairs.items()
    )


def measured(url: str) -> dict[str, dict[str, Any]]:
    """What each system did with each query; Qrlew runs in the PostgreSQL at `url`."""
    smartnoise, qrlew = peers()
    found = {
        "truth": answer(OURS, table() + TRUTH),
        "deniable": answer(OURS, table() + OURS_CODE),
        "SmartNoise SQL": answer(smartnoise, table() + SMARTNOISE),
        "Qrlew": answer(qrlew, table() + QRLEW.replace("@URL@", url)),
    }
    return {name: each or {} for name, each in found.items()}


def peers() -> tuple[Path | None, Path | None]:
    """The environments of both."""
    return peer("smartnoise-sql"), peer("pyqrlew")


def right(given: list[float | None], truth: list[float | None]) -> bool:
    """Whether an answer without noise to speak of is the truth, to a thousandth."""
    if len(given) != len(truth) or None in given:
        return False
    return all(abs(a - t) <= 1e-3 * abs(t) for a, t in zip(given, truth, strict=True))  # type: ignore[operator]


def error(found: dict[str, Any], truth: list[float | None]) -> float | None:
    """The mean relative error of the noisy answers; None where groups are missing."""
    runs = [run for run in found.get("noisy", []) if len(run) == len(truth) and None not in run]
    if not runs:
        return None
    parts = [abs(a - t) / abs(t) for run in runs for a, t in zip(run, truth, strict=True)]
    return sum(parts) / len(parts)


def cell(found: dict[str, Any] | None, truth: list[float | None]) -> str:
    """What one system did with one query, in words."""
    if not found:
        return "–"
    if "refused" in found:
        return "refused"
    wrong = "" if right(found["quiet"], truth) else f", **wrong** ({_shown(found['quiet'])} for {_shown(truth)})"
    off = error(found, truth)
    return f"{found['seconds'] * 1000:.0f} ms, {'–' if off is None else f'{off:.2%}'} off{wrong}"


def _shown(values: list[float | None]) -> str:
    return ", ".join("none" if value is None else f"{value:.6g}" for value in values[:1]) or "nothing"
