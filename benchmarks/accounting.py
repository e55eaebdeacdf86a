"""Reading costs: time, memory and tightness beside other accountants of privacy loss distributions.

dp-accounting is given its default grid first, then finer ones until its answer is within 1e-4 of ours: its time is that of the
coarsest grid that is. Ours takes no grid. A peer that needs more than 15 seconds of CPU time for one question is stopped and shown with a dash.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import dev
from benchmarks.peers import OURS, Reading, answer, cpu, peer, version
from benchmarks.report import Report, number, ratio

GRIDS = ["1e-4", "5e-5", "2e-5", "1e-5", "5e-6"]
CLOSE = 1e-4
CAP = 15
OUR_SETUP = """
import sys
sys.path.insert(0, "src")  # this checkout, whatever is installed
from fractions import Fraction
import deniable as dp
from deniable.accounting.theorems import _epsilon
from deniable.cost import Composed
def gaussian(sigma): return dp.costs.Gaussian(scale=sigma, sensitivity=1)
def laplace(scale): return dp.costs.Laplace(scale=scale, sensitivity=1)
def pure(epsilon): return dp.costs.Bounded(epsilon=epsilon)
def sampled(cost, rate): return cost.sampled(rate=rate)
def times(cost, count): return cost.repeated(count)
def together(*costs): return Composed(costs)
def epsilon(cost, delta):
    _epsilon.cache_clear()  # what was read once is kept: here it is read each time
    return dp.epsilon(cost, delta=delta)
def calibrated(cost, target, delta):
    _epsilon.cache_clear()
    return dp.calibrate(cost, epsilon=target, delta=delta).parameter
"""
PEER_SETUP = """
import dp_accounting as d
from dp_accounting.pld import common, pld_privacy_accountant, privacy_loss_distribution
def accountant(): return pld_privacy_accountant.PLDAccountant(value_discretization_interval=GRID)
def gaussian(sigma): return d.GaussianDpEvent(sigma)
def laplace(scale): return d.LaplaceDpEvent(scale)
def sampled(event, rate): return d.PoissonSampledDpEvent(rate, event)
def times(event, count): return d.SelfComposedDpEvent(event, count)
def together(*events): return d.ComposedDpEvent(list(events))
def epsilon(event, delta): return accountant().compose(event).get_epsilon(delta)
def calibrated(event, target, delta): return d.calibrate_dp_mechanism(accountant, event, target, delta)
class pure:
    def __init__(self, epsilon): self.epsilon = epsilon
def many_pure(one, count, delta):
    parameters = common.DifferentialPrivacyParameters(one, 0)
    made = privacy_loss_distribution.from_privacy_parameters(parameters, value_discretization_interval=GRID)
    return made.self_compose(count).get_epsilon_for_delta(delta)
"""
PRV_SETUP = """
import warnings; warnings.simplefilter("ignore")
from prv_accountant import PRVAccountant
from prv_accountant.privacy_random_variables import *
def gaussian(sigma): return GaussianMechanism(noise_multiplier=sigma)
def laplace(scale): return LaplaceMechanism(mu=1 / scale)
def pure(epsilon): return PureDPMechanism(epsilon)
def sampled(law, rate): return PoissonSubsampledGaussianMechanism(sampling_probability=rate, noise_multiplier=1 / law.mu)
def times(law, count): return [(law, count)]
def together(*laws): return [each for some in laws for each in some]
def epsilon(laws, delta):
    laws, counts = zip(*(laws if isinstance(laws, list) else [(laws, 1)]))
    made = PRVAccountant(prvs=list(laws), max_self_compositions=list(counts), eps_error=0.01, delta_error=delta / 1000)
    return made.compute_epsilon(delta, list(counts))[2]
