"""Counts: rows, distinct values, rows per public category, cumulative counts, trees of counts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from deniable.core import (
    AbsoluteDistance,
    Distance,
    Frame,
    IdentifierDistance,
    Keyed,
    Lattice,
    LInfinity,
    PartitionDistance,
    Space,
    Transformation,
    Triple,
    Vectors,
    plain,
    step,
)
from deniable.core.cells import cells, countable, row_total, table
from deniable.errors import SpaceMismatch
from deniable.exact.guards import Real, integer
from deniable.transformations.binning import (
    bin_numbers,
    categories_of,
    from_edges,
    numeric,
    places,
    rising_edges,
    up_to_edges,
    values_of,
)
from deniable.transformations.column_arrays import Steps
from deniable.transformations.row_metrics import SIZED, by_replacement, deterministic, rows_of, times

_COUNT = Lattice(Fraction(1), 0)


@step
@by_replacement
def count(space: Space) -> Transformation:
    """The number of rows, of rows or of a frame.

    Guarantee: one added or removed row moves it by one; with a public size it does not move at all.
    """
    domain = space.domain
    if isinstance(domain, Frame):
        if isinstance(space.metric, IdentifierDistance):
            raise SpaceMismatch(
                "a person may have any number of rows here; bound them first with truncate_rows(rows=...)"
            )
        names = domain.columns
        number = deterministic(lambda data: row_total(next(iter(table(data, names).values()), ())))
    else:
        rows_of(space, "count")
        number = deterministic(row_total)
    stability = times(0 if isinstance(space.metric, SIZED) else 1)
    return Transformation(space, Space(_COUNT, AbsoluteDistance()), number, stability)


@step
@by_replacement
def count_distinct(space: Space) -> Transformation:
    """The number of distinct values; all missing cells together are one value.

    Guarantee: one added, removed or replaced row moves it by at most one.
    """
    rows_of(space, "count_distinct")
    return Transformation(space, Space(_COUNT, AbsoluteDistance()), deterministic(_distinct), times(1))


def _distinct(data: Any) -> int:
    if isinstance(data, np.ndarray) and data.ndim == 1 and data.dtype.kind in "iufbU":
        return len(np.unique(data))  # all NaN together are one
    return len({countable(cell) for cell in cells(data)})


def _moved(space: Space, *, levels: int = 1, replaced: int | None = None) -> Any:
    """A row added or removed moves `levels` counts by one each; a row replaced moves twice as many, unless told."""
    many = levels if not isinstance(space.metric, SIZED) else 2 * levels if replaced is None else replaced

    def stability(d_in: Distance) -> Distance:
        d = plain(d_in)
        return Triple(many * d, many * d, d if many else Fraction(0))

    return stability


def _counts(length: int) -> Space:
    return Space(Vectors(_COUNT, length), PartitionDistance(AbsoluteDistance()))


def _tally(data: Any, space: Space, length: int) -> Steps:
    place = places(data, space)
    if isinstance(rows_of(space, "counting").element, Lattice):
        return np.bincount(place, minlength=length).astype(np.int64)
    return np.bincount(place + 1, minlength=length + 1)[1:].astype(np.int64)  # place -1 is no category


@step
@by_replacement
def histogram(space: Space) -> Transformation:
    """Rows in each public category (or each value of a bounded number on a grid), by key; every category is present, empty or not.

    Guarantee: a row added or removed changes one count by one, a row replaced two counts by one each; as a triple
    (groups, total, largest), so that Laplace, Gaussian and selection mechanisms all read their own norm from it.
    """
    keys = categories_of(space, "histogram")
    target = Space(Keyed(_COUNT, keys), PartitionDistance(AbsoluteDistance()))

    def counted(data: Any) -> dict[Hashable, int]:
        return dict(zip(keys, _tally(data, space, len(keys)).tolist(), strict=True))

    return Transformation(space, target, deterministic(counted), _moved(space))


@step
@by_replacement
def category_counts(space: Space) -> Transformation:
    """Rows in each public category as a vector in their public order: `histogram` for very many categories.

    Guarantee: as `histogram`.
    """
    length = len(categories_of(space, "category_counts"))
    number = deterministic(lambda data: _tally(data, space, length))
    return Transformation(space, _counts(length), number, _moved(space))


@step
@by_replacement
def bin_counts(space: Space, *, edges: Sequence[Real]) -> Transformation:
    """Rows in each bin between public `edges`, as a vector; the first and last bin also take what lies beyond them.

    Guarantee: as `histogram`; a missing value counts in the first bin.
    """
    rising = rising_edges(edges)
    element = numeric(space, "bin_counts")
    length = len(rising) - 1
    inner = from_edges(rising[1:-1], element)

    def counted(data: Any) -> Any:
        return np.bincount(bin_numbers(data, inner, element), minlength=length).astype(np.int64)

    return Transformation(space, _counts(length), deterministic(counted), _moved(space))


@step
@by_replacement
def cumulative_counts(space: Space, *, edges: Sequence[Real]) -> Transformation:
    """For every edge, the number of rows at or below it: the counts behind an empirical distribution function. A missing
    value lies below all.

    Guarantee: one added or removed row moves every entry by at most one, all in the same direction; so does one replaced row, but
    several replaced rows may move entries both ways.
    """
    rising = rising_edges(edges)
    element = numeric(space, "cumulative_counts")
    points = up_to_edges(rising, element)
    target = Space(Vectors(_COUNT, len(rising)), LInfinity(monotonic=not isinstance(space.metric, SIZED)))

    def counted(data: Any) -> Any:
        return np.searchsorted(np.sort(values_of(data, element)), points, side="right").astype(np.int64)

    return Transformation(space, target, deterministic(counted), times(1))


@step
@by_replacement
def tree_counts(space: Space, *, branching: int = 2) -> Transformation:
    """The counts of public categories, summed up a tree: level by level from the root, `branching` children to a node.

    Guarantee: a row added or removed moves one count on each level by one: a triple (levels, levels, 1). A row replaced moves
    two on each level below the root, whose count is the public size.
    """
    fan = integer(branching=branching, least=2)
    leaves = len(categories_of(space, "tree_counts"))
    depth = tree_depth(leaves, fan)
    length = sum(fan**level for level in range(depth))

    def counted(data: Any) -> Any:
        levels = [_tally(data, space, fan ** (depth - 1))]
        while len(levels[0]) > 1:
            levels.insert(0, levels[0].reshape(-1, fan).sum(axis=1))  # no sum exceeds the number of rows
        levels[0][0] = row_total(data)  # the public size, whatever the rows hold
        return np.concatenate(levels)

    return Transformation(
        space, _counts(length), deterministic(counted), _moved(space, levels=depth, replaced=2 * (depth - 1))
    )


def tree_depth(leaves: int, branching: int) -> int:
    """The number of levels of the smallest full tree with at least so many leaves."""
    depth, width = 1, 1
    while width < leaves:
        depth, width = depth + 1, width * branching
    return depth
