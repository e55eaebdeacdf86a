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
from deniable.transformations.reading import exact_sum, floats, steps, whole_numbers
from deniable.transformations.rows import SIZED, deterministic, rows_of, rowwise, times

_WIDEST = 2**51
_EXACT = 2**53
_LIMB = 16
_MASK = 2**_LIMB - 1
_ROWS, _FEWEST = 1 << 9, 1 << 8
"""Rows to a block: it stays in cache, and is worth a product of its own."""
_BLOCKS = 1 << 9


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
    if not isinstance(element.element, Numbers) or not element.length:
        raise SpaceMismatch(f"clamp_entries works on vectors of at least one number, got {element!r}")
    lows, highs = (_each(bound, element.length) for bound in (lower, upper))
    if any(not low <= high for low, high in zip(lows, highs, strict=True)):
        raise InvalidArgument(f"every lower bound must not exceed its upper bound, got {lower!r} and {upper!r}")
    unit = positive(grid=grid) if grid is not None else grid_for(min(lows), max(highs))
    ends = [(ceil(low / unit), floor(high / unit)) for low, high in zip(lows, highs, strict=True)]
    if any(max(abs(low), abs(high)) >= _WIDEST for low, high in ends):
        raise InvalidArgument(f"bounds are more than 2**51 steps of {unit}; choose a coarser grid")
    first, last = (np.array(side, dtype=np.int64) for side in zip(*ends, strict=True))
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


def _on_grid(space: Space, who: str) -> tuple[Vectors, Lattice, int, int]:
    """The vectors, their lattice and its ends; anything else is refused."""
    element = _vectors(space, who)
    lattice = element.element
    if not isinstance(lattice, Lattice) or lattice.lower is None or lattice.upper is None or lattice.missing:
        raise SpaceMismatch(
            f"{who} works on vectors of bounded numbers on a grid, got {element!r}; clamp_entries first"
        )
    if max(abs(lattice.lower), abs(lattice.upper)) > _WIDEST:
        raise SpaceMismatch(f"{who} needs bounds within 2**51 steps, got {lattice!r}; use a coarser grid")
    return element, lattice, lattice.lower, lattice.upper


def _table(data: Any, element: Vectors, lattice: Lattice) -> Any:
    """Rows of whole steps as a table whose entries are members of the lattice; a short row is filled, a long one cut."""
    if isinstance(data, np.ndarray) and data.ndim == 2 and data.dtype.kind in "iub" and data.shape[1] == element.length:
        table = data.astype(np.int64, copy=False)
        outside = table.size and (table.min() < lattice.lower or table.max() > lattice.upper)
        return np.clip(table, lattice.lower, lattice.upper) if outside else table
    table = np.full((len(data), element.length), lattice.lower, dtype=np.int64)
    for index, row in enumerate(data):
        entries: Any = row if hasattr(row, "__len__") and not isinstance(row, str) else []
        whole = steps(list(entries)[: element.length], lattice)
        table[index, : len(whole)] = whole
    return table


@step
def clamp_norm(space: Space, *, radius: Real) -> Transformation:
    """Shrink every vector on a grid that lies outside the L2 ball of `radius` into it; exact after rounding.

    Guarantee: distances do not grow, and every output's squared norm is at most radius² in integers: entries are cut towards
    zero, so rounding only takes away.
    """
    bound = positive(radius=radius)
    element, lattice, low, high = _on_grid(space, "clamp_norm")
    square = floor((bound / lattice.step) ** 2)
    largest = max(abs(low), abs(high)) ** 2 * element.length
    inside = Lattice(lattice.step, min(low, 0), max(high, 0))  # towards zero may mean below a positive lower bound
    target = Vectors(inside, element.length, Ball(bound, 2))

    def shrunk(data: Any) -> Any:
        table = _table(data, element, lattice)
        norms = (table * table).sum(axis=1) if largest < 2**62 else (table.astype(object) ** 2).sum(axis=1)
        outside = np.flatnonzero(norms > square)
        if len(outside):
            table = table.copy()
            table[outside] = _shrunk(table[outside], norms[outside], square)
        return table

    return rowwise(space, target, shrunk)


def _shrunk(rows: Any, norms: Any, square: int) -> Any:
    """Rows outside the ball scaled towards zero, in doubles; where these leave a row outside, in exact integers."""
    factors = np.sqrt(square / norms.astype(np.float64)) * (1 - 2.0**-40)
    scaled = np.trunc(rows * factors[:, None]).astype(np.int64)
    near = square < 2**62
    for index in np.flatnonzero((scaled * scaled).sum(axis=1) > square) if near else range(len(rows)):
        scaled[index] = _inside(rows[index].tolist(), square)
    return scaled


