"""`Interval`: two exact rationals with the true value between them.

Arithmetic on intervals is exact, so it never loses the true value: if x is in X and y in Y then x + y is in X + Y, and
so on. Ordering is deliberately missing: of two overlapping intervals neither is less. Ask `certainly_below` instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from deniable.errors import InvalidArgument
from deniable.exact.figures import significant_ceiling, significant_floor
from deniable.exact.guards import shown

Exact = int | Fraction
"""A number without rounding. Floats are refused: say `Fraction(x)` for the binary value, `Fraction("0.1")` for the decimal."""

_SHOWN: Final = 12


def exact(value: object, name: str = "x") -> Fraction:
    """`value` as a Fraction, if it is an exact number; anything else is refused with its value."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    raise InvalidArgument(
        f"{name} must be an exact number (int or Fraction), got {shown(value)}; write it as a Fraction"
    )


@dataclass(frozen=True, slots=True, repr=False)
class Interval:
    """The closed interval [lower, upper] with exact ends.

    Guarantee: sums, differences, products, quotients and powers of intervals contain the same of every pair of members.
    """

    lower: Fraction
    upper: Fraction

    def __post_init__(self) -> None:
        if not (type(self.lower) is Fraction and type(self.upper) is Fraction):
            object.__setattr__(self, "lower", exact(self.lower, "lower"))
            object.__setattr__(self, "upper", exact(self.upper, "upper"))
        if not self.lower <= self.upper:
            raise InvalidArgument(f"lower must not exceed upper, got {shown(self.lower)} and {shown(self.upper)}")

    @classmethod
    def point(cls, value: Exact) -> Interval:
        """The interval that holds one number."""
        number = exact(value)
        return cls(number, number)

    @property
    def width(self) -> Fraction:
        """upper - lower, exactly."""
        return self.upper - self.lower

    @property
    def midpoint(self) -> Fraction:
        """The number half way, exactly."""
        return (self.lower + self.upper) / 2

    @property
    def magnitude(self) -> Fraction:
        """The smallest absolute value of a member: relative widths are relative to this."""
        return Fraction(0) if 0 in self else min(abs(self.lower), abs(self.upper))

    def __contains__(self, value: object) -> bool:
        if isinstance(value, Interval):
            return self.lower <= value.lower and value.upper <= self.upper
        return self.lower <= exact(value) <= self.upper

    contains = __contains__

    def certainly_below(self, other: Interval | Exact) -> bool:
        """True when every member is below every member of `other`; False when that is false or not known."""
        return self.upper < as_interval(other).lower

    def certainly_above(self, other: Interval | Exact) -> bool:
        """True when every member is above every member of `other`; False when that is false or not known."""
        return self.lower > as_interval(other).upper

    def tight(self, bits: int) -> bool:
        """True when the width is at most 2**-bits of the smallest absolute value (a point always is)."""
        return self.width * (1 << bits) <= self.magnitude

    def rounded(self, bits: int = 64) -> Interval:
        """The interval with each end moved outward to a number of `bits` significant binary digits."""
        return Interval(_rounded_down(self.lower, bits), -_rounded_down(-self.upper, bits))

    def hull(self, other: Interval | Exact) -> Interval:
        """The smallest interval holding both."""
        that = as_interval(other)
        return Interval(min(self.lower, that.lower), max(self.upper, that.upper))

    def meet(self, other: Interval | Exact) -> Interval:
        """What both allow: two enclosures of one number hold it in their meet."""
        that = as_interval(other)
        return Interval(max(self.lower, that.lower), min(self.upper, that.upper))

    def least(self, other: Interval | Exact) -> Interval:
        """The enclosure of min(x, y)."""
        that = as_interval(other)
        return Interval(min(self.lower, that.lower), min(self.upper, that.upper))

    def greatest(self, other: Interval | Exact) -> Interval:
        """The enclosure of max(x, y)."""
        that = as_interval(other)
        return Interval(max(self.lower, that.lower), max(self.upper, that.upper))

    def increasing(self, function: Callable[[Fraction], Interval]) -> Interval:
        """The enclosure of f over this interval, given enclosures of f at points and that f never falls."""
        if self.lower == self.upper:
            return function(self.lower)
        return Interval(function(self.lower).lower, function(self.upper).upper)

    def decreasing(self, function: Callable[[Fraction], Interval]) -> Interval:
        """The enclosure of f over this interval, given enclosures of f at points and that f never rises."""
        if self.lower == self.upper:
            return function(self.lower)
        return Interval(function(self.upper).lower, function(self.lower).upper)

    def __neg__(self) -> Interval:
        return Interval(-self.upper, -self.lower)

    def __abs__(self) -> Interval:
        return Interval(self.magnitude, max(abs(self.lower), abs(self.upper)))

    def __add__(self, other: Interval | Exact) -> Interval:
        if isinstance(other, Interval):
            return Interval(self.lower + other.lower, self.upper + other.upper)
        number = exact(other)
        return Interval(self.lower + number, self.upper + number)

    __radd__ = __add__

    def __sub__(self, other: Interval | Exact) -> Interval:
        return self + (-as_interval(other))

    def __rsub__(self, other: Exact) -> Interval:
        return -self + other

    def __mul__(self, other: Interval | Exact) -> Interval:
        that = as_interval(other)
        if self.lower >= 0 and that.lower >= 0:
            return Interval(self.lower * that.lower, self.upper * that.upper)
        ends = [a * b for a in (self.lower, self.upper) for b in (that.lower, that.upper)]
        return Interval(min(ends), max(ends))

    __rmul__ = __mul__

    def reciprocal(self) -> Interval:
        """The enclosure of 1/x; refused when zero is a member."""
        if 0 in self:
            raise InvalidArgument(f"cannot divide by an interval that holds zero, got {self}")
        return Interval(1 / self.upper, 1 / self.lower)

    def __truediv__(self, other: Interval | Exact) -> Interval:
        return self * as_interval(other).reciprocal()

    def __rtruediv__(self, other: Exact) -> Interval:
        return as_interval(other) * self.reciprocal()

    def __pow__(self, power: int) -> Interval:
        if power < 0:
            return self.reciprocal() ** -power
        if power % 2 == 0:  # even powers fold the negative half over
            folded = abs(self)
            return Interval(folded.lower**power, folded.upper**power)
        return Interval(self.lower**power, self.upper**power)

    def __repr__(self) -> str:  # outward and short: the exact ends may have thousands of digits
        return f"Interval[{significant_floor(self.lower, _SHOWN)}, {significant_ceiling(self.upper, _SHOWN)}]"


def as_interval(value: Interval | Exact) -> Interval:
    """`value` itself, or the point interval of an exact number."""
    return value if isinstance(value, Interval) else Interval.point(value)


def _rounded_down(number: Fraction, bits: int) -> Fraction:
    n, d = number.numerator, number.denominator
    shift = bits - (abs(n).bit_length() - d.bit_length())
    scaled = (n << shift) // d if shift >= 0 else n // (d << -shift)
    return Fraction(scaled, 1 << shift) if shift >= 0 else Fraction(scaled << -shift)
