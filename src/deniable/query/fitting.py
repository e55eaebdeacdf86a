"""Least squares over the levels of a table: the numbers that add up and are closest to what was measured.

`docs/theory/totals.md` has the derivation. Every level is a full table over its keys. A table splits into one part for each
subset of its keys (the part that only these keys explain), parts of different subsets do not disturb one another, and each level
that has all keys of a subset measures its part with a known variance; so the best estimate of a part is a weighted mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Axes: TypeAlias = tuple[int, ...]
"""A level, as the places of its keys among all; a level's table has length one along the other axes."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What least squares makes of some levels, from public facts alone.

    `weights[part][level]` says how much a level counts for a part; `variance[level]` is that of a fitted cell, and
    `reach[level]` bounds the sum of the absolute weights with which measured cells enter it.
    """

    sizes: tuple[int, ...]
    levels: tuple[Axes, ...]
    weights: Mapping[Axes, Mapping[Axes, float]]
    variance: Mapping[Axes, float]
    reach: Mapping[Axes, float]

    def applied(self, tables: Mapping[Axes, Floats]) -> Floats:
        """The fitted table by all keys; a level's is its sum over the keys outside the level. Further axes are left alone."""
        full = tuple(range(len(self.sizes)))
        total: Floats | None = None
        for part, weights in self.weights.items():
            found = sum((weight * self._part(tables[level], part) for level, weight in weights.items()), np.zeros(()))
            spread = found / self._count(full, part)
            total = spread if total is None else total + spread
        assert total is not None
        return np.broadcast_to(total, (*self.sizes, *next(iter(tables.values())).shape[len(self.sizes) :])).copy()

    def _part(self, table: Floats, part: Axes) -> Floats:
        """The table summed to a subset of its keys and centred along each of them."""
        others = tuple(axis for axis in range(len(self.sizes)) if axis not in part)
        summed: Floats = table.sum(axis=others, keepdims=True)
        for axis in part:
            summed = summed - summed.mean(axis=axis, keepdims=True)
        return summed

    def _count(self, level: Axes, part: Axes) -> int:
        return _cells(self.sizes, level, part)


def _cells(sizes: Sequence[int], level: Axes, part: Axes) -> int:
    return prod(sizes[axis] for axis in level if axis not in part)


def fit(sizes: Sequence[int], variances: Mapping[Axes, float]) -> Fit:
    """The best unbiased estimate from levels whose cells carry independent noise of these variances."""
    levels = tuple(variances)
    parts = {part for level in levels for size in range(len(level) + 1) for part in combinations(level, size)}
    weights, spread = {}, {}
    for part in sorted(parts, key=lambda each: (len(each), each)):
        exact = {
            level: 1 / (variances[level] * _cells(sizes, level, part)) for level in levels if set(part) <= set(level)
        }
        total = sum(exact.values())
        weights[part] = {level: each / total for level, each in exact.items()}
        spread[part] = 1 / total
    variance, reach = {}, {}
    for level in levels:
        inside = [part for part in weights if set(part) <= set(level)]
        shares = {part: 1 / _cells(sizes, level, part) for part in inside}
        left = {part: prod(1 - 1 / sizes[axis] for axis in part) for part in inside}
        variance[level] = sum(shares[part] ** 2 * spread[part] * left[part] for part in inside)
        reach[level] = sum(
            shares[part] * 2 ** len(part) * sum(w * _cells(sizes, other, part) for other, w in weights[part].items())
            for part in inside
        )
    return Fit(tuple(sizes), levels, weights, variance, reach)
