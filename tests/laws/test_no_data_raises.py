"""What is in the data never raises: every public mechanism and transformation, over a zoo of cells, through a compositor.

The constructors are found by walking `dp.calculus`; one without a case here, or in the tables this file borrows, fails the last
test. Each runs on good data with one odd cell in every place, and on odd cells alone.
"""

import decimal
import warnings
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import deniable as dp
from deniable import mechanisms as m
from deniable import transformations as t
from deniable.core import (
    L2,
    Anything,
    Booleans,
    Categories,
    ChangeOne,
    Domain,
    Frame,
    Frames,
    Graphs,
    Hamming,
    InsertDelete,
    Keyed,
    Lattice,
    Mechanism,
    Numbers,
    Rows,
    Space,
    SymmetricDistance,
    Texts,
    Transformation,
    Vectors,
    frame,
    frames,
    graphs,
    integers,
    numbers,
    own_mechanism,
    rows,
)
from deniable.cost import FREE
from deniable.errors import InvalidArgument
from deniable.noise import system_entropy
from tests.laws.test_every_mechanism import CASES as MECHANISMS
from tests.laws.test_every_mechanism import NO_MECHANISM, Stream
from tests.laws.test_stability import CASES, SIZED_ONLY, UNSIZED_ONLY


class Hostile:
    """Every question is answered by an error."""

    def _fail(self, *_: Any) -> Any:
        raise RuntimeError("a hostile cell")

    __eq__ = __ne__ = __hash__ = __float__ = __int__ = __index__ = __len__ = __iter__ = __bool__ = __lt__ = _fail
    __repr__ = __str__ = __getitem__ = __contains__ = __array__ = __getattr__ = _fail


