"""Floats in, floats out, rounded in the stated direction: `exp_up(x)` is never below e**x, `exp_down(x)` never above.

A float stands for its exact binary value. The platform's math library promises no error bound, so these go through the
certified enclosures at 64 bits (about ten microseconds): the result is at most one float away from the nearest one on
its side, on every platform. Only `math.sqrt` is used directly: IEEE 754 requires it to be correctly rounded.
Infinities mean limits (`exp_up(-inf)` is 0, `ln_up(0.0)` is -inf); NaN is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from deniable.errors import InvalidArgument
from deniable.exact.elementary import exp, expm1, ln
from deniable.exact.guards import shown
from deniable.exact.interval import Interval
from deniable.exact.normal import log_normal_cdf, normal_cdf
from deniable.exact.rounding import down, up

_OVER = 710.0  # e**710 is above the largest float
_UNDER = -746.0  # e**-746 is below half the smallest


def _number(x: float) -> float:
    if not (isinstance(x, float | int) and not isinstance(x, bool) and x == x):
        raise InvalidArgument(f"x must be a float that is a number, got {shown(x)}")
    return float(x)


def exp_up(x: float) -> float:
    """A float at least e**x; `inf` above the largest."""
    x = _number(x)
    if x == -math.inf:
        return 0.0
    return math.inf if x >= _OVER else up(exp(Fraction(max(x, _UNDER))))


def exp_down(x: float) -> float:
    """A float at most e**x, never negative."""
    x = _number(x)
    if x == math.inf:
        return math.inf
    return 0.0 if x <= _UNDER else down(exp(Fraction(min(x, _OVER))))


def expm1_up(x: float) -> float:
    """A float at least e**x - 1; `inf` above the largest."""
    x = _number(x)
    if x == -math.inf:
        return -1.0
    return math.inf if x >= _OVER else up(expm1(Fraction(max(x, _UNDER))))


def expm1_down(x: float) -> float:
    """A float at most e**x - 1, never below -1."""
    x = _number(x)
    if x == math.inf:
        return math.inf
    return -1.0 if x <= _UNDER else down(expm1(Fraction(min(x, _OVER))))


def ln_up(x: float) -> float:
    """A float at least ln x, for x >= 0."""
    return _logarithm(x, 0, up)


def ln_down(x: float) -> float:
    """A float at most ln x, for x >= 0."""
    return _logarithm(x, 0, down)


def log1p_up(x: float) -> float:
    """A float at least ln(1 + x), for x >= -1."""
    return _logarithm(x, 1, up)


def log1p_down(x: float) -> float:
    """A float at most ln(1 + x), for x >= -1."""
    return _logarithm(x, 1, down)


def _logarithm(x: float, offset: int, direction: Callable[[Interval], float]) -> float:
    x = _number(x)
    if x == math.inf:
        return math.inf
    argument = Fraction(x) + offset if x != -math.inf else Fraction(-1)
    if not argument >= 0:
        raise InvalidArgument(f"x must be at least {-offset}, got {shown(x)}")
    return direction(ln(argument)) if argument else -math.inf


def sqrt_up(x: float) -> float:
    """The smallest float at least the square root of x >= 0."""
    near = _nearest_root(x)
    return near if near == math.inf or Fraction(near) ** 2 >= Fraction(x) else math.nextafter(near, math.inf)


def sqrt_down(x: float) -> float:
    """The largest float at most the square root of x >= 0."""
    near = _nearest_root(x)
    return near if near == math.inf or Fraction(near) ** 2 <= Fraction(x) else math.nextafter(near, -math.inf)


def _nearest_root(x: float) -> float:
    x = _number(x)
    if not x >= 0:
        raise InvalidArgument(f"x must not be negative, got {shown(x)}")
    return math.sqrt(x)


def normal_cdf_up(x: float) -> float:
    """A float at least Phi(x), at most 1."""
    x = _number(x)
    if math.isinf(x):
        return float(x > 0)
    return up(normal_cdf(Fraction(max(x, -40.0)))) if x < 9 else 1.0  # Phi(-40) is below the smallest float


def normal_cdf_down(x: float) -> float:
    """A float at most Phi(x), at least 0."""
    x = _number(x)
    if x == math.inf:
        return 1.0
    return down(normal_cdf(Fraction(min(x, 9.0)))) if x > -40 else 0.0


def log_normal_cdf_up(x: float) -> float:
    """A float at least ln Phi(x), at most 0; precise however low x is."""
    x = _number(x)
    if math.isinf(x):
        return 0.0 if x > 0 else -math.inf
    return up(log_normal_cdf(Fraction(x))) if x < 40 else 0.0


def log_normal_cdf_down(x: float) -> float:
    """A float at most ln Phi(x); precise however low x is."""
    x = _number(x)
    if math.isinf(x):
        return 0.0 if x > 0 else -math.inf
    return down(log_normal_cdf(Fraction(min(x, 40.0))))
