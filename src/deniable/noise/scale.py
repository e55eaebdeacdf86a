"""What a scale may be. Scalar draws are Python integers of any size; vector draws are int64 and so have a limit.

Tables are remembered by exact scale. A scale is checked when its table is built, so a warm draw pays for no check.
"""

from __future__ import annotations

from fractions import Fraction

from deniable.errors import InvalidArgument
from deniable.exact.guards import positive, rational, shown

CACHED = 32
"""Tables kept per sampler, the least used go first; one scale takes from a few kilobytes up to about one megabyte."""
VECTOR_LIMIT = 1 << 50
"""Noise of a larger scale could leave int64; at this one the chance is below e**-8000, and sums saturate."""
LIMIT = 1 << 1100
"""Beyond every float, 1e308 included; a table per eleven bits of scale stays affordable."""


def hashable(scale: int | Fraction) -> int | Fraction:
    """The scale as a key: an int or a Fraction, never a bool or a float that only compares equal to one."""
    return scale if type(scale) is int else rational(scale=scale)


def table_scale(scale: int | Fraction) -> Fraction:
    """A scale that tables can be built for: positive, and not absurd."""
    exact = positive(scale=scale)
    if not 1 <= exact * LIMIT <= LIMIT * LIMIT:
        raise InvalidArgument(f"scale must lie between 2**-1100 and 2**1100, got {shown(exact)}")
    return exact


def vector_scale(scale: int | Fraction) -> int | Fraction:
    """A scale whose noise fits int64, or a refusal that says what to do."""
    exact = hashable(scale)
    if not exact <= VECTOR_LIMIT:
        raise InvalidArgument(f"scale must be at most 2**50 for vector draws, got {shown(scale)}; draw one at a time")
    return exact