class BadText(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("a hostile text")

    def __hash__(self) -> int:
        raise RuntimeError("a hostile text")


class Partial:
    """Hashes alike and refuses to be compared."""

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        raise ValueError("incomparable")

    def __float__(self) -> float:
        raise KeyError("no number")


LOOP: list[Any] = []
LOOP.append(LOOP)
ZOO = [
    None, float("nan"), float("inf"), float("-inf"), -0.0, True, 10**400, -(10**400), 2**63, 0.5, 1j,
    "x", "", "5", "\ud800", b"y", bytearray(b"5"), decimal.Decimal("sNaN"), decimal.Decimal("1e9999"), Fraction(1, 3),
    date(2020, 1, 1), [], [1], [[1], [None]], (1, [2]), {}, {1: 2, "a": [3]}, {"who": None}, {1, "a"}, frozenset({1}), LOOP,
    np.array([1.0, np.nan]), np.array([[1]]), np.array(3), np.float64("nan"), np.datetime64("NaT"), np.int8(1), np.str_("z"),
    object(), Hostile(), Hostile, BadText("x"), Partial(), Partial(), range(3), iter([1]), lambda: 1, Ellipsis, NotImplemented,
]  # fmt: skip


def good(domain: Domain) -> Any:
    """An ordinary member of a domain."""
    match domain:
        case Numbers():
            return float(domain.lower or 1)
        case Lattice():
            return domain.lower or 0
        case Booleans():
            return True
        case Texts():
            return "a"
        case Categories(values):
            return values[0]
        case Rows():
            return [good(domain.element)] * (2 if domain.size is None else domain.size)
        case Vectors():
            return [good(domain.element)] * domain.length
        case Keyed():
            return {key: good(domain.element) for key in domain.keys or ("a", "b")}
        case Frame():
            return {name: [good(each)] * (domain.size or 2) for name, each in domain.columns.items()}
        case Frames():
            return {name: good(each) for name, each in domain.tables.items()}
        case Graphs():
            nodes = domain.nodes or ("a", "b", "c")
            return {"nodes": list(nodes), "edges": [nodes[:2]]}
        case Anything():
            return ["a", "b"]


def odd(domain: Domain, cell: Any) -> Iterator[Any]:
    """Good data with this cell in every place, and data made of it alone; shapes that do not fit."""
    match domain:
        case Rows() | Vectors():
            whole = good(domain)
            for inner in odd(domain.element, cell) if len(whole) else ():
                yield [inner, *whole[1:]]
                yield [*whole[:-1], inner]
            yield [cell] * len(whole)
            if isinstance(domain, Vectors) or domain.size is None:
                yield [cell]
                yield [*whole, cell]
        case Keyed():
            for inner in odd(domain.element, cell):
                yield {**good(domain), next(iter(good(domain))): inner}
            yield {}
        case Frame():
            whole = good(domain)
            for name in domain.columns:
                yield {**whole, name: [cell, *whole[name][1:]]}
                yield {**whole, name: [*whole[name][:-1], cell]}
            yield {name: [cell] * len(column) for name, column in whole.items()}
        case Frames():
            for name, each in domain.tables.items():
                for inner in odd(each, cell):
                    yield {**good(domain), name: inner}
        case Graphs():
            whole = good(domain)
            yield {"nodes": [*whole["nodes"], cell], "edges": [*whole["edges"], (cell, whole["nodes"][0]), cell]}
            yield {"nodes": [cell], "edges": [[cell, cell], cell]}
            yield {"nodes": cell, "edges": cell}
        case _:
            yield cell


def ragged(domain: Frame) -> Iterator[Any]:
    """Frames that are none: columns of unequal length, or not there."""
    whole = good(domain)
    for name in domain.columns:
        yield {**whole, name: whole[name] * 2}
        yield {**whole, name: []}
        yield {other: column for other, column in whole.items() if other != name}
    yield {}


# The constructors -----------------------------------------------------------------------------------------------------------

WHOLE = integers(lower=0, upper=3)
ROWS, SIZED = rows(WHOLE), rows(WHOLE, size=3)
VISITS = frame({"who": Texts(), "town": Texts(), "x": WHOLE})
PEOPLE = frame({"who": Texts(), "town": Texts(), "x": WHOLE}, identifier="who")
LOOSE = frame(
    {
        "who": Anything(),
        "x": Numbers(),
        "t": Texts(),
        "c": Categories((1, "b")),
        "b": Booleans(),
        "w": integers(missing=True),
    },
    identifier="who",
)
BOTH = frames({"one": {"who": Texts(), "x": WHOLE}, "two": {"who": Texts(), "y": WHOLE}}, identifier="who")
COIN = Space(Rows(Booleans(), size=3), Hamming())
NOISE = t.total() >> dp.calculus.laplace(scale=1)
POINT = {"lower": 0, "upper": 9, "grid": 1, "scale": 1}
MORE = {
    "pair_randomly": [ROWS >> t.pair_randomly(), rows(Numbers()) >> t.pair_randomly(matchings=2)],
    "partition_randomly": [ROWS >> t.partition_randomly(parts=2)],
    "resize": [ROWS >> t.resize(size=3, constant=0), rows(Numbers()) >> t.resize(size=1, constant=0.0)],
    "truncate_rows": [PEOPLE >> t.truncate_rows(rows=1), PEOPLE >> t.truncate_rows(rows=1, groups=1, by="town")],
    "count_by_key": [
        VISITS >> t.count_by_key("town", "x"),
        PEOPLE >> t.count_by_key("town", groups=1, rows=1),
        rows(Anything()) >> t.count_by_key(),
        rows(Anything()) >> t.count_by_key() >> m.select_partitions(epsilon=1, delta=0.01),
        rows(Anything()) >> t.count_by_key() >> m.private_top_k(k=2, scale=1, margin=3),
    ],
    "clamp_entries": [rows(Vectors(Numbers(), 2)) >> t.clamp_entries(lower=0, upper=1)],
    "column": [VISITS >> t.column("x")],
    "group_by": [
        VISITS >> t.group_by("town", keys=["a", None]),
        PEOPLE >> t.group_by("town", keys=["a", "b"], groups=1, rows=1),
    ],
    "in_each": [
        Space(Keyed(Rows(integers()), ("a", "b")), dp.calculus.PartitionDistance(SymmetricDistance()))
        >> t.in_each(t.count() >> m.laplace(scale=1)),
        VISITS >> t.group_by("town", keys=["a"]) >> t.in_each(t.column("x") >> t.total()),
        (VISITS >> t.group_by("town", keys=["a"])).target >> t.in_each(t.column("x") >> t.total()),
    ],
    "count": [VISITS >> t.count()],
    "filter_rows": [PEOPLE >> t.filter_rows(lambda row: row["x"] > 0, author="test")],
    "map_rows": [
        VISITS >> t.map_rows(lambda row: row["x"], to=WHOLE, default=0, author="test"),
        PEOPLE >> t.map_rows(lambda row: {"y": row["x"]}, to={"y": WHOLE}, default={"y": 0}, author="test"),
    ],
    "histogram": [rows(Booleans()) >> t.histogram()],
    "distance_to": [
        PEOPLE >> t.distance_to({"who": ["a"], "town": ["b"], "x": [1]}),
        VISITS >> t.distance_to({"who": ["a"], "town": ["b"], "x": [1]}),
    ],
    "join_public": [PEOPLE >> t.join_public({"a": {"z": 1}}, on="town", columns={"z": WHOLE})],
    "union": [
        (VISITS >> t.group_by("town", keys=["a", "b"])).target >> t.union(),
        (ROWS >> t.partition_randomly(parts=2)).target >> t.union(),
    ],
    "unordered": [Space(Rows(WHOLE), InsertDelete()) >> t.unordered()],
    "in_random_parts": [
        ROWS >> t.in_random_parts(sum, parts=2, to=WHOLE, default=0, author="test"),
        PEOPLE >> t.in_random_parts(lambda part: part["x"][0], parts=2, to=WHOLE, default=0, author="test"),
    ],
    "sample_and_aggregate": [
        ROWS >> t.sample_and_aggregate(sum, parts=2, to=WHOLE, default=0, aggregate=NOISE, author="test")
    ],
    "mean_per_person": [PEOPLE >> t.mean_per_person("x"), LOOSE >> t.mean_per_person("x", lower=0, upper=1, grid=1)],
    "quantile_per_person": [LOOSE >> t.quantile_per_person("x", q=0.3, lower=0, upper=1)],
    "median_per_person": [PEOPLE >> t.median_per_person("x")],
    "min_per_person": [PEOPLE >> t.min_per_person("x", lower=1, upper=2)],
    "max_per_person": [PEOPLE >> t.max_per_person("x")],
    "mode_per_person": [PEOPLE >> t.mode_per_person("x"), *(LOOSE >> t.mode_per_person(name) for name in "tcbw")],
    "sample_per_person": [PEOPLE >> t.sample_per_person("x")],
    "join_frames": [BOTH >> t.join_frames("one", "two")],
    "take_frame": [BOTH >> t.take_frame("one")],
    "node_count": [graphs() >> t.node_count()],
    "edge_count": [graphs() >> t.edge_count(degree=1), graphs(nodes="abc") >> t.edge_count()],
    "degrees": [graphs() >> t.degrees(degree=1)],
    "degree_counts": [graphs(nodes="abc") >> t.degree_counts(), graphs() >> t.degree_counts(degree=1)],
    "degree_total": [graphs() >> t.degree_total(values=[0, 0.5])],
    "triangle_count": [graphs(nodes="abc") >> t.triangle_count()],
    "total_over_edges": [
        rows(Anything(), size=3, metric=Hamming())
        >> t.total_over_edges(lambda a, b: a + b, edges=[(0, 1)], to=WHOLE, default=0, author="test")
    ],
    "neighbour_totals": [rows(WHOLE, size=3, metric=Hamming()) >> t.neighbour_totals(edges=[(0, 1), (1, 2)])],
    "sampled": [
        ROWS >> m.sampled(NOISE, rate=0.5),
        SIZED >> m.sampled(NOISE, size=2),
        PEOPLE >> m.sampled(t.truncate_rows(rows=1) >> t.column("x") >> NOISE, rate=0.5, cap=1),
    ],
    "shuffled": [
        rows(Booleans(), size=3) >> m.shuffled(m.randomized_response(truth=0.75)),
        rows(WHOLE, size=3) >> m.shuffled(m.local_mean(truth=0.75)),
    ],
    "in_batches": [ROWS >> m.in_batches(NOISE, batches=2)],
    "timed": [ROWS >> m.timed(NOISE, slowdown=0, scale=1e-4, radius=1e-4, tick=1e-4, author="a test")],
    "best_of": [ROWS >> m.best_of(NOISE, score=float, tries=0.5)],
    "first_above": [ROWS >> m.first_above(NOISE, score=float, threshold=3, stop=0.5)],
    # further spaces of constructors that have a case in a borrowed table
    "set_union": [rows(Anything()) >> m.set_union(items=2, scale=1, delta=0.01)],
    "randomized_response": [COIN >> m.randomized_response(truth=0.75)],
    "private_quantile": [ROWS >> m.private_quantile(q=0.5, **POINT), rows(integers(missing=True)) >> m.private_median(**POINT)],
    "release_if_stable": [
        SIZED
        >> m.release_if_stable(
            stability=m.local_stability(SIZED >> t.total()), proposal=1, test_scale=1, delta=0.1, scale=1
        )
    ],
    "private_upper_bound": [ROWS >> m.private_upper_bound(q=0.5, **POINT)],
    "private_histogram": [
        rows(Numbers()) >> m.private_histogram(edges=[0, 1, 2], scale=1),
        rows(Booleans()) >> m.private_histogram(scale=1),
    ],
    "private_mode": [rows(Categories((1, "b"))) >> m.private_mode(scale=1)],
    "noisy_top_k": [Space(Keyed(Lattice(), ("a", "b")), dp.calculus.LInfinity()) >> m.noisy_top_k(k=1, scale=1)],
    "gaussian": [Space(Vectors(Lattice(), 2), L2()) >> m.gaussian(scale=1)],
    "together": [ROWS >> m.together(m.private_median(**POINT), t.count() >> m.laplace(scale=1))],
}  # fmt: skip


def _public() -> set[str]:
    """Every public constructor of the calculus: what returns a step, or a stream."""
    return {
        name
        for name in {*m.__all__, *t.__all__}
        if name not in NO_MECHANISM | {"Summary", "moments_of", "vector_moments_of"}
    }


def _built() -> Iterator[tuple[str, Transformation | Mechanism]]:
    for name, case in MECHANISMS.items():
        if not isinstance(case, Stream) and hasattr(case, "mechanism"):
            yield name, case.mechanism
    for name, domain, _, step, _ in CASES + UNSIZED_ONLY:
        yield name, Space(domain, SymmetricDistance()) >> step
    for name, domain, _, step, _ in SIZED_ONLY:
        yield name, Space(domain, ChangeOne()) >> step
    for name, several in MORE.items():
        yield from ((name, each) for each in several)


BUILT = list(_built())


def _watched(built: Transformation | Mechanism) -> Mechanism:
    """A transformation followed by a mechanism that looks at what comes out; a mechanism as it is."""
    if isinstance(built, Mechanism):
        return built
    seen = own_mechanism(built.target, function=lambda data, _: data, privacy_map=lambda _: FREE, author="test")
    return built >> seen


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize(("name", "built"), BUILT, ids=[f"{name} {place}" for place, (name, _) in enumerate(BUILT)])
def test_no_cell_raises_through_a_compositor(name, built):
    watched, entropy = _watched(built), system_entropy()
    for cell in ZOO:
        for data in odd(built.source.domain, cell):
            held = dp.calculus.compositor(
                data,
                built.source,
                costs=[watched.cost(d_in=_near(built.source))],
                d_in=_near(built.source),
                entropy=entropy,
            )
            held.release(watched)


def _near(space: Space) -> Any:
    return (1, 1, 1) if isinstance(space.metric, dp.calculus.PartitionDistance) else 1


@pytest.mark.parametrize(("name", "built"), BUILT, ids=[f"{name} {place}" for place, (name, _) in enumerate(BUILT)])
def test_members_become_members(name, built):
    """Data of the source's domain, odd or not, becomes data of the target's domain."""
    if isinstance(built, Mechanism):
        return
    for cell in ZOO:
        for data in odd(built.source.domain, cell):
            if data in built.source.domain:
                assert built.steps(data) in built.target.domain


@pytest.mark.parametrize(
    ("name", "built"),
    [each for each in BUILT if isinstance(each[1].source.domain, Frame)],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_a_frame_of_no_shape_is_refused_when_it_is_opened_and_read_all_the_same(name, built):
    """The curator hears of it before anything is charged; beneath, what lacks is missing."""
    for data in ragged(built.source.domain):
        with pytest.raises(InvalidArgument, match="column"):
            dp.calculus.compositor(data, built.source, costs=[FREE])
        built(data)


def test_every_constructor_of_the_calculus_is_walked():
    borrowed = {
        part.split("(")[0]
        for _, _, _, step, _ in CASES + UNSIZED_ONLY + SIZED_ONLY
        for part in repr(step).split(" >> ")
    }
    assert {*MECHANISMS, *borrowed, *MORE} == _public()


STREAMS = {name: case.mechanism for name, case in MECHANISMS.items() if isinstance(case, Stream)}


@pytest.mark.parametrize("rows_in_pieces", [False, True], ids=["numbers", "rows"])
@pytest.mark.parametrize("name", STREAMS)
def test_no_piece_of_a_stream_raises(name, rows_in_pieces):
    """Odd cells as the numbers of a stream, and as rows of its pieces; a run that has told its last answer is begun again."""
    built = STREAMS[name]
    if rows_in_pieces:
        built = (
            dp.calculus.stream(rows(numbers())) >> t.in_each(t.clamp(lower=0, upper=1, grid=1) >> t.total()) >> built
        )
    for cell in ZOO:
        held = dp.calculus.compositor([], built.source, costs=[built.cost(d_in=(1, 1, 1))], d_in=(1, 1, 1))
        held.release(built).feed([cell] if rows_in_pieces else cell)
