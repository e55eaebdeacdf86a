"""Shuffled local reports: the clones' pair of Feldman, McMillan and Talwar (2020), with the number of clones seen.

C ~ Binomial(n-1, e^-eps0) others are clones; A ~ Binomial(C, 1/2) of them say "0"; D says whether the unit keeps its own answer, with
probability p = e^eps0/(1+e^eps0). The pair compares (A+D, C-A+1-D) with (A+1-D, C-A+D): given C = c, the first count m satisfies
P - x Q of {m >= t} = b(t-1) (p - x (1-p)) - (x-1) B(t), where b and B are mass and upper tail of Binomial(c, 1/2).
One more clone never hurts, so counts are grouped: at the lowest of a group to bound from above, at the highest from below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from deniable.accounting.pld.floats import TINY, Floats, Integers, U, float_above, float_below, suffix_sums
from deniable.exact import exp

_REACH = 13.5
_FINE = 1e-4


@dataclass(frozen=True, slots=True)
class _Group:
    """Clone counts taken together: their weight, the one count that stands for them, and its binomial tails from `first` on."""

    weight: float
    count: int
    first: int
    mass: Floats
    tail: Floats

    def difference(self, at: Floats, epsilon: Floats, chance: float) -> tuple[Floats, Floats]:
        """P - e^epsilon Q of the first count reaching `at`, and a bound for its rounding error; 0 beyond the table."""
        place = np.clip(at - self.first, 0, len(self.tail) - 1).astype(np.int64)
        rise = np.expm1(epsilon)
        gain = self.mass[np.maximum(place - 1, 0)] * (2 * chance - 1 - rise * (1 - chance))
        loss = rise * self.tail[place]
        error = _rounding(len(self.tail)) * (np.abs(gain) + loss)
        inside = (at > self.first) & (at < self.first + len(self.tail))
        return np.where(inside, gain - loss, 0.0), np.where(inside, error, 0.0)


def _rounding(terms: int) -> float:
    """Each of the partial sums of logarithms (below 200 in size) and of masses adds a rounding error."""
    return 1e-12 + 400 * U * terms


def _binomial(trials: int, chance: float) -> tuple[int, Floats]:
    """The masses of a binomial law around its mean, as far as they are not below about 1e-38, and where they begin.

    From ratios of neighbours, scaled to one; `_rounding` bounds the relative error.
    """
    mean, spread = trials * chance, math.sqrt(trials * chance * (1 - chance))
    first = max(0, math.floor(mean - _REACH * spread - 20))
    last = min(trials, math.ceil(mean + _REACH * spread + 20))
    k = np.arange(first, last, dtype=np.float64)
    logs = np.concatenate([[0.0], np.cumsum(np.log((trials - k) / (k + 1) * (chance / (1 - chance))))])
    weights = np.exp(logs - logs.max())
    return first, weights / float(weights.sum())


def _groups(others: int, chance: float, *, lowest: bool) -> list[_Group]:
    first, weights = _binomial(others, chance)
    width = max(1, math.floor(_FINE * (first + len(weights) / 2)))
    groups = []
    for start in range(0, len(weights), width):
        block = weights[start : start + width]
        count = first + start + (0 if lowest else len(block) - 1)
        at, mass = _binomial(count, 0.5)
        groups.append(_Group(float(block.sum()), count, at, np.append(mass, 0.0), np.append(suffix_sums(mass), 0.0)))
    return groups


class ShuffledPair:
    """`reports` reports of an eps0-local randomiser through a shuffler."""

    infinite = 0.0
    kink = 0.0
    lattice = 0.0

    def __init__(self, epsilon: Fraction, reports: int) -> None:
        clone, keep = exp(-epsilon, 80), 1 / (1 + exp(-epsilon, 80))
        self.ceiling = float_above(epsilon)
        self.low, self.high = float_below(keep.lower), float_above(keep.upper)
        self._below = _groups(reports - 1, float_above(clone.upper), lowest=False)
        self._above = _groups(reports - 1, float_below(clone.lower), lowest=True)
        self._slack, self._loose = 1e-36 * (1 + reports), 4 * _rounding(len(self._above) + 1000)

    @property
    def swapped(self) -> ShuffledPair:
        return self

    def upper(self, epsilon: Floats) -> Floats:
        total = np.zeros_like(epsilon)
        for group in self._above:
            guess = _threshold(epsilon, self.high, group.count)
            best = np.zeros_like(epsilon)
            for step in (-1, 0, 1):
                value, error = group.difference(guess + step, epsilon, self.high)
                best = np.maximum(best, value + error)
            total += group.weight * best
        total = total * (1 + self._loose) + self._slack
        return np.where(epsilon < self.ceiling, np.minimum(total, 1.0), TINY)

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        total = np.zeros_like(epsilon)
        for group in self._below:
            value, error = group.difference(_threshold(at, self.low, group.count), epsilon, self.low)
            total += group.weight * (value - error)
        return total * (1 - np.sign(total) * self._loose) - self._slack


def _threshold(epsilon: Floats, chance: float, count: int) -> Integers:
    """The first count at which the loss reaches epsilon, up to one: u = (x p - 1 + p)/((2p - 1)(1 + x)) of all."""
    x = np.exp(epsilon)
    share = (chance * np.expm1(epsilon) + 2 * chance - 1) / ((2 * chance - 1) * (1 + x))
    return np.ceil(np.minimum(share, 2.0) * (count + 1)).astype(np.int64)
