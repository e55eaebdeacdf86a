"""A public network over private values: who is linked to whom everyone may know, what stands at a node nobody may.

Row i belongs to node i. The rows have a public number and are compared place by place (`Hamming`): one person's text changes one
row, and through the network every sum that this row takes part in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import ceil
from typing import Any

from deniable.core import (
    AbsoluteDistance,
    Distance,
    Hamming,
    Lattice,
    PartitionDistance,
    Rows,
    Space,
    Transformation,
    Triple,
    Vectors,
    plain,
    step,
)
from deniable.core.cells import cells
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import integer
from deniable.transformations.column_arrays import canonical, steps
from deniable.transformations.row_metrics import deterministic


@step
def total_over_edges(
    space: Space,
    function: Callable[[Any, Any], Any],
    *,
    edges: Iterable[Sequence[int]],
    to: Lattice,
    default: int,
    author: str,
) -> Transformation:
    """The sum over public `edges` (i, j) of your own function of what stands at both ends, a whole number of the bounded grid `to`.
    Where the function raises or leaves `to` the edge counts `default`.

    Guarantee: d changed rows move it by at most the width of `to` for every edge they can touch: as many as the d best linked nodes
    have together, and never more than there are. `author` vouches that `function` keeps no state and looks at nothing else.
    """
    domain, pairs = _placed(space, edges, "total_over_edges")
    low, high = _ends(to, "total_over_edges")
    if default not in to:  # public, so it may raise
        raise InvalidArgument(f"default must be a member of {to!r}, got {default!r}")
    width, touched = (high - low) * to.step, _touched(pairs)

    def one(left: Any, right: Any) -> int:
        try:
            value = function(left, right)
        except Exception:
            return default
        return int(value) if value in to else default

    def summed(data: Any) -> int:
        found = _cells(data, domain)
        return sum(one(found[i], found[j]) for i, j in pairs)

    def stability(d_in: Distance) -> Distance:
        return width * min(touched(d_in), Fraction(len(pairs)))

    claims = (f"{author}: {getattr(function, '__name__', 'function')}",)
    target = Space(Lattice(to.step), AbsoluteDistance())
    return Transformation(space, target, deterministic(summed), stability, claims)


@step
def neighbour_totals(space: Space, *, edges: Iterable[Sequence[int]]) -> Transformation:
    """For every node the sum of its neighbours' values along public `edges` (i, j), as a vector.

    Guarantee: as a triple (nodes, total, largest) for d changed rows of width w: as many nodes as the d best linked nodes have
    neighbours, w for each of these, and at most w for each changed neighbour of one node.
    """
    domain, pairs = _placed(space, edges, "neighbour_totals")
    element = domain.element
    if not isinstance(element, Lattice):
        raise SpaceMismatch(f"neighbour_totals adds numbers on a bounded grid, got {element!r}")
    low, high = _ends(element, "neighbour_totals")
    size, width, touched = domain.size or 0, (high - low) * element.step, _touched(pairs)
    most = max(Counter(end for pair in pairs for end in pair).values(), default=0)

    def summed(data: Any) -> list[int]:
        values, totals = _cells(data, domain), [0] * size
        for i, j in pairs:
            totals[i] += values[j]
            totals[j] += values[i]
        return totals

    def stability(d_in: Distance) -> Distance:
        reached = touched(d_in)
        return Triple(min(Fraction(size), reached), width * reached, width * min(plain(d_in), Fraction(most)))

    target = Space(Vectors(Lattice(element.step), size), PartitionDistance(AbsoluteDistance()))
    return Transformation(space, target, deterministic(summed), stability)


def _placed(space: Space, edges: Iterable[Sequence[int]], who: str) -> tuple[Rows, list[tuple[int, int]]]:
    """The rows of a public number of nodes, and the network between their places; edges told twice count once."""
    domain = space.domain
    if not isinstance(domain, Rows) or domain.size is None or not isinstance(space.metric, Hamming):
        raise SpaceMismatch(
            f"{who} works on one row for each node: rows(..., size=..., metric=Hamming()), whose places count; got {space!r}"
        )
    found: dict[tuple[int, int], None] = {}
    for edge in edges:
        if len(edge) != 2 or edge[0] == edge[1]:
            raise InvalidArgument(f"an edge joins two different places, got {edge!r}")
        one, other = sorted(integer(edges=end, least=0, greatest=domain.size - 1) for end in edge)
        found[one, other] = None
    return domain, list(found)


def _ends(lattice: Lattice, who: str) -> tuple[int, int]:
    if lattice.lower is None or lattice.upper is None or lattice.missing:
        raise SpaceMismatch(f"{who} needs whole numbers between public bounds without missing ones, got {lattice!r}")
    return lattice.lower, lattice.upper


def _touched(pairs: Sequence[tuple[int, int]]) -> Callable[[Distance], Fraction]:
    """How many ends of edges lie at the d best linked nodes."""
    linked = sorted(Counter(end for pair in pairs for end in pair).values(), reverse=True)
    return lambda d_in: Fraction(sum(linked[: ceil(plain(d_in))]))


def _cells(data: Any, domain: Rows) -> list[Any]:
    """What stands at each node, exactly as many as there are nodes."""
    element, size = domain.element, domain.size or 0
    given = cells(data)[:size]
    given += [None] * (size - len(given))
    if isinstance(element, Lattice) and not element.missing:
        return list(steps(given, element).tolist())
    return canonical(given, element)
