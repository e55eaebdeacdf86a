"""Graphs as data: every map against all graphs of few nodes and all their neighbours, with planted faults; public networks too."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import comb

import pytest

from deniable import transformations as t
from deniable.audit.comparison import check_privacy
from deniable.core import (
    EdgeDistance,
    Graphs,
    Hamming,
    NodeDistance,
    Space,
    Texts,
    Triple,
    compositor,
    graphs,
    integers,
    rows,
)
from deniable.core.graph_data import read_graph
from deniable.cost import FREE
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.mechanisms import laplace
from deniable.testing.neighbours import data_sets, try_stability, within
from tests.laws.test_stability import _attained

ONE = Fraction(1)


def on(nodes: tuple[int, ...]) -> Iterator[dict]:
    """Every graph on these nodes."""
    pairs = list(combinations(nodes, 2))
    for kept in product((False, True), repeat=len(pairs)):
        yield {"nodes": list(nodes), "edges": [pair for pair, keep in zip(pairs, kept, strict=True) if keep]}


def without(graph: dict, node: int) -> dict:
    return {
        "nodes": [each for each in graph["nodes"] if each != node],
        "edges": [edge for edge in graph["edges"] if node not in edge],
    }


def by_node(size: int) -> list[tuple[dict, dict]]:
    """Every graph on at most `size` of as many nodes, with each of its neighbours that lack a node."""
    names = [part for count in range(1, size + 1) for part in combinations(range(size), count)]
    return [(graph, without(graph, node)) for nodes in names for graph in on(nodes) for node in nodes]


def by_edge(size: int) -> list[tuple[dict, dict]]:
    """Every graph on all nodes, with each of its neighbours that lack an edge."""
    return [
        (graph, {**graph, "edges": [other for other in graph["edges"] if other != edge]})
        for graph in on(tuple(range(size)))
        for edge in graph["edges"]
    ]


NODES5, EDGES5 = by_node(5), by_edge(5)
BY_NODE = [
    ("nodes", t.node_count()),
    *((f"edges, {d}", t.edge_count(degree=d)) for d in range(4)),
    *((f"degrees, {d}", t.degrees(degree=d)) for d in range(1, 4)),
    *((f"degree counts, {d}", t.degree_counts(degree=d)) for d in range(1, 4)),
    ("twice the edges", t.degree_total(values=[0, 1, 2])),
    ("pairs of edges", t.degree_total(values=[comb(k, 2) for k in range(4)])),
    ("lonely nodes", t.degree_total(values=[1, 0, 0])),
    ("a falling value", t.degree_total(values=[1, Fraction(-1, 2), Fraction(1, 3)])),
]


def furthest(built, pairs) -> tuple[list, object]:
    """Every distance seen between the outputs of neighbours, and a pair that moved further than the map says."""
    limit, seen, domain, outputs = built.stability_map(ONE), [], built.target.domain, {}

    def output(graph):
        name = _frozen(graph)
        if name not in outputs:
            outputs[name] = built.steps(graph)
        return outputs[name]

    for left, right in pairs:
        moved = built.target.metric.distance(output(left), output(right), domain)
        seen.append(moved)
        if not within(moved, limit):
            return seen, (left, right)
    return seen, None


@pytest.mark.parametrize(("name", "step"), BY_NODE, ids=[name for name, _ in BY_NODE])
def test_maps_hold_on_all_graphs_of_five_nodes(name, step):
    for space, pairs in ((graphs(), NODES5), (graphs(nodes=range(5)), EDGES5)):
        built = space >> step
        _, broken = furthest(built, pairs)
        assert broken is None, f"moved further than the map says: {broken}"


TIGHT_NAMES = {"nodes", "edges, 2", "degrees, 1", "degrees, 2", "degree counts, 2", "twice the edges", "lonely nodes"}
TIGHT = [each for each in BY_NODE if each[0] in TIGHT_NAMES]


@pytest.mark.parametrize(("name", "step"), TIGHT, ids=[name for name, _ in TIGHT])
def test_maps_are_attained(name, step):
    """No map by nodes is needlessly large: some pair of graphs uses all of it."""
    built = graphs() >> step
    seen, _ = furthest(built, NODES5)
    assert _attained(built.stability_map(ONE), seen), f"{built.stability_map(ONE)}: {set(seen)}"


@pytest.mark.parametrize(("name", "step"), TIGHT, ids=[name for name, _ in TIGHT])
def test_a_map_one_too_small_is_caught(name, step):
    built = graphs() >> step

    def smaller(d):
        honest = built.stability_map(d)
        return replace(honest, l1=honest.l1 - 1) if isinstance(honest, Triple) else honest - Fraction(1, 2)

    assert furthest(replace(built, stability_map=smaller), NODES5)[1] is not None


def test_a_naive_bounding_is_caught():
    """Planted: leaving out the nodes that have too many edges moves more edges than the map of the ordered bounding says."""
    built = graphs() >> t.edge_count(degree=1)

    def naive(data, _):
        degrees = read_graph(data, Graphs()).degrees()
        return sum(degrees[a] <= 1 and degrees[b] <= 1 for a, b in data["edges"])

    spider = {"nodes": list(range(7)), "edges": [(1, 2), (3, 4), (5, 6), (0, 1), (0, 3), (0, 5)]}
    pairs = [(spider, without(spider, 0))]
    assert furthest(built, pairs)[1] is None
    assert furthest(replace(built, function=naive), pairs)[1] is not None


def test_an_order_that_depends_on_others_is_caught():
    """Planted: edges kept in an order that the number of nodes decides move degrees further than the map says."""
    built = graphs() >> t.degrees(degree=1)
    honest = built.function

    def flipped(data, entropy):
        turn = {node: (-node if len(data["nodes"]) % 2 else node) for node in data["nodes"]}
        back = {named: node for node, named in turn.items()}
        edges = [(turn[a], turn[b]) for a, b in data["edges"]]
        return {back[n]: k for n, k in honest({"nodes": list(back), "edges": edges}, entropy).items()}

    assert furthest(replace(built, function=flipped), NODES5)[1] is not None


@pytest.mark.parametrize("step", [t.edge_count(degree=2), t.degrees(degree=1), t.degree_counts(degree=2)], ids=repr)
def test_maps_at_distance_two(step):
    """All pairs of graphs of four nodes within two nodes, or two edges, of one another; the metric finds them."""
    small = [graph for count in range(4) for nodes in combinations(range(4), count) for graph in on(nodes)]
    assert try_stability(graphs() >> step, small, Fraction(2)).broken is None
    assert try_stability(graphs(nodes=range(4)) >> step, list(on((0, 1, 2, 3))), Fraction(2)).broken is None


# Triangles ----------------------------------------------------------------------------------------------------------------


def _at_most(pairs, degree):
    return [pair for pair in pairs if all(graph in Graphs(degree=degree) for graph in pair)]


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_triangles_where_degrees_are_declared(degree):
    built = graphs(degree=degree) >> t.triangle_count()
    pairs = _at_most(NODES5, degree)
    seen, broken = furthest(built, pairs)
    assert broken is None
    assert max(seen) == built.stability_map(ONE) == comb(degree, 2)
    edges = graphs(nodes=range(5), degree=degree) >> t.triangle_count()
    seen, broken = furthest(edges, [pair for pair in EDGES5 if all(graph in edges.source.domain for graph in pair)])
    assert broken is None
    assert max(seen) == edges.stability_map(ONE)


def test_triangles_between_public_nodes():
    built = graphs(nodes=range(5)) >> t.triangle_count()
    seen, broken = furthest(built, EDGES5)
    assert broken is None
    assert max(seen) == built.stability_map(ONE) == 3
    assert furthest(replace(built, stability_map=lambda d: 2 * d), EDGES5)[1] is not None


def test_which_edges_a_bounding_keeps_is_not_stable():
    """Why `triangle_count` bounds nothing itself: one node more on a long path and every kept edge is another one."""
    path = {"nodes": list(range(1, 21)), "edges": [(k, k + 1) for k in range(1, 20)]}
    longer = {"nodes": list(range(21)), "edges": [(k, k + 1) for k in range(20)]}
    kept, others = (read_graph(graph, Graphs()).at_most(1).edges for graph in (path, longer))
    assert not kept & others
    assert (len(kept), len(others)) == (10, 10)


# The metrics --------------------------------------------------------------------------------------------------------------


def _walked(start, moves):
    """How many single moves everything is away, by breadth-first search."""
    near, waiting = {start: 0}, [start]
    for here in waiting:
        for there in moves(here):
            if there not in near:
                near[there] = near[here] + 1
                waiting.append(there)
    return near


def _frozen(graph):
    return frozenset(graph["nodes"]), frozenset(graph["edges"])


def _thawed(frozen):
    return {"nodes": sorted(frozen[0]), "edges": sorted(frozen[1])}


def test_the_node_distance_is_the_fewest_nodes_added_and_removed():
    every = [_frozen(graph) for count in range(4) for nodes in combinations(range(3), count) for graph in on(nodes)]
    lacking = {graph: {_frozen(without(_thawed(graph), node)) for node in graph[0]} for graph in every}

    def moves(graph):
        return lacking[graph] | {other for other in every if graph in lacking[other]}

    for left in every:
        walked = _walked(left, moves)
        assert all(graphs().distance(_thawed(left), _thawed(right)) == walked[right] for right in every)


def test_the_edge_distance_counts_edges():
    space = graphs(nodes="abc")
    left = {"nodes": list("abc"), "edges": [("a", "b")]}
    assert space.distance(left, {"nodes": list("cab"), "edges": [("b", "a"), ("c", "a")]}) == 1
    assert space.distance(left, left) == 0


def test_what_is_no_graph_is_read_as_the_graph_it_holds():
    odd = {
        "nodes": [1, 1.0, None, "a", [], object()],
        "edges": [(1, "a"), ("a", 1), (1, 1), (1, 9), 7, (1, None), {1: 2}],
    }
    graph = read_graph(odd, Graphs())
    assert graph.nodes == (1, "a")
    assert graph.edges == {(1, "a")}
    assert odd not in Graphs()
    assert {"nodes": [1, "a"], "edges": [("a", 1)]} in Graphs()
    assert {"nodes": [1], "edges": []} not in Graphs(nodes=(1, 2))
    assert read_graph(3, Graphs(nodes=(1, 2))).nodes == (1, 2)


def test_spaces_and_steps_refuse_what_does_not_fit():
    with pytest.raises(SpaceMismatch):
        Space(Graphs(), EdgeDistance())
    with pytest.raises(SpaceMismatch):
        Space(Graphs(nodes=(1, 2)), NodeDistance())
    with pytest.raises(InvalidArgument, match="different names"):
        graphs(nodes=[1, 1.0])
    with pytest.raises(InvalidArgument, match="any number of edges"):
        graphs() >> t.edge_count()
    with pytest.raises(InvalidArgument, match="any number of triangles"):
        graphs() >> t.triangle_count()
    with pytest.raises(InvalidArgument, match="needs a value"):
        graphs() >> t.degree_total(values=[])
    with pytest.raises(SpaceMismatch, match=r"graphs\("):
        rows(integers()) >> t.node_count()


def test_a_curator_hears_of_a_broken_promise_before_anything_is_asked():
    star = {"nodes": [0, 1, 2], "edges": [(0, 1), (0, 2)]}
    compositor(star, graphs(degree=2), costs=[FREE])
    with pytest.raises(InvalidArgument, match="at most 1 edge "):
        compositor(star, graphs(degree=1), costs=[FREE])
    with pytest.raises(InvalidArgument, match="no nodes and edges"):
        compositor([1, 2], graphs(), costs=[FREE])


def test_from_a_graph_to_an_answer():
    """The whole chain keeps its promise by its output law; with the map of edges where nodes are protected it does not."""
    star = {"nodes": [0, 1, 2], "edges": [(0, 1), (0, 2)]}
    chain = graphs() >> t.edge_count(degree=2) >> laplace(scale=2)
    assert check_privacy(chain, star, without(star, 0), tail=Fraction(1, 10**6)).kept
    careless = replace(graphs() >> t.edge_count(degree=2), stability_map=lambda d: d) >> laplace(scale=2)
    assert check_privacy(careless, star, without(star, 0), tail=Fraction(1, 10**6)).broken


# A public network over private values -----------------------------------------------------------------------------------------

PATH, STAR = [(0, 1), (1, 2)], [(0, 1), (2, 0), (0, 1)]
VALUES = rows(integers(lower=-1, upper=1), size=3, metric=Hamming())
FLAGS = integers(lower=0, upper=2)
NETWORKS = [
    t.neighbour_totals(edges=PATH),
    t.neighbour_totals(edges=STAR),
    t.neighbour_totals(edges=[]),
    t.total_over_edges(lambda a, b: a * b + 1, edges=PATH, to=FLAGS, default=0, author="test"),
    t.total_over_edges(lambda a, b: 1 // (a - b), edges=STAR, to=FLAGS, default=2, author="test"),
]


@pytest.mark.parametrize("step", NETWORKS, ids=range(len(NETWORKS)))
def test_sums_along_a_public_network(step):
    built, data = VALUES >> step, data_sets([-1, 0, 1], sizes=[3])
    for d in (1, 2, 3):
        assert try_stability(built, data, Fraction(d)).broken is None


@pytest.mark.parametrize(("step", "small"), [(NETWORKS[0], Triple(2 * ONE, 3 * ONE, 2 * ONE)), (NETWORKS[3], 3 * ONE)])
def test_a_forgotten_degree_is_caught(step, small):
    built, data = VALUES >> step, data_sets([-1, 0, 1], sizes=[3])
    honest = built.stability_map(ONE)
    assert honest == (Triple(2 * ONE, 4 * ONE, 2 * ONE) if isinstance(honest, Triple) else 4)
    assert try_stability(replace(built, stability_map=lambda d: small), data, ONE).broken is not None


def test_private_texts_on_a_public_network():
    """How often linked people write of the same thing; what a text holds moves only the edges of its author."""
    texts = rows(Texts(), size=4, metric=Hamming())
    links = [(0, 1), (1, 2), (2, 3), (1, 3)]
    both = texts >> t.total_over_edges(
        lambda a, b: int("rain" in a and "rain" in b),
        edges=links,
        to=integers(lower=0, upper=1),
        default=0,
        author="test",
    )
    assert both(["rain today", "no rain", "sun", "rain"]) == 2
    assert both.map(d_in=1) == 3
    assert both(["rain", None, 7]) == 0


def test_networks_refuse_what_does_not_fit():
    with pytest.raises(SpaceMismatch, match="places count"):
        rows(integers(lower=0, upper=1), size=3) >> t.neighbour_totals(edges=PATH)
    with pytest.raises(InvalidArgument, match="two different places"):
        VALUES >> t.neighbour_totals(edges=[(0, 0)])
    with pytest.raises(InvalidArgument, match="edges"):
        VALUES >> t.neighbour_totals(edges=[(0, 3)])
    with pytest.raises(SpaceMismatch, match="public bounds"):
        rows(integers(), size=3, metric=Hamming()) >> t.neighbour_totals(edges=PATH)
    with pytest.raises(SpaceMismatch, match="bounded grid"):
        rows(Texts(), size=3, metric=Hamming()) >> t.neighbour_totals(edges=PATH)
    with pytest.raises(InvalidArgument, match="default"):
        VALUES >> t.total_over_edges(min, edges=PATH, to=FLAGS, default=5, author="test")
