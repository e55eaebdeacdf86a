"""How wrong answers are at the same epsilon and with the same public facts, beside other libraries: part of the tables page.

A hundred groups hold the same values, one row per unit, so one query gives a hundred independent errors of each library. What
counts is pooled over the shapes, and said as what it is: ahead, behind, or within the interval of the difference.
"""

from __future__ import annotations

import json
import math
from typing import Any

from benchmarks.peers import OURS, answer, peer
from benchmarks.report import Report, number

GROUPS, ROWS, RUNS = 100, 200, 10

SHAPES = {
    "even": "[i * 100 / (ROWS - 1) for i in range(ROWS)]",
    "skewed": "[min(100.0, 3.0 * (1 / (1 - (i + 0.5) / ROWS)) ** 0.8) for i in range(ROWS)]",
    "mostly zero": "[0.0 if i % 5 else 20.0 + (i * 7) % 60 for i in range(ROWS)]",
}
"""Values between the public bounds 0 and 100."""

TASKS = ("count", "sum", "mean", "variance", "median")

SETUP = f"""
import statistics
GROUPS, ROWS, RUNS = {GROUPS}, {ROWS}, {RUNS}
SHAPES = {json.dumps(SHAPES)}
truths = {{"count": len, "sum": sum, "mean": statistics.fmean, "variance": statistics.pvariance, "median": statistics.median}}
def values(shape):
    return [round(v * 100) / 100 for v in eval(SHAPES[shape])]
answer = {{}}
def note(shape, task, found):
    wanted = truths[task](values(shape))
    answer.setdefault(shape, {{}}).setdefault(task, []).extend(abs(float(x) - wanted) for x in found)
"""

OURS_CODE = """
import deniable as dp
BOOK = '''
format: 1
name: errors
unit: rows
tables:
  errors:
    variables:
      grp: {type: integer, bounds: [0, 99]}
      v: {type: number, bounds: [0, 100], step: 0.01, missing: {impute: 0}}
'''
asked = {"count": dp.count(), "sum": dp.sum("v"), "mean": dp.mean("v"), "variance": dp.variance("v"), "median": dp.median("v", interval=False)}
for shape in SHAPES:
    column = values(shape)
    data = {"grp": [g for g in range(GROUPS) for _ in column], "v": column * GROUPS}
    session = dp.Dataset(data, codebook=dp.Codebook.from_yaml(BOOK)).session(dp.budget(epsilon=1000))
    for task, aggregate in asked.items():
        for run in range(RUNS):
            # a hair more each time: the same price would be the same stored answer
            released = session.query().group_by("grp").agg(x=aggregate).release(epsilon=1 - run / 10**6)
            note(shape, task, released.columns["x"].values)
"""

PIPELINE_CODE = """
import pipeline_dp
M = pipeline_dp.Metrics
asked = {"count": (M.COUNT, "count"), "sum": (M.SUM, "sum"), "mean": (M.MEAN, "mean"), "variance": (M.VARIANCE, "variance"),
         "median": (M.PERCENTILE(50), "percentile_50")}
extract = pipeline_dp.DataExtractors(privacy_id_extractor=lambda r: r[0], partition_extractor=lambda r: r[1], value_extractor=lambda r: r[2])
for shape in SHAPES:
    column = values(shape)
    rows = [(g * ROWS + i, g, v) for g in range(GROUPS) for i, v in enumerate(column)]
    for task, (metric, name) in asked.items():
        for _ in range(RUNS):
            accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-12)
            params = pipeline_dp.AggregateParams(noise_kind=pipeline_dp.NoiseKind.LAPLACE, metrics=[metric],
                max_partitions_contributed=1, max_contributions_per_partition=1, min_value=0, max_value=100)
            engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
            result = engine.aggregate(rows, params, extract, public_partitions=list(range(GROUPS)))
            accountant.compute_budgets()
            note(shape, task, [getattr(found, name) for _, found in result])
"""

