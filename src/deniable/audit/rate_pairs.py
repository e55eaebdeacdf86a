"""Which pairs of rates (P(S), Q(S)) two counts leave possible: both counts are tested together, exactly, rounded against us.

The statistic is X - slope * Y, with X and Y how often the event was seen under P and Q; its slope is fixed before the
counts are seen. A pair of rates is possible while so large a value of it has more probability than the error. That probability
grows with P(S) and falls with Q(S), so what is possible lies above a curve that rises: a staircase below it says all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.audit.clopper_pearson import lower_bound, upper_bound

Floats = NDArray[np.float64]
_CORNER = 0.02
"""The share of the error that goes to bounds on each rate by itself: they say where to look."""
_STAIRS = 128
_WIDE = 1 << 21
"""About how many chances are held at once for the second rates."""
_TRIES, _NEAR = 5, 0.016
"""Steps towards a tail that is just small enough, and how near, in standard deviations, ends them."""
_ULP = 2.0**-52
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class RatePairs:
    """What `often` of `draws` under P and `seldom` of as many under Q say about the two rates of one event.

    Guarantee: with probability at least 1 - `error` the true pair of rates is possible, whatever it is.
    """

    often: int
    seldom: int
    draws: int
    slope: float
    error: float

    @property
    def at_least(self) -> float:
        """No possible pair has a smaller first rate."""
        return lower_bound(self.often, self.draws, error=self.error * _CORNER / 2)

    @property
    def at_most(self) -> float:
        """No possible pair has a larger second rate."""
        return upper_bound(self.seldom, self.draws, error=self.error * _CORNER / 2)

    def excess(self, frontier: Callable[[Floats], Floats]) -> float:
        """How far every possible pair lies above a frontier that does not fall; positive: the frontier is refuted."""
        ends, heights = _staircase(self)
        return float(np.min(heights - frontier(ends)))

    def epsilon(self, delta: float) -> float:
        """The least epsilon that agrees with some possible pair at this delta, rounded down."""
        ends, heights = _staircase(self)
        with np.errstate(divide="ignore", invalid="ignore"):
            sides = [
                np.where(high <= low, 0.0, np.log(np.maximum(high, 0) / np.maximum(low, 0)))
                for high, low in ((heights - delta, ends), (1 - ends - delta, 1 - heights))
            ]
        return max(0.0, float(np.min(np.maximum(*sides))) * (1 - 1e-12))

    def tail(self, first: Floats, second: Floats) -> Floats:
        """P(X - slope * Y is at least what was seen) for each of many pairs of rates, rounded up."""
        return self.tails(second)(first)

    def tails(self, second: Floats) -> Callable[[Floats], Floats]:
        """The same for fixed second rates, as a function of the first ones."""
        lowest, chances, below, above = _window(self.draws, second, self._reach)
        needed = self.often + self.slope * (lowest + np.arange(chances.shape[1]) - self.seldom)
        needed = np.ceil(needed - 1e-9 * (1 + np.abs(needed)))

        def tail(first: Floats) -> Floats:
            found = np.einsum("ij,ij->i", chances, _survival(self.draws, first, needed, self._reach))
            return np.asarray(np.minimum(1.0, (found + below + above) * (1 + 1e-9)))

        return tail

    @property
    def allowed(self) -> float:
        """What is left of the error for both counts together."""
        return self.error * (1 - _CORNER)

    @property
    def _goal(self) -> float:
        """About how far below what was seen the statistic's mean has to lie."""
        first, second = self._spread
        return _NORMAL.inv_cdf(1 - self.allowed) * math.hypot(first, self.slope * second)

    @property
    def _reach(self) -> float:
        """Standard deviations beyond which nothing matters beside the error."""
        return math.sqrt(-2 * math.log(self.error)) + 3

    @property
    def _spread(self) -> tuple[float, float]:
        """About the standard deviations of both rates; one that was never or always seen is not certain."""
        rates = (min(max(count, 0.5), self.draws - 0.5) / self.draws for count in (self.often, self.seldom))
        first, second = (math.sqrt(rate * (1 - rate) / self.draws) for rate in rates)
        return first, second


@lru_cache(maxsize=256)
def _staircase(pairs: RatePairs) -> tuple[Floats, Floats]:
    """Ends of cells of the second rate, and for each cell a first rate that all its possible pairs exceed.

    The height of a cell is certified at its lower end, where the tail is largest; the first cell and those that fail have the
    height that the first count alone gives.
    """
    at_least, at_most = pairs.at_least, pairs.at_most
    slack = pairs.often / pairs.draws - pairs._goal - at_least
    start = min(max(0.0, pairs.seldom / pairs.draws - slack / pairs.slope), at_most)
    ends = np.linspace(start, at_most, _STAIRS + 1)
    wide = 1 + int(_STAIRS * (at_most - start) * pairs.draws / _WIDE)
    flights = np.array_split(ends[:-1], min(wide, _STAIRS))  # each has a window of its own
    heights = np.maximum(np.concatenate([_certified(pairs, each) for each in flights]), at_least)
    return ends, np.concatenate([[at_least], heights])


