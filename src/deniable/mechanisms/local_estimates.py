"""Unbiased estimates from randomized answers, each with an interval that holds whatever the sample size.

The intervals are Chernoff's: they hold at the stated confidence for every number of answers and every composition of the
population, and for the people who answered, not for a population they may have been drawn from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer, open_probability, rational

_SEARCH = 80


@dataclass(frozen=True, slots=True)
class Estimate:
    """An unbiased value, and the interval that holds the truth with probability at least `confidence`."""

    value: float
    lower: float
    upper: float
    confidence: float


def estimate_share(yes: int, answers: int, *, truth: Real, confidence: Real = 0.95) -> Estimate:
    """The share of true yeses among `answers` people, of whom `yes` said yes through randomized response.

    Guarantee: post-processing, it costs nothing; the value is unbiased, the interval holds for every number of people.
    """
    return _share(*_counted(yes, answers), truth=_truth(truth, 2), other=1 - _truth(truth, 2), confidence=confidence)


def estimate_shares(
    counts: Mapping[Hashable, int], *, truth: Real, confidence: Real = 0.95
) -> dict[Hashable, Estimate]:
    """The true share of every category, from how often each was answered; the values add up to one.

    Guarantee: post-processing, it costs nothing; each value is unbiased. Each interval holds on its own; together they may fail
    more often than one of them.
    """
    size, total = len(counts), sum(counts.values())
    kept = _truth(truth, size)
    other = (1 - kept) / (size - 1)
    return {
        key: _share(*_counted(count, total), truth=kept, other=other, confidence=confidence)
        for key, count in counts.items()
    }


def estimate_mean(
    yes: int, answers: int, *, lower: Real, upper: Real, truth: Real, confidence: Real = 0.95
) -> Estimate:
    """The mean of numbers between `lower` and `upper`, from the bits that `local_mean` reported.

    Guarantee: post-processing, it costs nothing; the value is unbiased, the interval holds for every number of people.
    """
    kept, (told, total) = _truth(truth, 2), _counted(yes, answers)
    low, width = float(rational(lower=lower)), float(rational(upper=upper) - rational(lower=lower))
    seen, limit = told / total, _limit(confidence, total)
    ends = _inverted(lambda share: _divergence(seen, share), seen, limit)

    def read(share: float) -> float:
        return low + width * (share - (1 - kept)) / (2 * kept - 1)

    return Estimate(read(seen), max(low, read(ends[0])), min(low + width, read(ends[1])), float(confidence))


def _share(yes: int, answers: int, *, truth: float, other: float, confidence: Real) -> Estimate:
    """Answers are yes with chance `truth` from a true yes and `other` from a true no."""
    seen, limit = yes / answers, _limit(confidence, answers)
    value = (seen - other) / (truth - other)
    inside = min(max(value, 0.0), 1.0)
    lower, upper = _inverted(lambda share: _rate(seen, share, truth, other), inside, limit)
    return Estimate(value, lower, upper, float(confidence))


def _rate(seen: float, share: float, truth: float, other: float) -> float:
    """A lower bound of the Chernoff rate of seeing `seen` when `share` of the answers have chance `truth`, the others `other`.

    Every tilt gives a valid bound, so the search need not be exact.
    """
    sign = 1.0 if seen >= share * truth + (1 - share) * other else -1.0

    def exponent(tilt: float) -> float:
        moment = share * math.log1p(truth * math.expm1(tilt)) + (1 - share) * math.log1p(other * math.expm1(tilt))
        return tilt * seen - moment

    low, high = 0.0, 40.0
    for _ in range(_SEARCH):  # the exponent is concave in the tilt
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if exponent(sign * left) < exponent(sign * right) else (low, right)
    return max(0.0, exponent(sign * low))


def _divergence(seen: float, share: float) -> float:
    """Relative entropy of a coin of chance `seen` to one of chance `share`."""
    first = seen * math.log(seen / share) if seen else 0.0
    second = (1 - seen) * math.log((1 - seen) / (1 - share)) if seen < 1 else 0.0
    return first + second


def _inverted(rate: Callable[[float], float], inside: float, limit: float) -> tuple[float, float]:
    """The shares on either side of `inside` at which the rate reaches the limit, each rounded outward by the search."""
    ends = []
    for outside in (0.0, 1.0):
        near, far = inside, outside
        for _ in range(_SEARCH):
            middle = (near + far) / 2
            if 0 < middle < 1 and rate(middle) <= limit:
                near = middle
            else:
                far = middle
        ends.append(far)
    return ends[0], ends[1]


def _limit(confidence: Real, answers: int) -> float:
    return math.log(2 / float(1 - open_probability(confidence=confidence))) / answers


def _truth(truth: Real, categories: int) -> float:
    kept = open_probability(truth=truth)
    if not kept * categories > 1:
        raise InvalidArgument(f"truth must be above 1/{categories} or the answers say nothing, got {truth!r}")
    return float(kept)


def _counted(yes: int, answers: int) -> tuple[int, int]:
    total = integer(answers=answers, least=1)
    told = integer(yes=yes, least=0)
    if not told <= total:
        raise InvalidArgument(f"yes must be at most the number of answers, got {yes!r} of {answers!r}")
    return told, total