def _inside(row: list[int], square: int) -> list[int]:
    """The row scaled towards zero until its exact squared norm is at most `square`; entries are cut towards zero."""
    norm = sum(entry * entry for entry in row)
    top, bottom = isqrt(square << 60), isqrt(norm << 60) + 1
    return [(abs(entry) * top // bottom) * (1 if entry >= 0 else -1) for entry in row]


def _centred(element: Vectors) -> Fraction | None:
    """The radius of an L2 ball around zero, where the vectors are known to lie in one."""
    ball = element.ball
    return ball.radius if ball is not None and ball.p == 2 and ball.origin == 0 else None


@step
def vector_total(space: Space) -> Transformation:
    """The sum of the rows. With a norm bound its L2 distance is bounded by that; else each entry by its own bounds.

    Guarantee: one added or removed row moves the sum by at most the norm bound (replaced: twice that) in L2, or each entry by
    at most its largest absolute value (replaced: its range).
    """
    element, lattice, low, high = _on_grid(space, "vector_total")
    largest = max(abs(low), abs(high))
    replaced = isinstance(space.metric, SIZED)
    numbers = Vectors(Lattice(lattice.step), element.length)
    summed = deterministic(lambda data: _columns_sum(_table(data, element, lattice), largest))
    radius = _centred(element)
    if radius is not None:
        reach = radius * (2 if replaced else 1)
        return Transformation(space, Space(numbers, L2()), summed, lambda d_in: Root((reach * plain(d_in)) ** 2))
    each = (high - low if replaced else largest) * lattice.step
    return Transformation(space, Space(numbers, LInfinity()), summed, times(each))


def _columns_sum(table: Any, largest: int) -> Any:
    """Exact column sums."""
    if len(table) * max(largest, 1) < 2**62:
        return table.sum(axis=0)
    return whole_numbers(exact_sum(column, largest) for column in table.T)


@step
def vector_mean(space: Space) -> Transformation:
    """The mean of the rows over a public number of rows.

    Guarantee: that of `vector_total`, divided by the size.
    """
    size = rows_of(space, "vector_mean").size
    if size is None or size < 1 or not isinstance(space.metric, SIZED):
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

    Guarantee: one added or removed row moves each of the p(p+1)/2 sums by at most the largest product of two entries, one
    replaced row by the range of the products; with an L2 norm bound r, the L2 distance of the triangle is at most r², and
    √2·r² for a replaced row.
    """
    element, lattice, low, high = _on_grid(space, "gram")
    width, largest = element.length, max(abs(low), abs(high))
    numbers = Vectors(Lattice(lattice.step**2), width * (width + 1) // 2)
    replaced = isinstance(space.metric, SIZED)
    products = deterministic(lambda data: _triangle(_table(data, element, lattice), largest))
    radius = _centred(element)
    if radius is not None:
        # the triangle is no longer than the whole matrix, and ‖xx' - yy'‖² = |x|⁴ + |y|⁴ - 2(x·y)²
        square = radius**4 * (2 if replaced else 1)
        return Transformation(space, Space(numbers, L2()), products, lambda d_in: Root(square * plain(d_in) ** 2))
    most, least = largest * largest, min(low * high, low * low, high * high)
    each = (most - least if replaced else most) * lattice.step**2
    return Transformation(space, Space(numbers, LInfinity()), products, times(each))


def _triangle(table: Any, largest: int) -> Any:
    """The upper triangle of X'X, exact.

    Block by block through doubles: numbers are cut into limbs small enough that every partial sum is a whole number below 2**53.
    """
    width, rows = table.shape[1], min(_EXACT // max(largest * largest, 1), _ROWS)
    limbs = 1 if rows >= _FEWEST else -(-largest.bit_length() // _LIMB)
    rows = rows if limbs == 1 else _ROWS  # 2**9 products of two limbs of 16 bits stay far below 2**53
    sums = _block_sums(table, limbs, rows).reshape(limbs, width, limbs, width)
    total = sum(sums[i, :, j, :] * (1 << _LIMB * (i + j)) for i in range(limbs) for j in range(limbs))
    upper = np.asarray(total)[np.triu_indices(width)]
    return whole_numbers(upper)


def _block_sums(table: Any, limbs: int, rows: int) -> Any:
    """The products of all limbs of all columns, summed exactly; the highest limb carries the sign."""
    width = table.shape[1]
    cut = np.empty((rows, limbs * width))
    sums = np.zeros((limbs * width, limbs * width), dtype=object)
    partial = np.zeros_like(sums, dtype=np.int64)
    for block, start in enumerate(range(0, len(table), rows)):
        part = table[start : start + rows]
        work = cut[: len(part)]
        for limb in range(limbs):
            shifted = part >> (_LIMB * limb) if limb else part
            work[:, limb * width : (limb + 1) * width] = shifted & _MASK if limb + 1 < limbs else shifted
        partial += (work.T @ work).astype(np.int64)
        if block % _BLOCKS == _BLOCKS - 1:  # a block adds less than 2**53, so 2**9 of them stay below 2**62
            sums, partial = sums + partial.astype(object), np.zeros_like(partial)
    return sums + partial.astype(object)
