"""Clopper–Pearson bounds on a probability, from so many successes in so many independent draws; rounded against us.

The tail of the binomial law is summed term by term in floating point. Every rounding error is bounded (the logarithms carry all
of it) and added to the tail, so a bound returned here is never tighter than the exact one.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from deniable.errors import InvalidArgument
from deniable.exact.guards import integer

_CHUNK = 4096
_STEPS = 40
_ULP = 2.0**-52


@lru_cache(maxsize=4096)
def lower_bound(successes: int, draws: int, *, error: float) -> float:
    """With probability at least 1 - `error` the true probability is not below this number.

    Guarantee: P(successes or more) is at most `error` for every probability up to the bound, whatever the truth is.
    """
    count, size = _checked(successes, draws, error)
    if count == 0:
        return 0.0
    low, high = 0.0, count / size
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if upper_tail(count, size, middle) <= error:
            low = middle
        else:
            high = middle
    return low


def upper_bound(successes: int, draws: int, *, error: float) -> float:
    """With probability at least 1 - `error` the true probability is not above this number."""
    count, size = _checked(successes, draws, error)
    return min(1.0, (1.0 - lower_bound(size - count, size, error=error)) * (1 + 2 * _ULP))


def upper_tail(successes: int, draws: int, chance: float) -> float:
    """P(successes or more in so many draws), rounded up; 1 where the tail is no tail (at or below the mean)."""
    if successes == 0 or successes <= draws * chance:
        return 1.0
    if chance <= 0:
        return 0.0
    first, slack = _first_term(successes, draws, chance)
    odds, total, term, at = chance / (1 - chance), 0.0, 1.0, successes
    while True:
        steps = np.arange(at, min(at + _CHUNK, draws))
        ratios = (draws - steps) / (steps + 1) * odds
        terms = term * np.concatenate([[1.0], np.cumprod(ratios)])
        total += float(terms[:-1].sum())
        term, at = float(terms[-1]), at + len(steps)
        ratio = (draws - at) / (at + 1) * odds
        rest = term / (1 - ratio)  # ratios fall, so what is left is below a geometric series
        if at == draws or rest < 1e-14 * total:
            return min(1.0, first * (total + rest) * (1 + slack + 1e-11))


def _first_term(successes: int, draws: int, chance: float) -> tuple[float, float]:
    """P(exactly so many successes), and a bound on its relative error."""
    parts = [
        math.lgamma(draws + 1),
        -math.lgamma(successes + 1),
        -math.lgamma(draws - successes + 1),
        successes * math.log(chance),
        (draws - successes) * math.log1p(-chance),
    ]
    return math.exp(min(0.0, math.fsum(parts))), 16 * _ULP * (1 + sum(map(abs, parts)))


def _checked(successes: int, draws: int, error: float) -> tuple[int, int]:
    size = integer(draws=draws, least=1)
    if not 0 < error < 0.5:
        raise InvalidArgument(f"error must be between 0 and 1/2, got {error!r}")
    return integer(successes=successes, least=0, greatest=size), size
