"""Rows that are vectors: limit their entries, and X'X, all in exact integers. `norms` has norm clamps, sums and means."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np

from deniable.core import (
    L2,
    Ball,
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
from deniable.core.cells import cells, parts, row_total
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact import number_of
from deniable.exact.guards import Real, positive, rational
from deniable.transformations.balls import enforcement
from deniable.transformations.clamp import grid_for
from deniable.transformations.column_arrays import floats, steps, whole_numbers
from deniable.transformations.row_metrics import SIZED, by_replacement, deterministic, rows_of, rowwise, times

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
            raise InvalidArgument(
                f"give one bound or one for each of {number_of(length, 'entry', 'entries')}, got {len(bound)}"
            )
        return [rational(bound=each) for each in bound]
    return [rational(bound=bound)] * length


def matrix(data: Any, length: int) -> Any:
    """Rows as a table of doubles with `length` columns; what cannot be read is NaN, short rows are filled with NaN."""
    if isinstance(data, np.ndarray) and data.ndim == 2 and data.dtype.kind in "fiub" and data.shape[1] == length:
        return data.astype(np.float64, copy=False)
    table = np.full((row_total(data), length), np.nan)
    for index, row in enumerate(cells(data)):
        values = floats(parts(row)[:length])
        table[index, : len(values)] = values
    return table


def on_grid(space: Space, who: str) -> tuple[Vectors, Lattice, int, int]:
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


def steps_table(data: Any, element: Vectors, lattice: Lattice) -> Any:
    """Rows of whole steps as a table whose entries are members of the lattice; a short row is filled, a long one cut."""
    if isinstance(data, np.ndarray) and data.ndim == 2 and data.dtype.kind in "iub" and data.shape[1] == element.length:
        table = data.astype(np.int64, copy=False)
        outside = table.size and (table.min() < lattice.lower or table.max() > lattice.upper)
        return np.clip(table, lattice.lower, lattice.upper) if outside else table
    table = np.full((row_total(data), element.length), lattice.lower, dtype=np.int64)
    for index, row in enumerate(cells(data)):
        whole = steps(parts(row)[: element.length], lattice)
        table[index, : len(whole)] = whole
    return table


def _centred(element: Vectors) -> Ball | None:
    """The declared ball, where it is around zero and lies in the L2 ball of its radius, as L1 balls do."""
    ball = element.ball
    return ball if ball is not None and ball.p is not None and not any(ball.centre(element.length)) else None


@step
@by_replacement
def gram(space: Space) -> Transformation:
    """X'X, the sums of products of every two entries, as a flat vector of the upper triangle, row by row; exact integers.

    Guarantee: one added or removed row moves each of the p(p+1)/2 sums by at most the largest product of two entries, one
    replaced row by the range of the products; with an L2 norm bound r, the L2 distance of the triangle is at most r², and
    √2·r² for a replaced row; rows outside the declared ball are drawn into it first, as `clamp_norm` does.
    """
    element, lattice, low, high = on_grid(space, "gram")
    width, largest = element.length, max(abs(low), abs(high))
    numbers = Vectors(Lattice(lattice.step**2), width * (width + 1) // 2)
    replaced = isinstance(space.metric, SIZED)
    ball = _centred(element)
    if ball is not None:
        enforced = enforcement(ball, width, lattice)
        within = deterministic(lambda data: _triangle(enforced(steps_table(data, element, lattice)), enforced.largest))
        # the triangle is no longer than the whole matrix, and ‖xx' - yy'‖² = |x|⁴ + |y|⁴ - 2(x·y)²
        square = ball.radius**4 * (2 if replaced else 1)
        return Transformation(space, Space(numbers, L2()), within, lambda d_in: Root(square * plain(d_in) ** 2))
    products = deterministic(lambda data: _triangle(steps_table(data, element, lattice), largest))
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
