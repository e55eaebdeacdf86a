"""Columns as arrays, whatever they came as: a cell that cannot be read is a missing value, never an error."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.core import missing

Floats: TypeAlias = NDArray[np.float64]
Steps: TypeAlias = NDArray[np.int64]

_LEAST, _MOST = -(2**63), 2**63 - 1

BLOCK = 1 << 15
"""Long columns are worked through in blocks that stay in cache."""


def floats(data: Any) -> Floats:
    """A column of numbers as doubles; what cannot be read (None, text, NaN) is NaN."""
    array = data if isinstance(data, np.ndarray) else None
    if array is None and isinstance(data, list | tuple):
        array = _plain(data)
    if array is not None and array.dtype.kind in "fiub" and array.ndim == 1:
        return array.astype(np.float64, copy=False)
    return np.array([number(cell) for cell in data], dtype=np.float64)


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
    if isinstance(cell, bool | str | bytes) or missing(cell):
        return float("nan")
    try:
        return float(cell)
    except OverflowError:
        return float("inf") if cell > 0 else float("-inf")
    except (TypeError, ValueError):
        return float("nan")


def cells(data: Any) -> list[Any]:
    """A column as a list of Python values."""
    return data.tolist() if isinstance(data, np.ndarray) else list(data)


def steps(data: Any) -> Steps:
    """A column of whole lattice steps as int64; a number beyond its range becomes its nearer end."""
    if isinstance(data, np.ndarray) and data.dtype.kind in "iub" and data.dtype != np.uint64:
        return data.astype(np.int64, copy=False)
    return np.array([min(max(int(cell), _LEAST), _MOST) for cell in data], dtype=np.int64)


def exact_sum(values: Steps, largest: int) -> int:
    """The sum as a Python integer; `largest` bounds every |value|, so no partial sum can overflow."""
    block = max(1, 2**62 // max(largest, 1))
    return sum(int(values[start : start + block].sum()) for start in range(0, len(values), block))
