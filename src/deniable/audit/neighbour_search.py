"""Small neighbouring data sets of a space, made from its public facts: where an audit looks when nobody says where.

Edge values first: bounds, zero, one, missing, NaN, infinities; nobody, one row, duplicates, a row more. What is found here refutes;
that nothing is found here proves nothing about other data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from deniable.core.distance import Distance, Root, Triple, distance
from deniable.core.domain import Anything, Booleans, Categories, Keyed, Lattice, Numbers, Pieces, Rows, Texts, Vectors
from deniable.core.space import Space
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer

_VALUES, _MOST = 5, 12


def small_neighbours(
    space: Space, *, d_in: Distance | Real | tuple[Real, Real, Real] = 1, most: int = _MOST
) -> list[tuple[Any, Any]]:
    """At most so many pairs of small data sets of this space that are no further apart than `d_in`, edges first."""
    limit, count = distance(d_in), integer(most=most, least=1)
    found: list[tuple[Any, Any]] = []
    for left, right in combinations(list(_data_sets(space.domain)), 2):
        if repr(left) != repr(right) and _near(space, left, right, limit):
            found.append((left, right))
    if not found:
        raise InvalidArgument(
            f"no small neighbours are known in {space.domain!r} with {space.metric!r}: give neighbours=(left, right)"
        )
    step = max(1, len(found) // count)
    return found[::step][:count]


def _near(space: Space, left: Any, right: Any, limit: Distance) -> bool:
    if left not in space.domain or right not in space.domain:
        return False
    try:
        return within(space.metric.distance(left, right, space.domain), limit)
    except (TypeError, ValueError, OverflowError, InvalidArgument):
        return False


def edge_values(domain: Any) -> list[Any]:
    """The values of a domain worth trying, the oddest among them; none of a domain that is not known here."""
    match domain:
        case Lattice(_, lower, upper, missing):
            ends: list[Any] = [each for each in (upper, lower) if each is not None]
            tried: list[Any] = [*ends, 0, 1, -1, *([None] if missing else [])]
        case Numbers(lower, upper, missing):
            ends = [float(each) for each in (upper, lower) if each is not None]
            tried = [*ends, *([math.nan, math.inf, None] if missing else []), 0.0, 1.0, -1.0]
        case Booleans(missing):
            tried = [True, False, *([None] if missing else [])]
        case Categories(values):
            tried = [values[0], values[-1], *values[1:2]]
        case Texts(missing):
            tried = ["a", "b", *([None] if missing else [])]
        case Anything():
            tried = ["a", "b"]
        case Vectors(element, length):
            tried = [[value] * length for value in edge_values(element)]
        case _:
            tried = []
    kept = {repr(value): value for value in tried if value in domain}
    return list(kept.values())[:_VALUES]


def _data_sets(domain: Any) -> Iterator[Any]:
    match domain:
        case Rows(element, size):
            values = edge_values(element)
            for shape in (0, 1, 2, 3) if size is None else (size,):
                yield from _lists(values, shape)
        case Pieces(element):
            yield from _lists(edge_values(element), 2)
        case Vectors(element, length):
            yield from _lists(edge_values(element), length)
        case Keyed(element, keys):
            for names in ((), ("a",), ("a", "b")) if keys is None else (keys,):
                yield from (dict(zip(names, cells, strict=True)) for cells in _lists(edge_values(element), len(names)))
        case _:
            yield from edge_values(domain)


def _lists(values: list[Any], size: int) -> Iterator[list[Any]]:
    """All alike, and all alike but the last."""
    if size == 0:
        yield []
        return
    for value in values:
        yield [value] * size
    if size > 1:
        for value in values:
            yield from ([value] * (size - 1) + [other] for other in values if repr(other) != repr(value))


def within(apart: Distance, limit: Distance) -> bool:
    """Is one distance at most another of the same kind?"""
    if isinstance(apart, Triple) and isinstance(limit, Triple):
        return apart <= limit
    if isinstance(apart, Root) or isinstance(limit, Root):
        return bool(_square(apart) <= _square(limit))
    return bool(apart <= limit)  # type: ignore[operator]


def _square(d: Distance) -> Any:
    return d.square if isinstance(d, Root) else d * d  # type: ignore[operator]
