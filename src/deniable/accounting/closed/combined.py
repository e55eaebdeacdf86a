"""Profiles made of profiles: with a leak, on a sample, the worse of several."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from deniable.accounting.closed.profile import Profile
from deniable.exact import Interval, exp, expm1, ln

_BITS = 96
_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Leaking:
    """A profile next to leaks: delta' = 1 - (1 - delta) prod (1 - leak)^times, exactly."""

    inner: Profile
    leaks: tuple[tuple[Fraction, int], ...]

    @property
    def theorem(self) -> str:
        return self.inner.theorem

    def delta(self, epsilon: Fraction) -> Interval:
        return with_leaks(self.inner.delta(epsilon), self.leaks)

    def least(self) -> Interval:
        return with_leaks(self.inner.least(), self.leaks)

    def guess(self, delta: float) -> float:
        leaked = float(leak(self.leaks).upper)
        return self.inner.guess((delta - leaked) / (1 - leaked)) if leaked < delta < 1 else 1.0


def with_leaks(delta: Interval, leaks: tuple[tuple[Fraction, int], ...]) -> Interval:
    """What a delta becomes when everything also leaks with these probabilities."""
    leaked = leak(leaks)
    return (delta + (1 - delta) * leaked).rounded(_BITS)


def leak(leaks: tuple[tuple[Fraction, int], ...]) -> Interval:
    """1 - prod (1 - leak)^times, precise also where it is tiny."""
    if any(chance == 1 for chance, _ in leaks):
        return Interval.point(1)
    total = Interval.point(0)
    for chance, times in leaks:
        if chance:
            total = total + ln(1 - chance, _BITS + 32) * times
    return -expm1(total.rounded(_BITS + 32), _BITS) if leaks else Interval.point(0)


@dataclass(frozen=True, slots=True)
class OnSample:
    """A symmetric profile on a sample that the unit enters with probability `rate`, and the unit added or removed.

    Removed: rate · delta(ln(1 + (e^epsilon - 1)/rate)). Added: c · delta(ln(rate e^epsilon / c)), c = 1 - (1 - rate) e^epsilon.
    """

    inner: Profile
    rate: Fraction

    @property
    def theorem(self) -> str:
        return f"exact amplification by sampling (Balle, Barthe and Gaboardi 2018) of {self.inner.theorem}"

    def delta(self, epsilon: Fraction) -> Interval:
        grown = expm1(epsilon, _BITS) / self.rate + 1
        removed = self._inner(grown) * self.rate
        left = 1 - (1 - self.rate) * exp(epsilon, _BITS)
        if left.lower <= 0:
            return removed
        added = self._inner(exp(epsilon, _BITS) * self.rate / left) * left
        return removed.greatest(added)

    def least(self) -> Interval:
        return self.inner.least() * self.rate

    def guess(self, delta: float) -> float:
        rate = float(self.rate)
        return math.log1p(rate * math.expm1(min(700.0, self.inner.guess(delta / rate)))) if delta < rate else 0.0

    def _inner(self, factor: Interval) -> Interval:
        threshold = ln(factor.rounded(_BITS), _BITS)
        return Interval(self.inner.delta(threshold.upper).lower, self.inner.delta(max(_ZERO, threshold.lower)).upper)


@dataclass(frozen=True, slots=True)
class Worst:
    """The worst of several profiles: a unit meets one of them."""

    profiles: tuple[Profile, ...]

    @property
    def theorem(self) -> str:
        return "disjoint parts: the worst of " + "; ".join(dict.fromkeys(each.theorem for each in self.profiles))

    def delta(self, epsilon: Fraction) -> Interval:
        worst = Interval.point(0)
        for each in self.profiles:
            worst = worst.greatest(each.delta(epsilon))
        return worst

    def least(self) -> Interval:
        worst = Interval.point(0)
        for each in self.profiles:
            worst = worst.greatest(each.least())
        return worst

    def guess(self, delta: float) -> float:
        return max(each.guess(delta) for each in self.profiles)


@dataclass(frozen=True, slots=True)
class Drawn:
    """One of several profiles, drawn by a known coin: the average."""

    parts: tuple[tuple[Fraction, Profile], ...]

    @property
    def theorem(self) -> str:
        return "a mixture of " + "; ".join(dict.fromkeys(each.theorem for _, each in self.parts))

    def delta(self, epsilon: Fraction) -> Interval:
        total = Interval.point(0)
        for chance, each in self.parts:
            total = total + each.delta(epsilon) * chance
        return total.rounded(_BITS)

    def least(self) -> Interval:
        total = Interval.point(0)
        for chance, each in self.parts:
            total = total + each.least() * chance
        return total

    def guess(self, delta: float) -> float:
        return max(each.guess(min(0.999, delta / float(chance))) for chance, each in self.parts)
