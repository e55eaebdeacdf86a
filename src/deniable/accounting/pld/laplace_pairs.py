"""Dominating pairs of Laplace noise: continuous, discrete, cut off, and on a sample in which one unit replaces another.

Laplace pairs, continuous and on the integers: shifts of a double exponential.

The likelihood ratio of a shift is monotone, so half-lines are optimal events and a larger shift is never more private.

Truncated discrete Laplace noise as atoms, without a list of its outcomes.

The loss of the outcome k, |k - shift| - |k| in units of 1/scale, is constant left of 0 and right of the shift, and falls by two
with every step between. Masses of ranges of outcomes are geometric sums, so the work depends on neither the radius nor the scale.

Replacing one unit under Poisson sampling, Laplace noise on one number: the worst pair itself.

With d = sensitivity/scale the pair is ((1-q) L(0) + q L(d), (1-q) L(0) + q L(-d)): the unit moves the answer one way, its
replacement the other way (docs/theory/pld-pairs.md). It is its own swap; its loss grows along the line, is 0 at 0 and constant
beyond -d and d, so events are half-lines. All grow with q and d; `low` and `high` enclose them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from deniable.accounting.pld.atom_pairs import Atoms, AtomsPair, pair_of_atoms
from deniable.accounting.pld.outward import TINY, Floats, U, float_above
from deniable.exact import Interval, exp, ln


@dataclass(frozen=True, slots=True)
class LaplacePair:
    """Laplace noise whose shift, in scales, lies between `low` and `high`.

    P(loss > t) = 1 - e^((t-c)/2)/2 and Q(loss > t) = e^(-(t+c)/2)/2 for -c <= t < c, c the shift.
    """

    low: float
    high: float

    infinite = 0.0
    lattice = 0.0

    @property
    def swapped(self) -> LaplacePair:
        return self

    @property
    def ceiling(self) -> float:
        return self.high

    @property
    def kink(self) -> float:
        return self.low

    def upper(self, epsilon: Floats) -> Floats:
        exponent = (epsilon - self.high) / 2
        return np.where(exponent < 0, -np.expm1(exponent) * (1 + 12 * U), 0.0) + TINY

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        c = self.low
        first, second = np.expm1((at - c) / 2), np.expm1(epsilon - (at + c) / 2)
        blur = U * (12 * (np.abs(first) + np.abs(second)) + 4 * (epsilon + at + c) * (2 + np.maximum(second, 0)))
        return np.where(at < c, -(first + second) / 2 - blur - TINY, 0.0)


@dataclass(frozen=True, slots=True)
class DiscreteLaplacePair:
    """Noise e^(-a|k|) on the integers, shifted by `shift`; a lies between `low` and `high`.

    For the event k <= t: P = 1 - r^(t+1)/(1+r) and Q = r^(shift-t)/(1+r), where r = e^-a and 0 <= t < shift.
    """

    low: float
    high: float
    shift: int

    infinite = 0.0

    @property
    def swapped(self) -> DiscreteLaplacePair:
        return self

    @property
    def ceiling(self) -> float:
        return self.high * self.shift * (1 + 2 * U)

    @property
    def kink(self) -> float:
        return self.low * self.shift * (1 - 2 * U)

    @property
    def lattice(self) -> float:
        return self.low if self.shift % 2 else 2 * self.low

    def upper(self, epsilon: Floats) -> Floats:
        guess = np.floor((self.shift - epsilon / self.high) / 2)
        around = [self._half_line(self.high, guess + step, epsilon, +1.0) for step in (-1.0, 0.0, 1.0)]
        most: Floats = np.maximum(np.maximum.reduce(around), 0.0) + TINY
        return most

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        top = np.ceil((self.shift - at / self.low) / 2) - 1
        return np.where(top >= 0, self._half_line(self.low, top, epsilon, -1.0) - TINY, 0.0)

    def _half_line(self, a: float, t: Floats, epsilon: Floats, side: float) -> Floats:
        t = np.clip(t, 0.0, self.shift - 1.0)
        ratio = np.exp(-a)
        first, exponent = -np.expm1(-a * (t + 1)), epsilon - a * (self.shift - t - 1)
        second = ratio * np.expm1(exponent)
        blur = U * (16 * (first + np.abs(second)) + 4 * (epsilon + a * self.shift) * (1 + np.maximum(second, 0)))
        sure: Floats = (first - second + side * blur) / (1 + ratio) * (1 + side * np.sign(first - second) * 16 * U)
        return sure


_BLOCKS = 1 << 13
"""Between 0 and the shift, outcomes are taken one by one up to so many, and in so many equal blocks beyond."""


@dataclass(frozen=True, slots=True)
class _Masses:
    """Sums of e^(-a m) over ranges of m >= 0, as shares of e^(-a|k|) over -radius..radius; `blur` bounds their relative error."""

    a: float
    radius: int

    @property
    def blur(self) -> float:
        return U * (100 + 8 * min(self.a * self.radius, 2000.0))

    def share(self, first: Floats, count: Floats) -> Floats:
        """The share of m = first, ..., first + count - 1."""
        unit = -np.expm1(-self.a)
        total = 2 * -np.expm1(-self.a * (self.radius + 1)) / unit - 1
        found: Floats = np.exp(-self.a * first) * -np.expm1(-self.a * np.maximum(count, 0.0)) / unit / total
        return found

    def one(self, first: int, last: int) -> float:
        """The share of m = first, ..., last; nothing if there is none."""
        if last < first:
            return 0.0
        return float(self.share(np.array([float(first)]), np.array([float(last - first + 1)]))[0])


def truncated_laplace(scale: Fraction, radius: int, shift: int) -> AtomsPair:
    """Noise e^(-|k|/scale) on -radius..radius, shifted: what only one of the two can answer has infinite loss.

    A block of outcomes between 0 and the shift counts with the largest loss in it from above, with the smallest from below.
    """
    a = float_above(1 / scale)
    masses = _Masses(a, radius)
    alone = masses.one(max(radius - shift + 1, 1), radius) + masses.one(0, min(shift - radius - 1, radius))
    first, last = (
        max(1, shift - radius),
        min(shift - 1, radius),
    )  # the outcomes between 0 and the shift that both can give
    length = max(1, -(-(last - first + 1) // _BLOCKS))
    starts = [*range(first, last + 1, length)][::-1]
    counts = [min(length, last + 1 - start) for start in starts]
    middle = masses.share(np.array(starts, dtype=np.float64), np.array(counts, dtype=np.float64))
    both = masses.one(0, radius - shift)  # left of 0, and right of the shift times e^(-a shift)
    mass = np.concatenate([[both * math.exp(-a * shift)], middle, [both]])
    steps = [
        [-shift, *(shift - 2 * (start + extra) for start, extra in _ends(starts, counts, side)), shift]
        for side in (0, 1)
    ]
    low, high = (np.array([float(each) for each in side]) * a for side in steps)
    blur = masses.blur
    below = Atoms(low - 6 * U * np.abs(low), mass * (1 - blur), alone * (1 - blur))
    above = Atoms(high + 6 * U * np.abs(high), mass * (1 + blur) + TINY, alone * (1 + blur))
    even = a * (1 if shift % 2 else 2) * (1 - 8 * U) if length == 1 else 0.0
    return AtomsPair(below, above, lattice=even)


def _ends(starts: list[int], counts: list[int], side: int) -> list[tuple[int, int]]:
    """Each block's last outcome, which has the smallest loss, or (from above) its first."""
    return [(start, 0 if side else count - 1) for start, count in zip(starts, counts, strict=True)]


