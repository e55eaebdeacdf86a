"""Rows in order of size, looked at only where they matter: the places near one rank, and how many lie on either side.

A quantile needs the few hundred values next to its rank. A small sample brackets them, one pass counts what lies below, and
only the values in the bracket are placed on the grid and sorted. The counts are exact whatever the sample says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms.grid import Grid

Ints: TypeAlias = NDArray[np.int64]

_SAMPLE = 1 << 12
_SLACK = 1 << 7
"""Four standard deviations of a sample's rank."""
_FINE = 1 << 40
"""Up to here a float tells neighbouring points of a grid apart."""


@dataclass(frozen=True, slots=True)
class SortedRows:
    """Sorted places of the rows that lie next to each other in rank; `before` rows lie lower, out of `size` in all.

    Places are doubled points: even on a point, odd between two. `whole()` gives the sorted places of all rows.
    """

    places: Ints
    before: int
    size: int
    whole: Callable[[], Ints]


def ranked(values: NDArray[Any], grid: Grid, *, first: int, last: int) -> SortedRows:
    """All rows whose grid cell lies between those of the rows ranked `first` and `last` (counted from zero), and maybe more."""

    def whole() -> Ints:
        return np.sort(grid.places(values))

    size = int(values.size)
    if size < 4 * _SAMPLE or grid.count > _FINE or (first <= 0 and last >= size - 1):
        return SortedRows(whole(), 0, size, whole)
    low, high = _order_statistics(values, max(first, 0), min(last, size - 1))
    lowest, highest = _beyond(low, -2 * grid.step, values), _beyond(high, 2 * grid.step, values)
    near = values[(values >= lowest) & (values <= highest)]
    return SortedRows(np.sort(grid.places(near)), int(np.count_nonzero(values < lowest)), size, whole)


def _beyond(value: Any, margin: Any, values: NDArray[Any]) -> Any:
    """`value + margin`, away from it, in the kind of number the values are."""
    if values.dtype.kind == "f":
        return float(value) + float(margin)
    return int(value) + (math.floor(margin) if margin < 0 else math.ceil(margin))


def _order_statistics(values: NDArray[Any], first: int, last: int) -> tuple[Any, Any]:
    """The values ranked `first` and `last`: looked for in the bracket that a sample suggests, in all values if it fails."""
    stride = values.size // _SAMPLE
    sample = np.sort(values[::stride])
    at_least, at_most = first // stride - _SLACK, last // stride + _SLACK
    below, inside = 0, values
    if at_least >= 0 and at_most < sample.size:
        inside = values[(values >= sample[at_least]) & (values <= sample[at_most])]
        below = int(np.count_nonzero(values < sample[at_least]))
        if not below <= first <= last < below + inside.size:
            below, inside = 0, values
    split = np.partition(inside, (first - below, last - below))
    return split[first - below], split[last - below]
