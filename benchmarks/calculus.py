"""The calculus on a million rows: quantiles, top k, histograms, private keys, covariance; time and error beside other libraries.

Every library gets the same data, the same public facts and the same epsilon. Its own conversion of the data is part of its time,
as it is of ours. Errors are means over 200 runs on ten thousand rows, with 95 % intervals; covariance is held against NumPy's
float product, which adds no noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import dev
from benchmarks.peers import OURS, answer, cpu, peer, version
from benchmarks.report import Report, number, ratio

RUNS = 200
DATA = """
import numpy as np
def numbers(n):
    return 100.0 * ((np.arange(n) * 0.6180339887498949) % 1.0) ** 2
def scores(n):
    return ((np.arange(n) * 0.7548776662466927 % 1.0) * n).astype(np.int64)
"""
PLAIN_DATA = """
def numbers(n):
    return [100.0 * ((k * 0.6180339887498949) % 1.0) ** 2 for k in range(n)]
def scores(n):
    return [int((k * 0.7548776662466927 % 1.0) * n) for k in range(n)]
"""
OUR_SETUP = (
    DATA
    + """
from fractions import Fraction
import deniable as dp
from deniable.core import Keyed, Lattice, LInfinity, PartitionDistance, AbsoluteDistance, Rows, Space, SymmetricDistance, Vectors
ROWS = dp.rows(dp.numbers())
"""
)
OPENDP_SETUP = (
    PLAIN_DATA
    + """
import opendp.prelude as dp
dp.enable_features('contrib', 'honest-but-curious')
REALS = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
GRID = [k / 100 for k in range(10001)]
def calibrated(build, d_in=1):
    scale = dp.binary_search_param(build, d_in=d_in, d_out=1.0, T=float)
    return build(scale)
