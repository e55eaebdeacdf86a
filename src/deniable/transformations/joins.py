"""Several frames about the same people: take one, or join two of them person by person.

Everything here looks at one person's rows at a time, so who is in the data set decides nothing about anyone else's rows. How many
rows a person has after a join is bounded afterwards, by `truncate_rows`, and never by the join.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deniable.core import Frame, Frames, IdentifierDistance, Space, Transformation, missing, step
from deniable.core.cells import countable, entry
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.transformations.column_arrays import lists
from deniable.transformations.row_metrics import deterministic, same


@step
def take_frame(space: Space, name: str) -> Transformation:
    """One of several frames.

    Guarantee: distances do not grow: whoever differs in one frame differs in all of them together.
    """
    table = _table(_frames(space, "take_frame"), name)
    return Transformation(space, Space(table, space.metric), deterministic(lambda data: entry(data, name, {})), same)


@step
def join_frames(space: Space, left: str, right: str, *, on: Sequence[str] = ()) -> Transformation:
    """Every row of one frame beside every row of another that has the same identifier, and the same value in the columns `on`.

    The other columns must have different names. Rows without an identifier, or with a missing value in `on`, meet no partner.

    Guarantee: identifier distances do not grow: a person's joined rows come from that person's rows alone. How many they are is
    not bounded; `truncate_rows` follows.
    """
    tables = _frames(space, "join_frames")
    first, second = _table(tables, left), _table(tables, right)
    assert isinstance(space.metric, IdentifierDistance)
    shared = (space.metric.identifier, *on)
    added = _new_columns(first, second, shared)
    target = Space(Frame({**first.columns, **{name: second.columns[name] for name in added}}), space.metric)

    def joined(data: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Any]]:
        old, new = lists(entry(data, left, {}), first), lists(entry(data, right, {}), second)
        partners: dict[Any, list[int]] = {}
        for place, key in enumerate(_keys(new, shared)):
            if key is not None:
                partners.setdefault(key, []).append(place)
        met = [(row, place) for row, key in enumerate(_keys(old, shared)) for place in partners.get(key, ())]
        kept = {name: [values[row] for row, _ in met] for name, values in old.items()}
        return kept | {name: [new[name][place] for _, place in met] for name in added}

    return Transformation(space, target, deterministic(joined), same)


def _frames(space: Space, who: str) -> Frames:
    if not isinstance(space.domain, Frames):
        raise SpaceMismatch(f"{who} works on several frames, got {space.domain!r}; start with frames(...)")
    return space.domain


def _table(tables: Frames, name: str) -> Frame:
    if name not in tables.tables:
        raise InvalidArgument(f"{name!r} is not one of the frames; they are {sorted(tables.tables)}")
    return tables.tables[name]


def _new_columns(first: Frame, second: Frame, shared: tuple[str, ...]) -> list[str]:
    for name in shared:
        if first.columns.get(name) is None or first.columns[name] != second.columns.get(name):
            raise InvalidArgument(f"{name!r} must be a column of both frames, with the same domain, to join on it")
    clash = sorted((set(first.columns) & set(second.columns)) - set(shared))
    if clash:
        raise InvalidArgument(f"{clash} are columns of both frames; join on them or rename them")
    return [name for name in second.columns if name not in shared]


def _keys(columns: Mapping[str, list[Any]], shared: tuple[str, ...]) -> list[Any]:
    """The value of the shared columns in each row, None where one is missing."""
    values = zip(*(columns[name] for name in shared), strict=True)
    return [None if any(map(missing, row)) else tuple(countable(cell) for cell in row) for row in values]
