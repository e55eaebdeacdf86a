"""Exact noise: what a draw costs, beside other libraries and beside NumPy's generators, which are not private.

Mechanism against mechanism: ours is timed like the others', a value (or a list of them) in, noise added, values out. Beside it
stands our sampler alone, to be held against NumPy's raw float generator, which adds nothing to anything and rounds nothing. The clock attack on sampling time (T1) is measured here
too: it needs a quiet machine, so it is no test.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import dev
from benchmarks.peers import OURS, Reading, answer, cpu, peer, version
from benchmarks.report import Report, number, ratio

SIZES = [1, 1_000, 1_000_000]
OUR_SETUP = "from fractions import Fraction\nfrom deniable import noise\nentropy = noise.Entropy()\n"
NUMPY_SETUP = "import numpy as np\nrng = np.random.default_rng()\n"
OPENDP_SETUP = "import opendp.prelude as dp\ndp.enable_features('contrib')\n"
DIFFPRIVLIB_SETUP = "from diffprivlib import mechanisms\n"
PYTHON_DP_SETUP = "from pydp.algorithms.numerical_mechanisms import GaussianMechanism, LaplaceMechanism\n"


@dataclass(frozen=True, slots=True)
class Case:
    """One law at one scale: integers of that scale, or floats of scale one on a grid of 1/scale."""

    law: str
    scale: int
    grid: bool = False

    @property
    def title(self) -> str:
        kind = f"floats, 2^{self.scale.bit_length() - 1} grid steps" if self.grid else f"integers, scale {self.scale:,}"
        return f"{self.law}, {kind}"


CASES = [Case(law, scale) for law in ("Laplace", "Gaussian") for scale in (10, 1000)]
CASES += [Case(law, 1 << bits, grid=True) for law in ("Laplace", "Gaussian") for bits in (20, 40)]


def ours(case: Case, size: int) -> Reading | None:
    """The mechanism: what a user calls, and what the other libraries are timed at."""
    lattice = f"c.Lattice(Fraction(1, {case.scale}))" if case.grid else "c.Lattice()"
    distance = "AbsoluteDistance" if size == 1 else "L1" if case.law == "Laplace" else "L2"
    domain = lattice if size == 1 else f"c.Vectors({lattice}, {size})"
    scale = 1 if case.grid else case.scale
    made = f"mechanism = c.Space({domain}, c.{distance}()) >> c.{case.law.lower()}(scale={scale})\n"
    data = "data = 0" if size == 1 else f"data = [0] * {size}"
    return cpu(OURS, setup=OUR_SETUP + "from deniable import calculus as c\n" + made + data, call="mechanism(data)")


def sampler(case: Case, size: int) -> Reading | None:
    """The noise alone, warm tables, refinement included."""
    name = "discrete_laplace" if case.law == "Laplace" else "rounded_gaussian"
    draw = f"noise.{name}({case.scale}, entropy)" if size == 1 else f"noise.{name}s({case.scale}, {size}, entropy)"
    return cpu(OURS, setup=OUR_SETUP + draw, call=f"{draw} * {1 / case.scale!r}" if case.grid else draw)


def numpy(case: Case, size: int) -> Reading | None:
    draw = "laplace" if case.law == "Laplace" else "normal"
    scale = 1.0 if case.grid else float(case.scale)
    return cpu(
        OURS, setup=NUMPY_SETUP, call=f"rng.{draw}(0.0, {scale})" if size == 1 else f"rng.{draw}(0.0, {scale}, {size})"
    )


def opendp_python() -> Path | None:
    return peer("opendp", "opendp", "numpy")  # NumPy only for the clock attack's statistics


def diffprivlib_python() -> Path | None:
    return peer("diffprivlib", "diffprivlib", "scikit-learn<1.6")  # it does not start with newer ones


def opendp(case: Case, size: int) -> Reading | None:
    kind = "T=float, nan=False" if case.grid else "T=int"
    options = f"scale=1.0, k=-{case.scale.bit_length() - 1}" if case.grid else f"scale={float(case.scale)}"
    distance = ("absolute" if size == 1 else "l1" if case.law == "Laplace" else "l2") + "_distance"
    measured = "int" if case.law == "Laplace" and not case.grid else "float"
    domain = f"dp.atom_domain({kind})" if size == 1 else f"dp.vector_domain(dp.atom_domain({kind}), size={size})"
    made = f"mechanism = dp.m.make_{case.law.lower()}({domain}, dp.{distance}(T={measured}), {options})\n"
    zero = "0.0" if case.grid else "0"
    data = f"data = {zero}" if size == 1 else f"data = [{zero}] * {size}"
    slow = {"rounds": 1, "most": 1} if size > 10_000 else {}
    return cpu(opendp_python(), setup=OPENDP_SETUP + made + data, call="mechanism(data)", **slow)


def diffprivlib(case: Case, size: int) -> Reading | None:
    """It draws one at a time; the Gaussian's epsilon is chosen for about the scale asked for."""
    if size > 10_000:
        return None
    epsilon = 1.0 if case.grid else 1 / case.scale
    gaussian = f"(epsilon={min(4.2 * epsilon, 0.9)}, delta=1e-5, sensitivity=1)"
    made = {
        ("Laplace", False): f"mechanisms.Geometric(epsilon={epsilon}, sensitivity=1)",
        ("Laplace", True): f"mechanisms.Laplace(epsilon={epsilon}, sensitivity=1)",
        ("Gaussian", False): f"mechanisms.GaussianDiscrete{gaussian}",
        ("Gaussian", True): f"mechanisms.Gaussian{gaussian}",
    }[case.law, case.grid]
    return one_by_one(diffprivlib_python(), DIFFPRIVLIB_SETUP, made, "randomise", case, size)


