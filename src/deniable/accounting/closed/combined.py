"""Profiles made of profiles: with a leak, on a sample, the worse of several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from deniable.accounting.closed.profile import Profile, epsilon_of
from deniable.accounting.measures.pure import amplified
from deniable.exact import Interval, exp, expm1, ln

_BITS = 96
_SHORT = 2**14
_FAR = 2**12
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

    def ceiling(self) -> Fraction | None:
        return self.inner.ceiling()


def with_leaks(delta: Interval, leaks: tuple[tuple[Fraction, int], ...]) -> Interval:
    """What a delta becomes when everything also leaks with these probabilities."""
    leaked = leak(leaks)
    return leaked if delta.upper == 0 else (delta + (1 - delta) * leaked).rounded(_BITS)


def leak(leaks: tuple[tuple[Fraction, int], ...]) -> Interval:
    """1 - prod (1 - leak)^times: the number itself where that is short, else precise also where it is tiny.

    A budget is spent to the last digit, so a leak must equal the delta that was set aside for it.
    """
    if any(chance == 1 for chance, times in leaks if times):
        return Interval.point(1)
    if sum(times * chance.denominator.bit_length() for chance, times in leaks) <= _SHORT:
        return Interval.point(1 - math.prod(((1 - chance) ** times for chance, times in leaks), start=Fraction(1)))
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
        if epsilon > _FAR:  # ln(1 + (e^epsilon - 1)/rate) lies between epsilon and epsilon - ln rate
            far = epsilon - ln(self.rate, _BITS).lower
            return Interval(self.inner.delta(far).lower, self.inner.delta(epsilon).upper) * self.rate
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

    def ceiling(self) -> Fraction | None:
        top = self.inner.ceiling()
        return None if top is None else amplified(top, self.rate)

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

    def ceiling(self) -> Fraction | None:
        """Where all are at most the largest of their leasts."""
        least = self.least().lower
        tops = [each.ceiling() if each.least().upper >= least else _reached(each, least) for each in self.profiles]
        return _highest(tops)


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

    def ceiling(self) -> Fraction | None:
        return _highest([each.ceiling() for _, each in self.parts])


def _reached(profile: Profile, delta: Fraction) -> Fraction | None:
    found = epsilon_of(profile, delta).upper
    return Fraction(found) if math.isfinite(found) else None


def _highest(tops: Sequence[Fraction | None]) -> Fraction | None:
    known = [top for top in tops if top is not None]
    return max(known) if len(known) == len(tops) else None
