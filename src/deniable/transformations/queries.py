"""Queries made of others: the largest of several numbers, and how far the data is from public data sets."""

from __future__ import annotations

from fractions import Fraction
from math import gcd
from typing import Any

from deniable.core import (
    AbsoluteDistance,
    Distance,
    Frame,
    IdentifierDistance,
    Lattice,
    Rows,
    Space,
    Step,
    Transformation,
    plain,
    step,
)
from deniable.core.cells import cells, table
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.noise import Entropy
from deniable.transformations.row_metrics import SIZED, UNSIZED, deterministic, same


@step
def largest_of(space: Space, *queries: Step[Transformation]) -> Transformation:
    """The largest of several numbers computed from the same data: `largest_of(count(), count_distinct())`.

    Guarantee: it moves by at most the largest of what its queries move by.
    """
    built = [query.build(space) for query in queries]
    if not built:
        raise InvalidArgument("largest_of needs at least one query, got none")
    unit = _common([_lattice(each).step for each in built])
    factors = [int(_lattice(each).step / unit) for each in built]

    def largest(data: Any, entropy: Entropy) -> int:
        answers = (each.function(data, entropy) for each in built)
        return max(int(answer) * factor for answer, factor in zip(answers, factors, strict=True))

    def stability(d_in: Distance) -> Distance:
        return max(plain(each.stability_map(d_in)) for each in built)

    claims = tuple(dict.fromkeys(claim for each in built for claim in each.claims))
    return Transformation(space, Space(Lattice(unit), AbsoluteDistance()), largest, stability, claims)


def _lattice(query: Transformation) -> Lattice:
    domain = query.target.domain
    if not isinstance(domain, Lattice) or domain.missing or not isinstance(query.target.metric, AbsoluteDistance):
        raise SpaceMismatch(f"largest_of compares single numbers on a grid, got {query.target!r}")
    return domain


def _common(steps: list[Fraction]) -> Fraction:
    """The widest grid that holds all these grids."""
    unit = steps[0]
    for each in steps[1:]:
        unit = Fraction(
            gcd(unit.numerator * each.denominator, each.numerator * unit.denominator),
            unit.denominator * each.denominator,
        )
    return unit


@step
def distance_to(space: Space, *data_sets: Any) -> Transformation:
    """How many units must change before the data is one of these public data sets: the least of the distances to them.

    Guarantee: distances do not grow: it moves by at most one for each unit, by the triangle inequality.
    """
    domain, metric = space.domain, space.metric
    if not isinstance(domain, Rows | Frame) or not isinstance(metric, (*UNSIZED, *SIZED, IdentifierDistance)):
        raise SpaceMismatch(f"distance_to works on rows or a frame under a data-set metric, got {space!r}")
    if not data_sets or any(each not in domain for each in data_sets):  # public, so it may raise
        raise InvalidArgument(f"give at least one public data set, each a member of {domain!r}")

    def nearest(data: Any) -> int:
        rows = table(data, domain.columns) if isinstance(domain, Frame) else cells(data)
        return min(int(plain(metric.distance(rows, each, domain))) for each in data_sets)

    return Transformation(space, Space(Lattice(Fraction(1), 0), AbsoluteDistance()), deterministic(nearest), same)