def python_dp(case: Case, size: int) -> Reading | None:
    """It draws one at a time; the Gaussian's epsilon is chosen for about the scale asked for."""
    if size > 10_000:
        return None
    epsilon = 1.0 if case.grid else 1 / case.scale
    laplace, gaussian = f"LaplaceMechanism({epsilon}, 1.0)", f"GaussianMechanism({4.0 * epsilon}, 1e-5, 1.0)"
    made = laplace if case.law == "Laplace" else gaussian
    return one_by_one(peer("python-dp"), PYTHON_DP_SETUP, made, "add_noise", case, size)


def one_by_one(python: Path | None, setup: str, made: str, method: str, case: Case, size: int) -> Reading | None:
    zero = "0.0" if case.grid else "0"
    call = f"draw({zero})" if size == 1 else f"[draw({zero}) for _ in range({size})]"
    return cpu(python, setup=f"{setup}draw = {made}.{method}", call=call)


SAMPLER = "deniable, sampler alone"
LIBRARIES = {
    "deniable": ours,
    SAMPLER: sampler,
    "NumPy": numpy,
    "OpenDP": opendp,
    "diffprivlib": diffprivlib,
    "python-dp": python_dp,
}
PEERS = ("OpenDP", "diffprivlib", "python-dp")
NEW_SCALES = {
    "Laplace near 10": ("discrete_laplace", "10 + Fraction(1, next(count))"),
    "Laplace near 2^40": ("discrete_laplace", "2**40 + Fraction(1, next(count))"),
    "Gaussian near 10": ("rounded_gaussian", "10 + Fraction(1, next(count))"),
    "Gaussian near 200": ("rounded_gaussian", "200 - Fraction(1, next(count))"),
    "Gaussian near 1,000": ("rounded_gaussian", "1000 + Fraction(1, next(count))"),
    "Gaussian near 2^40": ("rounded_gaussian", "2**40 + Fraction(1, next(count))"),
}


