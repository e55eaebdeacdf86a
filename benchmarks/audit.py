"""The auditor and the attacks: how often a promise broken by so much is found with so many draws, and the CPU time of the work.

Powers are counts of runs, with system entropy; times are CPU seconds of one run on this machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

import deniable as dp
from benchmarks import audit_peers
from benchmarks.report import FOLDER, Report, number
from deniable import noise
from deniable.attacks.curators import Curator
from deniable.audit.auditor import audit_by_draws
from deniable.audit.claims import curve_of
from deniable.audit.self_audit import self_audit
from deniable.audit.subject import subject_of
from deniable.cost import Bounded
from deniable.errors import InvalidArgument
from deniable.version import __version__

RUNS = {10_000: 20, 100_000: 20, 1_000_000: 5}
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


def power(epsilon: Fraction, share: Fraction, draws: int, runs: int) -> float | None:
    """The share of runs in which noise of this share of the right scale is found; None where nothing could be."""
    subject, curve = subject_of(Scaled(share / epsilon)), curve_of(Bounded(epsilon=epsilon))
    try:
        found = [
            audit_by_draws(subject, [(0, 1)], [curve], samples=draws, level=0.01, entropy=noise.system_entropy()).broken
            for _ in range(runs)
        ]
    except InvalidArgument:
        return None
    return sum(found) / runs


def fixed_event(epsilon: Fraction, share: Fraction, draws: int) -> float:
    """About the power of a test of the best event alone, known beforehand, at half the level, with all draws: what theory allows."""
    true, factor, each = float(epsilon / share), float(np.exp(float(epsilon))), draws / 2
    p, q = 1 / (1 + np.exp(-true)), np.exp(-true) / (1 + np.exp(-true))
    spread = np.sqrt(p * (1 - p) / each + factor**2 * q * (1 - q) / each)
    return NormalDist().cdf(float((p - factor * q) / spread) - NormalDist().inv_cdf(1 - 0.005))


def counted(share: float | None, runs: int) -> str:
    """A share of runs as a count."""
    return "–" if share is None else f"{round(share * runs)} of {runs}"


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
    rows = [
        [
            f"{float(epsilon):g}",
            f"{float(share):g}",
            f"{draws:,}",
            counted(power(epsilon, share, draws, runs), runs),
            number(fixed_event(epsilon, share, draws)),
        ]
        for epsilon in EPSILONS
        for share in SHARES
        for draws, runs in RUNS.items()
    ]
    page.table(["claimed epsilon", "share of the scale", "draws", "found", "best event known"], rows)
    people = dp.attacks.made_up_people(400)
    many = dp.attacks.made_up_people(2000)
    works: dict[str, Callable[[], object]] = {
        "self-audit --quick": lambda: self_audit(quick=True),
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
