"""Counts: rows, distinct values, rows per public category, cumulative counts, trees of counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from deniable.core import (
    L1,
    AbsoluteDistance,
    Keyed,
    Lattice,
    LInfinity,
    PartitionDistance,
    Space,
    Transformation,
    Triple,
    Vectors,
    missing,
    plain,
    step,
)
from deniable.errors import SpaceMismatch
from deniable.exact.guards import Real, integer
from deniable.transformations.binning import bin_numbers, categories_of, rising_edges
from deniable.transformations.reading import cells, floats, steps
from deniable.transformations.rows import SIZED, deterministic, rows_of, times

_COUNT = Lattice(Fraction(1), 0)


@step
def count(space: Space) -> Transformation:
    """The number of rows.

    Guarantee: one added or removed row moves it by one; with a public size it does not move at all.
    """
    rows_of(space, "count")
    stability = times(0 if isinstance(space.metric, SIZED) else 1)
    return Transformation(space, Space(_COUNT, AbsoluteDistance()), deterministic(len), stability)


@step
def count_distinct(space: Space) -> Transformation:
    """The number of distinct values; all missing cells together are one value.

    Guarantee: one added, removed or replaced row moves it by at most one.
    """
    rows_of(space, "count_distinct")
    target = Space(_COUNT, AbsoluteDistance())
    return Transformation(space, target, deterministic(lambda data: len(set(map(_value, cells(data))))), times(1))


def _value(cell: Any) -> Hashable:
    if missing(cell):
        return None
    return cell if isinstance(cell, Hashable) else repr(cell)


def _moved(space: Space) -> Any:
    """A row added or removed moves one count by one; a row replaced moves two, each by one."""
    factor = 2 if isinstance(space.metric, SIZED) else 1
    return lambda d_in: Triple(factor * plain(d_in), factor * plain(d_in), plain(d_in))


@step
def histogram(space: Space) -> Transformation:
    """Rows in each public category (or each value of a bounded whole number); every category is present, empty or not.

    Guarantee: a row added or removed changes one count by one, a row replaced two counts by one each; as a triple
    (groups, total, largest), so that Laplace, Gaussian and selection mechanisms all read their own norm from it.
    """
    keys = categories_of(space, "histogram")
    target = Space(Keyed(_COUNT, keys), PartitionDistance(AbsoluteDistance()))

    def counted(data: Any) -> dict[Hashable, int]:
        counts = Counter(cells(data))
        return {key: counts[key] for key in keys}

    return Transformation(space, target, deterministic(counted), _moved(space))


@step
def bin_counts(space: Space, *, edges: Sequence[Real]) -> Transformation:
    """Rows in each bin between public `edges`, as a vector; the first and last bin also take what lies beyond them.

    Guarantee: as `histogram`; a missing value counts in the first bin.
    """
    rising = rising_edges(edges)
    rows_of(space, "bin_counts")
    length = len(rising) - 1
    target = _vector(length)
    inner = np.array([float(edge) for edge in rising[1:-1]])
    number = deterministic(lambda data: np.bincount(bin_numbers(data, inner, space), minlength=length).astype(np.int64))
    factor = 2 if isinstance(space.metric, SIZED) else 1
    return Transformation(space, target, number, times(factor))


def _vector(length: int) -> Space:
    return Space(Vectors(_COUNT, length), L1())


@step
def cumulative_counts(space: Space, *, edges: Sequence[Real]) -> Transformation:
    """For every edge, the number of rows at or below it: the counts behind an empirical distribution function.

    Guarantee: one added or removed row moves every entry by at most one, all in the same direction.
    """
    rising = rising_edges(edges)
    if isinstance(space.metric, SIZED):
        raise SpaceMismatch("cumulative_counts is for rows that come and go; use unbounded() first")
    points = [float(edge) for edge in rising]
    target = Space(Vectors(_COUNT, len(points)), LInfinity(monotonic=True))

    def counted(data: Any) -> Any:
        element = rows_of(space, "cumulative_counts").element
        values = steps(data) * float(element.step) if isinstance(element, Lattice) else floats(data)
        values = np.sort(np.where(np.isnan(values), -np.inf, values))
        return np.searchsorted(values, points, side="right").astype(np.int64)

    return Transformation(space, target, deterministic(counted), times(1))


@step
def tree_counts(space: Space, *, branching: int = 2) -> Transformation:
    """The counts of public categories, summed up a tree: level by level from the root, `branching` children to a node.

    Guarantee: a row added or removed moves one count on each level by one: the L1 distance is the number of levels. A row
    replaced moves two on each level below the root, whose count is the public size.
    """
    fan = integer(branching=branching, least=2)
    keys = categories_of(space, "tree_counts")
    depth = tree_depth(len(keys), fan)
    place = {key: index for index, key in enumerate(keys)}
    length = sum(fan**level for level in range(depth))
    moved = 2 * (depth - 1) if isinstance(space.metric, SIZED) else depth

    def counted(data: Any) -> Any:
        leaves = np.zeros(fan ** (depth - 1), dtype=np.int64)
        for key, times_seen in Counter(cells(data)).items():
            leaves[place[key]] = times_seen
        levels = [leaves]
        while len(levels[0]) > 1:
            levels.insert(0, levels[0].reshape(-1, fan).sum(axis=1))
        return np.concatenate(levels)

    return Transformation(space, _vector(length), deterministic(counted), times(moved))


def tree_depth(leaves: int, branching: int) -> int:
    """The number of levels of the smallest full tree with at least so many leaves."""
    depth, width = 1, 1
    while width < leaves:
        depth, width = depth + 1, width * branching
    return depth
