"""Losses as exact rationals that only ever round up.

A reading that is rational and simple stays what it is, so ten charges of one tenth fill a budget of one. Any other reading is
rounded up to a multiple of `1/GRID`: sums stay exact, and small, however many charges there are.
"""

from __future__ import annotations

from fractions import Fraction

from deniable import exact
from deniable.exact import Interval

GRID = 2**64 * 3**6 * 5**28 * 7**2 * 11**2 * 13**2 * 17 * 19 * 23 * 29 * 31 * 37
"""Decimals of 28 places and fractions with every denominator up to 40 lie on the grid; its step is below 1e-51."""

LARGEST_EXPONENT = 4096
"""Beyond this the exponential is not worth its digits: every caller has an answer without it."""

_BITS = 192


def round_up(value: Fraction) -> Fraction:
    """The smallest number on the grid that is at least `value`."""
    return value if GRID % value.denominator == 0 else Fraction(-(-value.numerator * GRID // value.denominator), GRID)


def round_down(value: Fraction) -> Fraction:
    """The largest number on the grid that is at most `value`: for limits, which round down."""
    return -round_up(-value)


def exp(x: Fraction) -> Interval:
    """e to the `x`, enclosed more tightly than the grid's step for losses of ordinary size."""
    return exact.exp(x, _BITS)


def expm1(x: Fraction) -> Interval:
    """e to the `x`, less one."""
    return exact.expm1(x, _BITS)


def ln(x: Fraction) -> Interval:
    """The natural logarithm of `x` above 0."""
    return exact.ln(x, _BITS)
