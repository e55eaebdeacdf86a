"""`crossing`: where an increasing function passes zero, between two points at which its sign is certain."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from deniable.errors import InvalidArgument
from deniable.exact.elementary import precision
from deniable.exact.guards import shown
from deniable.exact.interval import Interval
from deniable.exact.rounding import down, up

Function = Callable[[Fraction, int], Interval]
"""f(x, bits): an enclosure of f at x, narrower the more bits are asked for."""

_ATTEMPTS = 6
_SMALLEST = 5e-324
_GUESSED = 44
"""So many bits of a guess made with floats are taken for right until they are checked."""


def crossing(f: Function, *, lower: Fraction, upper: Fraction, bits: int = 64) -> Interval:
    """[a, b] within [lower, upper] with f(a) < 0 < f(b), certified, b - a at most 2**-bits of min(|a|, |b|).

    For an increasing continuous f the zero lies inside: a is proved too small and b proved large enough, so a caller
    takes the end on the safe side. Inverse quadratic steps while they pay, halving when they do not (Chandrupatla 1997).
    The zero must not be 0 itself.
    """
    bits = precision(bits)
    here, there = _value(f, lower, bits), _value(f, upper, bits)
    if not here.y < 0 < there.y:
        raise InvalidArgument(
            f"f must be negative at lower and positive at upper, got {shown(lower)} and {shown(upper)}"
        )
    before, step = here, _secant(here, there)
    while not _between(here, there).tight(bits):
        width = there.x - here.x
        shortest = min(abs(here.x or there.x) / (1 << (bits + 2)), abs(width) / 4)
        distance = min(max(abs(width) * Fraction(step), shortest), abs(width) - shortest)  # closes in from both sides
        at = here.x + (distance if width > 0 else -distance)
        new = _value(f, Interval.point(at).rounded(bits + 8).lower, bits, aside=shortest / 2)
        if (new.y < 0) == (here.y < 0):
            before = here
        else:
            before, there = there, here
        here = new
        step = _inverse_quadratic(here, there, before)
    return _between(here, there)


def about(f: Function, near: float, bits: int) -> Interval | None:
    """An interval close about a guess, certified to have f below zero at its lower end and above at its upper; else None."""
    if not (math.isfinite(near) and near):
        return None
    part = abs(Fraction(near)) / (1 << min(bits + 2, _GUESSED))
    lower, upper = Fraction(near) - part, Fraction(near) + part
    good = f(lower, bits + 16).upper < 0 < f(upper, bits + 16).lower
    return Interval(lower, upper) if good else None


@dataclass(frozen=True, slots=True)
class _Point:
    x: Fraction
    y: float  # the certain sign of f(x), and about its size


def _between(p: _Point, q: _Point) -> Interval:
    return Interval(min(p.x, q.x), max(p.x, q.x))


def _value(f: Function, x: Fraction, bits: int, *, aside: Fraction = Fraction(0)) -> _Point:
    """f at x with its sign certain; when x is the zero as far as can be told, at a point a hair aside."""
    for shift in range(3):
        at, working = x + shift * aside, bits + 16
        for _ in range(_ATTEMPTS):
            value = f(at, working)
            if value.lower > 0:
                return _Point(at, max(down(value), _SMALLEST))
            if value.upper < 0:
                return _Point(at, min(up(value), -_SMALLEST))
            working += working // 2
    raise InvalidArgument(f"the sign of f cannot be decided at {shown(x)}; f must be strictly increasing")


def _secant(p: _Point, q: _Point) -> float:
    """How far from p to q a straight line puts the zero; half way where they are too far apart for that."""
    return p.y / (p.y - q.y) if _between(p, q).tight(1) else 0.5


def _inverse_quadratic(p: _Point, q: _Point, r: _Point) -> float:
    """How far from p to q the parabola through three points puts the zero; half way where it is not to be trusted."""
    xi = float((p.x - q.x) / (r.x - q.x))
    phi = (p.y - q.y) / (r.y - q.y) if r.y != q.y else 0.0
    if not (phi * phi < xi and (1 - phi) ** 2 < 1 - xi):
        return 0.5
    alpha = float((r.x - p.x) / (q.x - p.x))
    return p.y / (q.y - p.y) * r.y / (q.y - r.y) + alpha * p.y / (r.y - p.y) * q.y / (r.y - q.y)
