"""How far neighbours lie apart, in whole steps: vectors of lattice values in every norm at once, and counts of groups of rows.

Both vectors sit on one lattice, so every norm may be rounded *down* to what whole steps can reach: exact, never loose.
"""

from __future__ import annotations

import math
from fractions import Fraction

from deniable.core.distance import Distance, Triple, plain, squared, triple
from deniable.core.domain import Rows
from deniable.core.metric import (
    L1,
    L2,
    AbsoluteDistance,
    ChangeOne,
    Hamming,
    InsertDelete,
    LInfinity,
    Metric,
    PartitionDistance,
    RangeDistance,
    SymmetricDistance,
)
from deniable.core.space import Space
from deniable.errors import SpaceMismatch
from deniable.kernels.unit_sensitivity import Sensitivity


def norms(metric: Metric, d_in: Distance, *, step: Fraction, size: int | None) -> Sensitivity:
    """What `d_in` under `metric` allows for `size` lattice values (None: as many as the data has)."""
    match metric:
        case AbsoluteDistance():
            each = math.floor(plain(d_in) / step)
            return _tight(1, each, each * each, each)
        case L1():
            total = math.floor(plain(d_in) / step)
            return _tight(size, total, total * total, total)
        case L2():
            square = math.floor(squared(d_in) / step**2)
            return _tight(size, square, square, math.isqrt(square))
        case LInfinity() if size is not None:
            each = math.floor(plain(d_in) / step)
            return _tight(size, size * each, size * each * each, each)
        case PartitionDistance(AbsoluteDistance()):
            far = triple(d_in)
            each, count = math.floor(far.linf / step), math.floor(far.l0)
            total = min(math.floor(far.l1 / step), count * each)
            return _tight(count if size is None else min(count, size), total, total * each, each)
        case _:
            raise SpaceMismatch(
                f"no norm of a vector of numbers is bounded by {metric!r}; use L1, L2 or a partition distance"
            )


def spread(metric: Metric, d_in: Distance, *, step: Fraction) -> int:
    """How much the changes of a vector's entries can differ among themselves, in steps: what a selection pays for.

    Entries that all move the same way by at most d spread by d; entries that move by at most d in total do so as well.
    """
    match metric:
        case RangeDistance() | LInfinity(monotonic=True) | L1():
            return math.floor(plain(d_in) / step)
        case LInfinity():
            return 2 * math.floor(plain(d_in) / step)
        case PartitionDistance(AbsoluteDistance(), monotonic):
            far = triple(d_in)
            each = math.floor(far.linf / step)
            ways = 2 if far.l0 >= 2 and not monotonic else 1
            return min(math.floor(far.l1 / step), ways * each) if far.l0 >= 1 else 0
        case _:
            raise SpaceMismatch(f"a selection needs scores compared by LInfinity, RangeDistance or L1, got {metric!r}")


def check_metric(metric: Metric, *, size: int | None) -> None:
    """Refuse, when a mechanism is built, a metric that bounds no norm."""
    norms(metric, _at_rest(metric), step=Fraction(1), size=size)


def check_scores(metric: Metric) -> None:
    """Refuse, when a selection is built, a metric that does not bound the spread of scores."""
    spread(metric, _at_rest(metric), step=Fraction(1))


def _at_rest(metric: Metric) -> Distance:
    nothing = Fraction(0)
    return Triple(nothing, nothing, nothing) if isinstance(metric, PartitionDistance) else nothing


def _tight(l0: int | None, l1: int, l2_squared: int, linf: int) -> Sensitivity:
    """What each norm of a whole-numbered vector implies for the others."""
    linf = min(linf, l1, math.isqrt(l2_squared))
    l0 = l1 if l0 is None else l0
    l0 = min(l0, l1, l2_squared) if linf else 0
    l1 = min(l1, l0 * linf, l2_squared, math.isqrt(l0 * l2_squared))
    return Sensitivity(l0=l0, l1=l1, linf=linf, squares=min(l2_squared, l1 * linf))


def rows_of(space: Space, who: str) -> Rows:
    """The row domain of a space; anything else is refused."""
    if not isinstance(space.domain, Rows):
        raise SpaceMismatch(f"{who} works on rows, got {space.domain!r}")
    added_or_removed(space.metric, 0)
    return space.domain


def added_or_removed(metric: Metric, d_in: Distance | int) -> int:
    """How many rows are added or removed in all: a changed row is one of each."""
    rows = d_in if isinstance(d_in, int) else int(plain(d_in))
    match metric:
        case SymmetricDistance() | InsertDelete():
            return rows
        case ChangeOne() | Hamming():
            return 2 * rows
        case _:
            raise SpaceMismatch(f"rows are compared by a data-set metric, got {metric!r}")


def counts_apart(metric: Metric, d_in: Distance) -> Sensitivity:
    """How far the counts of disjoint groups move: a changed row leaves one group and enters another."""
    rows = int(plain(d_in))
    if isinstance(metric, ChangeOne | Hamming):
        return Sensitivity(l0=2 * rows, l1=2 * rows, linf=rows)
    return Sensitivity(l0=rows, l1=rows, linf=rows)
