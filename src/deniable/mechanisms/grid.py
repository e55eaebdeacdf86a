"""A public grid of numbers between two bounds, and where values fall on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.domain import Lattice, missing
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, positive, rational

_MOST_POINTS = 1 << 60


@dataclass(frozen=True, slots=True)
class Grid:
    """The numbers lower, lower + step, ..., up to upper; point 0 is lower."""

    lower: Fraction
    step: Fraction
    count: int

    def read(self, point: int) -> int | float:
        """The number a person reads for a point: whole when the whole grid is."""
        value = self.lower + point * self.step
        return int(value) if self.lower.denominator == self.step.denominator == 1 else float(value)

    def points(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """The point at or just below each value; values beyond the ends go to the ends. NaN must be gone."""
        low, high = int(self.lower), int(self.lower + (self.count - 1) * self.step)
        whole = self.lower.denominator == self.step.denominator == 1 and -_MOST_POINTS < low <= high < _MOST_POINTS
        if whole and values.dtype.kind in "iu":
            return (np.clip(values.astype(np.int64), low, high) - low) // int(self.step)
        position = (values.astype(np.float64) - float(self.lower)) / float(self.step)
        return np.clip(np.floor(position), 0, self.count - 1).astype(np.int64)


def public_grid(lower: Real, upper: Real, grid: Real) -> Grid:
    """The grid from `lower` in steps of `grid`, as far as `upper`."""
    low, high, width = rational(lower=lower), rational(upper=upper), positive(grid=grid)
    if not low < high:
        raise InvalidArgument(f"lower must be below upper, got {lower!r} and {upper!r}")
    count = math.floor((high - low) / width) + 1
    if not count <= _MOST_POINTS:
        raise InvalidArgument(f"the grid would have {count} points, more than 2**60; use a wider grid than {grid!r}")
    return Grid(low, width, count)


def values_of(data: Any, element: Any) -> NDArray[Any]:
    """The numbers of some rows as people read them, missing ones left out: float64, or int64 for whole numbers."""
    if isinstance(element, Lattice):
        steps = _without_missing(data).astype(np.int64)
        return steps if element.step == 1 else steps.astype(np.float64) * float(element.step)
    values = np.asarray(data)
    if values.dtype.kind not in "iuf":
        values = np.array([_number(value) for value in data], dtype=np.float64)
    return values[~np.isnan(values)] if values.dtype.kind == "f" else values


def _without_missing(data: Any) -> NDArray[Any]:
    values = np.asarray(data)
    if values.dtype == object or values.dtype.kind == "f":
        values = np.array([value for value in values.tolist() if not missing(value)], dtype=object)
    return values


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
