"""What every transformation of rows shares: which metrics count rows, and how a distance carries over."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Concatenate, ParamSpec

from deniable.core import (
    ChangeOne,
    Distance,
    Domain,
    Frame,
    Hamming,
    InsertDelete,
    Linear,
    Metric,
    Rows,
    Space,
    SymmetricDistance,
    Transformation,
    plain,
)
from deniable.core.distance import then
from deniable.errors import SpaceMismatch

P = ParamSpec("P")

UNSIZED = (SymmetricDistance, InsertDelete)
SIZED = (ChangeOne, Hamming)


def rows_of(space: Space, who: str) -> Rows:
    """The rows domain of a space of rows under a data-set metric; anything else is refused."""
    if not isinstance(space.domain, Rows) or not isinstance(space.metric, (*UNSIZED, *SIZED)):
        raise SpaceMismatch(f"{who} works on rows under a data-set metric, got {space!r}")
    return space.domain


same = Linear(Fraction(1))
"""The identity map."""


def times(factor: Fraction | int) -> Linear:
    """The map d -> factor · d."""
    return Linear(Fraction(factor))


def deterministic(function: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """A function of the data alone, as a transformation's function."""
    return lambda data, _: function(data)


def by_replacement(
    constructor: Callable[Concatenate[Space, P], Transformation],
) -> Callable[Concatenate[Space, P], Transformation]:
    """Where the size is public and rows are still counted as added and removed, both sides have as many rows: d of them are at most
    d // 2 replaced ones. For what ignores the order of rows."""

    @functools.wraps(constructor)
    def built(space: Space, /, *args: P.args, **kwargs: P.kwargs) -> Transformation:
        domain = space.domain
        if not isinstance(domain, Rows | Frame) or domain.size is None or not isinstance(space.metric, UNSIZED):
            return constructor(space, *args, **kwargs)
        inner = constructor(Space(domain, ChangeOne()), *args, **kwargs)
        halved = then(lambda d_in: Fraction(plain(d_in) // 2), inner.stability_map)
        return replace(inner, source=space, stability_map=halved)

    return built


def rowwise(space: Space, element: Domain, function: Callable[[Any], Any]) -> Transformation:
    """One output row for each input row, each from its own row alone: distances do not grow under any row metric."""
    domain = rows_of(space, "a row-by-row transformation")
    target = Space(Rows(element, domain.size), space.metric)
    return Transformation(space, target, deterministic(function), same)


def unsized(space: Space, element: Domain) -> tuple[Space, Callable[[Distance], Distance]]:
    """Where rows may be dropped: a known size is lost, so a replaced row counts as one removed and one added.

    Under Hamming the order of what remains is kept, so the insert-delete distance is bounded the same way.
    """
    metric: Metric
    match space.metric:
        case ChangeOne():
            metric, factor = SymmetricDistance(), 2
        case Hamming():
            metric, factor = InsertDelete(), 2
        case _:
            metric, factor = space.metric, 1
    return Space(Rows(element), metric), times(factor)


def row_change(metric: Metric, *, added: Fraction, replaced: Fraction) -> Linear:
    """How far a sum over rows moves: `added` for a row more or less, `replaced` for a row changed."""
    return times(replaced if isinstance(metric, SIZED) else added)
