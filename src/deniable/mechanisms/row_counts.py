"""How rows are counted: what one row more, less or changed does to counts of disjoint groups of rows."""

from __future__ import annotations

from deniable.core.distance import Distance, plain
from deniable.core.domain import Rows
from deniable.core.metric import ChangeOne, Hamming, InsertDelete, Metric, SymmetricDistance
from deniable.core.space import Space
from deniable.errors import SpaceMismatch
from deniable.kernels.unit_sensitivity import Sensitivity


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
