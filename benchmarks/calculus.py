"""The calculus on a million rows: quantiles, top k, histograms, private keys, covariance; time and error beside other libraries.

Every library gets the same data, the same public facts and the same epsilon. Its own conversion of the data is part of its time,
as it is of ours. Covariance, and clamping and adding up, are held against NumPy's float operations, which add no noise. The errors
are in `calculus_errors`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import dev
from benchmarks.peers import OURS, cpu, peer, version
from benchmarks.report import Report, number, ratio

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
ROWS = dp.calculus.rows(dp.calculus.numbers())
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
TUMULT_SETUP = (
    DATA
    + """
import warnings; warnings.simplefilter('ignore')
import pandas as pd
from tmlt.core.domains.numpy_domains import NumpyFloatDomain
from tmlt.core.domains.pandas_domains import PandasSeriesDomain
from tmlt.core.measures import PureDP
from tmlt.core.measurements.noise_mechanisms import AddGeometricNoise
from tmlt.core.measurements.pandas_measurements.series import AddNoiseToSeries, NoisyQuantile
from tmlt.core.utils.exact_number import ExactNumber
def quantile(q, share=1):
    return NoisyQuantile(PandasSeriesDomain(NumpyFloatDomain()), PureDP(), q, 0.0, 100.0, ExactNumber(1) / share)
"""
)
SHARES = "[k / 10 for k in range(1, 10)]"


@dataclass(frozen=True, slots=True)
class Task:
    """One statistic: for every library its setup and its call; `slow` libraries are called once.

    `part` says which libraries do only that part of the work, because all of it takes minutes; their time is multiplied.
    """

    title: str
    calls: dict[str, tuple[str, str]]
    slow: frozenset[str] = field(default=frozenset({"OpenDP", "python-dp", "diffprivlib", "Tumult Core"}))
    part: dict[str, int] = field(default_factory=dict)


TASKS = [
    Task(
        "median of 10^6 values",
        {
            "deniable": (
                "data = numbers(10**6)\nm = ROWS >> dp.calculus.private_median(lower=0, upper=100, grid=Fraction(1, 100), scale=1)",
                "m(data)",
            ),
            "OpenDP": (
                "data = numbers(10**6)\n"
                "m = calibrated(lambda s: dp.m.make_private_quantile(*REALS, dp.max_divergence(), GRID, 0.5, s))",
                "m(data)",
            ),
            "diffprivlib": ("data = numbers(10**6)", "tools.quantile(data, 0.5, epsilon=1.0, bounds=(0, 100))"),
            "Tumult Core": ("data, m = numbers(10**6), quantile(0.5)", "m(pd.Series(data))"),
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
                f"build = lambda s: ROWS >> dp.calculus.private_quantiles(qs={SHARES}, lower=0, upper=100, grid=Fraction(1, 100), scale=s)\n"
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
            "Tumult Core": (
                "data, m = numbers(10**6), quantile(0.5, share=9)  # one of the nine deciles\n",
                "m(pd.Series(data))",
            ),
        },
        part={"Tumult Core": 9},
    ),
    Task(
        "top 10 of 10^6 scores",
        {
            "deniable": (
                "data = scores(10**6)\nspace = Space(Vectors(Lattice(), 10**6), LInfinity(monotonic=True))\n"
                "m = space >> dp.calculus.noisy_top_k(k=10, scale=10, noise=dp.calculus.MaxNoise.EXPONENTIAL)",
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
                "data = numbers(10**6)\nm = ROWS >> dp.calculus.private_histogram(edges=np.linspace(0, 100, 10**6 + 1), scale=1)",
                "m(data)",
            ),
            "OpenDP": (
                "data = [1] * 10**6  # already counted\nspace = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)\n"
                "m = dp.m.make_laplace(*space, scale=1.0)",
                "m(data)",
            ),
            "diffprivlib": ("data = numbers(10**6)", "tools.histogram(data, epsilon=1.0, bins=10**6, range=(0, 100))"),
            "Tumult Core": (
                "data = pd.Series(np.ones(10**5, dtype=np.int64))  # already counted\n"
                "m = AddNoiseToSeries(AddGeometricNoise(ExactNumber(1)))",
                "m(data)",
            ),
        },
        part={"Tumult Core": 10},
    ),
    Task(
        "10^6 private keys, thresholded",
        {
            "deniable": (
                "data = {str(k): int(v) % 40 + 1 for k, v in enumerate(scores(10**6))}\n"
                "space = Space(Keyed(Lattice(), None), PartitionDistance(AbsoluteDistance()))\n"
                "m = space >> dp.calculus.threshold_histogram(scale=1, threshold=dp.calculus.threshold_for(1e-8, scale=1, l0=1, linf=1))",
                "m(data)",
            ),
            "OpenDP": (
                "data = {str(k): int(v) % 40 + 1 for k, v in enumerate(scores(10**6))}\n"
                "space = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int)), dp.l01inf_distance(dp.absolute_distance(T=int))\n"
                "m = dp.m.make_laplace_threshold(*space, scale=1.0, threshold=20)",
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
                "m = space >> dp.calculus.private_covariance(scale=40)",
                "m(data).covariance",
            ),
            "NumPy, no privacy": ("data = (scores(10**7).reshape(-1, 10) % 2001 - 1000) / 100", "data.T @ data"),
        },
    ),
    Task(
        "10^7 numbers clamped and added up",
        {
            "deniable": (
                "data = numbers(10**7)\nt = ROWS >> dp.calculus.clamp(lower=0, upper=100) >> dp.calculus.total()",
                "t(data)",
            ),
            "NumPy, no privacy": ("data = numbers(10**7)", "np.clip(data, 0, 100).sum()"),
        },
    ),
]
EXACT = ("OpenDP", "Tumult Core", "python-dp")
FLOATS = ("diffprivlib",)
PLAIN = "NumPy, no privacy"
AT_MOST = {"covariance of 10^6 × 10": 10, "10^7 numbers clamped and added up": 3}
"""How many times NumPy's own time a task may take."""


