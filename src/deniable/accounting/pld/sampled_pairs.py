"""Dominating pairs made of pairs: on a sample, the worst of several, one drawn by a coin.

Pairs under secret sampling: what sampling at rate q makes of any pair (P, Q) (Zhu, Dong and Wang 2022, Theorem 11).

Removing a unit compares (1-q) Q + q P with Q. For x = e^epsilon >= 1 its profile is q f(1 + (x-1)/q): `SampledPair`.
Adding one compares P with (1-q) P + q Q. Its profile is D f(q x/D), D = 1 - (1-q) x, and 0 once D <= 0: `SampledBackPair`.
Replacing one unit of a fixed-size sample follows the first profile in both directions: `ReplacedPair`.
All grow with q; `low` and `high` enclose it.

Replacing one unit under Poisson sampling, for any mechanism (Balle, Barthe and Gaboardi 2018).

With R the answers without the unit, P with it and Q with its replacement, (1-q) R + q P against (1-q) R + q Q has, for x >= 1,
a profile of at most q ((1-b) f(y) + b g(y)), where y = 1 + (x-1)/q, b = x/y, f is the profile of P against R (one unit
removed) and g that of P
against Q (one unit replaced: removed, and another added).

One of several pairs: the worst of them, or one drawn by a coin that everybody may see.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from deniable.accounting.pld.outward import TINY, Floats, U
from deniable.accounting.pld.pair import Pair
from deniable.exact import log1p


def amplify_epsilon(epsilon: Floats, rate: float, side: float) -> Floats:
    """ln(1 + (e^epsilon - 1)/q), moved by its rounding error to the given side."""
    small = np.log1p(np.expm1(np.minimum(epsilon, 40.0)) / rate)
    large = epsilon - math.log(rate) + np.log1p(-(1 - rate) * np.exp(-epsilon))
    value = np.where(epsilon < 40.0, small, large)
    return value * (1 + side * 32 * U)


def _compressed(epsilon: float, rate: float) -> float:
    """ln(1 + q (e^epsilon - 1)): where a loss lands."""
    if epsilon > 30:
        return epsilon + math.log(rate) + math.log1p((1 - rate) * math.exp(-epsilon) / rate)
    return math.log1p(rate * math.expm1(epsilon))


@lru_cache(maxsize=1024)
def _cap(rate: float) -> tuple[float, float]:
    """-ln(1 - q) as the sum of two floats."""
    if rate == 1:
        return math.inf, 0.0
    log = -log1p(-Fraction(rate), bits=140).lower
    return float(log), float(log - Fraction(float(log)))


def _nearly_sure(pair: Pair) -> float:
    """A loss that almost all of P exceeds, if that is a large one: sampling squeezes all beyond it into an atom."""
    losses = np.arange(0.0, 40.0)
    largest = float(losses[max(int(np.sum(pair.upper(losses) > 0.99)) - 1, 0)])
    return largest if largest >= 3 else 0.0


@dataclass(frozen=True, slots=True)
class SampledPair:
    """(1-q) Q + q P against Q."""

    base: Pair
    low: float
    high: float

    @property
    def swapped(self) -> Pair:
        return SampledBackPair(self.base.swapped, self.low, self.high)

    @property
    def ceiling(self) -> float:
        top = self.base.ceiling
        return math.inf if math.isinf(top) else _compressed(top, self.high) * (1 + 64 * U)

    @property
    def infinite(self) -> float:
        return self.low * self.base.infinite * (1 - 2 * U)

    @property
    def kink(self) -> float:
        return _compressed(self.base.kink, self.low)

    @property
    def lattice(self) -> float:
        return 0.0

    def upper(self, epsilon: Floats) -> Floats:
        inner = self.base.upper(amplify_epsilon(epsilon, self.high, -1.0))
        return self.high * inner * (1 + 2 * U) + TINY

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        value = self.base.line(amplify_epsilon(at, self.low, 0.0), amplify_epsilon(epsilon, self.low, +1.0))
        return self.low * value * (1 - 2 * U * np.sign(value)) - TINY


@dataclass(frozen=True, slots=True)
class SampledBackPair:
    """P against (1-q) P + q Q: losses stay below -ln(1 - q)."""

    base: Pair
    low: float
    high: float

    @property
    def swapped(self) -> Pair:
        return SampledPair(self.base.swapped, self.low, self.high)

    @property
    def ceiling(self) -> float:
        top, cap = self.base.ceiling, sum(_cap(self.high))
        if math.isinf(top):
            return cap * (1 + 4 * U)
        return min(cap, -math.log1p(self.high * math.expm1(-top))) * (1 + 64 * U)

    @property
    def infinite(self) -> float:
        return self.base.infinite if self.low == 1 else 0.0

    @property
    def kink(self) -> float:
        soft = self.base.kink or _nearly_sure(self.base)
        return -math.log1p(self.low * math.expm1(-soft)) * (1 - 16 * U)

    @property
    def lattice(self) -> float:
        return 0.0

    def upper(self, epsilon: Floats) -> Floats:
        room, inner = _back(epsilon, self.high, -1.0)
        return np.where(room > 0, room * self.base.upper(np.maximum(inner, 0.0)) * (1 + 32 * U), 0.0) + TINY

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        """Nothing exceeds the cap. Where epsilon does and `at` does not, Q(S) <= P(S) e^-at gives at least 1 - e^(epsilon - at)."""
        left, event = _back(at, self.low, 0.0)
        room, inner = _back(epsilon, self.low, +1.0)
        value = self.base.line(np.maximum(event, 0.0), inner)
        inside = room * value * (1 - 32 * U * np.sign(value))
        far = np.minimum(-np.expm1(epsilon - at) * (1 + 32 * U) - 32 * U, 0.0)
        return np.where(left > 0, np.where(room > 0, inside, far) - TINY, 0.0)


def _back(epsilon: Floats, rate: float, side: float) -> tuple[Floats, Floats]:
    """D = 1 - (1-q) e^epsilon, and ln(q e^epsilon/D) moved to the given side by its rounding error."""
    if rate == 1:
        return np.ones_like(epsilon), epsilon
    high, low = _cap(rate)
    left = (high - epsilon) + low
    room = -np.expm1(-np.maximum(left, 0.0))
    lost = np.expm1(-epsilon) / rate
    near = -np.log1p(np.maximum(lost, -0.75)) * (1 + side * 64 * U)
    floor = np.maximum(room, TINY)
    far = epsilon + math.log(rate) - np.log(floor)
    far = far + side * 16 * U * (epsilon - math.log(rate) + np.abs(np.log(floor)) + 1)
    return room, np.where(lost > -0.5, near, far)


@dataclass(frozen=True, slots=True)
class ReplacedPair:
    """A sample of fixed size in which one unit was replaced; `base` compares replaced samples and is its own swap."""

    base: Pair
    low: float
    high: float

    @property
    def swapped(self) -> Pair:
        return self

    @property
    def ceiling(self) -> float:
        return SampledPair(self.base, self.low, self.high).ceiling

    @property
    def infinite(self) -> float:
        return SampledPair(self.base, self.low, self.high).infinite

    @property
    def kink(self) -> float:
        return SampledPair(self.base, self.low, self.high).kink

    @property
    def lattice(self) -> float:
        return 0.0

    def upper(self, epsilon: Floats) -> Floats:
        return SampledPair(self.base, self.low, self.high).upper(epsilon)

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        return SampledPair(self.base, self.low, self.high).line(at, epsilon)


@dataclass(frozen=True, slots=True)
class ReplacedInSamplePair:
    """`removed` compares with and without a unit, `replaced` with one unit or another."""

    removed: Pair
    replaced: Pair
    low: float
    high: float

    kink = 0.0
    lattice = 0.0

    @property
    def swapped(self) -> Pair:
        return self

    @property
    def ceiling(self) -> float:
        return SampledPair(self.replaced, self.low, self.high).ceiling

    @property
    def infinite(self) -> float:
        return SampledPair(self.removed, self.low, self.high).infinite

    def upper(self, epsilon: Floats) -> Floats:
        inner = amplify_epsilon(epsilon, self.high, -1.0)
        share = np.exp(np.minimum(epsilon - inner, 0.0))
        near, far = self.removed.upper(inner), self.replaced.upper(inner)
        mixed = near + share * np.maximum(far - near, 0.0)
        most: Floats = self.high * mixed * (1 + 64 * U) + TINY
        return most

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        """A replacement that changes nothing any more is one possible replacement."""
        return SampledPair(self.removed, self.low, self.high).line(at, epsilon)


class WorstPair:
    """Disjoint parts: one unit sits in one of them, and nobody says in which.

    The pointwise largest of convex profiles is convex, hence the profile of one pair that dominates them all.
    """

    lattice = 0.0
    kink = 0.0

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = tuple(pairs)
        self.ceiling = max(pair.ceiling for pair in pairs)
        self.infinite = max(pair.infinite for pair in pairs)

    @property
    def swapped(self) -> Pair:
        back = [pair.swapped for pair in self.pairs]
        return self if all(one is other for one, other in zip(self.pairs, back, strict=True)) else WorstPair(back)

    def upper(self, epsilon: Floats) -> Floats:
        found: Floats = np.maximum.reduce([pair.upper(epsilon) for pair in self.pairs])
        return found

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        """The line of whichever pair is worst at the event's own loss."""
        here = np.array([pair.line(at, at) for pair in self.pairs])
        lines = np.array([pair.line(at, epsilon) for pair in self.pairs])
        found: Floats = np.take_along_axis(lines, np.argmax(here, axis=0)[None], axis=0)[0]
        return found


class MixedPair:
    """One of these pairs, with chances between two floats each; profiles of mixtures by a known coin are averages."""

    lattice = 0.0
    kink = 0.0

    def __init__(self, parts: Sequence[tuple[float, float, Pair]]) -> None:
        self.parts = tuple(parts)
        self.ceiling = max(pair.ceiling for _, _, pair in parts)
        self.infinite = math.fsum(low * pair.infinite for low, _, pair in parts) * (1 - 4 * U)

    @property
    def swapped(self) -> Pair:
        back = [(low, high, pair.swapped) for low, high, pair in self.parts]
        same = all(one[2] is other[2] for one, other in zip(self.parts, back, strict=True))
        return self if same else MixedPair(back)

    def upper(self, epsilon: Floats) -> Floats:
        found = np.zeros_like(epsilon)
        for _, high, pair in self.parts:
            found += high * pair.upper(epsilon)
        return found * (1 + 4 * U * len(self.parts))

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        found = np.zeros_like(epsilon)
        for low, high, pair in self.parts:
            value = pair.line(at, epsilon)
            found += np.where(value > 0, low, high) * value
        return found - 4 * U * len(self.parts) * np.abs(found)
