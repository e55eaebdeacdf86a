"""Decimal numbers for people, rounded in a stated direction: the result is exact text, never a float."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction


def floor(number: Fraction, digits: int) -> Decimal:
    """The largest decimal with `digits` places after the point that is at most `number`."""
    scaled = number * Fraction(10) ** digits
    return _decimal(scaled.numerator // scaled.denominator, -digits)


def ceiling(number: Fraction, digits: int) -> Decimal:
    """The smallest decimal with `digits` places after the point that is at least `number`."""
    scaled = number * Fraction(10) ** digits
    return _decimal(-(-scaled.numerator // scaled.denominator), -digits)


def significant_floor(number: Fraction, significant: int) -> Decimal:
    """`floor` with `significant` digits counted from the first that is not zero."""
    return floor(number, significant - 1 - _leading_power(number))


def significant_ceiling(number: Fraction, significant: int) -> Decimal:
    """`ceiling` with `significant` digits counted from the first that is not zero."""
    return ceiling(number, significant - 1 - _leading_power(number))


def digits(value: Fraction, *, downwards: bool = False) -> str:
    """A number for people, to six digits: rounded up (a loss), or downwards (what is left)."""
    with localcontext(Context(prec=6, rounding=ROUND_FLOOR if downwards else ROUND_CEILING)):
        number = (Decimal(value.numerator) / Decimal(value.denominator)).normalize()
    return f"{number:f}" if -4 <= number.adjusted() < 9 else f"{number:e}"


def _decimal(units: int, power: int) -> Decimal:
    # From a tuple, so that no context precision and no limit on the length of integer text can round or refuse it.
    magnitude = abs(units)
    if magnitude < 10**4000:
        return Decimal((int(units < 0), tuple(map(int, str(magnitude))), power))
    high, low = divmod(magnitude, 10**4000)
    digits = _decimal(high, 0).as_tuple().digits + tuple(map(int, str(low).zfill(4000)))
    return Decimal((int(units < 0), digits, power))


def _leading_power(number: Fraction) -> int:
    """The k with 10**k <= abs(number) < 10**(k+1); 0 for zero."""
    n, d = abs(number.numerator), number.denominator
    if not n:
        return 0
    k = (n.bit_length() - d.bit_length()) * 30103 // 100000  # within one or so of the answer, fixed below
    while n < d * Fraction(10) ** k:
        k -= 1
    while n >= d * Fraction(10) ** (k + 1):
        k += 1
    return k
