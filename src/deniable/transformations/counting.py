"""Counts: rows, distinct values, rows per public category, cumulative counts, trees of counts."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from deniable.core import (
    L1,
    AbsoluteDistance,
    Categories,
    Distance,
    InsertDelete,
    Keyed,
    Lattice,
    LInfinity,
    Numbers,
    PartitionDistance,
    Space,
    SymmetricDistance,
    Transformation,
    Triple,
    Vectors,
    missing,
    plain,
    step,
)
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, integer, rational
from deniable.transformations.reading import cells, floats, steps
from deniable.transformations.rows import SIZED, deterministic, rows_of, rowwise, times

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


def _categories(space: Space, who: str) -> tuple[Hashable, ...]:
    element = rows_of(space, who).element
    if isinstance(element, Categories):
        return element.values
    if isinstance(element, Lattice) and element.lower is not None and element.upper is not None and not element.missing:
        return tuple(range(element.lower, element.upper + 1))
    raise SpaceMismatch(f"{who} needs public categories, never keys from the data, got {element!r}; categorize or bin first")


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
    keys = _categories(space, "histogram")
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
    target = Space(Vectors(_COUNT, length), PartitionDistance(AbsoluteDistance())) if False else _vector(length)
    inner = np.array([float(edge) for edge in rising[1:-1]])
    number = deterministic(lambda data: np.bincount(_bin_numbers(data, inner, space), minlength=length).astype(np.int64))
    factor = 2 if isinstance(space.metric, SIZED) else 1
    return Transformation(space, target, number, times(factor))


def _vector(length: int) -> Space:
    return Space(Vectors(_COUNT, length), L1())


def rising_edges(edges: Sequence[Real]) -> tuple[Fraction, ...]:
    """At least two edges, strictly rising, exact."""
    rising = tuple(rational(edge=edge) for edge in edges)
    if len(rising) < 2 or any(not a < b for a, b in zip(rising, rising[1:], strict=False)):
        raise InvalidArgument(f"edges must be at least two rising numbers, got {list(edges)!r}")
    return rising


def _bin_numbers(data: Any, inner: Any, space: Space) -> Any:
    element = rows_of(space, "binning").element
    values = steps(data) * float(element.step) if isinstance(element, Lattice) else floats(data)
    values = np.where(np.isnan(values), -np.inf, values)
    return np.searchsorted(inner, values, side="right")


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

    Guarantee: a row added or removed moves one count on each level by one; the L1 distance is the number of levels.
    """
    fan = integer(branching=branching, least=2)
    keys = _categories(space, "tree_counts")
    depth = tree_depth(len(keys), fan)
    place = {key: index for index, key in enumerate(keys)}
    length = sum(fan**level for level in range(depth))
    factor = 2 if isinstance(space.metric, SIZED) else 1

    def counted(data: Any) -> Any:
        leaves = np.zeros(fan ** (depth - 1), dtype=np.int64)
        for key, times_seen in Counter(cells(data)).items():
            leaves[place[key]] = times_seen
        levels = [leaves]
        while len(levels[0]) > 1:
            levels.insert(0, levels[0].reshape(-1, fan).sum(axis=1))
        return np.concatenate(levels)

    return Transformation(space, _vector(length), deterministic(counted), times(factor * depth))


def tree_depth(leaves: int, branching: int) -> int:
    """The number of levels of the smallest full tree with at least so many leaves."""
    depth, width = 1, 1
    while width < leaves:
        depth, width = depth + 1, width * branching
    return depth


@step
def bins(space: Space, *, edges: Sequence[Real]) -> Transformation:
    """The number (from 0) of the bin each value falls in; the first and last bin take what lies beyond them, and missing values
    go to the first.

    Guarantee: distances do not grow; the result is never missing.
    """
    rising = rising_edges(edges)
    element = rows_of(space, "bins").element
    if not isinstance(element, Numbers | Lattice) or (isinstance(element, Lattice) and element.missing):
        raise SpaceMismatch(f"bins works on numbers, got {element!r}")
    inner = np.array([float(edge) for edge in rising[1:-1]])
    target = Lattice(Fraction(1), 0, len(rising) - 2)
    return rowwise(space, target, lambda data: _bin_numbers(data, inner, space).astype(np.int64))


