"""The judge of every enclosure: mpmath at several times the precision asked for."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from deniable.exact import Interval


def _real(number: Fraction) -> Any:
    n, d = number.numerator, number.denominator
    if d & (d - 1) == 0:  # a power of two, as in every enclosure: mpmath is slow to divide by long ones
        return mpmath.ldexp(mpmath.mpf(n), 1 - d.bit_length())
    return mpmath.mpf(n) / d


def _holds(enclosure: Interval, truth: Callable[..., Any], *arguments: Fraction, bits: int, lost: int = 0) -> bool:
    """Whether the enclosure contains truth(*arguments), computed with 4 * bits + 400 + lost binary digits."""
    precision = 4 * bits + 400 + lost
    with mpmath.workprec(precision):
        value = truth(*map(_real, arguments))
        own_error = abs(value) * mpmath.mpf(2) ** (100 - precision)  # mpmath's, far below any width asked for
        return bool(_real(enclosure.lower) <= value + own_error and value - own_error <= _real(enclosure.upper))


@pytest.fixture(scope="session")
def holds() -> Callable[..., bool]:
    return _holds