def main() -> None:
    found = {case: {size: measured(case, size) for size in SIZES} for case in CASES}
    versions = {"deniable": version(OURS, "deniable"), "NumPy": version(OURS, "numpy")}
    versions |= {"OpenDP": version(opendp_python(), "opendp"), "python-dp": version(peer("python-dp"), "python-dp")}
    versions["diffprivlib"] = version(diffprivlib_python(), "diffprivlib")
    page = Report("noise", title="Exact noise", versions=versions)
    targets(page, found)
    times(page, found)
    setup_costs(page)
    clock_attack(page)
    page.write()


def measured(case: Case, size: int) -> dict[str, float | None]:
    dev.say(f"{case.title}, n = {size:,}")
    readings = {name: library(case, size) for name, library in LIBRARIES.items()}
    return {name: reading.seconds if reading else None for name, reading in readings.items()}


def targets(page: Report, found: dict[Case, dict[int, dict[str, float | None]]]) -> None:
    """What had to be reached, and what was."""
    page.note(
        "Targets: a million integers at least 100× as fast as OpenDP's mechanism; the sampler alone half as fast as NumPy's "
        "generator, which is not private, on grid floats a quarter as fast; one scalar answer 20× as fast as OpenDP's. "
        "Mechanisms are timed with mechanisms: a number, or a list of a million, in, noise added, out."
    )
    rows = []
    for case, sizes in found.items():
        many, one = sizes[1_000_000], sizes[1]
        needed = "" if case.grid else "100×"
        rows.append(
            [
                case.title,
                f"{ratio(many['OpenDP'], many['deniable'])} {needed and f'(≥ {needed})'}",
                f"{ratio(many['NumPy'], many[SAMPLER])} (≥ {0.25 if case.grid else 0.5}×)",
                f"{ratio(one['OpenDP'], one['deniable'])} (≥ 20×)",
            ]
        )
    page.table(["speed, higher is faster", "10^6 vs OpenDP", "sampler, 10^6 vs NumPy", "one answer vs OpenDP"], rows)


def times(page: Report, found: dict[Case, dict[int, dict[str, float | None]]]) -> None:
    """Nanoseconds per number, everything that was measured."""
    rows = [
        [f"{case.title}, n = {size:,}", *(number(per_number(seconds, size)) for seconds in found[case][size].values())]
        for case in CASES
        for size in SIZES
    ]
    page.note("CPU nanoseconds per number; a dash where a library draws one at a time and was not asked for a million.")
    page.table(["", *LIBRARIES], rows)
    page.note(ahead(found))
    chart = {
        case.title: {name: rate(case, name, found) for name in ("deniable", SAMPLER, "NumPy", "OpenDP")}
        for case in CASES
    }
    page.bars("Million numbers per CPU second, vectors of a million", chart)


def ahead(found: dict[Case, dict[int, dict[str, float | None]]]) -> str:
    """Where another library's mechanism takes less time than ours."""
    quicker = [
        f"{name} ({case.title}, n = {size:,}, {ratio(ours, theirs)})"
        for case, sizes in found.items()
        for size, by in sizes.items()
        for name in PEERS
        if (ours := by["deniable"]) is not None and (theirs := by[name]) is not None and theirs < ours
    ]
    return f"Quicker than our mechanism: {'; '.join(quicker)}." if quicker else "No peer is quicker than our mechanism."


def per_number(seconds: float | None, size: int) -> float | None:
    return None if seconds is None else seconds / size * 1e9


def rate(case: Case, name: str, found: dict[Case, dict[int, dict[str, float | None]]]) -> float | None:
    seconds = found[case][1_000_000][name]
    return None if seconds is None else 1 / seconds


