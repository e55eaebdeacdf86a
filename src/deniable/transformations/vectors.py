"""Rows that are vectors: limit their norm, add them up, average them, and X'X, all in exact integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor, isqrt
from typing import Any

import numpy as np

from deniable.core import (
    L2,
    Ball,
    Distance,
    Lattice,
    LInfinity,
    Numbers,
    Root,
    Space,
    Transformation,
    Vectors,
    plain,
    step,
)
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, positive, rational
from deniable.transformations.clamp import grid_for
from deniable.transformations.reading import floats
from deniable.transformations.rows import SIZED, deterministic, rows_of, rowwise

_EXACT = 2**53


def _vectors(space: Space, who: str) -> Vectors:
    element = rows_of(space, who).element
    if not isinstance(element, Vectors):
        raise SpaceMismatch(f"{who} works on rows that are vectors, got {element!r}")
    return element


@step
def clamp_entries(
    space: Space, *, lower: Real | Sequence[Real], upper: Real | Sequence[Real], grid: Real | None = None
) -> Transformation:
    """Limit every entry of every row to its public bounds (one pair, or one for each entry) and put it on a grid.

    Guarantee: distances do not grow. NaN and unreadable entries become the lower bound.
    """
    element = _vectors(space, "clamp_entries")
    if not isinstance(element.element, Numbers):
        raise SpaceMismatch(f"clamp_entries works on vectors of numbers, got {element.element!r}")
    lows, highs = (_each(bound, element.length) for bound in (lower, upper))
    if any(not low <= high for low, high in zip(lows, highs, strict=True)):
        raise InvalidArgument(f"every lower bound must not exceed its upper bound, got {lower!r} and {upper!r}")
    unit = positive(grid=grid) if grid is not None else grid_for(min(lows), max(highs))
    first = np.array([ceil(low / unit) for low in lows], dtype=np.int64)
    last = np.array([floor(high / unit) for high in highs], dtype=np.int64)
    if (first > last).any():
        raise InvalidArgument(f"no multiple of grid {unit} lies within some bounds; choose a finer grid")
    target = Vectors(Lattice(unit, int(first.min()), int(last.max())), element.length)
    low_floats, high_floats = (np.array([float(x) for x in ends]) for ends in (lows, highs))

    def limited(data: Any) -> Any:
        table = matrix(data, element.length)
        inside = np.fmin(np.fmax(table, low_floats), high_floats)
        return np.clip(np.rint(inside * float(1 / unit)).astype(np.int64), first, last)

    return rowwise(space, target, limited)


def _each(bound: Real | Sequence[Real], length: int) -> list[Fraction]:
    if isinstance(bound, list | tuple):
        if len(bound) != length:
            raise InvalidArgument(f"give one bound or one for each of {length} entries, got {len(bound)}")
        return [rational(bound=each) for each in bound]
    return [rational(bound=bound)] * length


def matrix(data: Any, length: int) -> Any:
    """Rows as a table of doubles with `length` columns; what cannot be read is NaN, short rows are filled with NaN."""
    if isinstance(data, np.ndarray) and data.ndim == 2 and data.dtype.kind in "fiub" and data.shape[1] == length:
        return data.astype(np.float64, copy=False)
    table = np.full((len(data), length), np.nan)
    for index, row in enumerate(data):
        values: Any = floats(row)[:length] if hasattr(row, "__len__") and not isinstance(row, str) else []
        table[index, : len(values)] = values
    return table


@step
def clamp_norm(space: Space, *, radius: Real) -> Transformation:
    """Shrink every vector on a grid that lies outside the L2 ball of `radius` into it; exact after rounding.

    Guarantee: distances do not grow, and every output's squared norm is at most radius² in integers: what rounding could add
    is taken off first, and a vector still outside is shrunk again.
    """
    bound = positive(radius=radius)
    element = _vectors(space, "clamp_norm")
    lattice = element.element
    if not isinstance(lattice, Lattice) or lattice.lower is None or lattice.upper is None:
        raise SpaceMismatch("clamp_norm works on vectors of bounded numbers on a grid; clamp_entries first")
    reach = bound / lattice.step
    square = floor(reach * reach)
    target = replace(element, ball=Ball(bound, 2))

    def shrunk(data: Any) -> Any:
        table = np.asarray(data, dtype=np.int64).reshape(-1, element.length)
        return np.array([_inside(row, square) for row in table.tolist()], dtype=np.int64).reshape(-1, element.length)

    return rowwise(space, target, shrunk)


def _inside(row: list[int], square: int) -> list[int]:
    """The row scaled towards zero until its exact squared norm is at most `square`; entries are cut towards zero."""
    norm = sum(entry * entry for entry in row)
    if norm <= square:
        return row
    top, bottom = isqrt(square << 60), isqrt(norm << 60) + 1
    return [(abs(entry) * top // bottom) * (1 if entry >= 0 else -1) for entry in row]


@step
def vector_total(space: Space) -> Transformation:
    """The sum of the rows. With a norm bound its L2 distance is bounded by that; else each entry by its own bounds.

    Guarantee: one added or removed row moves the sum by at most the norm bound (replaced: twice that) in L2, or each entry by
    at most its largest absolute value (replaced: its range).
    """
    element = _vectors(space, "vector_total")
    lattice = element.element
    if not isinstance(lattice, Lattice) or lattice.lower is None or lattice.upper is None:
        raise SpaceMismatch("vector_total works on vectors of bounded numbers on a grid; clamp_entries first")
    low, high = lattice.lower, lattice.upper
    replaced = isinstance(space.metric, SIZED)
    numbers = Vectors(Lattice(lattice.step), element.length)
    summed = deterministic(lambda data: _columns_sum(data, element.length, max(abs(low), abs(high))))
    if element.ball is not None and element.ball.p == 2:
        radius = element.ball.radius * (2 if replaced else 1)
        target = Space(numbers, L2())
        return Transformation(space, target, summed, lambda d_in: Root((radius * plain(d_in)) ** 2))
    each = (high - low if replaced else max(abs(low), abs(high))) * lattice.step
    target = Space(numbers, LInfinity())
    return Transformation(space, target, summed, lambda d_in: each * plain(d_in))


def _columns_sum(data: Any, length: int, largest: int) -> Any:
    table = np.asarray(data, dtype=np.int64).reshape(-1, length)
    if len(table) * max(largest, 1) < 2**62:
        return table.sum(axis=0)
    return np.array([sum(column) for column in table.T.tolist()], dtype=object)


@step
def vector_mean(space: Space) -> Transformation:
    """The mean of the rows over a public number of rows.

    Guarantee: that of `vector_total`, divided by the size.
    """
    size = rows_of(space, "vector_mean").size
    if size is None or size < 1:
        raise SpaceMismatch("vector_mean needs a public number of rows; resize first")
    inner = vector_total().build(space)
    domain = inner.target.domain
    assert isinstance(domain, Vectors)
    assert isinstance(domain.element, Lattice)
    target = Space(Vectors(Lattice(domain.element.step / size), domain.length), inner.target.metric)

    def divided(d_in: Distance) -> Distance:
        moved = inner.stability_map(d_in)
        return moved * Fraction(1, size) if isinstance(moved, Root) else plain(moved) / size

    return replace(inner, target=target, stability_map=divided)


@step
def gram(space: Space) -> Transformation:
    """X'X, the sums of products of every two entries, as a flat vector of the upper triangle, row by row; exact integers.

    Guarantee: one added or removed row moves each of the p(p+1)/2 sums by at most the largest product of two entries; with an
    L2 norm bound r, the L2 distance of the triangle is at most r² (replaced: twice).
    """
    element = _vectors(space, "gram")
    lattice = element.element
    if not isinstance(lattice, Lattice) or lattice.lower is None or lattice.upper is None:
        raise SpaceMismatch("gram works on vectors of bounded numbers on a grid; clamp_entries first")
    width = element.length
    entries = width * (width + 1) // 2
    numbers = Vectors(Lattice(lattice.step**2), entries)
    factor = 2 if isinstance(space.metric, SIZED) else 1
    largest = max(abs(lattice.lower), abs(lattice.upper))
    products = deterministic(lambda data: _triangle(np.asarray(data, dtype=np.int64).reshape(-1, width), largest))
    if element.ball is not None and element.ball.p == 2:
        square = (factor * element.ball.radius**2) ** 2
        return Transformation(space, Space(numbers, L2()), products, lambda d_in: Root(square * plain(d_in) ** 2))
    each = factor * (largest * lattice.step) ** 2
    return Transformation(space, Space(numbers, LInfinity()), products, lambda d_in: each * plain(d_in))


def _triangle(table: Any, largest: int) -> Any:
    """X'X through doubles where every partial sum is an exact integer below 2**53, block by block; else in Python integers."""
    width = table.shape[1]
    upper = np.triu_indices(width)
    block = _EXACT // max(largest * largest, 1)
    if block < 64:
        columns = [[int(x) for x in column] for column in table.T]
        sums = [sum(a * b for a, b in zip(columns[i], columns[j], strict=True)) for i, j in zip(*upper, strict=True)]
        return np.array(sums, dtype=object)
    total = np.zeros((width, width), dtype=object)
    block = min(block, 1 << 16)
    for start in range(0, len(table), block):
        part = table[start : start + block].astype(np.float64)
        total = total + (part.T @ part).astype(np.int64).astype(object)
    return total[upper]
