"""Losses as exact rationals that only ever round up.

A reading that is rational and simple stays what it is, so ten charges of one tenth fill a budget of one. Any other reading is
rounded up to a multiple of `1/GRID`: sums stay exact, and small, however many charges there are.
"""

from __future__ import annotations

import decimal
from fractions import Fraction
from typing import NamedTuple

from deniable.errors import InvalidArgument

GRID = 2**64 * 3**6 * 5**28 * 7**2 * 11**2 * 13**2 * 17 * 19 * 23 * 29 * 31 * 37
"""Decimals of 28 places and fractions with every denominator up to 40 lie on the grid; its step is below 1e-51."""

_CONTEXT = decimal.Context(prec=60, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, rounding=decimal.ROUND_HALF_EVEN)
_DOWN = decimal.Context(prec=60, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, rounding=decimal.ROUND_FLOOR)
_UP = decimal.Context(prec=60, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, rounding=decimal.ROUND_CEILING)


FAR = 4096
"""Beyond this the exponential is not worth its digits: every caller has an answer without it."""
_TINY = Fraction(1, 2**5900)


class Enclosure(NamedTuple):
    """Two exact numbers with the truth between them."""

    lower: Fraction
    upper: Fraction


def charged(value: Fraction) -> Fraction:
    """The smallest number on the grid that is at least `value`."""
    return value if GRID % value.denominator == 0 else Fraction(-(-value.numerator * GRID // value.denominator), GRID)


def granted(value: Fraction) -> Fraction:
    """The largest number on the grid that is at most `value`: for limits, which round down."""
    return -charged(-value)


def _enclosed(x: Fraction) -> tuple[decimal.Decimal, decimal.Decimal]:
    top, bottom = decimal.Decimal(x.numerator), decimal.Decimal(x.denominator)
    return _DOWN.divide(top, bottom), _UP.divide(top, bottom)


def exp(x: Fraction) -> Enclosure:
    """e to the `x`. The decimal module rounds exp and ln correctly, so one unit in the last place each way encloses them."""
    if x < -FAR:
        return Enclosure(Fraction(0), _TINY)
    if x > FAR:
        raise InvalidArgument(f"exp is not needed, and not given, above {FAR}; got {float(x)!r}")
    low, high = _enclosed(x)
    below = _CONTEXT.next_minus(_CONTEXT.exp(low))
    return Enclosure(max(Fraction(0), Fraction(below)), Fraction(_CONTEXT.next_plus(_CONTEXT.exp(high))))


def ln(x: Fraction) -> Enclosure:
    """The natural logarithm of `x` above 0."""
    low, high = _enclosed(x)
    return Enclosure(Fraction(_CONTEXT.next_minus(_CONTEXT.ln(low))), Fraction(_CONTEXT.next_plus(_CONTEXT.ln(high))))