def setup_costs(page: Report) -> None:
    """The first draw at a new scale, the key stream's own limit, and memory."""
    rows = []
    for title, (name, scale) in NEW_SCALES.items():
        setup = OUR_SETUP + "from itertools import count as counter\ncount = counter(2)"
        reading = cpu(OURS, setup=setup, call=f"noise.{name}({scale}, entropy)", most=200)
        rows.append(
            [f"first draw at a new scale, {title}", number(reading and reading.seconds * 1e3, " ms"), "< 50 ms"]
        )
    stream = cpu(OURS, setup=OUR_SETUP, call="entropy.words(65536)")
    rows.append(["key stream alone, per 64-bit word", number(stream and stream.seconds / 65536 * 1e9, " ns"), ""])
    for name in ("discrete_laplaces", "rounded_gaussians"):
        rows.append([f"memory for 10^7 numbers, {name}, scale 1,000", number(memory(name), "× the output"), "< 10×"])
    page.table(["cost", "measured", "target"], rows)


def memory(name: str) -> float | None:
    """Peak memory above the same program drawing one number, over the size of the output."""
    draw = f"noise.{name}(1000, {{}}, entropy)"
    idle, busy = (
        cpu(OURS, setup=OUR_SETUP, call=draw.format(size), rounds=1, most=1, least=0.0) for size in (1, 10_000_000)
    )
    return (busy.peak - idle.peak) / 8e7 if idle and busy else None


CLOCK_ATTACK = """
import gc, json, time
import numpy as np
from fractions import Fraction
{setup}
def series(draw, n):
    values, times = np.empty(n), np.empty(n)
    for i in range(n):
        start = time.perf_counter_ns()
        value = draw()
        times[i] = time.perf_counter_ns() - start
        values[i] = value
    return values, times
def ranks(x):
    order = np.empty(len(x))
    order[np.argsort(x + np.random.default_rng(1).random(len(x)) * 1e-9, kind="stable")] = np.arange(len(x))
    return order
def told(values, times):
    return [float(abs(np.corrcoef(ranks(v), ranks(times))[0, 1])) for v in (values, np.abs(values))]
gc.disable()
values, times = series({draw}, {n})
other, _ = series({draw}, {n})
answer = dict(value=told(values, times)[0], size=told(values, times)[1], control=max(told(other, times)))
"""

ATTACKED = {
    "discrete_laplace, scale 10": (OUR_SETUP, "lambda: noise.discrete_laplace(10, entropy)", 40_000),
    "discrete_laplace, scale 1,000": (OUR_SETUP, "lambda: noise.discrete_laplace(1000, entropy)", 40_000),
    "rounded_gaussian, scale 10": (OUR_SETUP, "lambda: noise.rounded_gaussian(10, entropy)", 40_000),
    "rounded_gaussian, scale 1,000": (OUR_SETUP, "lambda: noise.rounded_gaussian(1000, entropy)", 40_000),
    "plain Canonne–Kamath–Steinke, scale 10": (
        OUR_SETUP + "from deniable.testing import oracle",
        "lambda: oracle.laplace(Fraction(10), entropy)",
        10_000,
    ),
}
OPENDP_ATTACK = (
    OPENDP_SETUP + "mechanism = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=10.0)",
    "lambda: mechanism(0)",
    10_000,
)


def clock_attack(page: Report) -> None:
    """Does the time a draw takes tell what was drawn? Rank correlation with the value and with its size."""
    rows = []
    attacked = [(OURS, title, *attack) for title, attack in ATTACKED.items()]
    attacked.append((opendp_python(), "OpenDP Laplace, scale 10", *OPENDP_ATTACK))
    for python, title, setup, draw, n in attacked:
        dev.say(f"clock attack on {title}")
        told = answer(python, CLOCK_ATTACK.format(setup=setup, draw=draw, n=n))
        found = [number(told[key]) for key in ("value", "size", "control")] if told else ["–"] * 3
        rows.append([title, *found, number(6.2 / n**0.5)])
    page.note(
        "The clock attack (T1): absolute rank correlation of the time of a scalar draw with the value drawn and with its "
        "size. The control is the same times against values drawn at another moment; chance stays below the bound."
    )
    page.table(["sampler", "with the value", "with its size", "control", "bound"], rows)


if __name__ == "__main__":
    main()
