"""Columns as arrays, whatever they came as: a cell that cannot be read is a missing value, never an error.

What a cell becomes depends on that cell alone, never on its neighbours or on how the column is stored; and cells that a metric
calls equal (1 and 1.0, None and NaN, 0.0 and -0.0) become the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.core import Domain, Frame, Lattice, Numbers, missing
from deniable.core.cells import cells, number, table, whole

Floats: TypeAlias = NDArray[np.float64]
Steps: TypeAlias = NDArray[np.int64]

_LEAST, _MOST = -(2**63), 2**63 - 1
_EXACT_FLOATS = 2**53

BLOCK = 1 << 15
"""Long columns are worked through in blocks that stay in cache."""


def _array(data: Any) -> NDArray[Any] | None:
    """The array behind a column (NumPy, pandas, Polars, Arrow), or None for a list."""
    if isinstance(data, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(data.astype(object), None))
    if isinstance(data, np.ndarray):
        return data
    try:
        return np.asarray(data.to_numpy()) if hasattr(data, "to_numpy") else None
    except Exception:
        return None


def floats(data: Any) -> Floats:
    """A column of numbers as doubles; what cannot be read (None, text, NaN) is NaN."""
    array = _array(data)
    if array is None and isinstance(data, list | tuple):
        array = _plain(data)
    if array is not None and array.dtype.kind in "fiub" and array.ndim == 1:
        return array.astype(np.float64, copy=False)
    return np.array([number(cell) for cell in cells(data if array is None else array)], dtype=np.float64)


def _plain(data: list[Any] | tuple[Any, ...]) -> NDArray[Any] | None:
    """A list of ordinary numbers as an array, or None when a cell is something else."""
    if set(map(type, data)) <= {float, int}:
        try:
            return np.array(data, dtype=np.float64)
        except OverflowError:
            return None
    return None


def lists(data: Any, frame: Frame) -> dict[str, list[Any]]:
    """The columns of a frame as lists of one length."""
    return {name: cells(column) for name, column in table(data, frame.columns).items()}


def canonical(data: Any, element: Domain) -> list[Any]:
    """The cells as handed to a user's function: equal cells look alike, so that no function can tell them apart."""
    match element:
        case Numbers():
            return list((floats(data) + 0.0).tolist())  # -0.0 + 0.0 is 0.0
        case Lattice(missing=False):
            return list(steps(data, element).tolist())
        case _:
            return [None if missing(cell) else cell for cell in cells(data)]


def steps(data: Any, element: Lattice) -> Steps:
    """A column of whole lattice steps, made members of its lattice: what lies beyond a bound becomes that bound, what is no
    whole number becomes the lower bound (zero where there is none)."""
    default = element.lower if element.lower is not None else min(0, element.upper or 0)
    low = _LEAST if element.lower is None else max(element.lower, _LEAST)
    high = _MOST if element.upper is None else min(element.upper, _MOST)
    array = _array(data)
    if array is not None and array.ndim == 1 and array.dtype.kind in "iub" and array.dtype != np.uint64:
        exact = array.astype(np.int64, copy=False)
        if len(exact) and (int(exact.min()) < low or int(exact.max()) > high):
            return np.clip(exact, low, high)
        return exact
    if array is None and isinstance(data, list | tuple) and set(map(type, data)) <= {int}:
        return np.array([min(max(cell, low), high) for cell in data], dtype=np.int64)
    found = ((default if (step := whole(cell)) is None else step) for cell in cells(data if array is None else array))
    return np.array([min(max(step, low), high) for step in found], dtype=np.int64)


def whole_numbers(values: Iterable[int]) -> NDArray[Any]:
    """Exact whole numbers as an array: int64, or Python integers where one does not fit."""
    exact = [int(value) for value in values]
    try:
        return np.array(exact, dtype=np.int64)
    except OverflowError:
        return np.array(exact, dtype=object)


def exact_sum(values: Steps, largest: int) -> int:
    """The sum as a Python integer; `largest` bounds every |value|, so no partial sum can overflow."""
    block = max(1, 2**62 // max(largest, 1))
    return sum(int(values[start : start + block].sum()) for start in range(0, len(values), block))