@step
def log_bands(space: Space, *, lowest: int, highest: int) -> Transformation:
    """The power of two band of each value: 0 for zero, missing and tiny values, else 1 + the exponent within [lowest, highest].

    Signs are kept: negative values have negative bands. Exponents come from the bits of the number (frexp), never from a logarithm.

    Guarantee: distances do not grow; zero, subnormal, NaN and infinite values have declared bands.
    """
    low, high = integer(lowest=lowest), integer(highest=highest)
    if not low <= high:
        raise InvalidArgument(f"lowest must not exceed highest, got {lowest!r} > {highest!r}")
    element = rows_of(space, "log_bands").element
    if not isinstance(element, Numbers):
        raise SpaceMismatch(f"log_bands works on numbers, got {element!r}")
    most = high - low + 1

    def banded(data: Any) -> Any:
        values = floats(data)
        clean = np.where(np.isnan(values), 0.0, values)
        finite = np.where(np.isinf(clean), 1.0, clean)
        exponent = np.frexp(finite)[1].astype(np.int64) - 1
        band = np.clip(exponent - low + 1, 0, most)
        band = np.where(np.isinf(clean), most, np.where(clean == 0, 0, band))
        return np.where(clean < 0, -band, band).astype(np.int64)

    return rowwise(space, Lattice(Fraction(1), -most, most), banded)


@step
def one_hot(space: Space) -> Transformation:
    """Each row as a vector with a single one, at the place of its public category.

    Guarantee: distances do not grow.
    """
    keys = _categories(space, "one_hot")
    place = {key: index for index, key in enumerate(keys)}
    bit = Lattice(Fraction(1), 0, 1)

    def coded(data: Any) -> Any:
        rows = cells(data)
        table = np.zeros((len(rows), len(keys)), dtype=np.int64)
        table[np.arange(len(rows)), [place[row] for row in rows]] = 1
        return table

    return rowwise(space, Vectors(bit, len(keys)), coded)


@step
def quantile_scores(space: Space, *, q: Real, candidates: Sequence[Real]) -> Transformation:
    """For every public candidate, how well it splits the rows: minus the distance of its rank from the quantile, scaled to integers.

    The score of c is -max(below(c) - q·n, above(c) - (1 - q)·n, 0), so a true quantile scores zero.

    Guarantee: one added or removed row moves every score by at most max(q, 1 - q).
    """
    share = rational(q=q)
    if not 0 <= share <= 1:
        raise InvalidArgument(f"q must be between 0 and 1, got {q!r}")
    points = [rational(candidate=c) for c in candidates]
    if not points or any(not a < b for a, b in zip(points, points[1:], strict=False)):
        raise InvalidArgument("candidates must be rising numbers, at least one; they are public, never data")
    element = rows_of(space, "quantile_scores").element
    if not isinstance(element, Lattice) or element.missing:
        raise SpaceMismatch(f"quantile_scores works on numbers on a grid, got {element!r}; clamp first")
    top, bottom = share.numerator, share.denominator
    at = [point / element.step for point in points]
    low, high = [ceil(p) for p in at], [p.numerator // p.denominator for p in at]

    def scored(data: Any) -> Any:
        values = np.sort(steps(data))
        rows = len(values)
        below = np.searchsorted(values, low, side="left").astype(np.int64)
        above = rows - np.searchsorted(values, high, side="right").astype(np.int64)
        wrong = np.maximum(below * bottom - top * rows, above * bottom - (bottom - top) * rows)
        return -np.maximum(wrong, 0)

    target = Space(Vectors(Lattice(Fraction(1, bottom)), len(points)), LInfinity())
    reach = max(share, 1 - share)
    factor = Fraction(1) if isinstance(space.metric, SIZED) else reach

    def stability(d_in: Distance) -> Distance:
        return factor * plain(d_in)

    return Transformation(space, target, deterministic(scored), stability)


def category_of(values: Sequence[float], edges: Sequence[float]) -> list[int]:
    """Which bin each number falls in, one at a time: the plain rule the vectorised one is tested against."""
    return [min(max(bisect_right(edges, value) - 1, 0), len(edges) - 2) for value in values]


__all__ = [
    "InsertDelete",
    "SymmetricDistance",
    "bin_counts",
    "bins",
    "category_of",
    "count",
    "count_distinct",
    "cumulative_counts",
    "histogram",
    "log_bands",
    "one_hot",
    "quantile_scores",
    "rising_edges",
    "tree_counts",
    "tree_depth",
]