SETUPS = {
    "deniable": OUR_SETUP,
    "OpenDP": OPENDP_SETUP,
    "diffprivlib": DIFFPRIVLIB_SETUP,
    "python-dp": PYTHON_DP_SETUP,
    "Tumult Core": TUMULT_SETUP,
    PLAIN: DATA,
}

Times = Mapping[str, float | None]


def python_of(library: str) -> Path | None:
    match library:
        case "OpenDP":
            return peer("opendp-calculus", "opendp")
        case "diffprivlib":
            return peer("diffprivlib", "diffprivlib", "scikit-learn<1.6")
        case "python-dp":
            return peer("python-dp")
        case "Tumult Core":
            return peer("tumult-core", "tmlt.core")
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
    return found.seconds * task.part.get(library, 1) if found else None


def verdict(title: str, times: Times) -> str:
    """What the target asks of this task, and whether it is met."""
    ours = times["deniable"]
    if ours is None:
        return "not measured"
    if title in AT_MOST:
        base = times[PLAIN]
        return told(base is not None and ours <= AT_MOST[title] * base, f"at most {AT_MOST[title]}× NumPy")
    exact = [time for name in EXACT if (time := times[name]) is not None]
    floats = [time for name in FLOATS if (time := times[name]) is not None]
    fast = bool(exact) and ours * 10 <= min(exact) and all(ours <= time for time in floats)
    return told(fast, "10× the fastest exact peer")


def told(good: bool, what: str) -> str:
    return f"{what}: {'met' if good else '**missed**'}"


def main() -> None:
    from benchmarks.calculus_errors import error_tables

    libraries = list(SETUPS)
    found = {task.title: {name: seconds(task, name) for name in libraries} for task in TASKS}
    versions = {"deniable": version(OURS, "deniable"), "NumPy": version(OURS, "numpy")}
    packages = {"opendp": "OpenDP", "diffprivlib": "diffprivlib", "python-dp": "python-dp", "tmlt.core": "Tumult Core"}
    versions |= {name: version(python_of(label), name) for name, label in packages.items()}
    page = Report("calculus", title="The calculus on a million rows", versions=versions)
    page.note(
        "Targets: 10× as fast as the fastest peer with exact noise (OpenDP, Tumult Core, python-dp), never slower than a float-only peer "
        "(diffprivlib); covariance within 10× of NumPy's float product, clamping and adding up within 3× of NumPy's."
    )
    rows = [[title, *(number(times[name], " s") for name in libraries)] for title, times in found.items()]
    page.table(["CPU seconds", *libraries], rows)
    page.note(
        "Tumult Core's time for the deciles is nine times that of one, and for the histogram ten times that of a tenth. Its measurements of keyed tables "
        "run inside Spark, another process, whose CPU time this benchmark does not see; they are left out. python-dp has no histogram, no top k "
        "and no thresholded keys. No peer releases a covariance matrix."
    )
    page.table(
        ["how many times as long theirs takes", *libraries[1:], "target"],
        [
            [title, *(ratio(times[name], times["deniable"]) for name in libraries[1:]), verdict(title, times)]
            for title, times in found.items()
        ],
    )
    page.bars("CPU seconds on a million rows", found)
    error_tables(page)
    page.write()


if __name__ == "__main__":
    main()