OPENDP_CODE = """
import warnings
warnings.simplefilter("ignore")
import opendp.prelude as dp, polars as pl
dp.enable_features("contrib")
keys = pl.LazyFrame({"grp": list(range(GROUPS))})
v = pl.col("v").fill_nan(0.0).fill_null(0.0)
for shape in SHAPES:
    column = values(shape)
    frame = pl.LazyFrame({"grp": [g for g in range(GROUPS) for _ in column], "v": column * GROUPS})
    def asked(*aggregates):
        margin = dp.polars.Margin(by=["grp"], max_length=10**5, max_groups=GROUPS, invariant="keys")
        context = dp.Context.compositor(data=frame, privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(epsilon=1.0), split_evenly_over=1, margins=[margin])
        return context.query().group_by("grp").agg(*aggregates).release().collect()
    for _ in range(RUNS):
        note(shape, "count", asked(dp.len(signed=True))["len"].to_list())
        note(shape, "sum", asked(v.dp.sum((0.0, 100.0)))["v"].to_list())
        both = asked(dp.len(signed=True), v.dp.sum((0.0, 100.0)))
        note(shape, "mean", [min(100, max(0, s / max(n, 1))) for s, n in zip(both["v"].to_list(), both["len"].to_list())])
        grid = [i / 20 for i in range(2001)]
        note(shape, "median", asked(v.dp.median(candidates=grid))["v"].to_list())
"""


def mean_and_half(errors: list[float]) -> tuple[float, float]:
    """The mean error and half its 95 % interval."""
    mean = sum(errors) / len(errors)
    spread = math.sqrt(sum((error - mean) ** 2 for error in errors) / (len(errors) - 1))
    return mean, 1.96 * spread / math.sqrt(len(errors))


def measured() -> dict[str, Any]:
    """Every library's errors, by shape and task; a library that fails is left out."""
    pythons = {"deniable": OURS, "PipelineDP": peer("pipeline-dp", "pipeline-dp", "pandas", "pyarrow")}
    pythons |= {"OpenDP": peer("opendp-polars", "opendp[polars]")}
    codes = {"deniable": OURS_CODE, "PipelineDP": PIPELINE_CODE, "OpenDP": OPENDP_CODE}
    return {name: answer(python, SETUP + codes[name]) for name, python in pythons.items()}


def compared(mine: list[float], theirs: list[float]) -> str:
    """Ours beside a peer's: ahead or behind where the 95 % interval of the difference leaves nought out."""
    (here, half), (there, other) = mean_and_half(mine), mean_and_half(theirs)
    if not abs(here - there) > math.hypot(half, other):
        return "within the interval"
    return "ahead" if here < there else "behind"


def pooled(errors: dict[str, Any] | None, task: str) -> list[float]:
    """The errors of a library in one task, over all shapes; empty where a shape is missing."""
    parts = [(errors or {}).get(shape, {}).get(task, []) for shape in SHAPES]
    return [error for part in parts for error in part] if all(parts) else []


def errors_page(report: Report, found: dict[str, Any] | None) -> None:
    """The tables of errors: pooled, with how we stand beside each peer, and shape by shape."""
    if found is None:
        report.note("Errors at the same ε were not measured.")
        return
    report.note(
        f"Mean absolute error at ε = 1 over {GROUPS * RUNS * len(SHAPES):,} groups of {ROWS} rows, pooled over {len(SHAPES)} shapes, one row per unit, declared "
        "keys, bounds 0 and 100; half the 95 % interval after ±. *Ahead* and *behind* where the interval of the difference leaves nought "
        "out. OpenDP's mean is its sum over its count; its frames have no variance."
    )
    peers = [name for name in found if name != "deniable"]
    lines = []
    for task in TASKS:
        all_of = {name: pooled(errors, task) for name, errors in found.items()}
        beside = [compared(all_of["deniable"], all_of[name]) if all_of[name] else "–" for name in peers]
        lines.append((task, *map(_told, all_of.values()), *beside))
    report.table(["", *found, *(f"beside {name}" for name in peers)], lines)
    report.note("The same, shape by shape.")
    shapes = [
        (f"{task}, {shape}", *(_told((errors or {}).get(shape, {}).get(task, [])) for errors in found.values()))
        for shape in SHAPES
        for task in TASKS
    ]
    report.table(["", *found], shapes)


def _told(errors: list[float]) -> str:
    if not errors:
        return "–"
    mean, half = mean_and_half(errors)
    return f"{number(mean)} ± {number(half)}"
