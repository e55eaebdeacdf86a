"""Columns as arrays, whatever they came as: a cell that cannot be read is a missing value, never an error.

What a cell becomes depends on that cell alone, never on its neighbours or on how the column is stored; and cells that a metric
calls equal (1 and 1.0, None and NaN, 0.0 and -0.0) become the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.core import Domain, Lattice, Numbers, missing

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
    return np.asarray(data.to_numpy()) if hasattr(data, "to_numpy") else None


def floats(data: Any) -> Floats:
    """A column of numbers as doubles; what cannot be read (None, text, NaN) is NaN."""
    array = _array(data)
    if array is None and isinstance(data, list | tuple):
        array = _plain(data)
    if array is not None and array.dtype.kind in "fiub" and array.ndim == 1:
        return array.astype(np.float64, copy=False)
    return np.array([number(cell) for cell in (data if array is None else array)], dtype=np.float64)


def _plain(data: list[Any] | tuple[Any, ...]) -> NDArray[Any] | None:
    """A list of ordinary numbers as an array, or None when a cell is something else."""
    if all(type(cell) in (float, int) for cell in data):
        try:
            return np.array(data, dtype=np.float64)
        except OverflowError:
            return None
    return None


def number(cell: Any) -> float:
    """One cell as a double; NaN when it is none. Whole numbers too large for a double become infinite."""
    if isinstance(cell, str | bytes) or missing(cell):
        return float("nan")
    try:
        return float(cell)
    except OverflowError:
        return float("inf") if cell > 0 else float("-inf")
    except (TypeError, ValueError):
        return float("nan")


def cells(data: Any) -> list[Any]:
    """A column as a list of Python values."""
    return list(data.tolist()) if hasattr(data, "tolist") else list(data)


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
        whole = array.astype(np.int64, copy=False)
        if len(whole) and (int(whole.min()) < low or int(whole.max()) > high):
            return np.clip(whole, low, high)
        return whole
    column = data if array is None else array
    return np.array([min(max(_step(cell, default), low), high) for cell in column], dtype=np.int64)


def _step(cell: Any, default: int) -> int:
    if isinstance(cell, str | bytes) or missing(cell):
        return default
    try:
        whole = int(cell)
        return whole if whole == cell else default
    except (TypeError, ValueError, OverflowError):
        return default


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