def _certified(pairs: RatePairs, seconds: Floats) -> Floats:
    """First rates, as large as they can easily be found, at which the tail is within the error; 0 where none was found.

    On the scale of normal deviations the tail is nearly straight, so a few steps of the secant method come close.
    """
    seen, (first, _), tail = pairs.often / pairs.draws, pairs._spread, pairs.tails(seconds)
    goal, most = _deviations(np.array([pairs.allowed]))[0], min(1.0, seen + 6 * first)
    rates = seen + pairs.slope * (seconds - pairs.seldom / pairs.draws) - pairs._goal
    best, last, before, gain = np.zeros(len(seconds)), rates, None, np.full(len(seconds), 1 / first)
    for _ in range(_TRIES):
        rates = np.clip(rates, 0.0, most)
        tails = tail(rates)
        best = np.where(tails <= pairs.allowed, np.maximum(best, rates), best)
        scores = _deviations(tails)
        if np.all((tails <= pairs.allowed) & ((scores < goal + _NEAR) | (rates == most))):
            break
        if before is not None:
            moved = np.abs(rates - last) > 1e-12
            gain = np.where(moved, np.abs(scores - before) / np.where(moved, np.abs(rates - last), 1.0), gain)
            gain = np.clip(gain, 0.2 / first, 5 / first)
        last, before = rates, scores
        rates = rates + (scores - goal - _NEAR / 4) / gain
    return best


def _deviations(tails: Floats) -> Floats:
    return np.array([_NORMAL.inv_cdf(1 - min(max(tail, 1e-15), 1 - 1e-15)) for tail in tails])


def _survival(draws: int, rates: Floats, needed: Floats, reach: float) -> Floats:
    """P(X >= needed) for each rate and each of many numbers, rounded up."""
    lowest, chances, _, above = _window(draws, rates, reach)
    sums = np.cumsum(chances[:, ::-1], axis=1)[:, ::-1]
    sums = np.minimum(np.concatenate([sums, np.zeros((len(rates), 1))], axis=1) + above[:, None], 1.0)
    found: Floats = sums[:, np.clip(needed - lowest, 0, chances.shape[1]).astype(np.int64)]
    found[:, needed <= lowest] = 1.0
    found[:, needed > draws] = 0.0
    return found


def _window(draws: int, rates: Floats, reach: float) -> tuple[int, Floats, Floats, Floats]:
    """The first count of a window around all means, the chances of its counts under each rate, and bounds on what is outside."""
    inside = np.clip(rates, 1e-300, 1 - 2.0**-53)
    around = reach * np.sqrt(draws * inside * (1 - inside)) + 2 * reach * reach
    low = max(0, int(np.min(draws * inside - around)))
    high = min(draws, int(np.max(draws * inside + around)) + 1)
    counts = np.arange(low, high + 1)
    ways = math.lgamma(draws + 1) - math.lgamma(low + 1) - math.lgamma(draws - low + 1)
    steps = np.log((draws - counts[:-1]) / (counts[:-1] + 1.0))
    choices = ways + np.concatenate([[0.0], np.cumsum(steps)])
    hits, misses = np.log(inside)[:, None], np.log1p(-inside)[:, None]
    logs = choices + counts * hits + (draws - counts) * misses
    most = abs(ways) + math.lgamma(draws + 1) + draws * float(np.max(-hits) + np.max(-misses))
    sums = float(np.max(np.abs(steps), initial=0.0)) + float(np.max(np.abs(choices - ways)))
    slack = 32 * _ULP * (1 + most) + len(counts) * _ULP * sums
    below = _beyond(low - 1, draws, inside) if low > 0 else np.zeros(len(rates))
    above = _beyond(high + 1, draws, inside) if high < draws else np.zeros(len(rates))
    return low, np.exp(np.minimum(logs, 0.0)) * (1 + 2 * slack), below, above


def _beyond(count: int, draws: int, rates: Floats) -> Floats:
    """Chernoff's bound on a count that far from the mean or further."""
    share = count / draws
    apart: Any = (share * np.log(share / rates) if share > 0 else 0.0) + (
        (1 - share) * np.log((1 - share) / (1 - rates)) if share < 1 else 0.0
    )
    return np.asarray(np.exp(-draws * apart * (1 - 1e-9)) * (1 + 1e-9))
