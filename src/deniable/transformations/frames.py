"""Frames: take one column, group by one, join public facts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from deniable.core import (
    Distance,
    Domain,
    Frame,
    IdentifierDistance,
    Keyed,
    PartitionDistance,
    Rows,
    Space,
    SymmetricDistance,
    Transformation,
    Triple,
    plain,
    step,
)
from deniable.core.cells import countable, table
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import integer
from deniable.noise import Entropy
from deniable.transformations.column_arrays import lists
from deniable.transformations.partition import frame_columns, grouped, public_keys
from deniable.transformations.row_metrics import SIZED, deterministic, same
from deniable.transformations.truncation import identifier, within_limits


def _column(frame: Frame, name: str) -> Domain:
    if name not in frame.columns:
        raise InvalidArgument(f"{name!r} is not a column; columns are {sorted(frame.columns)}")
    return frame.columns[name]


@step
def column(space: Space, name: str) -> Transformation:
    """One column of a frame as rows.

    Guarantee: distances do not grow. Under identifier distance one person may own any number of rows, so bound them first.
    """
    frame = frame_columns(space, "column")
    element = _column(frame, name)
    if isinstance(space.metric, IdentifierDistance):
        raise SpaceMismatch("a person may have any number of rows here; bound them first with truncate_rows(rows=...)")
    target = Space(Rows(element, frame.size), space.metric)
    return Transformation(space, target, deterministic(lambda data: table(data, frame.columns)[name]), same)


@step
def group_by(
    space: Space, name: str, *, keys: Sequence[Hashable], groups: int | None = None, rows: int | None = None
) -> Transformation:
    """A frame split by the value of one column; rows with another value than the public `keys` are left out.

    Where the frame names people, say in how many `groups` a person may be and with how many `rows` in each; of those with more a
    random choice is kept. Where it is known that nobody has more, nothing is lost, and what follows moves the less for it.

    Guarantee: (d, d, d) for d rows added or removed, (2d, 2d, 2d) for d rows replaced, (groups·d, groups·rows·d, rows·d) for d
    people.
    """
    frame = frame_columns(space, "group_by")
    _column(frame, name)
    listed = public_keys(keys)
    places = {countable(each): place for place, each in enumerate(listed)}
    if isinstance(space.metric, IdentifierDistance):
        return _limited_groups(space, frame, name, listed, groups, rows)
    if groups is not None or rows is not None:
        raise InvalidArgument("groups and rows limit what a person adds; this space names no people")
    target, stability = grouped(space, Frame(frame.columns), listed)

    def split(data: Any) -> dict[Hashable, dict[str, list[Any]]]:
        columns = lists(data, frame)
        return _split(columns, [places.get(countable(cell)) for cell in columns[name]], listed)

    return Transformation(space, target, deterministic(split), stability)


def _limited_groups(
    space: Space, frame: Frame, name: str, listed: tuple[Hashable, ...], groups: int | None, rows: int | None
) -> Transformation:
    if groups is None or rows is None:
        raise InvalidArgument("a person may have any number of rows here: say groups= and rows= per person")
    places = {countable(each): place for place, each in enumerate(listed)}
    most, many = min(integer(groups=groups, least=1), len(listed)), integer(rows=rows, least=1)
    who = identifier(space, "group_by")
    target = Space(Keyed(Frame(frame.columns), listed), PartitionDistance(SymmetricDistance()))

    def split(data: Any, entropy: Entropy) -> dict[Hashable, dict[str, list[Any]]]:
        columns = lists(data, frame)
        keys = [places.get(countable(cell)) for cell in columns[name]]
        kept = within_limits(columns[who], keys, groups=most, rows=many, entropy=entropy)
        chosen = {each: [values[place] for place in kept] for each, values in columns.items()}
        return _split(chosen, [keys[place] for place in kept], listed)

    def stability(d_in: Distance) -> Distance:
        d = plain(d_in)
        return Triple(most * d, most * many * d, many * d)

    return Transformation(space, target, split, stability)


def _split(
    columns: Mapping[str, list[Any]], groups: Sequence[int | None], listed: tuple[Hashable, ...]
) -> dict[Hashable, dict[str, list[Any]]]:
    rows: list[list[int]] = [[] for _ in listed]
    for index, group in enumerate(groups):
        if group is not None:
            rows[group].append(index)
    return {
        key: {each: [values[index] for index in kept] for each, values in columns.items()}
        for key, kept in zip(listed, rows, strict=True)
    }


@step
def join_public(
    space: Space, table: Mapping[Hashable, Mapping[str, Any]], *, on: str, columns: Mapping[str, Domain]
) -> Transformation:
    """Each row of a frame beside the public row its key names; rows without a partner are left out.

    `columns` describes what the public table adds; its names must be new, so that no private column, and above all no identifier,
    is overwritten.

    Guarantee: distances do not grow: every private row meets at most one public row.
    """
    frame = frame_columns(space, "join_public")
    _column(frame, on)
    if isinstance(space.metric, SIZED):
        raise SpaceMismatch("rows without a partner are left out, so the size is no longer public; use add/remove")
    _check_public(table, columns, frame)
    partners = {countable(key): row for key, row in table.items()}
    target = Space(Frame({**frame.columns, **columns}), space.metric)

    def joined(data: Mapping[str, Any]) -> dict[str, list[Any]]:
        private = lists(data, frame)
        met = [(index, partners.get(countable(cell))) for index, cell in enumerate(private[on])]
        kept = [(index, partner) for index, partner in met if partner is not None]
        old = {name: [values[index] for index, _ in kept] for name, values in private.items()}
        return {**old, **{name: [partner[name] for _, partner in kept] for name in columns}}

    return Transformation(space, target, deterministic(joined), same)


def _check_public(table: Mapping[Hashable, Mapping[str, Any]], columns: Mapping[str, Domain], frame: Frame) -> None:
    taken = sorted(set(columns) & set(frame.columns))
    if taken:
        raise InvalidArgument(f"{taken} are private columns already; the public table needs other names")
    for key, row in table.items():
        for name, domain in columns.items():
            if name not in row or row[name] not in domain:
                raise InvalidArgument(f"the public row {key!r} has no {name!r} in {domain!r}")
