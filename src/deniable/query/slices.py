"""The parts of an answer: one slice for every level of grouping, and one for the rows of the groups a level hides.

What is measured in a slice has a key of its own, so that every slice is priced, drawn and bounded by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from deniable.errors import InvalidArgument
from deniable.plan.facts import Kind
from deniable.plan.nodes import Distinct, GroupAgg, Level, Units
from deniable.plan.relation import Shape
from deniable.plan.sensitivity import limits
from deniable.query.columns import SliceColumn
from deniable.query.keys import KeySet


@dataclass(frozen=True, slots=True)
class Slice:
    """The groups of the level at `place`; or, `other`, what its hidden groups hold together, one for each declared key.

    `sensitivity_level` is the level whose sensitivity its cells have.
    """

    place: int
    level: Level
    observed: bool
    sensitivity_level: Level
    other: bool = False

    def __str__(self) -> str:
        by = f"by {', '.join(self.level)}" if self.level else "all groups together"
        return f"other rows {by}" if self.other else by

    def key(self, column: str) -> SliceColumn:
        """The key of something measured (or chosen) in this slice."""
        return SliceColumn(column, self.place, self.other)


def slices_of(plan: GroupAgg, keys: KeySet, *, other: bool) -> tuple[Slice, ...]:
    """Every slice of a query, level by level; a level with observed keys is followed by its other rows when wanted."""
    taken = {column.name for column in keys.columns if column.domain is None}
    if other:
        _check_other(keys, taken)
    found = []
    for place, level in enumerate(plan.grouping):
        observed = bool(taken.intersection(level))
        found.append(Slice(place, level, observed, level))
        if observed and other:
            found.append(Slice(place, level, observed, tuple(name for name in level if name not in taken), other=True))
    return tuple(found)


def _check_other(keys: KeySet, taken: set[str]) -> None:
    if not taken:
        raise InvalidArgument("there are no hidden groups to put together: all keys are declared; leave with_other out")
    for column, known in zip(keys.columns, keys.facts, strict=True):
        if column.name in taken and known.kind is not Kind.STRING:
            raise InvalidArgument(f"other rows need observed keys of text, {column.name!r} is a {known.kind.value}")


def adds_up(plan: GroupAgg, below: Shape, column: str) -> bool:
    """Whether a column of a coarser group is the sum over the groups it is made of.

    Rows and sums do, whatever is clipped; units and distinct values only when no unit can be in two groups.
    """
    aggregate = dict(plan.aggregates)[column]
    if isinstance(aggregate, Units):
        return limits(plan, below).kept == 1
    return not isinstance(aggregate, Distinct)
