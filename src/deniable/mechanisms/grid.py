"""A public grid of numbers between two bounds, and where values fall on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.cells import cells, number, whole
from deniable.core.domain import Lattice
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, positive, rational

MOST_POINTS = 1 << 60
"""Twice as many places, and differences of two of them, stay within int64."""
_LEAST, _MOST = -(2**63), 2**63 - 1
_NEAR = 2.0**-32
_FLOAT_ERRORS = 2.0**-50


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
        if self._whole and values.dtype.kind in "iu":
            return self._shifted(values) // int(self.step)
        return np.floor(self._positions(values)).astype(np.int64)

    def places(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Twice the point a value lies on, or one more than twice the point below it; never decreasing in the value.

        Beyond the ends is on the ends; within a few float errors of a point is on it. NaN must be gone.
        """
        if self._whole and values.dtype.kind in "iu":
            point, over = np.divmod(self._shifted(values), int(self.step))
            return 2 * point + (over > 0)
        position = self._positions(values)
        nearest = np.rint(position)
        on = np.abs(position - nearest) <= _NEAR + position * _FLOAT_ERRORS
        return np.where(on, 2 * nearest.astype(np.int64), 2 * np.floor(position).astype(np.int64) + 1)

    def spots(self, values: NDArray[Any], turns: NDArray[np.int64], parts: int) -> NDArray[np.int64]:
        """Where values lie on a grid `parts` times as fine; a point reaches half a step to either side, and is spot // parts.

        A value on a point takes the part of its point that its turn (below `parts`) says, so that equal values can be told apart.
        """
        doubled = self.places(values)
        nearby = np.floor((self._positions(values) + 0.5) * parts)
        return np.where(doubled & 1, nearby.astype(np.int64), (doubled >> 1) * parts + turns)

    def _shifted(self, values: NDArray[Any]) -> NDArray[np.int64]:
        low, high = int(self.lower), int(self.lower + (self.count - 1) * self.step)
        if values.dtype == np.uint64:
            values = np.minimum(values, np.uint64(MOST_POINTS))
        return np.clip(values.astype(np.int64), low, high) - low

    def _positions(self, values: NDArray[Any]) -> NDArray[np.float64]:
        with np.errstate(over="ignore"):  # infinite is beyond the end as well
            position = (values.astype(np.float64) - float(self.lower)) / float(self.step)
        return np.clip(position, 0, self.count - 1)

    @property
    def _whole(self) -> bool:
        low, high = int(self.lower), int(self.lower + (self.count - 1) * self.step)
        return self.lower.denominator == self.step.denominator == 1 and -MOST_POINTS < low <= high < MOST_POINTS


def public_grid(lower: Real, upper: Real, grid: Real) -> Grid:
    """The grid from `lower` in steps of `grid`, as far as `upper`."""
    low, high, width = rational(lower=lower), rational(upper=upper), positive(grid=grid)
    if not low < high:
        raise InvalidArgument(f"lower must be below upper, got {lower!r} and {upper!r}")
    count = math.floor((high - low) / width) + 1
    if not count <= MOST_POINTS:
        raise InvalidArgument(f"the grid would have {count} points, more than 2**60; use a wider grid than {grid!r}")
    return Grid(low, width, count)


def values_of(data: Any, element: Any) -> NDArray[Any]:
    """The numbers of some rows as people read them, missing and unreadable ones left out: float64, or int64 for whole numbers."""
    if isinstance(element, Lattice):
        steps = _steps(data)
        return steps if element.step == 1 else steps.astype(np.float64) * float(element.step)
    values = _floats(data)
    absent = np.isnan(values)
    return values[~absent] if absent.any() else values


def _floats(data: Any) -> NDArray[np.float64]:
    """Always doubles: how one row is read must not depend on whether another one is whole."""
    array = _column(data)
    if array is not None and array.dtype.kind in "iuf":
        return array.astype(np.float64, copy=False)
    if isinstance(data, list) and set(map(type, data)) <= {float}:
        return np.array(data, dtype=np.float64)
    return np.array([number(cell) for cell in cells(data)], dtype=np.float64)


def _column(data: Any) -> NDArray[Any] | None:
    plain = isinstance(data, np.ndarray) and not isinstance(data, np.ma.MaskedArray) and data.ndim == 1
    return data if plain else None


def _steps(data: Any) -> NDArray[np.int64]:
    """Whole numbers as int64, those beyond its range at its ends; what is no whole number is left out."""
    array = _column(data)
    if array is not None and array.dtype.kind == "i":
        return array.astype(np.int64, copy=False)
    steps = (whole(cell) for cell in cells(data))
    return np.array([min(max(step, _LEAST), _MOST) for step in steps if step is not None], dtype=np.int64)