"""
)
DIFFPRIVLIB_SETUP = DATA + "import warnings; warnings.simplefilter('ignore')\nfrom diffprivlib import tools\n"
PYTHON_DP_SETUP = PLAIN_DATA + "from pydp.algorithms.laplacian import Percentile\n"
SHARES = "[k / 10 for k in range(1, 10)]"


@dataclass(frozen=True, slots=True)
class Task:
    """One statistic: for every library its setup and its call; `slow` libraries are called once."""

    title: str
    calls: dict[str, tuple[str, str]]
    slow: frozenset[str] = field(default=frozenset({"OpenDP", "python-dp", "diffprivlib"}))


TASKS = [
    Task(
        "median of 10^6 values",
        {
            "deniable": (
                "data = numbers(10**6)\nm = ROWS >> dp.private_median(lower=0, upper=100, grid=Fraction(1, 1000), scale=1)",
                "m(data)",
            ),
            "OpenDP": (
                "data = numbers(10**6)\n"
                "m = calibrated(lambda s: dp.m.make_private_quantile(*REALS, dp.max_divergence(), GRID, 0.5, s))",
                "m(data)",
            ),
            "diffprivlib": ("data = numbers(10**6)", "tools.quantile(data, 0.5, epsilon=1.0, bounds=(0, 100))"),
            "python-dp": (
                "data = numbers(10**6)",
                "Percentile(epsilon=1.0, percentile=0.5, lower_bound=0.0, upper_bound=100.0, dtype='float').quick_result(data)",
            ),
        },
    ),
    Task(
        "nine deciles of 10^6 values",
        {
            "deniable": (
                "data = numbers(10**6)\n"
                f"build = lambda s: ROWS >> dp.private_quantiles(qs={SHARES}, lower=0, upper=100, grid=Fraction(1, 1000), scale=s)\n"
                "m = dp.calibrate(build, d_in=1, epsilon=1)",
                "m(data)",
            ),
            "OpenDP": (
                "data = numbers(10**6)\n"
                "build = lambda a: lambda s: dp.m.make_private_quantile(*REALS, dp.max_divergence(), GRID, a, s)\n"
                f"ms = [build(a)(9 * dp.binary_search_param(build(a), 1, 1.0, T=float)) for a in {SHARES}]",
                "[m(data) for m in ms]",
            ),
            "diffprivlib": (
                f"data, qs = numbers(10**6), {SHARES}",
                "tools.quantile(data, qs, epsilon=1.0, bounds=(0, 100))",
            ),
        },
    ),
    Task(
        "top 10 of 10^6 scores",
        {
            "deniable": (
                "data = scores(10**6)\nspace = Space(Vectors(Lattice(), 10**6), LInfinity(monotonic=True))\n"
                "m = space >> dp.noisy_top_k(k=10, scale=10)",
                "m(data)",
            ),
            "OpenDP": (
                "data = scores(10**6)\n"
                "space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int, monotonic=True)\n"
                "m = calibrated(lambda s: dp.m.make_noisy_top_k(*space, dp.max_divergence(), 10, s))",
                "m(data)",
            ),
        },
    ),
    Task(
        "histogram of 10^6 bins",
        {
            "deniable": (
                "data = numbers(10**6)\nm = ROWS >> dp.private_histogram(edges=np.linspace(0, 100, 10**6 + 1), scale=1)",
                "m(data)",
            ),
            "OpenDP": (
                "data = [1] * 10**6  # already counted\nspace = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)\n"
                "m = dp.m.make_laplace(*space, scale=1.0)",
                "m(data)",
            ),
            "diffprivlib": ("data = numbers(10**6)", "tools.histogram(data, epsilon=1.0, bins=10**6, range=(0, 100))"),
        },
    ),
    Task(
        "10^6 private keys, thresholded",
        {
            "deniable": (
                "data = {str(k): int(v) % 40 + 1 for k, v in enumerate(scores(10**6))}\n"
                "space = Space(Keyed(Lattice(), None), PartitionDistance(AbsoluteDistance()))\n"
                "m = space >> dp.threshold_histogram(scale=1, threshold=dp.threshold_for(1e-8, scale=1, l0=1, linf=1))",
                "m(data)",
            ),
            "OpenDP": (
                "data = {str(k): int(v) % 40 + 1 for k, v in enumerate(scores(10**6))}\n"
                "space = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int)), dp.l01inf_distance(dp.absolute_distance(T=int))\n"
                "m = dp.m.make_laplace_threshold(*space, scale=1.0, threshold=19)",
                "m(data)",
            ),
        },
    ),
    Task(
        "covariance of 10^6 × 10",
        {
            "deniable": (
                "data = scores(10**7).reshape(-1, 10) % 2001 - 1000\n"
                "space = Space(Rows(Vectors(Lattice(Fraction(1, 100), -1000, 1000), 10)), SymmetricDistance())\n"
                "m = space >> dp.private_covariance(scale=40)",
                "m(data).covariance",
            ),
            "NumPy, no privacy": ("data = (scores(10**7).reshape(-1, 10) % 2001 - 1000) / 100", "data.T @ data"),
        },
    ),
]

ERRORS = {
    "median, rank error": {
        "deniable": "m = ROWS >> dp.private_median(lower=0, upper=100, grid=Fraction(1, 1000), scale=1)\ndraw = lambda: [m(data)]",
        "OpenDP": "m = calibrated(lambda s: dp.m.make_private_quantile(*REALS, dp.max_divergence(), GRID, 0.5, s))\n"
        "draw = lambda: [m(data)]",
        "diffprivlib": "draw = lambda: [tools.quantile(data, 0.5, epsilon=1.0, bounds=(0, 100))]",
        "python-dp": "draw = lambda: [Percentile(epsilon=1.0, percentile=0.5, lower_bound=0.0, "
        "upper_bound=100.0, dtype='float').quick_result(data)]",
    },
    "nine deciles, rank error": {
        "deniable": f"build = lambda s: ROWS >> dp.private_quantiles(qs={SHARES}, lower=0, upper=100, grid=Fraction(1, 1000), scale=s)\n"
        "m = dp.calibrate(build, d_in=1, epsilon=1)\ndraw = lambda: m(data)",
        "diffprivlib": f"draw = lambda: list(tools.quantile(data, {SHARES}, epsilon=1.0, bounds=(0, 100)))",
    },
}


SETUPS = {
    "deniable": OUR_SETUP,
    "OpenDP": OPENDP_SETUP,
    "diffprivlib": DIFFPRIVLIB_SETUP,
    "python-dp": PYTHON_DP_SETUP,
    "NumPy, no privacy": DATA,
}


def python_of(library: str) -> Any:
    match library:
        case "OpenDP":
            return peer("opendp-calculus", "opendp")
        case "diffprivlib":
            return peer("diffprivlib", "diffprivlib", "scikit-learn<1.6")
        case "python-dp":
            return peer("python-dp")
        case _:
            return OURS


def seconds(task: Task, library: str) -> float | None:
    """CPU seconds of one call, warm for us, once for libraries that need many seconds."""
    if library not in task.calls:
        return None
    dev.say(f"{task.title}: {library}")
    setup, call = task.calls[library]
    once = {"rounds": 1, "most": 1} if library in task.slow else {"rounds": 3}
    found = cpu(python_of(library), setup=SETUPS[library] + setup, call=call, **once)
    return found.seconds if found else None


def error(task: str, library: str) -> tuple[float, float] | None:
    """The mean rank error over all runs, and half the width of its 95 % interval."""
    code = ERRORS[task].get(library)
    if code is None:
        return None
    dev.say(f"{task}: {library}")
    wanted = "[0.5]" if task.startswith("median") else SHARES
    program = SETUPS[library] + (
        f"import bisect\ndata = numbers(10**4)\nordered = sorted(data)\n{code}\nerrors = []\n"
        f"for _ in range({RUNS}):\n"
        f"    drawn = [float(x) for x in draw()]\n"
        f"    ranks = [(bisect.bisect_left(ordered, x) + bisect.bisect_right(ordered, x)) / 2 for x in drawn]\n"
        f"    errors.append(sum(abs(r - q * len(data)) for r, q in zip(ranks, {wanted})) / len(drawn))\nanswer = errors\n"
    )
    errors = answer(python_of(library), program)
    if not errors:
        return None
    mean = sum(errors) / len(errors)
    spread = math.sqrt(sum((e - mean) ** 2 for e in errors) / (len(errors) - 1))
    return mean, 1.96 * spread / math.sqrt(len(errors))


def main() -> None:
    libraries = list(SETUPS)
    found = {task.title: {name: seconds(task, name) for name in libraries} for task in TASKS}
    versions = {"deniable": version(OURS, "deniable"), "NumPy": version(OURS, "numpy")}
    versions |= {
        name: version(python_of(label), name)
        for name, label in (("opendp", "OpenDP"), ("diffprivlib", "diffprivlib"), ("python-dp", "python-dp"))
    }
    page = Report("calculus", title="The calculus on a million rows", versions=versions)
    page.note(
        "Targets: 10× as fast as the fastest peer with exact noise, never slower than a float-only peer; covariance within 10× of NumPy's product."
    )
    rows = [[title, *(number(times[name], " s") for name in libraries)] for title, times in found.items()]
    page.table(["CPU seconds", *libraries], rows)
    page.table(
        ["how many times as long theirs takes", *libraries[1:]],
        [[title, *(ratio(times[name], times["deniable"]) for name in libraries[1:])] for title, times in found.items()],
    )
    page.bars("CPU seconds on a million rows", found)
    page.note(f"Mean error over {RUNS} runs on ten thousand rows at epsilon = 1, half the 95 % interval after ±.")
    shown = [name for name in libraries if name in {key for row in ERRORS.values() for key in row}]
    rows = []
    for task in ERRORS:
        told = [error(task, name) for name in shown]
        rows.append([task, *("–" if one is None else f"{number(one[0])} ± {number(one[1])}" for one in told)])
    page.table(["rank error, lower is better", *shown], rows)
    page.write()


if __name__ == "__main__":
    main()
