"""Fixed-point lower bounds, in plain integers.

A number with `places` binary places is an integer counting units of 2**-places. Everything here rounds down and says by
how many units at most, so that whatever is built on it can be proved to stay below the true value.
"""

from __future__ import annotations

from fractions import Fraction

from deniable.exact import exp

EXP_LOSS = 2
"""`exp_below` is less than this many units below the true value."""


def exp_below(exponent: Fraction, places: int) -> int:
    """An integer at most 2**places * exp(-exponent), for exponent >= 0, and less than `EXP_LOSS` units below it."""
    if exponent > places:  # e**-x < 2**-x: the value is below one unit
        return 0
    lower = exp(-exponent, places + 1).lower
    return (lower.numerator << places) // lower.denominator


def geometric_ladder(*, step: Fraction, count: int, places: int) -> list[int]:
    """Lower bounds of exp(-j*step) for j below `count`, within `ladder_loss(count)` units."""
    ratio, value = exp_below(step, places), 1 << places
    rungs = []
    for _ in range(count):
        rungs.append(value)
        value = value * ratio >> places
    return rungs


def gaussian_ladder(*, start: Fraction, step: Fraction, count: int, places: int) -> list[int]:
    """Lower bounds of exp(-(start + j*step)**2 / 2) for j below `count`, within `ladder_loss(count)` units."""
    value = exp_below(start * start / 2, places)
    ratio = exp_below(start * step + step * step / 2, places)
    curve = exp_below(step * step, places)
    rungs = []
    for _ in range(count):
        rungs.append(value)
        value = value * ratio >> places
        ratio = ratio * curve >> places
    return rungs


def ladder_loss(count: int) -> int:
    """How many units a rung of a ladder of `count` rungs can lie below the truth.

    All factors are at most one, so a product loses at most what its factors lose and one unit for rounding. The ratio at
    rung j therefore loses at most 2 + 3j units and the value there at most 2 + (3 + 3) + ... , less than 2 + 3j(j + 1).
    """
    return 2 + 3 * count * (count + 1)
