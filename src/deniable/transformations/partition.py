"""Splitting rows into groups by public keys, working in each group, and putting groups together again.

Distances of a partition are triples (groups that differ, sum of their distances, largest), so that what follows can use
whichever bound serves it best.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, get_args

import numpy as np

from deniable.core import (
    L1,
    AbsoluteDistance,
    ChangeOne,
    Distance,
    Domain,
    Frame,
    Keyed,
    Linear,
    PartitionDistance,
    Rows,
    Space,
    Step,
    SymmetricDistance,
    Transformation,
    Triple,
    plain,
    step,
    triple,
)
from deniable.core.metric import GroupMetric
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import integer
from deniable.noise import Entropy, uniforms_below
from deniable.transformations.reading import canonical, cells
from deniable.transformations.rows import deterministic, rows_of


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
        part = uniforms_below(count, len(data), entropy)
        if isinstance(data, np.ndarray):
            return {index: data[part == index] for index in range(count)}
        groups: dict[Hashable, list[Any]] = {index: [] for index in range(count)}
        for row, index in zip(cells(data), part.tolist(), strict=True):
            groups[index].append(row)
        return groups

    return Transformation(space, target, split, stability)


@step
def in_each(space: Space, inner: Step[Transformation]) -> Transformation:
    """The same transformation in every group of a partition: `in_each(clamp(lower=0, upper=1) >> total())`.

    Guarantee: the groups that differ stay the same, and each moves by at most the inner map of the largest distance. The sum of
    the distances grows by c where the inner map is known to be d -> c·d (`Linear`); else it is at most groups times largest.
    """
    if not isinstance(space.domain, Keyed) or not isinstance(space.metric, PartitionDistance):
        raise SpaceMismatch(f"in_each works on a partition, got {space!r}")
    built = inner.build(Space(space.domain.element, space.metric.inner))
    metric = built.target.metric
    if not isinstance(metric, get_args(GroupMetric)):
        raise SpaceMismatch(
            f"each group's result must be a number or rows, compared by a plain distance, got {metric!r}"
        )
    if plain(built.stability_map(Fraction(0))):
        raise SpaceMismatch("in_each needs a map that is zero at zero: groups that did not change must not move")
    target = Space(Keyed(built.target.domain, space.domain.keys), PartitionDistance(metric))

    def each(data: Mapping[Hashable, Any], entropy: Entropy) -> dict[Hashable, Any]:
        return {key: built.function(rows, entropy) for key, rows in data.items()}

    return Transformation(space, target, each, _each_map(built), built.claims)


def _each_map(built: Transformation) -> Callable[[Distance], Distance]:
    inner = built.stability_map

    def stability(d_in: Distance) -> Distance:
        apart = triple(d_in)
        largest = plain(inner(apart.linf))
        total = plain(inner(apart.l1)) if isinstance(inner, Linear) else apart.l0 * largest
        return Triple(apart.l0, min(total, apart.l0 * largest), largest)

    return stability


@step
def union(space: Space) -> Transformation:
    """All rows of all groups of a partition, or of several data sets under public names, in one data set.

    Guarantee: the distance of the whole is at most the sum of the groups' distances, l1.
    """
    domain = space.domain
    if (
        not isinstance(domain, Keyed)
        or not isinstance(domain.element, Rows)
        or space.metric != PartitionDistance(SymmetricDistance())
    ):
        raise SpaceMismatch(f"union works on a partition of rows, got {space!r}")
    target = Space(Rows(domain.element.element), SymmetricDistance())

    def together(data: Mapping[Hashable, Any]) -> list[Any]:
        return [row for key in data for row in cells(data[key])]

    return Transformation(space, target, deterministic(together), lambda d_in: triple(d_in).total)


@step
def in_total(space: Space) -> Transformation:
    """Numbers compared entry by entry (a triple) compared by their total instead: for what asks for L1, such as `noisy_tree`.

    Guarantee: the L1 distance is at most the triple's total, min(l1, l0·linf).
    """
    if space.metric != PartitionDistance(AbsoluteDistance()):
        raise SpaceMismatch(f"in_total works on numbers compared by a partition distance, got {space!r}")
    target = Space(space.domain, L1())
    return Transformation(space, target, deterministic(lambda data: data), lambda d_in: triple(d_in).total)


def frame_columns(space: Space, who: str) -> Frame:
    """The frame of a space of frames; anything else is refused."""
    if not isinstance(space.domain, Frame):
        raise SpaceMismatch(f"{who} works on a frame, got {space.domain!r}")
    return space.domain
