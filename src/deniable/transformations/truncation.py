"""What one person may add: at most so many rows, or at most so many groups and rows in each. Nobody's choice looks at others."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from deniable.core import Frame, IdentifierDistance, Space, SymmetricDistance, Transformation, step
from deniable.core.cells import countable, key
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import integer
from deniable.noise import Entropy, sample_without_replacement
from deniable.transformations.column_arrays import lists
from deniable.transformations.partition import frame_columns
from deniable.transformations.row_metrics import times


def column_names(frame: Frame, names: str | Sequence[str]) -> tuple[str, ...]:
    """One or several columns, all of them there."""
    listed = (names,) if isinstance(names, str) else tuple(names)
    if not listed:
        raise InvalidArgument("name at least one column, got none")
    for name in listed:
        if name not in frame.columns:
            raise InvalidArgument(f"{name!r} is not a column; columns are {sorted(frame.columns)}")
    return listed


def group_keys(columns: Mapping[str, list[Any]], names: Sequence[str]) -> list[Hashable | None]:
    """Each row's value of one column, or tuple of several; None where one is missing or can be no key."""
    if len(names) == 1:
        return [key(cell) for cell in columns[names[0]]]
    return [key(row) for row in zip(*(columns[name] for name in names), strict=True)]


@step
def truncate_rows(
    space: Space, *, rows: int, groups: int | None = None, by: str | Sequence[str] | None = None
) -> Transformation:
    """At most `rows` rows of each identifier, a uniformly random subset without replacement; identifiers with fewer keep all.
    Rows without an identifier are all one person's.

    With `groups` and `by`: of each identifier at most so many groups (values of the columns `by`, a random choice), and at most
    `rows` rows in each of them; rows whose group is missing are left out.

    Guarantee: from identifier distance d to symmetric distance rows·d, or rows·groups·d: a person added or removed brings at most
    so many rows, and one whose rows changed (distance 2) was removed and added. The subset of one identifier depends on its own
    rows alone.
    """
    most = integer(rows=rows, least=1)
    frame = frame_columns(space, "truncate_rows")
    who = identifier(space, "truncate_rows")
    if (groups is None) != (by is None):
        raise InvalidArgument("a limit of groups needs the columns that make them: give both groups and by, or neither")
    several = 1 if groups is None else integer(groups=groups, least=1)
    names = () if by is None else column_names(frame, by)
    target = Space(Frame(frame.columns), SymmetricDistance())

    def limited(data: Any, entropy: Entropy) -> dict[str, list[Any]]:
        columns = lists(data, frame)
        keys = group_keys(columns, names) if names else [0] * len(columns[who])
        kept = within_limits(columns[who], keys, groups=several, rows=most, entropy=entropy)
        return {name: [values[index] for index in kept] for name, values in columns.items()}

    return Transformation(space, target, limited, times(most * several))


def identifier(space: Space, who: str) -> str:
    """The column that names people; a space without one is refused."""
    if not isinstance(space.metric, IdentifierDistance):
        raise SpaceMismatch(f"{who} works under identifier distance, got {space.metric!r}")
    return space.metric.identifier


def within_limits(
    people: Sequence[Any], keys: Sequence[Hashable | None], *, groups: int, rows: int, entropy: Entropy
) -> list[int]:
    """The places of the rows that stay: of each person a random choice of groups, of each of these a random choice of rows."""
    owned: dict[Any, dict[Hashable, list[int]]] = {}
    for place, (person, group) in enumerate(zip(people, keys, strict=True)):
        if group is not None:
            owned.setdefault(countable(person), {}).setdefault(group, []).append(place)
    chosen = (own for person in owned.values() for own in _subset(list(person.values()), groups, entropy))
    return sorted(place for own in chosen for place in _subset(own, rows, entropy))


def _subset(things: list[Any], most: int, entropy: Entropy) -> list[Any]:
    if len(things) <= most:
        return things
    return [things[int(at)] for at in sample_without_replacement(len(things), most, entropy)]
