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


def boundary(measured: Measured, most: Fraction) -> float | int | None:
    """The number nearest the limit with `measured(number) <= most`; None if there is none, or no limit in sight."""
    whole = _value(measured, 1.5) is None and _value(measured, 1) is not None and _value(measured, 2) is not None
    if whole:
        return _whole(measured, most)
    ends = _ends(measured, most)
    if ends is None:
        return None
    safe, unsafe = ends
    return _short(measured, most, *_narrowed(measured, most, safe, unsafe))


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


def _narrowed(measured: Measured, most: Fraction, safe: float, unsafe: float) -> tuple[float, float]:
    """Illinois on ln of the value against ln of the number: losses are nearly powers of scales."""
    limit = math.log(most) if most > 0 else -math.inf
    left, right = _log(measured, safe) - limit, _log(measured, unsafe) - limit
    last = 0
    for _ in range(_MANY):
        if abs(math.log(unsafe / safe)) < _TOLERANCE / 4:
            break
        if math.isfinite(left) and math.isfinite(right) and right > left:
            share = min(max(-left / (right - left), 0.02), 0.98)
            step = _TOLERANCE / 8 / abs(math.log(unsafe / safe))
            share = min(0.98, share + step) if last > 0 else max(0.02, share - step)
        else:
            share = 0.5
        middle = math.exp((1 - share) * math.log(safe) + share * math.log(unsafe))
        if not min(safe, unsafe) < middle < max(safe, unsafe):
            break
        value = _log(measured, middle) - limit
        if value <= 0:
            safe, left, right, last = middle, value, (right / 2 if last > 0 else right), 1
        else:
            unsafe, right, left, last = middle, value, (left / 2 if last < 0 else left), -1
    return safe, unsafe


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