"""
SEGMENTS = "together(*(times(sampled(gaussian(1 + k / 30), 0.01), 300) for k in range(30)))"
TRAINING = "lambda sigma: times(sampled(gaussian(sigma), 0.01), 10_000)"
PLAIN = "epsilon(gaussian(0.03), 1e-6)"


@dataclass(frozen=True, slots=True)
class Race:
    """One question put to us and to dp-accounting, and how many times as fast we have to be."""

    title: str
    call: str
    least: float


RACES = [
    Race("10^6 steps, σ = 1, rate 0.0005", "epsilon(times(sampled(gaussian(1), 0.0005), 10**6), 1e-6)", 10),
    Race("30 segments, σ from 1 to 2", f"epsilon({SEGMENTS}, 1e-6)", 20),
    Race("σ of DP-SGD for ε = 2", f"calibrated({TRAINING}, 2, 1e-6)", 10),
]
MANY_PURE = [("0.01", 10**4), ("1", 10**4)]
TIGHTNESS = {
    "DP-SGD: σ = 1, rate 0.01, 10^4 steps, δ = 1e-6": ("times(sampled(gaussian(1), 0.01), 10**4)", "1e-6"),
    "σ = 2, rate 0.001, 10^6 steps, δ = 1e-6": ("times(sampled(gaussian(2), 0.001), 10**6)", "1e-6"),
    "σ = 0.8, rate 0.01, 1,000 steps, δ = 1e-8": ("times(sampled(gaussian(0.8), 0.01), 1000)", "1e-8"),
    "σ = 4, rate 0.1, 100 steps, δ = 1e-10": ("times(sampled(gaussian(4), 0.1), 100)", "1e-10"),
    "30 segments, σ from 1 to 2, δ = 1e-6": (SEGMENTS, "1e-6"),
    "Gaussian σ = 5, 100 times, δ = 1e-6": ("times(gaussian(5), 100)", "1e-6"),
    "Gaussian σ = 100, 10^5 times, δ = 1e-8": ("times(gaussian(100), 10**5)", "1e-8"),
    "Laplace scale 10, 1,000 times, δ = 1e-6": ("times(laplace(10), 1000)", "1e-6"),
    "Laplace scale 1,000, 10^6 times, δ = 1e-6": ("times(laplace(1000), 10**6)", "1e-6"),
    "50 Laplace (20) and 50 Gaussian (10), δ = 1e-6": (
        "together(times(laplace(20), 50), times(gaussian(10), 50))",
        "1e-6",
    ),
}


def theirs() -> Path | None:
    return peer("dp-accounting")


def prv() -> Path | None:
    return peer("prv-accountant")


def capped(seconds: int) -> str:
    """CPU seconds after which a program is ended."""
    return f"import resource\nresource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))\n"


def on_grid(grid: str, cap: int = CAP) -> str:
    return capped(cap) + f"GRID = {grid}\n" + PEER_SETUP


def our_number(call: str) -> list[float]:
    """Both ends of the bracket; twice the number where there is only one."""
    code = f"found = {call}\nanswer = [getattr(found, 'lower', found), getattr(found, 'upper', found)]"
    found: list[float] = answer(OURS, OUR_SETUP + code)
    return found


@dataclass(frozen=True, slots=True)
class Told:
    """A peer's answer, the CPU seconds it took (least of up to three calls) and the peak memory of its process in bytes."""

    value: float
    seconds: float
    peak: int


TIMED = """
import resource, time
spent = []
while sum(spent) < 2 and len(spent) < 3:
    start = time.process_time()
    value = {call}
    spent.append(time.process_time() - start)
answer = [str(float(value)), min(spent), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]
"""


@cache
def told(call: str, grid: str) -> Told | None:
    """dp-accounting's answer on a grid; None where it fails or needs more than its cap."""
    found = answer(theirs(), on_grid(grid) + TIMED.format(call=call))
    return Told(float(found[0]), found[1], found[2]) if found else None


@dataclass(frozen=True, slots=True)
class Result:
    """What a race found: our bracket and cost, and the peer's on its default grid and on one as tight as ours."""

    race: Race
    bracket: list[float]
    ours: Reading
    default: Told | None
    grid: str
    equal: Told | None

    @property
    def met(self) -> bool:
        return self.equal is not None and self.equal.seconds >= self.race.least * self.ours.seconds


def run(race: Race) -> Result:
    dev.say(race.title)
    bracket, ours = our_number(race.call), cpu(OURS, setup=OUR_SETUP, call=race.call, rounds=3)
    assert ours is not None
    for grid in GRIDS:
        found = told(race.call, grid)
        if found is None or found.value <= bracket[1] * (1 + CLOSE):
            break
    return Result(race, bracket, ours, told(race.call, GRIDS[0]), grid, found)


def said(met: bool) -> str:
    return "met" if met else "**not met**"


def races(page: Report, results: list[Result]) -> None:
    page.note(
        "Speed. The peer is timed on its default grid of 1e-4, and on the coarsest of its grids whose answer is at most 1e-4 "
        "(relative) above ours; the ratio that counts is against the second."
    )
    rows = []
    for each in results:
        default, equal = (one.seconds if one else None for one in (each.default, each.equal))
        rows.append(
            [
                each.race.title,
                f"{each.bracket[1]:.6g}",
                number(each.ours.seconds, " s"),
                f"{each.default.value:.6g}" if each.default else "–",
                f"{number(default, ' s')} ({ratio(default, each.ours.seconds)})",
                f"{number(equal, ' s')} on {each.grid} ({ratio(equal, each.ours.seconds)})",
                f"≥ {each.race.least:g}×",
                said(each.met),
            ]
        )
    page.table(
        ["", "ours", "CPU time", "peer, default grid", "CPU time (ratio)", "as tight as ours (ratio)", "target", ""],
        rows,
    )
    peak = results[0].ours.peak / 1e6
    theirs_peak = results[0].equal.peak / 1e6 if results[0].equal else None
    page.note(
        f"Peak memory of the whole process for 10^6 steps: {number(peak, ' MB')}, the peer's {number(theirs_peak, ' MB')}; "
        f"target below 200 MB: {said(peak < 200)}."
    )


