"""Privacy profiles with a formula: what they promise, how to read one backwards, and profiles made of profiles.

A profile is delta as a function of epsilon. It is enclosed exactly: no grid, no convolution. Profiles are made of others next to
a leak, on a sample, as the worst of several, or as one drawn by a known coin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

from deniable.accounting.bracket import Bracket
from deniable.accounting.measures.pure import amplify
from deniable.exact import Interval, exp, expm1, ln

_SHARP = 40
_NEGLIGIBLE = Fraction(1, 2**4_000)
_FARTHEST = 2**60


class ClosedProfile(Protocol):
    """delta as a function of epsilon, both directions of a neighbouring pair considered."""

    @property
    def theorem(self) -> str: ...

    def delta(self, epsilon: Fraction) -> Interval:
        """An enclosure of the smallest delta at `epsilon` >= 0; never rises with epsilon."""
        ...

    def least(self) -> Interval:
        """What delta falls to as epsilon grows: the probability of giving everything away."""
        ...

    def guess(self, delta: float) -> float:
        """About where delta is reached; only speed depends on it."""
        ...

    def ceiling(self) -> Fraction | None:
        """An epsilon, next to the first if not the first, from which on delta is its least; None if it never is."""
        ...


def sharpen(attempt: Callable[[int], Interval], *, bits: int = _SHARP) -> Interval:
    """`attempt(working precision)` again and again until it is narrow, or nothing to speak of; negative parts cut off."""
    working = bits + 40
    while True:
        found = attempt(working)
        if found.tight(bits) or found.upper <= _NEGLIGIBLE:
            return Interval(max(Fraction(0), found.lower), max(Fraction(0), found.upper)).rounded(bits + 24)
        working *= 2


def epsilon_of(profile: ClosedProfile, delta: Fraction, *, gap: float = 1e-9) -> Bracket:
    """The smallest epsilon >= 0 at which the profile is at most `delta` > 0, certified from both sides.

    Guarantee: the profile is at most `delta` at the upper end and above `delta` at the lower one (unless that is zero).
    """
    if profile.delta(Fraction(0)).upper <= delta:
        return Bracket(0.0, 0.0)
    least, top = profile.least(), profile.ceiling()
    if least.lower > delta or (top is None and least.lower == least.upper == delta):
        return Bracket(math.inf, math.inf)
    if top is not None and not least.upper <= delta:
        top = None
    guess = profile.guess(max(float(delta), 5e-324))
    if top is not None and least.lower == delta:
        guess = float(top)
    start = Fraction(guess if 0 < guess < math.inf else 1.0)
    low, high = _around(profile, delta, start, Fraction(gap) / 4, top)
    return _narrowed(profile, delta, low, high, Fraction(gap)) if high else Bracket.around(low, Fraction(2**2000))


def _around(
    profile: ClosedProfile, delta: Fraction, start: Fraction, step: Fraction, top: Fraction | None
) -> tuple[Fraction, Fraction | None]:
    """A point above delta (or zero) and one at most delta, as close to `start` as its quality allows; `top` is one."""
    low, high, reach = Fraction(0), None, step
    while high is None:
        point = _short(start * (1 + reach))
        if top is not None and point >= top:
            high = top
            break
        if point > _FARTHEST:
            return low, None
        found = profile.delta(point)
        if found.upper <= delta:
            high = point
        elif found.lower > delta:
            low = point
        reach *= 8
    reach = step
    while low == 0 and reach < 1:
        point = _short(start * (1 - reach))
        found = profile.delta(point)
        if found.lower > delta:
            low = point
        elif found.upper <= delta:
            high = min(high, point)
        reach *= 8
    return low, high


def _narrowed(profile: ClosedProfile, delta: Fraction, low: Fraction, high: Fraction, gap: Fraction) -> Bracket:
    """Halve until narrow, or until the enclosure holds delta itself: then that is how well this profile is known."""
    while high - low > gap * high:
        middle = _short((low + high) / 2)
        if not low < middle < high:
            break
        found = profile.delta(middle)
        if found.upper <= delta:
            high = middle
        elif found.lower > delta:
            low = middle
        else:
            return Bracket.around(_last(profile, delta, low, middle), _first(profile, delta, middle, high))
    return Bracket.around(low, high)


def _last(profile: ClosedProfile, delta: Fraction, low: Fraction, middle: Fraction) -> Fraction:
    """A point above delta, near `middle`."""
    for _ in range(30):
        nearer = _short((low + middle) / 2)
        if profile.delta(nearer).lower > delta:
            low = nearer
        else:
            middle = nearer
    return low


def _first(profile: ClosedProfile, delta: Fraction, middle: Fraction, high: Fraction) -> Fraction:
    """A point at most delta, near `middle`."""
    for _ in range(30):
        nearer = _short((middle + high) / 2)
        if profile.delta(nearer).upper <= delta:
            high = nearer
        else:
            middle = nearer
    return high


def _short(value: Fraction) -> Fraction:
    """A neighbour of `value` with the digits of a float: short numbers make fast enclosures."""
    return Fraction(float(value))


_BITS = 96
_SHORT = 2**14
_FAR = 2**12
_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class LeakingProfile:
    """A profile next to leaks: delta' = 1 - (1 - delta) prod (1 - leak)^times, exactly."""

    inner: ClosedProfile
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
class SampledProfile:
    """A symmetric profile on a sample that the unit enters with probability `rate`, and the unit added or removed.

    Removed: rate · delta(ln(1 + (e^epsilon - 1)/rate)). Added: c · delta(ln(rate e^epsilon / c)), c = 1 - (1 - rate) e^epsilon.
    """

    inner: ClosedProfile
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
        return None if top is None else amplify(top, self.rate)

    def _inner(self, factor: Interval) -> Interval:
        threshold = ln(factor.rounded(_BITS), _BITS)
        return Interval(self.inner.delta(threshold.upper).lower, self.inner.delta(max(_ZERO, threshold.lower)).upper)


@dataclass(frozen=True, slots=True)
class WorstProfile:
    """The worst of several profiles: a unit meets one of them."""

    profiles: tuple[ClosedProfile, ...]

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
class MixedProfile:
    """One of several profiles, drawn by a known coin: the average."""

    parts: tuple[tuple[Fraction, ClosedProfile], ...]

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


def _reached(profile: ClosedProfile, delta: Fraction) -> Fraction | None:
    found = epsilon_of(profile, delta).upper
    return Fraction(found) if math.isfinite(found) else None


def _highest(tops: Sequence[Fraction | None]) -> Fraction | None:
    known = [top for top in tops if top is not None]
    return max(known) if len(known) == len(tops) else None


@dataclass(frozen=True, slots=True)
class NothingProfile:
    """Public information."""

    theorem: ClassVar[str] = "nothing private was used"

    def delta(self, epsilon: Fraction) -> Interval:
        return Interval.point(0)

    def least(self) -> Interval:
        return Interval.point(0)

    def guess(self, delta: float) -> float:
        return 0.0

    def ceiling(self) -> Fraction:
        return Fraction(0)
