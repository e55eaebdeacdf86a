"""Graphs as data: what a simple undirected graph is here, how it is read from any value, how its degrees are bounded, and how far
apart two graphs are, by nodes with all their edges or by edges alone.

A value is a mapping with `nodes` and `edges`, a list of names and a list of pairs of them. Whatever else stands there is no node
and no edge: a name that can be no key, an edge to a node that is not listed, an edge from a node to itself, an edge told twice.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from deniable.core.cells import cells, entry, key, parts, public_rank
from deniable.errors import InvalidArgument
from deniable.exact.guards import integer

if TYPE_CHECKING:
    from deniable.core.distance import Distance
    from deniable.core.domain import Domain


Edge: TypeAlias = tuple[Hashable, Hashable]
"""Two different nodes, in public order."""


@dataclass(frozen=True, slots=True)
class Graphs:
    """Simple undirected graphs. `nodes` when they are public, `degree` when it is public that no node has more edges."""

    nodes: tuple[Hashable, ...] | None = None
    degree: int | None = None

    def __post_init__(self) -> None:
        if self.nodes is not None:
            names = tuple(key(node) for node in self.nodes)
            if None in names or len(set(names)) != len(names):
                raise InvalidArgument(
                    f"public nodes must be different names (texts, numbers, dates), got {self.nodes!r}"
                )
            object.__setattr__(self, "nodes", names)
        if self.degree is not None:
            integer(degree=self.degree, least=0)

    def __contains__(self, value: Any) -> bool:
        try:
            return self._holds(value)
        except Exception:
            return False

    def _holds(self, value: Any) -> bool:
        if not isinstance(value, Mapping) or set(value) != {"nodes", "edges"}:
            return False
        graph, names, edges = read_graph(value, Graphs(self.nodes)), cells(value["nodes"]), cells(value["edges"])
        listed = {key(node) for node in names}
        if len(listed) != len(names) or listed != set(graph.nodes) or len(edges) != len(graph.edges):
            return False
        return self.degree is None or all(degree <= self.degree for degree in graph.degrees().values())


@dataclass(frozen=True, slots=True)
class GraphData:
    """A graph as it was read: its nodes in public order, and its edges."""

    nodes: tuple[Hashable, ...]
    edges: frozenset[Edge]

    def degrees(self) -> dict[Hashable, int]:
        """How many edges each node has."""
        found = dict.fromkeys(self.nodes, 0)
        for one, other in self.edges:
            found[one] += 1
            found[other] += 1
        return found

    def neighbours(self) -> dict[Hashable, set[Hashable]]:
        """The nodes that each node has an edge to."""
        found: dict[Hashable, set[Hashable]] = {node: set() for node in self.nodes}
        for one, other in self.edges:
            found[one].add(other)
            found[other].add(one)
        return found

    def at_most(self, degree: int) -> GraphData:
        """Its edges one after another in public order, each kept while both its ends still have fewer than `degree` of them.

        What this does to degrees between neighbours is bounded (`docs/theory/graphs.md`); the kept edges may differ everywhere.
        """
        room = dict.fromkeys(self.nodes, degree)
        kept: list[Edge] = []
        for one, other in sorted(self.edges, key=public_rank):
            if room[one] > 0 and room[other] > 0:
                room[one] -= 1
                room[other] -= 1
                kept.append((one, other))
        return GraphData(self.nodes, frozenset(kept))


def read_graph(data: Any, domain: Graphs) -> GraphData:
    """The graph that a value holds, a member of the domain whatever the value is."""
    nodes = domain.nodes if domain.nodes is not None else _names(cells(entry(data, "nodes", ())))
    present = frozenset(nodes)
    ends = (_edge(pair) for pair in cells(entry(data, "edges", ())))
    graph = GraphData(nodes, frozenset(edge for edge in ends if edge is not None and present.issuperset(edge)))
    return graph if domain.degree is None else graph.at_most(domain.degree)


def _names(given: Iterable[Any]) -> tuple[Hashable, ...]:
    found = {name for name in map(key, given) if name is not None}
    return tuple(sorted(found, key=public_rank))


def _edge(pair: Any) -> Edge | None:
    """Two different names in public order, or None for what is no edge."""
    ends = [] if isinstance(pair, Mapping) else [key(end) for end in parts(pair)]
    if len(ends) != 2 or ends[0] is None or ends[1] is None or ends[0] == ends[1]:
        return None
    one, other = sorted((ends[0], ends[1]), key=public_rank)
    return one, other


@dataclass(frozen=True, slots=True)
class EdgeDistance:
    """Edges to add plus edges to remove, between graphs on the same public nodes: what protects one relation."""

    def fits(self, domain: Domain) -> bool:
        return isinstance(domain, Graphs) and domain.nodes is not None

    def distance(self, left: Any, right: Any, domain: Domain) -> Distance:
        assert isinstance(domain, Graphs)
        return Fraction(len(read_graph(left, domain).edges ^ read_graph(right, domain).edges))


@dataclass(frozen=True, slots=True)
class NodeDistance:
    """Nodes to add plus nodes to remove, each with all its edges: what protects one person. Whose edges changed was removed and
    added: 2."""

    def fits(self, domain: Domain) -> bool:
        return isinstance(domain, Graphs) and domain.nodes is None

    def distance(self, left: Any, right: Any, domain: Domain) -> Distance:
        assert isinstance(domain, Graphs)
        one, other = read_graph(left, domain), read_graph(right, domain)
        both = frozenset(one.nodes) & frozenset(other.nodes)
        changed = [edge for edge in one.edges ^ other.edges if both.issuperset(edge)]
        return Fraction(len(frozenset(one.nodes) ^ frozenset(other.nodes)) + 2 * fewest_touching(changed))


def fewest_touching(edges: Iterable[Edge]) -> int:
    """The fewest nodes that touch all these edges (a smallest vertex cover): one end or the other of any edge is among them.

    Exponential in the answer; for study, where data sets are small."""
    left = list(edges)
    if not left:
        return 0
    return 1 + min(fewest_touching(edge for edge in left if end not in edge) for end in left[0])