def edge_cases(page: Report) -> None:
    """A very small scale, and many pure mechanisms: where others overflow or give up."""
    dev.say("plain Gaussian, σ = 0.03")
    bracket, ours = our_number(PLAIN), cpu(OURS, setup=OUR_SETUP, call=PLAIN)
    assert ours is not None
    rows = [["plain Gaussian σ = 0.03", *shown(bracket, ours), heard(told(PLAIN, GRIDS[0])), "correct in milliseconds"]]
    right = bracket[1] - bracket[0] <= 1e-6 * bracket[1] and ours.seconds < 0.01
    rows[0].append(said(right))
    for each, count in MANY_PURE:
        call = f"epsilon(times(pure(Fraction('{each}')), {count}), 1e-6)"
        dev.say(f"{count:,} pure mechanisms of {each}")
        bracket, ours = our_number(call), cpu(OURS, setup=OUR_SETUP, call=call, rounds=2, most=1)
        assert ours is not None
        other = heard(told(f"many_pure({each}, {count}, 1e-6)", GRIDS[0]))
        finite = bracket[1] < float("inf") and bracket[1] - bracket[0] <= CLOSE * bracket[1]
        rows.append([f"10^4 pure mechanisms of ε = {each}", *shown(bracket, ours), other, "no overflow", said(finite)])
    page.note("Edges, all at δ = 1e-6.")
    page.table(["", "our bracket", "CPU time", "dp-accounting", "target", ""], rows)


def heard(found: Told | None) -> str:
    return f"{found.value:.8g} after {number(found.seconds, ' s')}" if found else f"failed, or stopped after {CAP} s"


def shown(bracket: list[float], ours: Reading) -> list[str]:
    return [f"[{bracket[0]:.8g}, {bracket[1]:.8g}]", number(ours.seconds * 1e3, " ms")]


def tightness(page: Report) -> None:
    calls = [f"epsilon({cost}, {delta})" for cost, delta in TIGHTNESS.values()]
    dev.say("tightness")
    ours = answer(
        OURS, OUR_SETUP + f"found = [{', '.join(calls)}]\nanswer = [[each.lower, each.upper] for each in found]"
    )
    first = answer(theirs(), on_grid(GRIDS[0], 4 * CAP) + f"answer = [{', '.join(calls)}]") or [None] * len(calls)
    quick = [call for call in calls if "10**6" not in call and "range" not in call]
    second = answer(prv(), capped(2 * CAP) + PRV_SETUP + f"answer = [{', '.join(f'float({call})' for call in quick)}]")
    by_prv = dict(zip(quick, second, strict=True)) if second else {}
    rows, worst = [], -1.0
    for title, call, (low, high), other in zip(TIGHTNESS, calls, ours, first, strict=True):
        found = [other, by_prv.get(call)]
        sound = [value for value in found if value is not None and value >= low]
        looser = high / min(sound) - 1 if sound else None
        worst = max(worst, looser if looser is not None else -1.0)
        rows.append([title, f"{low:.7g}", f"{high:.7g}", *(against(value, low) for value in found), percent(looser)])
    page.note(
        "Tightness: upper ends for ε. dp-accounting on its default grid, prv-accountant's upper end with an error of 0.01 in ε and δ/1000 in δ "
        "(a dash where it has no such law or was not asked, for it takes long). Our lower end is proved, so a peer's number below it is below "
        "the truth and does not count. The last column is how far ours is above the best of the others: a minus says ours is tighter."
    )
    page.table(["", "our lower end", "ours", "dp-accounting", "prv-accountant", "ours above the best"], rows)
    page.note(
        f"Target: never looser than the best peer by more than 0.1 %. Worst: {percent(worst)}: {said(worst <= 1e-3)}."
    )


def against(value: Any, low: float) -> str:
    if value is None:
        return "–"
    return f"{value:.7g}" + ("" if value >= low else " (below the truth)")


def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:+.4f} %"


def main() -> None:
    results = [run(race) for race in RACES]
    versions = {"deniable": version(OURS, "deniable"), "NumPy": version(OURS, "numpy")}
    versions |= {
        "dp-accounting": version(theirs(), "dp-accounting"),
        "prv-accountant": version(prv(), "prv-accountant"),
    }
    page = Report("accounting", title="Reading costs", versions=versions)
    races(page, results)
    page.bars(
        "CPU seconds, at equal tightness",
        {
            each.race.title: {
                "deniable": each.ours.seconds,
                "dp-accounting": each.equal.seconds if each.equal else None,
            }
            for each in results
        },
    )
    edge_cases(page)
    page.write()
    tightness(page)
    page.write()


if __name__ == "__main__":
    main()
