"""What a closed form promises, and how to read it backwards."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

from deniable.accounting.bracket import Bracket
from deniable.exact import Interval

_SHARP = 40
_NEGLIGIBLE = Fraction(1, 2**4_000)
_FARTHEST = 2**60


class Profile(Protocol):
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


def sharpened(attempt: Callable[[int], Interval], *, bits: int = _SHARP) -> Interval:
    """`attempt(working precision)` again and again until it is narrow, or nothing to speak of; negative parts cut off."""
    working = bits + 40
    while True:
        found = attempt(working)
        if found.tight(bits) or found.upper <= _NEGLIGIBLE:
            return Interval(max(Fraction(0), found.lower), max(Fraction(0), found.upper)).rounded(bits + 24)
        working *= 2


def epsilon_of(profile: Profile, delta: Fraction, *, gap: float = 1e-9) -> Bracket:
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
    profile: Profile, delta: Fraction, start: Fraction, step: Fraction, top: Fraction | None
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


def _narrowed(profile: Profile, delta: Fraction, low: Fraction, high: Fraction, gap: Fraction) -> Bracket:
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


def _last(profile: Profile, delta: Fraction, low: Fraction, middle: Fraction) -> Fraction:
    """A point above delta, near `middle`."""
    for _ in range(30):
        nearer = _short((low + middle) / 2)
        if profile.delta(nearer).lower > delta:
            low = nearer
        else:
            middle = nearer
    return low


def _first(profile: Profile, delta: Fraction, middle: Fraction, high: Fraction) -> Fraction:
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
