"""What floats are trusted with, and how much of it one question may take.

Floating point that rounds outward, and the error model it rests on.

Assumed, with margins of at least two: `+ - * / sqrt` are correctly rounded (relative error at most U = 2**-53); NumPy's
`exp, expm1, log, log1p, cos, sin` err by at most 4 ulp (8 U); our Mills ratio by at most 16 U (tested); a fast Fourier
transform of length N errs, in the Euclidean norm, by at most 10 U (log2 N + 2) times the norm of its result.
Underflow never hides a loss: whatever must not be too small gains `TINY`, whatever must not be too large loses it.

What one reading may take. The bounds are public numbers: whether one is reached depends on the cost alone.

A reading that would pass them stops, keeps the bracket it has, which is sound, and another theorem is asked instead. With
those on places, terms and knots a reading stays below about 1 GB.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.exact import sqrt

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

U = 2.0**-53
TINY = 2.0**-1000


def float_above(value: Fraction) -> float:
    """The smallest float at least `value`."""
    try:
        near = float(value)
    except OverflowError:
        return math.inf if value > 0 else -sys.float_info.max
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def float_below(value: Fraction) -> float:
    """The largest float at most `value`."""
    return -float_above(-value)


def root(square: Fraction) -> tuple[float, float]:
    """Floats below and above the square root of an exact number."""
    bounds = sqrt(square, 80)
    return float_below(bounds.lower), float_above(bounds.upper)


def fft_error(size: int) -> float:
    """How far a computed transform of this length may be from the true one, relative to its Euclidean norm."""
    return 10 * U * (math.log2(max(size, 2)) + 2)


def suffix_sums(terms: Floats) -> Floats:
    """Sums from each place to the end, in two levels, so that rounding grows with the square root of the length only."""
    if not len(terms):
        return terms.copy()
    rows = math.isqrt(len(terms) - 1) + 1
    padded = np.zeros(rows * rows)
    padded[: len(terms)] = terms
    table = np.cumsum(padded.reshape(rows, rows)[:, ::-1], axis=1)[:, ::-1]
    later = np.append(np.cumsum(table[::-1, 0])[::-1][1:], 0.0)
    sums: Floats = (table + later[:, None]).reshape(-1)[: len(terms)]
    return sums


MOST_PLACES = 1 << 21
"""The longest transform."""

MOST_TERMS = 200_000_000
"""The largest product of places and frequencies that is summed term by term."""

MOST_KNOTS = 1 << 17
"""The most knots of one pair."""

MOST_WORK = 1_500_000_000
"""About how many floating point operations one question may take: a few seconds."""


class Beyond(Exception):
    """This reading would take more than it may, or numbers that floats do not hold."""


class Meter:
    """Counts the work of one question."""

    def __init__(self, most: int = MOST_WORK) -> None:
        self._left = most

    def take(self, work: int) -> None:
        """Go on, or stop here."""
        self._left -= work
        if self._left < 0:
            raise Beyond("the bound on work is reached")
