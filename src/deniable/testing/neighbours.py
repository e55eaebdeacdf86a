"""Small data sets and their neighbours, all of them: what stability maps are tried against.

Private data never comes here; these are made from a handful of public values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from deniable.audit.neighbour_search import within
from deniable.core import Distance, Space, Transformation

__all__ = ["StabilityTrial", "data_sets", "neighbours", "try_stability", "within"]


def data_sets(values: Sequence[Any], *, sizes: Sequence[int]) -> list[list[Any]]:
    """Every list of these values with one of these sizes, in every order."""
    return [list(rows) for size in sizes for rows in product(values, repeat=size)]


def neighbours(space: Space, data: Sequence[Any], d_in: Distance) -> Iterator[tuple[Any, Any]]:
    """Every ordered pair of these data sets that is at most `d_in` apart."""
    for left in data:
        for right in data:
            if within(space.metric.distance(left, right, space.domain), d_in):
                yield left, right


@dataclass(frozen=True, slots=True)
class StabilityTrial:
    """What trying a stability map found: a pair that moved further than it says, and the furthest any pair moved."""

    broken: tuple[Any, Any] | None
    furthest: tuple[Distance, ...]


def try_stability(transformation: Transformation, data: Sequence[Any], d_in: Distance) -> StabilityTrial:
    """Run a deterministic transformation on all neighbours and compare with its map."""
    limit = transformation.stability_map(d_in)
    outputs = [transformation.steps(rows) for rows in data]
    source, target = transformation.source, transformation.target
    furthest: dict[Distance, None] = {}
    for i, left in enumerate(data):
        for j, right in enumerate(data):
            if not within(source.metric.distance(left, right, source.domain), d_in):
                continue
            moved = target.metric.distance(outputs[i], outputs[j], target.domain)
            furthest[moved] = None
            if not within(moved, limit):
                return StabilityTrial((left, right), tuple(furthest))
    return StabilityTrial(None, tuple(furthest))
