"""Where a monotone function of one positive number meets a limit, on the safe side, as a short number."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

Measured = Callable[[float | int], "float | Fraction | None"]
"""The value at a number; None where the number makes no sense. Rising or falling, it does not matter which."""

_TOLERANCE = 1e-5
_FARTHEST = 60
_MANY = 200
_FIRST = 1.5


def boundary(measured: Measured, most: Fraction) -> float | int | None:
    """The number nearest the limit with `measured(number) <= most`; None if there is none, or no limit in sight."""
    measured = _remembered(measured)
    # from 1 on, or a little later where fewer make no sense, as for the size of a sample with a variance
    senseless = _value(measured, _FIRST) is None
    whole = senseless and any(_value(measured, k) is not None and _value(measured, k + 1) is not None for k in (1, 2))
    if whole:
        return _whole(measured, most)
    ends = _ends(measured, most)
    if ends is None:
        return None
    safe, unsafe = ends
    return _short(measured, most, *_narrowed(measured, most, safe, unsafe))


def _remembered(measured: Measured) -> Measured:
    """Asked once for each number; 1 and 1.0 are two of them, for some functions take whole numbers only."""
    known: dict[tuple[type, float | int], float | Fraction | None] = {}

    def asked(x: float | int) -> float | Fraction | None:
        if (type(x), x) not in known:
            known[type(x), x] = measured(x)
        return known[type(x), x]

    return asked


def _value(measured: Measured, x: float | int) -> float | Fraction | None:
    found = measured(x)
    return None if found is None or found != found else found


def _fits(measured: Measured, most: Fraction, x: float | int) -> bool:
    found = _value(measured, x)
    return found is not None and found <= most


def _ends(measured: Measured, most: Fraction) -> tuple[float, float] | None:
    """Two neighbouring powers of two, one within the limit and one not (or senseless); sensible pairs first."""
    seen: dict[int, float | Fraction | None] = {0: _value(measured, 1.0)}
    for reach in range(1, _FARTHEST + 1):
        for place in (reach, -reach):
            if place == _vain(seen, most) * reach:
                continue
            seen[place] = _value(measured, 2.0**place)
            inner = place - 1 if place > 0 else place + 1
            before, now = seen[inner], seen[place]
            if before is not None and now is not None and (before <= most) != (now <= most):
                return (2.0**inner, 2.0**place) if before <= most else (2.0**place, 2.0**inner)
    for place in sorted(seen, key=abs):
        inner = place - 1 if place > 0 else place + 1
        before, now = seen.get(inner), seen[place]
        if place and (before is None) != (now is None):
            safe = place if now is not None else inner
            value = seen[safe]
            if value is not None and value <= most:
                return 2.0**safe, 2.0 ** (inner if safe == place else place)
    return None


def _vain(seen: dict[int, float | Fraction | None], most: Fraction) -> int:
    """The sign of the places that lead away from the limit, told by the first two values; 0 if they do not tell."""
    first, second = seen[0], seen.get(1)
    if first is None or second is None or first == second or (first <= most) != (second <= most):
        return 0
    return 1 if (second > first) == (first > most) else -1


def _narrowed(measured: Measured, most: Fraction, safe: float, unsafe: float) -> tuple[float, float]:
    """Where ln of the value, interpolated between the nearest known ones, meets the limit: losses are nearly powers of scales.

    Then a hair to the side not met last, so that both ends close in; halving where that does not help.
    """
    limit = math.log(most) if most > 0 else -math.inf
    points = {math.log(x): _log(measured, x) - limit for x in (safe, unsafe, _FIRST)}
    low, high = math.log(safe), math.log(unsafe)
    hair, before = _TOLERANCE / 8, math.inf
    for turn in range(_MANY):
        width = abs(high - low)
        if width < _TOLERANCE / 4:
            break
        helped, before = (True, before) if turn % 3 else (width < before / 4, width)
        share = (_aimed(points, low, high) - low) / (high - low) if helped else 0.5
        toward = hair / width if min(points, key=lambda at: abs(points[at])) == low else -hair / width
        edge = min(hair / width, 0.02)
        share = min(max(share + toward, edge), 1 - edge) if helped else share
        middle = math.exp(low + share * (high - low))
        if not min(safe, unsafe) < middle < max(safe, unsafe):
            break
        at = math.log(middle)
        points[at] = _log(measured, middle) - limit
        if points[at] <= 0:
            safe, low = middle, at
        else:
            unsafe, high = middle, at
    return safe, unsafe


def _aimed(points: dict[float, float], low: float, high: float) -> float:
    """Where the polynomial through the nearest three points meets 0; the middle if that is nowhere between the ends."""
    near = sorted((value, at) for at, value in points.items() if math.isfinite(value))
    near = sorted(near, key=lambda point: abs(point[0]))[:3]
    if len({value for value, _ in near}) < len(near) or len(near) < 2:
        return (low + high) / 2
    found = 0.0
    for value, at in near:
        found += at * math.prod(other / (other - value) for other, _ in near if other != value)
    return found if min(low, high) < found < max(low, high) else (low + high) / 2


def _log(measured: Measured, x: float) -> float:
    found = _value(measured, x)
    if found is None:
        return math.inf
    if isinstance(found, Fraction):
        return math.log(found.numerator) - math.log(found.denominator) if found > 0 else -math.inf
    return math.log(found) if 0 < found < math.inf else math.inf if found > 0 else -math.inf


def _short(measured: Measured, most: Fraction, safe: float, unsafe: float) -> float:
    """The shortest decimal from just before the limit to just on the safe side of it that is within the limit."""
    away = safe + (safe - unsafe) / abs(safe - unsafe) * abs(safe) * _TOLERANCE / 4
    for low, high in ((min(safe, unsafe), max(safe, unsafe)), (min(safe, away), max(safe, away))):
        candidate = _shortest(low, high)
        if _fits(measured, most, candidate):
            return candidate
    return safe


def _shortest(low: float, high: float) -> float:
    """The decimal with fewest digits in [low, high]."""
    for digits in range(1, 18):
        scale = Fraction(10) ** (digits - 1 - math.floor(math.log10(high)))
        unit = math.ceil(Fraction(low) * scale)
        if unit <= Fraction(high) * scale:
            return float(unit / scale)
    return high


def _whole(measured: Measured, most: Fraction) -> int | None:
    """The same among whole numbers from 1 on."""
    first = _fits(measured, most, 1)
    high = 2
    while _fits(measured, most, high) == first:
        high *= 2
        if high > 2**_FARTHEST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if _fits(measured, most, middle) == first:
            low = middle
        else:
            high = middle
    return low if first else high
