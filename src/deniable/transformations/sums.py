"""Sums, means, variances: exact integers on a grid, with the tightest map we can prove.

A mean over a public size is the sum read on a finer lattice (step/n), so it is exact too. What is not a lattice point (a root, a
mean over an unknown size) is rounded to a declared grid, and the map pays for the rounding.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np

from deniable.core import AbsoluteDistance, Distance, Lattice, Space, Transformation, plain, step
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact import number_of, sqrt
from deniable.exact.guards import Real, integer, positive
from deniable.transformations.column_arrays import BLOCK, Steps, exact_sum, steps
from deniable.transformations.row_metrics import SIZED, by_replacement, deterministic, row_change, rows_of, times

_WIDEST = 2**52


def bounded(space: Space, who: str) -> tuple[Lattice, int, int]:
    """The lattice of bounded numbers and its ends, in steps; anything else is refused."""
    element = rows_of(space, who).element
    if not isinstance(element, Lattice) or element.missing or element.lower is None or element.upper is None:
        raise SpaceMismatch(f"{who} needs bounded numbers on a grid, got {element!r}; clamp first")
    if max(abs(element.lower), abs(element.upper)) > _WIDEST:
        raise SpaceMismatch(f"{who} needs bounds within 2**52 steps, got {element!r}; clamp to narrower bounds")
    return element, element.lower, element.upper


def public_size(space: Space, who: str, *, least: int = 1) -> int:
    """The public number of rows; without one, or with too few, refused."""
    domain = rows_of(space, who)
    if domain.size is None or not isinstance(space.metric, SIZED):
        raise SpaceMismatch(
            f"{who} needs a public number of rows; resize first, or divide a private sum by a private count"
        )
    if domain.size < least:
        raise InvalidArgument(f"{who} needs at least {number_of(least, 'row')}, the public size is {domain.size}")
    return domain.size


def _number(step_size: Fraction, lower: int | None = None, upper: int | None = None) -> Space:
    return Space(Lattice(step_size, lower, upper), AbsoluteDistance())


def _sum(data: Any, element: Lattice, largest: int) -> int:
    """The exact sum of a column's members: read, checked and added block by block, so that each block is fetched once."""
    block = max(1, min(BLOCK, 2**62 // max(largest, 1)))
    if not isinstance(data, np.ndarray):
        return exact_sum(steps(data, element), largest)
    return sum(int(steps(data[start : start + block], element).sum()) for start in range(0, len(data), block))


@step
@by_replacement
def total(space: Space) -> Transformation:
    """The sum of bounded numbers on a grid.

    Guarantee: one added or removed row moves it by at most max(|lower|, |upper|), one replaced row by upper - lower.
    Sums are exact integers; no order of addition and no size of data changes them.
    """
    element, low, high = bounded(space, "total")
    added, replaced = max(abs(low), abs(high)) * element.step, (high - low) * element.step
    size = rows_of(space, "total").size
    target = _number(element.step, None if size is None else low * size, None if size is None else high * size)
    stability = row_change(space.metric, added=added, replaced=replaced)
    return Transformation(
        space, target, deterministic(lambda data: _sum(data, element, max(abs(low), abs(high)))), stability
    )


@step
@by_replacement
def mean(space: Space) -> Transformation:
    """The mean of bounded numbers over a public number of rows.

    Guarantee: one replaced row moves it by at most (upper - lower) / size.
    """
    size = public_size(space, "mean")
    element, low, high = bounded(space, "mean")
    target = _number(element.step / size, low * size, high * size)
    stability = times((high - low) * element.step / size)
    return Transformation(
        space, target, deterministic(lambda data: _sum(data, element, max(abs(low), abs(high)))), stability
    )


@step
def mean_of_at_least(space: Space, *, size: int, grid: Real | None = None) -> Transformation:
    """The mean of an unknown number of rows, taken as if there were at least `size`: the rest counts as the middle of the bounds.

    Guarantee: one added or removed row moves it by at most (upper - lower) / (size + 1), or half the range (rounded up to a
    whole step) over size where that is more; rounded up to the grid.
    """
    least = integer(size=size, least=1)
    element, low, high = bounded(space, "mean_of_at_least")
    if isinstance(space.metric, SIZED):
        raise SpaceMismatch("the number of rows is public here: use mean")
    unit = element.step if grid is None else positive(grid=grid)
    centre = (low + high) // 2

    def padded(data: Any) -> int:
        values = steps(data, element)
        rows = max(len(values), least)
        moved = exact_sum(values, max(abs(low), abs(high))) - centre * len(values)
        return round((centre + Fraction(moved, rows)) * element.step / unit)

    # below `size` rows an added row moves the mean by its distance from the centre over `size`, from then on by the range
    reach = max(Fraction(high - low, least + 1), Fraction(max(high - centre, centre - low), least)) * element.step
    return Transformation(
        space, _number(unit), deterministic(padded), _rounded_up(reach, unit, (high - low) * element.step)
    )


def _rounded_up(reach: Fraction, unit: Fraction, widest: Fraction) -> Any:
    """Two values d·reach apart (never more than `widest`), each rounded to a multiple of `unit`: at most so many units apart."""
    return lambda d_in: -(-min(plain(d_in) * reach, widest) // unit) * unit


@step
@by_replacement
def sum_of_squares(space: Space) -> Transformation:
    """The sum of the squares of bounded numbers.

    Guarantee: one added or removed row moves it by at most the largest square, one replaced row by the range of the squares.
    """
    element, low, high = bounded(space, "sum_of_squares")
    most = max(low * low, high * high)
    least = 0 if low <= 0 <= high else min(low * low, high * high)
    unit = element.step**2
    stability = row_change(space.metric, added=most * unit, replaced=(most - least) * unit)
    return Transformation(
        space, _number(unit, 0), deterministic(lambda data: _squares(steps(data, element), most)), stability
    )


def _squares(values: Steps, largest_square: int) -> int:
    """The exact sum of squares; numbers too large for a 64-bit square are cut into two halves, a·2**27 + b."""
    if largest_square < 2**62:
        return exact_sum(values * values, largest_square)
    a, b = values >> 27, values & (2**27 - 1)
    squares, products = exact_sum(a * a, 2**52) << 54, exact_sum(a * b, 2**53) << 28
    return squares + products + exact_sum(b * b, 2**54)


def spread(values: Steps, low: int, high: int) -> int:
    """n·Σx² - (Σx)², which is n times the sum of squared deviations: an exact integer."""
    moved = values - low  # variances do not move with the data; smaller numbers square into 64 bits
    return len(moved) * _squares(moved, (high - low) ** 2) - exact_sum(moved, high - low) ** 2


@step
@by_replacement
def variance(space: Space, *, ddof: int = 1) -> Transformation:
    """The variance of bounded numbers over a public number of rows: the sample variance, or the population's with ddof=0.

    Guarantee: one replaced row moves the sample variance by at most (upper - lower)²/n and the population variance by
    (upper - lower)²·(n - 1)/n²; both are attained.
    """
    size = public_size(space, "variance", least=2)
    divisor = size - degrees(ddof)
    element, low, high = bounded(space, "variance")
    unit = element.step**2 / (size * divisor)
    reach = Fraction((high - low) ** 2 * (size - 1), size * divisor) * element.step**2
    widest = Fraction((high - low) ** 2 * size, 4 * divisor) * element.step**2

    def stability(d_in: Distance) -> Distance:
        return min(plain(d_in) * reach, widest)

    target = _number(unit, 0)
    return Transformation(space, target, deterministic(lambda data: spread(steps(data, element), low, high)), stability)


def degrees(ddof: int) -> int:
    """What is taken off the number of rows: 0 or 1."""
    if ddof not in (0, 1) or isinstance(ddof, bool):
        raise InvalidArgument(f"ddof must be 0 (population) or 1 (sample), got {ddof!r}")
    return ddof


@step
@by_replacement
def std(space: Space, *, ddof: int = 1, grid: Real | None = None) -> Transformation:
    """The standard deviation of bounded numbers over a public number of rows, rounded down to `grid`.

    Guarantee: one replaced row moves the sample standard deviation by at most (upper - lower)/√n (the population's by
    (upper - lower)·√(n-1)/n), rounded up to the grid.
    """
    size = public_size(space, "std", least=2)
    divisor = size - degrees(ddof)
    element, low, high = bounded(space, "std")
    unit = element.step if grid is None else positive(grid=grid)
    square = Fraction((high - low) ** 2 * (size - 1), size * divisor) * element.step**2
    reach = sqrt(square, bits=64).upper

    def rooted(data: Any) -> int:
        apart = spread(steps(data, element), low, high)
        inside = Fraction(apart, size * divisor) * element.step**2 / unit**2
        return isqrt(inside.numerator // inside.denominator)

    return Transformation(
        space, _number(unit, 0), deterministic(rooted), _rounded_up(reach, unit, (high - low) * element.step)
    )
