"""Tracing: was this person in the data that these means were computed from?

The printed test compares with one reference person and a worst-case threshold, and has no power at ordinary sizes. The centred
statistic with a threshold calibrated on simulated outsiders has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.errors import InvalidArgument
from deniable.exact.guards import integer, open_probability, positive
from deniable.noise import Entropy, system_entropy


@dataclass(frozen=True, slots=True)
class Tracing:
    """Statistics of the people asked about, and of people who are certainly outside."""

    statistics: tuple[float, ...]
    outside: tuple[float, ...]
    form: str
    attributes: int

    def threshold(self, false_positives: Any) -> float:
        """The printed form's own threshold, or the one that so many outsiders exceed."""
        rate = float(open_probability(false_positives=false_positives))
        if self.form == "printed":
            return float(np.sqrt(8 * self.attributes * np.log(1 / rate)))
        return float(np.quantile(self.outside, 1 - rate))

    def power_at(self, false_positives: Any) -> float:
        """The share of the people asked about who are said to be inside, at this rate of false alarms."""
        return float(np.mean(np.array(self.statistics) > self.threshold(false_positives)))


def trace(targets: Any, means: Any, *, reference: Any, form: str = "centred") -> Tracing:
    """Each target's statistic against released means; `reference` are people of the same population who are not inside."""
    people, others, released = np.atleast_2d(_numbers(targets)), np.atleast_2d(_numbers(reference)), _numbers(means)
    if people.shape[1] != len(released) or others.shape[1] != len(released):
        raise InvalidArgument(f"targets and reference need {len(released)} attributes each, like the means")
    half = len(others) // 2
    match form:
        case "centred":
            centre = others[:half].mean(axis=0)
            scores = [(group - centre) @ (released - centre) for group in (people, others[half:])]
        case "printed":
            signs, one = 2 * released - 1, 2 * others[0] - 1
            scores = [((2 * group - 1) - one) @ signs for group in (people, others[1:])]
        case _:
            raise InvalidArgument(f"form must be 'centred' or 'printed', got {form!r}")
    return Tracing(tuple(scores[0].tolist()), tuple(scores[1].tolist()), form, len(released))


def _numbers(values: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"attacks are for made-up data: arrays of numbers wanted, got a {type(values).__name__}"
        ) from None


def tracing_world(
    people: int, attributes: int, *, outside: int = 2000, epsilon: Any = None, entropy: Entropy | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Made-up members, their means (exact, or with Laplace noise that costs epsilon for one person), outsiders."""
    source = entropy or system_entropy()
    integer(people=people, least=1), integer(attributes=attributes, least=1), integer(outside=outside, least=2)
    scale = None if epsilon is None else attributes / positive(epsilon=epsilon)
    rates = (noise.uniforms_below(1 << 20, attributes, source) + 0.5) / (1 << 20)
    total = people + outside
    drawn = noise.uniforms_below(1 << 20, total * attributes, source).reshape(total, attributes) < rates * (1 << 20)
    members, others = drawn[:people].astype(float), drawn[people:].astype(float)
    sums = members.sum(axis=0)
    if scale is not None:
        sums = sums + noise.discrete_laplaces(scale, attributes, source)
    return members, sums / people, others


def power_curve(
    sizes: Sequence[tuple[int, int, Any]], *, false_positives: Any = 0.05, entropy: Entropy | None = None
) -> list[tuple[int, int, Any, float]]:
    """Power for several (people, attributes, epsilon or None)."""
    found = []
    for people, attributes, epsilon in sizes:
        members, means, others = tracing_world(people, attributes, epsilon=epsilon, entropy=entropy)
        found.append((people, attributes, epsilon, trace(members, means, reference=others).power_at(false_positives)))
    return found
