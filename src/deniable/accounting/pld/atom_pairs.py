"""Dominating pairs whose loss takes finitely many values, or is as bad as if it did.

Pairs whose loss takes finitely many values, for mechanisms that treat both neighbours alike.

Two lists of (loss, mass under P), one never below and one never above the truth: the profile grows with every loss and every mass,
so bounding those bounds it. It is linear in e^epsilon between atoms; all sums run over positive terms.

Mechanisms with finitely many losses, as pairs of atoms: randomized response, pure privacy, discrete Gaussian noise.

Bounded range: the pair of an exponential mechanism whose losses span at most eta (Dong, Durfee and Rogers 2020).

Its laws are the two-point ones with losses t and t - eta. At every epsilon the worst is t = (epsilon + eta)/2, and the pointwise
worst, (1 - e^((epsilon-eta)/2))^2 / (1 - e^-eta), is itself a profile: one pair that dominates them all, so adaptively
chosen queries compose through it.

Shuffled local reports: the clones' pair of Feldman, McMillan and Talwar (2020), with the number of clones seen.

C ~ Binomial(n-1, e^-eps0) others are clones; A ~ Binomial(C, 1/2) of them say "0"; D says whether the unit keeps its own
answer, with
probability p = e^eps0/(1+e^eps0). The pair compares (A+D, C-A+1-D) with (A+1-D, C-A+D). Given C = c, the first count is m with mass
p b(m-1) + (1-p) b(m) under P and (1-p) b(m-1) + p b(m) under Q, b the masses of Binomial(c, 1/2); the loss follows from
b(m-1)/b(m) = m/(c+1-m).
One more clone never hurts, so counts are grouped: at the lowest of a group to bound from above, at the highest from below. The
atoms are then put into narrow bins: split to a bin's ends from above, merged within it from below.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from deniable.accounting.pld.outward import TINY, Floats, U, float_above, float_below, suffix_sums
from deniable.exact import Interval, exp, ln

_SPAN = 300.0


@dataclass(frozen=True, slots=True)
class Atoms:
    """Masses under P at ascending finite losses, and the mass where Q has none."""

    loss: Floats
    mass: Floats
    infinite: float = 0.0


class _Ladder:
    """At each atom, the profile there and the mass from there on, discounted to there (both without the infinite part)."""

    def __init__(self, atoms: Atoms) -> None:
        loss, mass = atoms.loss, atoms.mass
        self.loss, self.infinite = loss, atoms.infinite
        self.slope = np.empty_like(loss)
        carried, end = 0.0, len(loss)
        while end > 0:  # in pieces short enough for the discounts
            start = int(np.searchsorted(loss[:end], loss[end - 1] - _SPAN))
            discount = np.exp(loss[start] - loss[start:end])
            sums = suffix_sums(mass[start:end] * discount) + carried * discount[-1]
            self.slope[start:end] = sums / discount
            if start:
                carried = float(self.slope[start]) * math.exp(loss[start - 1] - loss[start])
            end = start
        rises = -np.expm1(loss[:-1] - loss[1:]) * self.slope[1:]
        self.value = np.append(suffix_sums(rises), 0.0)
        self.rounding = U * (200 + 8 * math.sqrt(len(loss)) + 2 * _SPAN)

    def bound(self, at: Floats, epsilon: Floats, side: float) -> Floats:
        """Sum over losses above `at` of mass (1 - e^(epsilon - loss)), moved to the given side."""
        place = np.searchsorted(self.loss, at, side="right")
        inside = np.minimum(place, len(self.loss) - 1)
        loss, slope = self.value[inside], self.slope[inside]
        gain = -slope * np.expm1(epsilon - self.loss[inside])
        error = self.rounding * (loss + np.abs(gain)) + TINY
        return np.where(place < len(self.loss), loss + gain + side * error, 0.0) + self.infinite * (1 + side * 2 * U)


class AtomsPair:
    """A pair given by atoms: `below` has a smaller profile than the truth, `above` a larger one. The true pair is its own swap."""

    def __init__(self, below: Atoms, above: Atoms, *, lattice: float = 0.0, ceiling: float | None = None) -> None:
        self.below, self.above, self.lattice = below, above, lattice
        self.ceiling = max(float(above.loss[-1]), 0.0) if ceiling is None else ceiling
        self._low, self._high = _Ladder(below), _Ladder(above)

    @property
    def swapped(self) -> AtomsPair:
        return self

    @property
    def infinite(self) -> float:
        return self.below.infinite

    @property
    def kink(self) -> float:
        return max(float(self.below.loss[-1]), 0.0) if self.below.mass[-1] > 1e-3 else 0.0

    def upper(self, epsilon: Floats) -> Floats:
        return np.minimum(self._high.bound(epsilon, epsilon, +1.0) + TINY, 1.0)

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        return self._low.bound(at, epsilon, -1.0)


def _enclosed(value: Interval | Fraction) -> tuple[float, float]:
    if isinstance(value, Fraction):
        return float_below(value), float_above(value)
    return float_below(value.lower), float_above(value.upper)


def pair_of_atoms(
    atoms: Iterable[tuple[Interval | Fraction, Interval | Fraction]],
    *,
    infinite: Interval | Fraction = Fraction(0),
    lattice: float = 0.0,
) -> AtomsPair:
    """A pair from (loss, mass) in ascending order of loss."""
    sides = []
    listed = [(_enclosed(loss), _enclosed(mass)) for loss, mass in atoms]
    for side in (0, 1):
        loss = np.array([each[0][side] for each in listed])
        mass = np.array([max(each[1][side], 0.0) for each in listed])
        sides.append(Atoms(loss, mass, _enclosed(infinite)[side]))
    return AtomsPair(sides[0], sides[1], lattice=lattice)


def pure(epsilon: Fraction) -> AtomsPair:
    """Any epsilon-private mechanism: two answers, epsilon apart (Kairouz, Oh and Viswanath 2015)."""
    high = 1 / (1 + exp(-epsilon, 80))
    return pair_of_atoms([(-epsilon, 1 - high), (epsilon, high)], lattice=float(epsilon))


def leak(chance: Fraction) -> AtomsPair:
    """Everything is shown with this probability, nothing otherwise."""
    return pair_of_atoms([(Fraction(0), 1 - chance)], infinite=chance)


def randomized_response(truth: Fraction, categories: int) -> AtomsPair:
    """Keep the truth with probability `truth`, else any of the other categories alike."""
    other = (1 - truth) / (categories - 1)
    loss = ln(truth / other, 80)
    middle: list[tuple[Interval | Fraction, Interval | Fraction]] = []
    if categories > 2:
        middle = [(Fraction(0), other * (categories - 2))]
    return pair_of_atoms([(-loss, other), *middle, (loss, truth)], lattice=float(loss.lower))


def discrete_gaussian(scale: Fraction, shift: int) -> AtomsPair:
    """Noise e^(-k^2/(2 scale^2)) on the integers, shifted: the loss at k is shift (shift - 2 k)/(2 scale^2)."""
    deviation = float(scale)
    far = math.ceil(14.5 * deviation)
    reach = far + min(shift, 3 * far) + 2  # beyond lies less than 1e-45
    k = np.arange(reach, -reach - 1, -1, dtype=np.int64).astype(np.float64)
    exponent = k * k / 2 / deviation / deviation
    weight = np.exp(-exponent)
    total = float(weight.sum())
    mass, blur = weight / total, U * (80 + 8 * exponent + math.log2(len(k)))
    tail = 4 * float(mass[0]) * (1 + deviation) + TINY
    unit = float(Fraction(shift) / (2 * scale**2))
    loss = unit * (shift - 2 * k)
    lift = 6 * U * np.abs(loss)
    below = Atoms(loss - lift, mass * (1 - blur) * (1 - 2 * tail))
    above = Atoms(loss + lift, mass * (1 + blur) + TINY, tail)
    return AtomsPair(below, above, lattice=unit * (1 if shift % 2 else 2) * (1 - 4 * U))


@dataclass(frozen=True, slots=True)
class BoundedRangePair:
    """Losses in an interval of length eta, which lies between `low` and `high`."""

    low: float
    high: float

    infinite = 0.0
    kink = 0.0
    lattice = 0.0

    @property
    def swapped(self) -> BoundedRangePair:
        return self

    @property
    def ceiling(self) -> float:
        return self.high

    def upper(self, epsilon: Floats) -> Floats:
        exponent = np.minimum((epsilon - self.high) / 2, 0.0)
        most: Floats = np.minimum(np.expm1(exponent) ** 2 / -np.expm1(-self.high) * (1 + 48 * U), 1.0) + TINY
        return most

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        """The event of the likelier outcome, under the two-point law with t = (at + eta)/2: P(S)(1 - e^(epsilon-t))."""
        top = (at + self.low) / 2
        mass = np.expm1(top - self.low) / np.expm1(-self.low)
        gain = -np.expm1(epsilon - top)
        blur = U * (64 * np.abs(gain) + 8 * (epsilon + at + self.low) * np.exp(np.maximum(epsilon - top, 0.0)))
        return np.where(at < self.low, mass * (gain - blur) - TINY, 0.0)


_REACH = 13.5
_FINE = 1e-4


def shuffled_pair(epsilon: Fraction, reports: int) -> AtomsPair:
    """`reports` reports of an eps0-local randomiser through a shuffler."""
    clone, keep = exp(-epsilon, 80), 1 / (1 + exp(-epsilon, 80))
    typical = 1 / math.sqrt((reports - 1) * float(clone.lower) + 1)
    edges = _edges(min(typical, 0.2) / 60, float_above(epsilon))
    above, below = np.zeros(len(edges)), np.zeros((2, len(edges)))
    for weight, loss, own, _ in _outcomes(reports - 1, float_below(clone.lower), float_above(keep.upper), lowest=True):
        loss = np.minimum(loss + 1e-13 * (1 + np.abs(loss)), edges[-1])
        place = np.clip(np.searchsorted(edges, loss, side="right") - 1, 0, len(edges) - 2)
        share = np.clip(np.expm1(edges[place] - loss) / np.expm1(edges[place] - edges[place + 1]), 0.0, 1.0)
        share = np.minimum(share * (1 + 1e-12), 1.0)
        np.add.at(above, place, weight * own * (1 - share))
        np.add.at(above, place + 1, weight * own * share)
    for weight, loss, own, other in _outcomes(
        reports - 1, float_above(clone.upper), float_below(keep.lower), lowest=False
    ):
        place = np.clip(np.searchsorted(edges, loss, side="right") - 1, 0, len(edges) - 1)
        np.add.at(below[0], place, weight * own)
        np.add.at(below[1], place, weight * other)
    error = _rounding(reports)
    kept = (below[0] > 0) & (below[1] > 0)
    merged = np.log(below[0][kept] / below[1][kept])
    order = np.argsort(merged, kind="stable")
    missing = 1e-36 * (1 + reports)
    return AtomsPair(
        Atoms(merged[order] - 4 * error, (below[0][kept] * (1 - 2 * error))[order]),
        Atoms(edges, above * (1 + 2 * error), missing),
        ceiling=float_above(epsilon),
    )


def _edges(width: float, top: float) -> Floats:
    """Bins of equal width near 0, then in geometric progression, up to `top` on both sides."""
    near = width * np.arange(0, 900)
    far = near[-1] * 1.002 ** np.arange(1, 8000)
    half = np.concatenate([near, far])
    half = np.append(half[half < top], top)
    return np.concatenate([-half[:0:-1], half])


def _rounding(reports: int) -> float:
    """Each partial sum of logarithms (below 200 in size) and of masses adds a rounding error; at most so many terms are summed."""
    return 1e-12 + 400 * U * (2 * _REACH * math.sqrt(reports) + 50)


def _outcomes(others: int, chance: float, keep: float, *, lowest: bool) -> list[tuple[float, Floats, Floats, Floats]]:
    """For each group of clone counts: its weight, and for each first count its loss and its masses under P and Q."""
    first, weights = _binomial(others, chance)
    width = max(1, math.floor(_FINE * (first + len(weights) / 2)))
    found = []
    for start in range(0, len(weights), width):
        block = weights[start : start + width]
        count = first + start + (0 if lowest else len(block) - 1)
        at, mass = _binomial(count, 0.5)
        m = at + np.arange(len(mass) + 1, dtype=np.float64)
        before, here = np.append(0.0, mass), np.append(mass, 0.0)
        own, other = keep * before + (1 - keep) * here, (1 - keep) * before + keep * here
        loss = np.log((keep * m + (1 - keep) * (count + 1 - m)) / ((1 - keep) * m + keep * (count + 1 - m)))
        found.append((float(block.sum()), loss, own, other))
    return found


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
