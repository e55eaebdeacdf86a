"""Frames: bound what one person adds, join public facts, take one column, group by one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from deniable.core import (
    Domain,
    Frame,
    IdentifierDistance,
    Rows,
    Space,
    SymmetricDistance,
    Transformation,
    step,
)
from deniable.core.metric import countable
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import integer
from deniable.noise import Entropy, sample_without_replacement
from deniable.transformations.partition import frame_columns, grouped, public_keys
from deniable.transformations.reading import cells
from deniable.transformations.rows import SIZED, deterministic, same, times


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
    return Transformation(space, target, deterministic(lambda data: data[name]), same)


@step
def group_by(space: Space, name: str, *, keys: Sequence[Hashable]) -> Transformation:
    """A frame split by the value of one column; rows with another value than the public `keys` are left out.

    Guarantee: (d, d, d) for d rows added or removed, (2d, 2d, 2d) for d rows replaced.
    """
    frame = frame_columns(space, "group_by")
    _column(frame, name)
    listed = public_keys(keys)
    target, stability = grouped(space, Frame(frame.columns), listed)
    places = {countable(key): key for key in listed}

    def split(data: Mapping[str, Any]) -> dict[Hashable, dict[str, list[Any]]]:
        columns = {each: cells(data[each]) for each in frame.columns}
        rows: dict[Hashable, list[int]] = {key: [] for key in listed}
        for index, cell in enumerate(columns[name]):
            key = countable(cell)
            if key in places:
                rows[places[key]].append(index)
        return {
            key: {each: [values[index] for index in kept] for each, values in columns.items()}
            for key, kept in rows.items()
        }

    return Transformation(space, target, deterministic(split), stability)


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
        private = {name: cells(data[name]) for name in frame.columns}
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


@step
def truncate_rows(space: Space, *, rows: int) -> Transformation:
    """At most `rows` rows of each identifier, a uniformly random subset without replacement; identifiers with fewer keep all.
    Rows without an identifier are all one person's.

    Guarantee: from identifier distance d to symmetric distance rows·d: a person added or removed brings at most so many rows,
    and one whose rows changed (distance 2) was removed and added. The subset of one identifier depends on its own rows alone.
    """
    most = integer(rows=rows, least=1)
    frame = frame_columns(space, "truncate_rows")
    if not isinstance(space.metric, IdentifierDistance):
        raise SpaceMismatch(f"truncate_rows works under identifier distance, got {space.metric!r}")
    who = space.metric.identifier
    target = Space(Frame(frame.columns), SymmetricDistance())

    def limited(data: Mapping[str, Any], entropy: Entropy) -> dict[str, list[Any]]:
        places: dict[Any, list[int]] = {}
        for index, person in enumerate(cells(data[who])):
            places.setdefault(countable(person), []).append(index)
        kept = sorted(place for own in places.values() for place in _subset(own, most, entropy))
        columns = ((name, cells(data[name])) for name in frame.columns)
        return {name: [values[index] for index in kept] for name, values in columns}

    return Transformation(space, target, limited, times(most))


def _subset(places: list[int], most: int, entropy: Entropy) -> list[int]:
    if len(places) <= most:
        return places
    return [places[int(at)] for at in sample_without_replacement(len(places), most, entropy)]
