"""Clamp to public bounds and put on a grid: from here on numbers are whole steps and sums are exact."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np

from deniable.core import Lattice, Numbers, Space, Transformation, step
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, positive, rational
from deniable.transformations.column_arrays import BLOCK, Steps, floats, steps
from deniable.transformations.row_metrics import rows_of, rowwise

_FINEST = 22
"""A grid nobody names has between 2**21 and 2**22 steps to the larger bound: finer than any noise worth adding."""

_WIDEST = 2**51


@step
def clamp(space: Space, *, lower: Real, upper: Real, grid: Real | None = None) -> Transformation:
    """Limit every value to [lower, upper] and round it to a multiple of `grid`: a power of two chosen from the bounds unless given.

    Guarantee: distances do not grow; the stability map is the identity.
    Edge cases: NaN, None and unreadable cells become lower; infinities become the nearer bound; lower == upper is allowed,
    lower > upper is refused.
    """
    low, high = rational(lower=lower), rational(upper=upper)
    if not low <= high:
        raise InvalidArgument(f"lower must not exceed upper, got {lower!r} > {upper!r}")
    element = rows_of(space, "clamp").element
    if isinstance(element, Lattice):
        return _clamped_steps(space, element, low, high, grid)
    if not isinstance(element, Numbers):
        raise SpaceMismatch(f"clamp works on numbers, got {element!r}; cast first")
    size = grid_for(low, high) if grid is None else positive(grid=grid)
    target = _lattice(low, high, size)
    return rowwise(space, target, lambda data: _rounded(floats(data), low, high, target))


def grid_for(lower: Fraction, upper: Fraction) -> Fraction:
    """The power of two that divides the larger bound into about four million steps."""
    largest = max(abs(lower), abs(upper))
    if not largest:
        return Fraction(1)
    exponent = largest.numerator.bit_length() - largest.denominator.bit_length()
    return Fraction(2) ** (exponent - _FINEST + 1)


def _lattice(low: Fraction, high: Fraction, size: Fraction) -> Lattice:
    first, last = ceil(low / size), floor(high / size)
    if not first <= last:
        raise InvalidArgument(f"no multiple of grid {size} lies in [{low}, {high}]; choose a finer grid")
    if max(abs(first), abs(last)) >= _WIDEST:
        raise InvalidArgument(f"[{low}, {high}] is more than 2**51 steps of {size}; choose a coarser grid")
    if not _readable(1 / size) or not all(map(_readable, (low, high))):
        raise InvalidArgument(f"bounds [{low}, {high}] or grid {size} are beyond what a double can hold; rescale them")
    return Lattice(size, first, last)


def _readable(value: Fraction) -> bool:
    """Is this number zero or an ordinary double, rounded?"""
    return not value or -1000 < value.numerator.bit_length() - value.denominator.bit_length() < 1000


def _rounded(values: np.ndarray[Any, Any], low: Fraction, high: Fraction, target: Lattice) -> Steps:
    """Block by block: limit (NaN goes to the lower bound), scale, round, and limit the whole number again."""
    assert target.lower is not None
    assert target.upper is not None
    out = np.empty(len(values), dtype=np.int64)
    scale, least, most = float(1 / target.step), float(low), float(high)
    block = np.empty(min(BLOCK, max(len(values), 1)), dtype=np.float64)
    for start in range(0, len(values), BLOCK):
        part = values[start : start + BLOCK]
        work = block[: len(part)]
        np.fmax(part, least, out=work)
        np.fmin(work, most, out=work)
        np.multiply(work, scale, out=work)
        np.rint(work, out=work)
        out[start : start + BLOCK] = work
    if not _safe(target, scale, least, most):
        np.clip(out, target.lower, target.upper, out=out)
    return out


def _safe(target: Lattice, scale: float, least: float, most: float) -> bool:
    """Rounding is monotonic, so if both ends land inside the lattice every value does and the second clamp can be left out."""
    assert target.lower is not None
    assert target.upper is not None
    return bool(target.lower <= np.rint(least * scale) and np.rint(most * scale) <= target.upper)


def _clamped_steps(space: Space, element: Lattice, low: Fraction, high: Fraction, grid: Real | None) -> Transformation:
    if grid is not None and positive(grid=grid) != element.step:
        raise InvalidArgument(f"these values are on a grid of {element.step} already; leave grid out")
    if element.missing:
        raise SpaceMismatch("clamp on a lattice needs a number everywhere; fill or drop missing values first")
    target = _lattice(low, high, element.step)
    return rowwise(space, target, lambda data: np.clip(steps(data, element), target.lower, target.upper))
