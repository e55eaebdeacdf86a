"""The auditor and the attacks: how often a promise broken by so much is found with so many draws, and the CPU time of the work.

Powers are counts of runs, with system entropy; times are CPU seconds of one run on this machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

import deniable as dp
from benchmarks.report import Report, number
from deniable import noise
from deniable.attacks.curators import Curator
from deniable.audit.auditor import audit_by_draws
from deniable.audit.claims import curve_of
from deniable.audit.self_audit import self_audit
from deniable.audit.subject import subject_of
from deniable.cost import Bounded
from deniable.errors import InvalidArgument
from deniable.version import __version__

RUNS = 20
EPSILONS = (Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(3))
SHARES = (Fraction(98, 100), Fraction(9, 10), Fraction(1, 2))
DRAWS = (10_000, 100_000, 1_000_000)


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


def power(epsilon: Fraction, share: Fraction, draws: int) -> float | None:
    """The share of runs in which noise of this share of the right scale is found; None where nothing could be."""
    subject, curve = subject_of(Scaled(share / epsilon)), curve_of(Bounded(epsilon=epsilon))
    try:
        found = [
            audit_by_draws(subject, [(0, 1)], [curve], samples=draws, level=0.01, entropy=noise.system_entropy()).broken
            for _ in range(RUNS)
        ]
    except InvalidArgument:
        return None
    return sum(found) / RUNS


def fixed_event(epsilon: Fraction, share: Fraction, draws: int) -> float:
    """About the power of a test of the best event alone, known beforehand, at half the level, with all draws: what theory allows."""
    true, factor, each = float(epsilon / share), float(np.exp(float(epsilon))), draws / 2
    p, q = 1 / (1 + np.exp(-true)), np.exp(-true) / (1 + np.exp(-true))
    spread = np.sqrt(p * (1 - p) / each + factor**2 * q * (1 - q) / each)
    return NormalDist().cdf(float((p - factor * q) / spread) - NormalDist().inv_cdf(1 - 0.005))


def main() -> None:
    """Write the page."""
    page = Report("audit", title="The auditor and the attacks", versions={"deniable": __version__})
    rows = [
        [
            f"{float(epsilon):g}",
            f"{float(share):g}",
            f"{draws:,}",
            number(power(epsilon, share, draws)),
            number(fixed_event(epsilon, share, draws)),
        ]
        for epsilon in EPSILONS
        for share in SHARES
        for draws in DRAWS
    ]
    page.table(["claimed epsilon", "share of the scale", "draws", f"found, of {RUNS} runs", "best event known"], rows)
    people = dp.attacks.made_up_people(400)
    many = dp.attacks.made_up_people(2000)
    works: dict[str, Callable[[], object]] = {
        "self-audit --quick": lambda: self_audit(quick=True),
        "a million draws a side, tested": lambda: power(Fraction(1), Fraction(1), 2_000_000),
        "reconstruction 400 x 800": lambda: dp.attacks.reconstruct(Curator(people), people=400, queries=800),
        "reconstruction 2,000 x 8,000": lambda: dp.attacks.reconstruct(Curator(many), people=2000, queries=8000),
        "the matrix": lambda: dp.attacks.matrix(
            dp.attacks.strawmen(), dp.attacks.every(), people=dp.attacks.made_up_people(120)
        ),
    }
    page.table(["work", "CPU seconds"], [[name, number(seconds(work))] for name, work in works.items()])
    page.write()


if __name__ == "__main__":
    main()
