"""`up` and `down`: the way out of exact arithmetic, always in the direction asked.

`up(x)` is the smallest float that is at least x, `down(x)` the largest that is at most x: correct for every rational,
down to the subnormals. Beyond the largest float, `up` gives `inf` and `down` the largest float (mirrored for negative
numbers), since those are the smallest and largest floats that keep the promise. Of an interval, `up` takes the upper
end and `down` the lower. A float stands for its exact binary value and comes back unchanged; NaN is refused.

With `digits` (places after the point) or `significant` (digits from the first that is not zero) the result is a
`Decimal`, rounded in the same direction: exact, printed as people read it, and accepted by every guard.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import overload

from deniable.errors import InvalidArgument
from deniable.exact import figures
from deniable.exact.guards import integer, shown
from deniable.exact.interval import Interval, exact

Roundable = int | float | Fraction | Interval

_LARGEST = sys.float_info.max
_MOST_DIGITS = 1_000_000


@overload
def up(x: Roundable) -> float: ...
@overload
def up(x: Roundable, *, digits: int) -> Decimal: ...
@overload
def up(x: Roundable, *, significant: int) -> Decimal: ...
def up(x: Roundable, *, digits: int | None = None, significant: int | None = None) -> float | Decimal:
    """The smallest float that is at least x, or the smallest decimal with so many digits.

    Guarantee: the result is never below x. Above the largest float it is `inf`.
    """
    value = x.upper if isinstance(x, Interval) else x
    if digits is None and significant is None:
        return _directed(value, ratio_up)
    number = _binary(value)
    if digits is not None:
        return figures.ceiling(number, integer(digits=digits, greatest=_MOST_DIGITS))
    return figures.significant_ceiling(number, integer(significant=significant, least=1, greatest=_MOST_DIGITS))


@overload
def down(x: Roundable) -> float: ...
@overload
def down(x: Roundable, *, digits: int) -> Decimal: ...
@overload
def down(x: Roundable, *, significant: int) -> Decimal: ...
def down(x: Roundable, *, digits: int | None = None, significant: int | None = None) -> float | Decimal:
    """The largest float that is at most x, or the largest decimal with so many digits.

    Guarantee: the result is never above x. Above the largest float it is the largest float.
    """
    value = x.lower if isinstance(x, Interval) else x
    if digits is None and significant is None:
        return _directed(value, ratio_down)
    number = _binary(value)
    if digits is not None:
        return figures.floor(number, integer(digits=digits, greatest=_MOST_DIGITS))
    return figures.significant_floor(number, integer(significant=significant, least=1, greatest=_MOST_DIGITS))


def outward(x: Interval) -> tuple[float, float]:
    """`(down(x), up(x))`: the tightest pair of floats around the interval."""
    return down(x), up(x)


def _binary(value: int | float | Fraction) -> Fraction:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidArgument(f"x must be a finite number, got {shown(value)}")
        return Fraction(value)
    return exact(value)


def _directed(value: int | float | Fraction, ratio: Callable[[int, int], float]) -> float:
    if isinstance(value, float):
        if value != value:
            raise InvalidArgument(f"x must be a number, got {shown(value)}")
        return float(value)
    number = exact(value)
    return ratio(number.numerator, number.denominator)


def ratio_up(n: int, d: int) -> float:
    """The smallest float that is at least n/d, for d > 0."""
    try:
        nearest = n / d  # integer division in Python is correctly rounded, subnormals included
    except OverflowError:
        return math.inf if n > 0 else -_LARGEST
    if math.isinf(nearest):
        return math.inf if n > 0 else -_LARGEST
    a, b = nearest.as_integer_ratio()
    above = nearest if a * d >= n * b else math.nextafter(nearest, math.inf)
    return above + 0.0  # never a negative zero


def ratio_down(n: int, d: int) -> float:
    """The largest float that is at most n/d, for d > 0."""
    return -ratio_up(-n, d) + 0.0
