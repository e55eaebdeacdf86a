"""The auditor and the attacks: how often a promise broken by so much is found with so many draws, and the CPU time of the work.

Powers are counts of runs, with system entropy; times are CPU seconds of one run on this machine.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np

import deniable as dp
from benchmarks import audit_peers
from benchmarks.report import FOLDER, Report, number
from deniable import noise
from deniable.attacks.curators import Curator
from deniable.audit import AnswerEvent, columns
from deniable.audit.claims import curve_of
from deniable.audit.self_audit import self_audit
from deniable.audit.two_halves import Choice, try_event, two_halves
from deniable.cost import Bounded
from deniable.version import __version__

RUNS, SURE = {10_000: 1000, 100_000: 400, 1_000_000: 100}, 20
"""Runs of each cell by its draws; of cells that any test finds always, fewer."""
LEVEL = 0.01
BEST = Choice(AnswerEvent("answer", ((-math.inf, 0.0),)), False)
"""The best event for discrete Laplace noise on 0 or 1, on its likelier side, with its slope."""
EPSILONS = (Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(3))
SHARES = (Fraction(98, 100), Fraction(9, 10), Fraction(1, 2))


class Scaled:
    """A number with discrete Laplace noise of one scale."""

    def __init__(self, scale: Fraction) -> None:
        self.scale = scale

    def function(self, data: int, entropy: Any) -> int:
        return data + noise.discrete_laplace(self.scale, entropy)

    def draws(self, data: int, count: int, entropy: Any) -> Any:
        return data + noise.discrete_laplaces(self.scale, count, entropy)


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of one run."""
    before = time.process_time()
    work()
    return time.process_time() - before


def power(epsilon: Fraction, share: Fraction, draws: int, runs: int) -> tuple[int, int, int]:
    """In how many runs noise of this share of the right scale is found: by the auditor, by the best event at half the level, by both."""
    noisy, curve = Scaled(share / epsilon), curve_of(Bounded(epsilon=epsilon))
    ours = fixed = both = 0
    for _ in range(runs):
        sides = [noisy.draws(x, draws // 2, noise.system_entropy()) for x in (0, 1)]
        found = any(trial.broken for trial in two_halves(*sides, curve=curve, error=LEVEL))
        known = try_event(BEST, *map(columns, sides), draws=draws // 2, curve=curve, error=LEVEL / 2).broken
        ours, fixed, both = ours + found, fixed + known, both + (found and known)
    return ours, fixed, both


def fixed_event(epsilon: Fraction, share: Fraction, draws: int, *, level: float) -> float:
    """About the power of a test of the best event and slope, both known beforehand, with all draws."""
    true, claimed, each = float(epsilon / share), float(epsilon), draws / 2
    p, corner = (1 / (1 + np.exp(-loss)) for loss in (true, claimed))
    slopes = np.exp(np.linspace(-claimed, claimed, 41))
    excess = p - slopes * (1 - p) - (corner - slopes * (1 - corner))
    best = float(np.max(excess / np.sqrt(p * (1 - p) * (1 + slopes**2) / each)))
    return NormalDist().cdf(best - NormalDist().inv_cdf(1 - level))


def weaker(ours: int, fixed: int, both: int) -> bool:
    """Whether the fixed event finds what we miss more often than the reverse, by more than three standard errors."""
    alone, mine = fixed - both, ours - both
    return alone - mine > 3 * float(np.sqrt(alone + mine))


def powers(page: Report) -> None:
    """How often a promise broken by so much is found."""
    rows, below, behind = [], 0, 0
    for epsilon, share, (draws, runs) in product(EPSILONS, SHARES, RUNS.items()):
        half, whole = (fixed_event(epsilon, share, draws, level=level) for level in (LEVEL / 2, LEVEL))
        many = runs if half < 0.9995 else SURE
        ours, fixed, both = power(epsilon, share, draws, many)
        below, behind = below + weaker(ours, fixed, both), behind + (ours < fixed)
        shown = [f"{ours} of {many} ({ours / many:.3g})", f"{fixed} ({fixed / many:.3g})", number(half), number(whole)]
        rows.append([f"{float(epsilon):g}", f"{float(share):g}", f"{draws:,}", *shown])
    page.note(
        "How often noise of a share of the right scale is found, at level 1 %, and how often in the same draws by a test of the best event and slope, "
        "known beforehand, with all draws at half the level. Beside the counts the powers that theory gives that test at half and at the whole level, "
        "which is the best it allows one event."
    )
    page.table(
        [
            "claimed epsilon",
            "share of the scale",
            "draws",
            "found",
            "fixed event, half the level",
            "its power",
            "theory's best",
        ],
        rows,
    )
    page.note(
        f"Cells where the auditor found less than the fixed event in the same draws: {behind} of {len(rows)}; by more than three standard errors: {below}."
    )


def clocks(page: Report) -> None:
    """The clock: our scalar noise, and the control it is held against."""
    page.note("Time as a side channel (`dp.audit.timing`, 1,000 answers on each side); the limit is 6.2/√n.")
    rows = []
    for name, drawn in {
        "discrete Laplace": lambda data, entropy: data + noise.discrete_laplace(10, entropy),
        "rounded Gaussian": lambda data, entropy: data + noise.rounded_gaussian(1000, entropy),
    }.items():
        found = dp.audit.timing(drawn, neighbours=(0, 1))
        rows.append(
            [
                name,
                *(f"{each:+.3f}" for each in (found.with_data, found.with_answer, found.with_size, found.control)),
                f"{found.limit:.3f}",
            ]
        )
    page.note(
        "What is above the limit is seen by the clock: integers of the interpreter do not all take the same time, and scalar noise "
        "is one of them. See the known issues."
    )
    page.table(["noise", "with the data", "with the noise", "with its size", "control", "limit"], rows)


def main() -> None:
    """Write the page."""
    page = Report("audit", title="The auditor and the attacks", versions={"deniable": __version__}, how="one run")
    powers(page)
    people = dp.attacks.made_up_people(400)
    many = dp.attacks.made_up_people(2000)
    works: dict[str, Callable[[], object]] = {
        "self-audit --quick": lambda: self_audit(quick=True),
        "self-audit": lambda: self_audit(quick=False),
        "a million draws a side, tested": lambda: power(Fraction(1), Fraction(1), 2_000_000, 1),
        "reconstruction 400 x 800": lambda: dp.attacks.reconstruct(Curator(people), people=400, queries=800),
        "reconstruction 2,000 x 8,000": lambda: dp.attacks.reconstruct(Curator(many), people=2000, queries=8000),
        "the matrix": lambda: dp.attacks.matrix(
            dp.attacks.strawmen(), dp.attacks.every(), people=dp.attacks.made_up_people(120)
        ),
    }
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    page.note(f"Load averages of the machine while this ran: {load}. CPU seconds grow a little under load.")
    page.table(["work", "CPU seconds"], [[name, number(seconds(work))] for name, work in works.items()])
    drawn = dp.attacks.matrix(dp.attacks.strawmen(), dp.attacks.every(), people=dp.attacks.made_up_people(120))
    (FOLDER / "matrix.svg").write_text(drawn.plot().svg, encoding="utf-8")
    page.note("![Every attack on each curator](matrix.svg)")
    clocks(page)
    page.note("The same audit of other libraries: [peers](audit_peers.md).")
    page.write()
    audit_peers.main()


if __name__ == "__main__":
    main()
