"""exp(-x) in floating point with an error one can prove: additions and multiplications only, no library's exp.

IEEE 754 rounds each operation correctly, so the error follows from counting operations, on every machine alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HALVINGS = 8
LARGEST = 45.0
RELATIVE_ERROR = 2.0**-40
"""`exp_minus` is closer than this, relatively: its series is good to 2**-49 and eight squarings cost eight bits."""

Number = TypeVar("Number", float, "NDArray[np.float64]")


def exp_series(largest: float, *, error: float) -> list[float]:
    """Coefficients of exp(-x), highest power first, with a remainder below `error` for 0 <= x <= largest."""
    term, coefficients = 1.0, [1.0]
    while len(coefficients) < 2 or largest ** len(coefficients) * abs(term) / len(coefficients) > error:
        term /= -len(coefficients)
        coefficients.append(term)
    return coefficients[::-1]


def horner(coefficients: list[float], x: Number) -> Number:
    """The polynomial with these coefficients, highest power first."""
    value = x * coefficients[0]
    for coefficient in coefficients[1:-1]:
        value += coefficient
        value *= x
    value += coefficients[-1]
    return value


_SMALL = exp_series(LARGEST / 2**_HALVINGS, error=2.0**-49)


def exp_minus(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(-x) for 0 <= x <= LARGEST, within RELATIVE_ERROR."""
    value = horner(_SMALL, x * 0.5**_HALVINGS)
    for _ in range(_HALVINGS):
        value *= value
    return value