MOST_STEPS = 500
"""Discrete noise that moves further than this keeps the bound by joint convexity: its atoms would take too long to enclose."""
_SLACK = 64 * U
_BITS = 100


@dataclass(frozen=True, slots=True)
class ReplacedLaplacePair:
    """Continuous Laplace noise."""

    rate: tuple[float, float]
    shift: tuple[float, float]

    lattice = 0.0
    infinite = 0.0

    @property
    def swapped(self) -> ReplacedLaplacePair:
        return self

    @property
    def ceiling(self) -> float:
        return _largest(self.rate[1], self.shift[1]) * (1 + _SLACK)

    @property
    def kink(self) -> float:
        return _largest(self.rate[0], self.shift[0]) * (1 - _SLACK)

    def upper(self, epsilon: Floats) -> Floats:
        q, d = self.rate[1], self.shift[1]
        t = _edge(epsilon, q, d)
        rest = 1 - q + q * math.exp(-d)
        grown = 1 + q * (np.exp(2 * t - d) - math.exp(-d)) / rest
        both = np.exp(t - d) + grown * np.exp(-t - d) + (1 - q) * (np.exp(t - d) - np.exp(-t - d)) / rest
        value = np.maximum(q * (1 - both / 2), 0.0) * (1 + _SLACK) + _SLACK * q
        found: Floats = np.where(epsilon < self.ceiling, value, 0.0) + TINY
        return found

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        q, d = self.rate[0], self.shift[0]
        t = _edge(at, q, d)
        gain = q * (1 - np.exp(t - d) / 2 - np.exp(epsilon - t - d) / 2)
        value = gain - (1 - q) * np.exp(-t) * np.expm1(epsilon) / 2
        blur = _SLACK * (q * (1 + np.exp(epsilon)) + np.expm1(epsilon))
        found: Floats = np.where(at < self.kink, value - blur, 0.0) - TINY
        return found


def _largest(q: float, d: float) -> float:
    """ln((1 - q + q e^d)/(1 - q + q e^-d))."""
    return math.log1p(q * math.expm1(d)) - math.log1p(q * math.expm1(-d))


def _edge(epsilon: Floats, q: float, d: float) -> Floats:
    """Where the loss is `epsilon`: e^(2 t) = 1 + (e^epsilon - 1) (1 - q + q e^-d) e^d/q, never beyond d."""
    squared = np.expm1(np.minimum(epsilon, 700.0)) * (1 - q + q * math.exp(-d)) * math.exp(d) / q
    return np.minimum(np.log1p(squared) / 2, d)


def replaced_discrete_laplace(scale: Fraction, steps: int, rate: Fraction) -> AtomsPair:
    """Noise on the integers with ratio r = e^(-1/scale), moved by `steps` one way or the other: 2·steps + 1 losses."""
    r = exp(-1 / scale, _BITS)
    powers = [Interval.point(1)]
    for _ in range(2 * steps):
        powers.append((powers[-1] * r).rounded(_BITS))
    point = (1 - r) / (1 + r)

    def mass(z: int) -> Interval:
        if abs(z) == steps:
            far = powers[0] if z > 0 else powers[2 * steps]
            return ((1 - rate) * powers[steps] + rate * far) / (1 + r)
        return point * ((1 - rate) * powers[abs(z)] + rate * powers[steps - z])

    masses = {z: mass(z).rounded(_BITS) for z in range(-steps, steps + 1)}
    return pair_of_atoms(
        (ln((masses[z] / masses[-z]).rounded(_BITS), _BITS), masses[z]) for z in range(-steps, steps + 1)
    )
