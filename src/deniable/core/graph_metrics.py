"""How far apart two graphs are: by nodes, each with all its edges, or by edges alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from deniable.core.graph_data import Edge, Graphs, read_graph

if TYPE_CHECKING:
    from deniable.core.distance import Distance
    from deniable.core.domain import Domain


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
