"""Time as a side channel: does the clock tell two data sets apart, or tell what was drawn?

A rank correlation of times on this machine, beside the same measurement of constant work. It is for a quiet machine and a person
who reads it; no verdict of an audit rests on a clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.audit.subject import subject_of
from deniable.exact.guards import integer
from deniable.noise import Entropy, system_entropy

Floats = NDArray[np.float64]
DEVIATIONS = 6.2
"""A rank correlation of n independent pairs has standard deviation about 1/sqrt(n); beyond 6.2 of them chance is one in 10**9."""


@dataclass(frozen=True, slots=True)
class TimingReport:
    """Rank correlations of the time of an answer, over `runs` runs on each data set, and of the control.

    `with_data`: with which of the two data sets was asked; `with_answer` and `with_size`: with the answer and with its distance
    from the middle answer, on the first data set (zero where answers are no numbers); `control`: the first data set asked twice.
    """

    subject: str
    runs: int
    with_data: float
    with_answer: float
    with_size: float
    control: float

    @property
    def limit(self) -> float:
        """What independent times keep below but once in 10**9."""
        return DEVIATIONS / math.sqrt(2 * self.runs)

    @property
    def suspicious(self) -> bool:
        """Some correlation is above the limit and above the control's."""
        worst = max(abs(self.with_data), abs(self.with_answer), abs(self.with_size))
        return worst > max(self.limit, abs(self.control))

    def __str__(self) -> str:
        found = "the clock tells something" if self.suspicious else "the clock tells nothing here"
        return (
            f"{self.subject}: {found}; rank correlation of time with the data {self.with_data:+.3f}, with the answer "
            f"{self.with_answer:+.3f}, with its size {self.with_size:+.3f}, control {self.control:+.3f}, limit {self.limit:.3f}"
        )


def timing(
    target: Any,
    *,
    neighbours: tuple[Any, Any],
    runs: int = 1_000,
    adapter: str | None = None,
    entropy: Entropy | None = None,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> TimingReport:
    """Time `runs` answers on each of two data sets in a random order, and as many on the first one twice for a control."""
    subject, source, each = (
        subject_of(target, adapter=adapter),
        entropy or system_entropy(),
        integer(runs=runs, least=10),
    )

    def timed(data: Any) -> tuple[int, Any]:
        before = clock()
        answer = subject.answer(data, source)
        return clock() - before, answer

    def measure(pair: Sequence[Any]) -> tuple[Floats, Floats, list[Any]]:
        sides = noise.bernoullis(Fraction(1, 2), 2 * each, source).astype(int)
        found = [timed(pair[side]) for side in sides]
        return np.array([spent for spent, _ in found], dtype=float), sides.astype(float), [made for _, made in found]

    times, sides, _ = measure(neighbours)
    alone, labels, answers = measure((neighbours[0], neighbours[0]))
    values = _numbers(answers)
    return TimingReport(
        subject.name,
        each,
        rank_correlation(times, sides),
        0.0 if values is None else rank_correlation(alone, values),
        0.0 if values is None else rank_correlation(alone, np.abs(values - np.median(values))),
        rank_correlation(alone, labels),
    )


def _numbers(answers: list[Any]) -> Floats | None:
    try:
        values = np.array(answers, dtype=float)
    except (TypeError, ValueError):
        return None
    return values if values.ndim == 1 and bool(np.isfinite(values).all()) else None


def rank_correlation(first: Floats, second: Floats) -> float:
    """Spearman's rank correlation; ties share their mean rank, and what never varies correlates with nothing."""
    ranks = [_ranks(np.asarray(each, dtype=float)) for each in (first, second)]
    spread = [float(each.std()) for each in ranks]
    if not all(spread):
        return 0.0
    centred = [each - each.mean() for each in ranks]
    return float(np.mean(centred[0] * centred[1]) / (spread[0] * spread[1]))


def _ranks(values: Floats) -> Floats:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[places], dtype=float)
