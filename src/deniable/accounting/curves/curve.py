"""What a Rényi curve promises."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol

from deniable.exact import Interval, exp, ln

BITS = 80
_NEGLIGIBLE = Fraction(-200)


class Curve(Protocol):
    """An upper bound on the Rényi divergence of both directions, as a function of the order."""

    def at(self, order: Fraction) -> Fraction | None:
        """The bound at an exact order above one, rounded up; None where there is none."""
        ...

    def estimate(self, order: float) -> float:
        """About the same in floats, infinite where there is none: only for choosing an order."""
        ...


def log_moment(parts: list[tuple[Interval, Interval]], order: Fraction) -> Fraction:
    """ln(sum of weight e^exponent)/(order - 1) from above, the largest exponent taken out first.

    What is left far below it is raised to where it still adds nothing: its exact size would be a fraction of many thousand digits.
    """
    top = max(exponent.upper for _, exponent in parts)
    total = Interval.point(0)
    for weight, exponent in parts:
        below = (exponent - top).rounded(BITS + 16)
        total = total + weight * exp(max(below.upper, _NEGLIGIBLE), BITS)
    return max(Fraction(0), (top + ln(total.rounded(BITS), BITS).upper) / (order - 1))


def point(value: Fraction) -> Interval:
    """An exact number as an interval."""
    return Interval.point(value)


def log_sum(parts: list[tuple[float, float]]) -> float:
    """ln(sum of weight e^exponent) in floats."""
    top = max(exponent for _, exponent in parts)
    total = sum(weight * math.exp(exponent - top) for weight, exponent in parts)
    return top + math.log(total) if total > 0 else -math.inf
