"""Rows that are vectors within a ball: limit their norm, add them up, average them, all in exact integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from deniable.core import (
    L1,
    L2,
    Ball,
    Distance,
    Lattice,
    LInfinity,
    Root,
    Space,
    Transformation,
    Vectors,
    plain,
    step,
)
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact import sqrt
from deniable.exact.guards import Real, positive, rational
from deniable.transformations.balls import enforcement
from deniable.transformations.column_arrays import exact_sum, whole_numbers
from deniable.transformations.row_metrics import SIZED, by_replacement, deterministic, rows_of, rowwise, times
from deniable.transformations.vectors import on_grid, steps_table


@step
def clamp_norm(space: Space, *, radius: Real, p: float | None = 2, origin: Real | Sequence[Real] = 0) -> Transformation:
    """Draw every vector on a grid that lies outside the L_p ball of `radius` around `origin` into it; exact after rounding.

    p is 1, 2 or infinity (`math.inf` or None); the origin is one number for all entries or one for each, on the grid.

    Guarantee: distances do not grow, and every output's exact norm is at most the radius: entries are cut towards the origin, so
    rounding only takes away.
    """
    element, lattice, _, _ = on_grid(space, "clamp_norm")
    ball = _ball(radius, p, origin)
    enforced = enforcement(ball, element.length, lattice)
    inside = Lattice(lattice.step, enforced.lower, enforced.upper)
    limited = Vectors(inside, element.length, ball)
    return rowwise(space, limited, lambda data: enforced(steps_table(data, element, lattice)))


def _ball(radius: Real, p: float | None, origin: Real | Sequence[Real]) -> Ball:
    if p not in (1, 2, None, math.inf):
        raise InvalidArgument(f"p must be 1, 2 or infinity, got {p!r}")
    near = tuple(rational(origin=each) for each in origin) if isinstance(origin, Sequence) else rational(origin=origin)
    return Ball(positive(radius=radius), None if p is None or p == math.inf else int(p), near)


@step
@by_replacement
def vector_total(space: Space) -> Transformation:
    """The sum of the rows. With a norm bound its distance in that norm is bounded by that; else each entry by its own bounds.

    Guarantee: in L_p for rows in an L_p ball, a replaced row moves the sum by at most twice the radius, an added or removed one by
    at most the radius and the origin's norm (rounded up); without a ball each entry moves by at most its largest absolute value
    (replaced: its range). Rows outside the declared ball are drawn into it first, as `clamp_norm` does.
    """
    element, lattice, low, high = on_grid(space, "vector_total")
    replaced = isinstance(space.metric, SIZED)
    numbers = Vectors(Lattice(lattice.step), element.length)
    ball = element.ball
    if ball is None:
        largest = max(abs(low), abs(high))
        each = (high - low if replaced else largest) * lattice.step
        added = deterministic(lambda data: _columns_sum(steps_table(data, element, lattice), largest))
        return Transformation(space, Space(numbers, LInfinity()), added, times(each))
    enforced = enforcement(ball, element.length, lattice)
    summed = deterministic(lambda data: _columns_sum(enforced(steps_table(data, element, lattice)), enforced.largest))
    reach = 2 * ball.radius if replaced else ball.radius + _away(ball, element.length)
    if ball.p == 2:
        return Transformation(space, Space(numbers, L2()), summed, lambda d_in: Root((reach * plain(d_in)) ** 2))
    return Transformation(space, Space(numbers, L1() if ball.p == 1 else LInfinity()), summed, times(reach))


def _away(ball: Ball, length: int) -> Fraction:
    """The norm of the ball's origin, rounded up."""
    norm = ball.norm(ball.centre(length))
    return sqrt(norm, bits=64).upper if ball.p == 2 and norm else norm


def _columns_sum(table: Any, largest: int) -> Any:
    """Exact column sums."""
    if len(table) * max(largest, 1) < 2**62:
        return table.sum(axis=0)
    return whole_numbers(exact_sum(column, largest) for column in table.T)


@step
@by_replacement
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
