"""Splitting rows into groups by public keys, putting data sets together, and joining them on a key.

Distances of a partition are triples (groups that differ, sum of their distances, largest), so that what follows can use
whichever bound serves it best.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from deniable.core import (
    ChangeOne,
    Distance,
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
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import integer
from deniable.noise import Entropy, uniforms_below
from deniable.transformations.reading import cells
from deniable.transformations.rows import deterministic, rows_of


def _public(keys: Sequence[Hashable]) -> tuple[Hashable, ...]:
    listed = tuple(keys)
    if not listed or len(set(listed)) != len(listed):
        raise InvalidArgument(f"keys must be distinct and at least one, got {keys!r}; they are public, never data")
    return listed


def _grouped(space: Space, keys: tuple[Hashable, ...]) -> tuple[Space, Callable[[Distance], Distance]]:
    """A row belongs to one group: added or removed it moves that one; replaced it moves two, or one by two."""
    domain = rows_of(space, "a partition")
    target = Space(Keyed(Rows(domain.element), keys), PartitionDistance(SymmetricDistance()))
    match space.metric:
        case SymmetricDistance():
            return target, lambda d_in: Triple(plain(d_in), plain(d_in), plain(d_in))
        case ChangeOne():
            return target, lambda d_in: Triple(2 * plain(d_in), 2 * plain(d_in), 2 * plain(d_in))
        case _:
            raise SpaceMismatch(
                f"a partition ignores the order of rows; forget it first with unordered(), got {space.metric!r}"
            )


@step
def partition_by(
    space: Space, key: Callable[[Any], Hashable], *, keys: Sequence[Hashable], author: str
) -> Transformation:
    """Rows by the value of your own `key` of each row; rows with another key than the public `keys` are left out.

    Guarantee: (d, d, d) for d rows added or removed, (2d, 2d, 2d) for d rows replaced. `author` vouches that `key` looks at its
    row alone.
    """
    listed = _public(keys)
    target, stability = _grouped(space, listed)

    def split(data: Any) -> dict[Hashable, list[Any]]:
        groups: dict[Hashable, list[Any]] = {each: [] for each in listed}
        for row in cells(data):
            group = groups.get(_key(key, row))
            if group is not None:
                group.append(row)
        return groups

    return Transformation(space, target, deterministic(split), stability, (f"{author}: partition key",))


_NOWHERE = object()


def _key(key: Callable[[Any], Hashable], row: Any) -> Hashable:
    try:
        value = key(row)
        hash(value)
    except Exception:
        return _NOWHERE
    return value


@step
def partition_randomly(space: Space, *, parts: int) -> Transformation:
    """Each row goes to one of `parts` parts, independently and uniformly.

    Guarantee: (d, d, d) for d rows added or removed: the coupling gives the rows both data sets share the same parts. (Shuffling
    and cutting into equal parts would not do: one more row can move others across a cut.)
    """
    count = integer(parts=parts, least=1)
    target, stability = _grouped(space, tuple(range(count)))

    def split(data: Any, entropy: Entropy) -> dict[Hashable, list[Any]]:
        rows = cells(data)
        groups: dict[Hashable, list[Any]] = {part: [] for part in range(count)}
        for row, part in zip(rows, uniforms_below(count, len(rows), entropy), strict=True):
            groups[int(part)].append(row)
        return groups

    return Transformation(space, target, split, stability)


@step
def in_each(space: Space, inner: Callable[[Space], Transformation]) -> Transformation:
    """The same transformation in every group of a partition.

    Guarantee: the groups that differ stay the same; where the inner map is d -> c·d the sum and the largest distance grow by c.
    A map that is not of that form (it is tried at 1, 2 and 3) bounds the sum by groups times the largest.
    """
    if not isinstance(space.domain, Keyed) or not isinstance(space.metric, PartitionDistance):
        raise SpaceMismatch(f"in_each works on a partition, got {space!r}")
    built = inner(Space(space.domain.element, space.metric.inner))
    target = Space(Keyed(built.target.domain, space.domain.keys), PartitionDistance(built.target.metric))  # type: ignore[arg-type]

    def each(data: Mapping[Hashable, Any], entropy: Entropy) -> dict[Hashable, Any]:
        return {key: built.function(rows, entropy) for key, rows in data.items()}

    return Transformation(space, target, each, _each_map(built), built.claims)


def _each_map(built: Transformation) -> Callable[[Distance], Distance]:
    one, two, three = (plain(built.stability_map(Fraction(d))) for d in (1, 2, 3))
    linear = two == 2 * one and three == 3 * one

    def stability(d_in: Distance) -> Distance:
        if not isinstance(d_in, Triple):
            raise InvalidArgument(f"a partition's distance is a triple (l0, l1, linf), got {d_in!r}")
        largest = plain(built.stability_map(d_in.linf))
        total = d_in.l1 * one if linear else d_in.l0 * largest
        return Triple(d_in.l0, min(total, d_in.l0 * largest), largest)

    return stability


@step
def union(space: Space) -> Transformation:
    """All rows of all groups of a partition in one data set.

    Guarantee: the distance of the whole is at most the sum of the groups' distances, l1.
    """
    if not isinstance(space.domain, Keyed) or space.metric != PartitionDistance(SymmetricDistance()):
        raise SpaceMismatch(f"union works on a partition of rows, got {space!r}")
    target = Space(space.domain.element, SymmetricDistance())

    def together(data: Mapping[Hashable, Any]) -> list[Any]:
        return [row for key in data for row in cells(data[key])]

    def stability(d_in: Distance) -> Distance:
        if not isinstance(d_in, Triple):
            raise InvalidArgument(f"a partition's distance is a triple (l0, l1, linf), got {d_in!r}")
        return d_in.total

    return Transformation(space, target, deterministic(together), stability)


@step
def join_public(
    space: Space, table: Mapping[Hashable, Mapping[str, Any]], *, on: str, columns: Frame
) -> Transformation:
    """Each row of a frame beside the public row its key names; rows without a partner are left out.

    Guarantee: distances do not grow: every private row meets at most one public row. `columns` describes the result.
    """
    if not isinstance(space.domain, Frame) or on not in space.domain.columns:
        raise SpaceMismatch(f"join_public needs a frame with column {on!r}, got {space.domain!r}")
    if isinstance(space.metric, ChangeOne):
        raise SpaceMismatch("rows without a partner are left out, so the size is no longer public; use add/remove")
    target = Space(columns, space.metric)

    def joined(data: Mapping[str, Any]) -> dict[str, list[Any]]:
        result: dict[str, list[Any]] = {name: [] for name in columns.columns}
        rows = zip(*(cells(data[name]) for name in data), strict=True)
        for row in (dict(zip(data, cells_, strict=True)) for cells_ in rows):
            partner = table.get(row[on])
            if partner is not None:
                for name in result:
                    result[name].append(partner[name] if name in partner else row[name])
        return result

    return Transformation(space, target, deterministic(joined), lambda d_in: plain(d_in))


@step
def truncate_rows(space: Space, *, rows: int) -> Transformation:
    """At most `rows` rows of each identifier, a uniformly random subset without replacement; identifiers with fewer keep all.

    Guarantee: from identifier distance d to symmetric distance 2·rows·d for changed people, rows·d for people added or removed
    (the larger is used): the subset of one identifier depends on its own rows alone.
    """
    most = integer(rows=rows, least=1)
    if not isinstance(space.domain, Frame) or not isinstance(space.metric, IdentifierDistance):
        raise SpaceMismatch(f"truncate_rows works on a frame under identifier distance, got {space!r}")
    who = space.metric.identifier
    target = Space(space.domain, SymmetricDistance())

    def limited(data: Mapping[str, Any], entropy: Entropy) -> dict[str, list[Any]]:
        from deniable.noise import sample_without_replacement

        places: dict[Any, list[int]] = {}
        for index, person in enumerate(cells(data[who])):
            places.setdefault(person, []).append(index)
        kept: list[int] = []
        for indices in places.values():
            chosen = (
                sample_without_replacement(len(indices), most, entropy) if len(indices) > most else range(len(indices))
            )
            kept += [indices[int(place)] for place in chosen]
        return {name: [cells(data[name])[index] for index in sorted(kept)] for name in data}

    return Transformation(space, target, limited, lambda d_in: 2 * most * plain(d_in))
