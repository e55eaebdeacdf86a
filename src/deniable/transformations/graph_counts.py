"""Counts of a graph: nodes, edges, degrees, sums over degrees, triangles.

Between graphs that differ by a node any number of edges may differ. So where nodes are private a count of edges looks at a graph
whose degrees were bounded first, by the domain or here; the bounding is stable in degrees, which is what these counts depend on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from math import comb, lcm
from typing import Any

from deniable.core import (
    AbsoluteDistance,
    Distance,
    EdgeDistance,
    Graphs,
    Keyed,
    Lattice,
    NodeDistance,
    PartitionDistance,
    Space,
    Transformation,
    Triple,
    Vectors,
    plain,
    step,
)
from deniable.core.graph_data import GraphData, read_graph
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, integer, rational
from deniable.transformations.row_metrics import deterministic, times

_NUMBER = Space(Lattice(Fraction(1), 0), AbsoluteDistance())


@dataclass(frozen=True, slots=True)
class BoundedGraph:
    """Graphs of a domain with no more than `degree` edges at a node, and whether nodes or edges are protected."""

    domain: Graphs
    degree: int
    by_node: bool

    def read(self, data: Any) -> GraphData:
        """The graph, with its degrees bounded where the domain does not bound them."""
        graph, declared = read_graph(data, self.domain), self.domain.degree
        return graph if declared is not None and declared <= self.degree else graph.at_most(self.degree)


def _graph(space: Space, who: str) -> Graphs:
    if not isinstance(space.domain, Graphs) or not isinstance(space.metric, NodeDistance | EdgeDistance):
        raise SpaceMismatch(f"{who} works on graphs, got {space!r}; start with graphs(...)")
    return space.domain


def _bounded(space: Space, degree: int | None, who: str) -> BoundedGraph:
    domain = _graph(space, who)
    limits = [] if degree is None else [integer(degree=degree, least=0)]
    limits += [] if domain.degree is None else [domain.degree]
    limits += [] if domain.nodes is None else [max(len(domain.nodes) - 1, 0)]
    if not limits:
        raise InvalidArgument(f"a node may have any number of edges here; bound them with {who}(degree=...)")
    return BoundedGraph(domain, min(limits), isinstance(space.metric, NodeDistance))


@step
def node_count(space: Space) -> Transformation:
    """The number of nodes.

    Guarantee: one added or removed node moves it by one; where nodes are public it does not move.
    """
    domain = _graph(space, "node_count")
    factor = 1 if isinstance(space.metric, NodeDistance) else 0
    return Transformation(
        space, _NUMBER, deterministic(lambda data: len(read_graph(data, domain).nodes)), times(factor)
    )


@step
def edge_count(space: Space, *, degree: int | None = None) -> Transformation:
    """The number of edges, of a graph whose nodes keep at most `degree` of them.

    Guarantee: one added or removed edge moves it by one; one added or removed node, with all its edges, by at most `degree`.
    """
    bounded = _bounded(space, degree, "edge_count")
    factor = bounded.degree if bounded.by_node else 1
    return Transformation(space, _NUMBER, deterministic(lambda data: len(bounded.read(data).edges)), times(factor))


@step
def degrees(space: Space, *, degree: int | None = None) -> Transformation:
    """How many edges each node has, in a graph whose nodes keep at most `degree` of them. The names of private nodes stay private.

    Guarantee: as a triple (nodes, total, largest): (D + 1, 2D, D) for a node added or removed, D being `degree`, and (2, 2, 2) for
    an edge; all but the largest grow with the distance.
    """
    bounded = _bounded(space, degree, "degrees")
    most = Fraction(bounded.degree)
    target = Space(
        Keyed(Lattice(Fraction(1), 0, bounded.degree), bounded.domain.nodes), PartitionDistance(AbsoluteDistance())
    )

    def counted(data: Any) -> dict[Hashable, int]:
        return bounded.read(data).degrees()

    def stability(d_in: Distance) -> Distance:
        d = plain(d_in)
        if bounded.by_node:
            return Triple((most + 1) * d, 2 * most * d, most * min(d, Fraction(1)))
        return Triple(2 * d, 2 * d, min(2 * d, most))

    return Transformation(space, target, deterministic(counted), stability)


@step
def degree_counts(space: Space, *, degree: int | None = None) -> Transformation:
    """How many nodes have 0, 1, ... `degree` edges, as a vector, in a graph whose nodes keep at most so many.

    Guarantee: as a triple (counts, total, largest): (D + 1, 2D + 1, D + 1) for a node added or removed, D being `degree`, and
    (4, 4, 2) for an edge.
    """
    bounded = _bounded(space, degree, "degree_counts")
    bins = Fraction(bounded.degree + 1)
    target = Space(Vectors(Lattice(Fraction(1), 0), bounded.degree + 1), PartitionDistance(AbsoluteDistance()))

    def counted(data: Any) -> list[int]:
        found = Counter(bounded.read(data).degrees().values())
        return [found[degree] for degree in range(bounded.degree + 1)]

    def stability(d_in: Distance) -> Distance:
        d, total = plain(d_in), 2 * bounded.degree + 1 if bounded.by_node else 4
        return Triple(min(bins, total * d), total * d, (bins if bounded.by_node else 2) * d)

    return Transformation(space, target, deterministic(counted), stability)


@step
def degree_total(space: Space, *, values: Sequence[Real]) -> Transformation:
    """The sum over all nodes of a public value of their degree: `values[k]` for a node with k edges, in a graph whose nodes keep at
    most len(values) - 1 of them. With k over two it counts pairs of edges that meet, with 1, 0, 0, ... lonely nodes.

    Guarantee: a node added or removed moves it by at most the largest |values[k]| + k·s, s being the largest step from one value to
    the next; an edge by at most 2s.
    """
    exact = [rational(values=value) for value in values]
    if not exact:
        raise InvalidArgument("degree_total needs a value for nodes without edges at least, got none")
    bounded = _bounded(space, len(exact) - 1, "degree_total")
    exact = exact[: bounded.degree + 1]
    unit = Fraction(1, lcm(*(value.denominator for value in exact)))
    worth = [int(value / unit) for value in exact]
    steepest = max((abs(b - a) for a, b in pairwise(exact)), default=Fraction(0))
    moved = max(abs(value) + k * steepest for k, value in enumerate(exact)) if bounded.by_node else 2 * steepest

    def summed(data: Any) -> int:
        return sum(worth[degree] for degree in bounded.read(data).degrees().values())

    return Transformation(space, Space(Lattice(unit), AbsoluteDistance()), deterministic(summed), times(moved))


@step
def triangle_count(space: Space) -> Transformation:
    """The number of triangles: three nodes with an edge between every two of them.

    Guarantee: where the space declares at most D edges at a node, one added or removed node moves it by at most D over two,
    one edge by at most D - 1; where nodes are public one edge moves it by at most their number less two. Degrees cannot be bounded
    here as for `edge_count`: which edges a bounding keeps may change all over the graph.
    """
    domain = _graph(space, "triangle_count")
    if isinstance(space.metric, NodeDistance):
        if domain.degree is None:
            raise InvalidArgument(
                "a node may be in any number of triangles here; declare how many edges a node has at most: graphs(degree=...)"
            )
        moved = comb(domain.degree, 2)
    else:
        assert domain.nodes is not None
        limits = [len(domain.nodes) - 2, *([] if domain.degree is None else [domain.degree - 1])]
        moved = max(0, min(limits))
    return Transformation(
        space, _NUMBER, deterministic(lambda data: _triangles(read_graph(data, domain))), times(moved)
    )


def _triangles(graph: GraphData) -> int:
    """Every triangle is found once at each of its corners."""
    near = graph.neighbours()
    corners = sum(1 for around in near.values() for one, other in combinations(around, 2) if other in near[one])
    return corners // 3
