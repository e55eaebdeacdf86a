"""Errors of the calculus beside other libraries: the same data, the same public facts, the same epsilon, means over 200 runs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import dev
from benchmarks.calculus import SETUPS, SHARES, python_of, told
from benchmarks.peers import answer
from benchmarks.report import Report, number

RUNS = 200
MEASURES = """
import bisect
def rank_error(drawn, wanted):
    ranks = [(bisect.bisect_left(ordered, x) + bisect.bisect_right(ordered, x)) / 2 for x in map(float, drawn)]
    return sum(abs(r - q * len(ordered)) for r, q in zip(ranks, wanted)) / len(wanted)
def mean_error(drawn, truth):
    return sum(abs(float(x) - y) for x, y in zip(drawn, truth)) / len(truth)
"""
RANKS = "data = numbers(10**4)\nordered = sorted(data)\n"
BINS = (
    "data = numbers(10**4)\ntruth = [0] * 1000\n"
    "for x in data:\n    truth[int(x * 10)] += 1  # no value lies within a float error of an edge\n"
)
KEYS = "truth = {str(k): int(v) % 40 + 1 for k, v in enumerate(scores(10**4))}\n"
MOMENTS = (
    "data = scores(10**5).reshape(-1, 10) % 2001 - 1000\ntruth = np.cov(data.T / 100, bias=True).ravel().tolist()\n"
    "space = Space(Rows(Vectors(Lattice(Fraction(1, 100), -1000, 1000), 10)), SymmetricDistance())\n"
)


@dataclass(frozen=True, slots=True)
class Trial:
    """One statistic: its data, for every library the function that draws it, and how far a draw is from the truth."""

    title: str
    data: str
    draws: dict[str, str]
    error: str


TRIALS = [
    Trial(
        "median, ranks",
        RANKS,
        {
            "deniable": "m = ROWS >> dp.calculus.private_median(lower=0, upper=100, grid=Fraction(1, 100), scale=1)\ndraw = lambda: [m(data)]",
            "OpenDP": "m = calibrated(lambda s: dp.m.make_private_quantile(*REALS, dp.max_divergence(), GRID, 0.5, s))\n"
            "draw = lambda: [m(data)]",
            "diffprivlib": "draw = lambda: [tools.quantile(data, 0.5, epsilon=1.0, bounds=(0, 100))]",
            "python-dp": "draw = lambda: [Percentile(epsilon=1.0, percentile=0.5, lower_bound=0.0, "
            "upper_bound=100.0, dtype='float').quick_result(data)]",
            "Tumult Core": "m, series = quantile(0.5), pd.Series(data)\ndraw = lambda: [m(series)]",
        },
        "rank_error(draw(), [0.5])",
    ),
    Trial(
        "nine deciles, ranks",
        RANKS,
        {
            "deniable": f"build = lambda s: ROWS >> dp.calculus.private_quantiles(qs={SHARES}, lower=0, upper=100, "
            "grid=Fraction(1, 100), scale=s)\nm = dp.calibrate(build, d_in=1, epsilon=1)\ndraw = lambda: m(data)",
            "OpenDP": "build = lambda a: lambda s: dp.m.make_private_quantile(*REALS, dp.max_divergence(), GRID, a, s)\n"
            f"ms = [build(a)(9 * dp.binary_search_param(build(a), 1, 1.0, T=float)) for a in {SHARES}]\n"
            "draw = lambda: [m(data) for m in ms]",
            "diffprivlib": f"draw = lambda: list(tools.quantile(data, {SHARES}, epsilon=1.0, bounds=(0, 100)))",
            "python-dp": "draw = lambda: [Percentile(epsilon=1 / 9, percentile=q, lower_bound=0.0, "
            f"upper_bound=100.0, dtype='float').quick_result(data) for q in {SHARES}]",
            "Tumult Core": f"ms, series = [quantile(q, share=9) for q in {SHARES}], pd.Series(data)\n"
            "draw = lambda: [m(series) for m in ms]",
        },
        f"rank_error(draw(), {SHARES})",
    ),
    Trial(
        "top 10 of 10^4 scores, score below the best ten",
        "data = scores(10**4)\ntop = sum(sorted(data)[-10:])\n",
        {
            "deniable": "space = Space(Vectors(Lattice(), 10**4), LInfinity(monotonic=True))\n"
            "m = space >> dp.calculus.noisy_top_k(k=10, scale=10, noise=dp.calculus.MaxNoise.EXPONENTIAL)\ndraw = lambda: m(data)",
            "OpenDP": "space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int, monotonic=True)\n"
            "m = calibrated(lambda s: dp.m.make_noisy_top_k(*space, dp.max_divergence(), 10, s))\ndraw = lambda: m(data)",
        },
        "float(top - sum(data[i] for i in draw())) / 10",
    ),
    Trial(
        "histogram of 1000 bins, count",
        BINS,
        {
            "deniable": "m = ROWS >> dp.calculus.private_histogram(edges=[Fraction(k, 10) for k in range(1001)], scale=1)\n"
            "draw = lambda: m(data)",
            "OpenDP": "space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)\n"
            "m = dp.m.make_laplace(*space, scale=1.0)\ndraw = lambda: m(truth)",
            "diffprivlib": "draw = lambda: tools.histogram(data, epsilon=1.0, bins=1000, range=(0, 100))[0]",
            "Tumult Core": "m, series = AddNoiseToSeries(AddGeometricNoise(ExactNumber(1))), pd.Series(truth)\n"
            "draw = lambda: m(series)",
        },
        "mean_error(draw(), truth)",
    ),
    Trial(
        "10^4 private keys at delta = 10^-8, count (a hidden key counts as zero)",
        KEYS,
        {
            "deniable": "space = Space(Keyed(Lattice(), None), PartitionDistance(AbsoluteDistance()))\n"
            "m = space >> dp.calculus.threshold_histogram(scale=1, threshold=dp.calculus.threshold_for(1e-8, scale=1, l0=1, linf=1))\n"
            "draw = lambda: m(truth)",
            "OpenDP": "space = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int)), "
            "dp.l01inf_distance(dp.absolute_distance(T=int))\n"
            "m = dp.m.make_laplace_threshold(*space, scale=1.0, threshold=20)\ndraw = lambda: m(truth)",
        },
        "(lambda shown: mean_error([shown.get(k, 0) for k in truth], list(truth.values())))(draw())",
    ),
    Trial(
        "covariance of 10^4 × 10 at delta = 10^-8, entry",
        MOMENTS,
        {
            "deniable": "m = dp.calibrate(lambda s: space >> dp.calculus.private_covariance(scale=s), d_in=1, epsilon=1, delta=1e-8)\n"
            "draw = lambda: m(data).covariance.ravel()",
        },
        "mean_error(draw(), truth)",
    ),
]


def error(trial: Trial, library: str) -> tuple[float, float] | None:
    """The mean error over all runs, and half the width of its 95 % interval."""
    if library not in trial.draws:
        return None
    dev.say(f"{trial.title}: {library}")
    program = (
        SETUPS[library]
        + MEASURES
        + trial.data
        + trial.draws[library]
        + f"\nanswer = [{trial.error} for _ in range({RUNS})]\n"
    )
    errors = answer(python_of(library), program)
    if not errors:
        return None
    mean = sum(errors) / len(errors)
    spread = math.sqrt(sum((e - mean) ** 2 for e in errors) / (len(errors) - 1))
    return mean, 1.96 * spread / math.sqrt(len(errors))


def verdict(found: dict[str, tuple[float, float] | None]) -> str:
    """Our mean error is at most each peer's, plus half that peer's own interval."""
    ours = found["deniable"]
    peers = [one for name, one in found.items() if name != "deniable" and one is not None]
    if ours is None or not peers:
        return "no peer to compare"
    return told(all(ours[0] <= mean + half for mean, half in peers), "no larger than any peer's")


def error_tables(page: Report) -> None:
    """Measure and write the table."""
    page.note(
        f"Mean error over {RUNS} runs on ten thousand rows at epsilon = 1, half the 95 % interval after ±. Quantile candidates are the multiples of 1/100 where a "
        "library takes candidates. Target: at most each peer's mean error plus half that peer's interval. Both libraries that hide rare keys get the least threshold at which a key that "
        "one person holds is shown with probability at most 10^-8, which is 20; OpenDP's own map would allow 19, where it is shown with probability 1.1·10^-8."
    )
    shown = [name for name in SETUPS if any(name in trial.draws for trial in TRIALS)]
    rows = []
    for trial in TRIALS:
        found = {name: error(trial, name) for name in shown}
        cells = ("–" if one is None else f"{number(one[0])} ± {number(one[1])}" for one in found.values())
        rows.append([trial.title, *cells, verdict(found)])
    page.table(["mean error, lower is better", *shown, "target"], rows)
