"""What several noisy tables say together: one residual for every set of axes, and from residuals any table at all.

A table is the sum of its residuals: for each set of its axes, what that set adds to all smaller sets, spread evenly over the other
axes. Residuals of different sets are seen through independent parts of the noise, so each is combined by itself, and all tables
that are put together from them agree. `docs/theory/totals.md` has the proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Axes: TypeAlias = tuple[Any, ...]
"""Names of axes, or their numbers; always of one kind, so that they have an order."""


@dataclass(frozen=True, slots=True, eq=False)
class NoisyTable:
    """A measured table, one dimension for each of its axes, with the variance of the noise in each cell."""

    axes: Axes
    cells: Floats
    variance: float


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """The combined residual of every set of axes that lies in a measured table, and the variance of the sums it is centred from."""

    sizes: Mapping[Any, int]
    parts: Mapping[Axes, Floats]
    variances: Mapping[Axes, float]

    def table(self, axes: Axes) -> Floats:
        """The table of these axes, in this order; a set of them that was never measured adds nothing."""
        ordered = sorted(axes)
        found = np.zeros([self.sizes[axis] for axis in ordered])
        for part in _subsets(ordered):
            if part in self.parts:
                shape = [self.sizes[axis] if axis in part else 1 for axis in ordered]
                found = found + self.parts[part].reshape(shape) / self._spread(axes, part)
        return np.transpose(found, [ordered.index(axis) for axis in axes])

    def variance(self, axes: Axes) -> float:
        """The variance of a cell of that table, where every set of its axes lies in a measured table."""
        return sum(
            self.variances[part] * prod(1 - 1 / self.sizes[axis] for axis in part) / self._spread(axes, part) ** 2
            for part in _subsets(sorted(axes))
        )

    def _spread(self, axes: Axes, part: Axes) -> int:
        return prod(self.sizes[axis] for axis in axes if axis not in part)


def residuals(tables: Iterable[NoisyTable]) -> Residuals:
    """The residuals of these tables; what several of them say of one is weighed by the inverse of their variances.

    Guarantee: post-processing, it costs nothing; among linear unbiased estimates every cell of a table has the least variance.
    """
    sizes: dict[Any, int] = {}
    trust: dict[Axes, float] = {}
    sums: dict[Axes, Floats] = {}
    for table in tables:
        ordered = sorted(table.axes)
        cells = np.transpose(table.cells, [table.axes.index(axis) for axis in ordered])
        sizes.update(zip(ordered, cells.shape, strict=True))
        for part in _subsets(ordered):
            rest = tuple(place for place, axis in enumerate(ordered) if axis not in part)
            margin = _centred(np.asarray(cells.sum(axis=rest)))
            weight = 1 / (table.variance * prod(cells.shape[place] for place in rest))
            trust[part] = trust.get(part, 0.0) + weight
            sums[part] = sums.get(part, np.zeros_like(margin)) + weight * margin
    return Residuals(
        sizes,
        {part: margin / trust[part] for part, margin in sums.items()},
        {part: 1 / each for part, each in trust.items()},
    )


def _subsets(axes: Iterable[Any]) -> list[Axes]:
    each = tuple(axes)
    return [part for size in range(len(each) + 1) for part in combinations(each, size)]


def _centred(cells: Floats) -> Floats:
    """What a table adds to all smaller ones: its mean along every axis is zero."""
    for axis in range(cells.ndim):
        cells = cells - cells.mean(axis=axis, keepdims=True)
    return np.asarray(cells)
