"""Splitting rows into groups by public keys, and putting groups together again.

Distances of a partition are triples (groups that differ, sum of their distances, largest), so that what follows can use
whichever bound serves it best.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from deniable.core import (
    L1,
    AbsoluteDistance,
    ChangeOne,
    Distance,
    Domain,
    Frame,
    Keyed,
    PartitionDistance,
    Rows,
    Space,
    SymmetricDistance,
    Transformation,
    Triple,
    plain,
    step,
    triple,
)
from deniable.core.cells import cells, entry, names_of, row_total
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import integer
from deniable.noise import Entropy, uniforms_below
from deniable.transformations.column_arrays import canonical, lists
from deniable.transformations.row_metrics import deterministic, rows_of


def public_keys(keys: Sequence[Hashable]) -> tuple[Hashable, ...]:
    """Distinct keys, at least one."""
    listed = tuple(keys)
    if not listed or len(set(listed)) != len(listed):
        raise InvalidArgument(f"keys must be distinct and at least one, got {keys!r}; they are public, never data")
    return listed


def grouped(space: Space, group: Domain, keys: tuple[Hashable, ...]) -> tuple[Space, Callable[[Distance], Distance]]:
    """A row belongs to one group: added or removed it moves that one; replaced it moves two, or one by two."""
    target = Space(Keyed(group, keys), PartitionDistance(SymmetricDistance()))
    match space.metric:
        case SymmetricDistance():
            return target, lambda d_in: Triple(plain(d_in), plain(d_in), plain(d_in))
        case ChangeOne():
            return target, lambda d_in: Triple(2 * plain(d_in), 2 * plain(d_in), 2 * plain(d_in))
        case _:
            raise SpaceMismatch(
                f"a partition compares rows without order or owner, got {space.metric!r}; forget the order with "
                "unordered(), bound each owner's rows with truncate_rows()"
            )


@step
def partition_by(
    space: Space, key: Callable[[Any], Hashable], *, keys: Sequence[Hashable], author: str
) -> Transformation:
    """Rows by the value of your own `key` of each row; rows with another key than the public `keys` are left out.

    Guarantee: (d, d, d) for d rows added or removed, (2d, 2d, 2d) for d rows replaced. `author` vouches that `key` looks at its
    row alone.
    """
    listed = public_keys(keys)
    element = rows_of(space, "partition_by").element
    target, stability = grouped(space, Rows(element), listed)

    def split(data: Any) -> dict[Hashable, list[Any]]:
        groups: dict[Hashable, list[Any]] = {each: [] for each in listed}
        for row in canonical(data, element):
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
    target, stability = grouped(space, Rows(rows_of(space, "partition_randomly").element), tuple(range(count)))

    def split(data: Any, entropy: Entropy) -> dict[Hashable, Any]:
        part = uniforms_below(count, row_total(data), entropy)
        if isinstance(data, np.ndarray):
            return {index: data[part == index] for index in range(count)}
        groups: dict[Hashable, list[Any]] = {index: [] for index in range(count)}
        for row, index in zip(cells(data), part.tolist(), strict=True):
            groups[index].append(row)
        return groups

    return Transformation(space, target, split, stability)


@step
def union(space: Space) -> Transformation:
    """All rows of all groups of a partition, or of several data sets under public names, in one data set.

    Guarantee: the distance of the whole is at most the sum of the groups' distances, l1.
    """
    domain = space.domain
    if not isinstance(domain, Keyed) or space.metric != PartitionDistance(SymmetricDistance()):
        raise SpaceMismatch(f"union works on a partition of rows or frames, got {space!r}")
    whole = domain.element
    if isinstance(whole, Frame):
        return _frames_together(space, whole)
    if not isinstance(whole, Rows):
        raise SpaceMismatch(f"union works on a partition of rows or frames, got {space!r}")
    target = Space(Rows(whole.element), SymmetricDistance())

    def together(data: Mapping[Hashable, Any]) -> list[Any]:
        return [row for key in names_of(data) for row in cells(entry(data, key, ()))]

    return Transformation(space, target, deterministic(together), lambda d_in: triple(d_in).total)


def _frames_together(space: Space, frame: Frame) -> Transformation:
    def together(data: Mapping[Hashable, Any]) -> dict[str, list[Any]]:
        parts = [lists(entry(data, key, {}), frame) for key in names_of(data)]
        return {name: [cell for part in parts for cell in part[name]] for name in frame.columns}

    target = Space(Frame(frame.columns), SymmetricDistance())
    return Transformation(space, target, deterministic(together), lambda d_in: triple(d_in).total)


@step
def in_total(space: Space) -> Transformation:
    """Numbers compared entry by entry (a triple) compared by their total instead: for what asks for L1, such as `noisy_tree`.

    Guarantee: the L1 distance is at most the triple's total, min(l1, l0·linf).
    """
    if not (isinstance(space.metric, PartitionDistance) and isinstance(space.metric.inner, AbsoluteDistance)):
        raise SpaceMismatch(f"in_total works on numbers compared by a partition distance, got {space!r}")
    target = Space(space.domain, L1())
    return Transformation(space, target, deterministic(lambda data: data), lambda d_in: triple(d_in).total)


def frame_columns(space: Space, who: str) -> Frame:
    """The frame of a space of frames; anything else is refused."""
    if not isinstance(space.domain, Frame):
        raise SpaceMismatch(f"{who} works on a frame, got {space.domain!r}")
    return space.domain
