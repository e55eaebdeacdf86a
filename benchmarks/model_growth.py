"""How models grow with the rows: logistic regression, DP-SGD, and a regression from statistics alone on DuckDB and on Spark."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

import deniable as dp
from benchmarks.model_tables import BOUNDS, Columns, codebook_of
from benchmarks.peers import OURS, answer, used
from benchmarks.report import Report, number, ratio

FEATURES = ["age", "education_num", "hours", "sex"]
TURNS = 5

FIT = """
import os, time
os.environ["XDG_STATE_HOME"] = {folder!r}
import deniable as dp
session = dp.Dataset({path!r}, codebook={book!r}).session(dp.budget(epsilon=100, delta=1e-3), ledger={folder!r} + "/{name}.ledger")
model = {model}
begun = time.process_time()
model.fit(session, epsilon=1, delta=1e-6)
spent = time.process_time() - begun
peak = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
answer = [spent, int(peak[0]) * 1024]
"""
MODELS = {
    "logistic regression": f"dp.models.LogisticRegression('income', features={FEATURES})",
    "DP-SGD, 64 steps at 1/32": (
        f"dp.models.Training(dp.models.Network((64,)), target='income', features={FEATURES}, steps=64)"
    ),
    "linear regression": f"dp.models.LinearRegression('hours', features={[*FEATURES[:2], 'sex']})",
}


def file_to_model(page: Report, train: Columns, folder: Path) -> None:
    """From a Parquet file to a model stored in a ledger, beside the bare fit; every run has a budget and a ledger of its own."""
    import pyarrow
    import pyarrow.parquet

    book = codebook_of(train, BOUNDS)
    pyarrow.parquet.write_table(pyarrow.table(train), folder / "adult.parquet")
    whole, bare = [], []
    for turn in range(TURNS + 1):
        epsilon = 1 + turn / 1000
        begun = time.process_time()
        session = dp.Dataset(str(folder / "adult.parquet"), codebook=book).session(
            dp.budget(epsilon=epsilon, delta=1e-6), ledger=str(folder / f"{turn}.ledger")
        )
        dp.models.LogisticRegression("income").fit(session, epsilon=epsilon)
        whole.append(time.process_time() - begun)
        bare.append(bare_fit(train))
    one, two = (float(np.median(each[1:])) for each in (whole, bare))
    page.note(
        f"## From a Parquet file to a model stored in a ledger: Adult, 32,561 × 14 (median of {TURNS} after the first)"
    )
    page.table(
        ["file to stored model", "bare fit", "beside it", "least beside least"],
        [[number(one, " s"), number(two, " s"), ratio(one, two), ratio(min(whole[1:]), min(bare[1:]))]],
    )


def bare_fit(columns: Columns) -> float:
    """CPU seconds of the fit alone, on rows that are in memory as codes."""
    from deniable.engines.engine import RowTable
    from deniable.noise import system_entropy
    from deniable.plan.codebook import Codebook

    model = dp.models.LogisticRegression("income")
    reading = model.reading(Codebook.from_record(codebook_of(columns, BOUNDS)))
    known = {each.name: each for each in (*reading.features, reading.target) if each is not None}
    cells = {name: known[name].codes(columns[name]) for name in known}
    held = RowTable(None, cells, {name: np.zeros(len(columns["age"]), dtype=bool) for name in known})
    begun = time.process_time()
    model.at(reading, 4).function(held, system_entropy())
    return time.process_time() - begun


def growth(page: Report, train: Columns, folder: Path, most: int) -> None:
    """Each model on 10^4 rows and ten times as many up to `most`, each run in a process of its own."""
    sizes = [10**power for power in range(4, 8) if 10**power <= most]
    book = codebook_of({name: train[name] for name in (*FEATURES, "income")}, BOUNDS)
    rows: list[list[object]] = []
    for size in sizes:
        path = repeated(train, size, folder)
        for name, model in MODELS.items():
            words = {
                "folder": str(folder),
                "path": str(path),
                "book": book,
                "name": f"{size} {name[:6]}",
                "model": model,
            }
            found = answer(OURS, FIT.format(**words))
            spent, peak = found or (None, None)
            rows.append(
                [
                    name,
                    f"{size:,}",
                    number(spent, " s"),
                    number(spent and spent / size * 1e6, " µs"),
                    number(peak and peak / 2**20, " MB"),
                ]
            )
    page.note(
        f"## Growth: Adult's rows repeated, {len(FEATURES)} features, from a Parquet file through a ledger; one run, first call of a process"
    )
    page.table(
        ["model", "rows", "CPU", "CPU for each row", "peak memory of the process"],
        sorted(rows, key=lambda row: str(row[0])),
    )


def repeated(train: Columns, size: int, folder: Path) -> Path:
    """Adult's rows over and over, as a Parquet file."""
    import pyarrow
    import pyarrow.parquet

    path = folder / f"rows_{size}.parquet"
    places = pyarrow.array(np.arange(size) % len(train["age"]))
    columns = {name: pyarrow.array(train[name]).take(places) for name in (*FEATURES, "income")}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


def clusters(page: Report, train: Columns, folder: Path, sizes: tuple[int, ...]) -> None:
    """A regression from sums of products alone, on DuckDB and on Spark in this machine: CPU of all processes together."""
    from tests.servers import running_spark

    names = (*FEATURES, "income")
    book = codebook_of({name: train[name] for name in names}, BOUNDS)
    rows = []
    with running_spark(spark_driver_extraJavaOptions="-XX:+UseSerialGC") as spark:
        for size in sizes:
            path = repeated(train, size, folder)
            sources: dict[str, Any] = {"DuckDB": str(path), "Spark": spark.read.parquet(str(path))}
            spent = {}
            for name, source in sources.items():
                session = dp.Dataset(source, codebook=book).session(dp.budget(epsilon=100, delta=1e-3))
                times = []
                for turn in range(3):
                    begun = used()
                    dp.models.LinearRegression("hours", features=[*FEATURES[:2], "sex"], ridge=turn * 1e-12).fit(
                        session, epsilon=1, delta=1e-6
                    )
                    times.append(used() - begun)
                spent[name] = min(times)
            rows.append(
                [f"{size:,}", *(number(each, " s") for each in spent.values()), ratio(spent["Spark"], spent["DuckDB"])]
            )
    page.note(
        "## Linear regression from statistics alone, on DuckDB and on Spark (least of three, CPU of all processes; Spark collects no row)"
    )
    page.table(["rows", "DuckDB", "Spark", "beside DuckDB"], rows)
