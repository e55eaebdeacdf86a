"""From rows to keys that are found in them: limits per person, counts by key, and what may be shown; brute force, exact laws."""

from fractions import Fraction
from importlib import import_module
from itertools import combinations, product

import pytest

import deniable as dp
from deniable import transformations as t
from deniable.audit.comparison import check_privacy, hockey_stick
from deniable.audit.exact_law import output_law
from deniable.core import (
    AbsoluteDistance,
    Keyed,
    Lattice,
    PartitionDistance,
    Space,
    Texts,
    Triple,
    frame,
    integers,
    rows,
)
from deniable.cost import Composed, Exponential, Gaussian, Repeated
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact import exp
from deniable.testing.couplings import keeps_coupling, law_of
from deniable.testing.neighbours import data_sets, neighbours, within

ONE, TWO = Fraction(1), Fraction(2)
TAIL = Fraction(1, 10**7)
PEOPLE = frame({"who": Texts(), "url": Texts()}, identifier="who")
ONE_WAY = Space(Keyed(Lattice(), None), PartitionDistance(AbsoluteDistance(), monotonic=True))
BOTH_WAYS = Space(Keyed(Lattice(), None), PartitionDistance(AbsoluteDistance()))


def people(**urls: str) -> dict[str, list[str]]:
    """A frame in which each person has one row for every letter."""
    return {
        "who": [who for who, own in urls.items() for _ in own],
        "url": [url for own in urls.values() for url in own],
    }


SMALL = [people(a=a, b=b) for a, b in product(["", "x", "xxy", "xyz"], ["", "x"])]
LIMITS = [(1, 1), (2, 1), (1, 2), (2, 2)]


@pytest.mark.parametrize(("groups", "most"), LIMITS)
def test_limits_per_person_are_kept_on_all_small_neighbours(groups, most):
    """People added, removed and changed: a coupling within the triple exists, and none within less at the heaviest person."""
    for step in (
        t.count_by_key("url", groups=groups, rows=most),
        t.group_by("url", keys=["x", "y", "z"], groups=groups, rows=most),
        t.truncate_rows(rows=most, groups=groups, by="url"),
    ):
        built = PEOPLE >> step
        for left, right in combinations(SMALL, 2):
            d_in = PEOPLE.distance(left, right)
            assert d_in > 2 or keeps_coupling(built, left, right, apart=built.stability_map(d_in))
        heavy = people(a="xxyy")
        limit = built.stability_map(ONE)
        for less in _less(limit):
            assert not keeps_coupling(built, people(), heavy, apart=less)


def _less(limit):
    if isinstance(limit, Triple):
        return [
            Triple(limit.l0 - 1, limit.l1, limit.linf),
            Triple(limit.l0, limit.l1 - 1, limit.linf),
            Triple(limit.l0, limit.l1, limit.linf - 1),
        ]
    return [limit - 1]


def test_the_choice_of_groups_and_rows_is_uniform():
    law, _ = law_of(lambda e: (PEOPLE >> t.count_by_key("url", groups=2, rows=1)).function(people(a="xxxyz"), e))
    assert set(law.values()) == {Fraction(1, 3)}
    assert len(law) == 3


def test_a_choice_that_looks_at_others_is_caught():
    """The limit kept over all people together, not person by person: whoever comes decides what others keep."""
    honest = PEOPLE >> t.count_by_key("url", groups=1, rows=1)

    def careless(data, entropy):
        return honest.function({**data, "who": ["all"] * len(data["who"])}, entropy)

    wrong = dp.calculus.Transformation(PEOPLE, honest.target, careless, honest.stability_map)
    assert not keeps_coupling(wrong, people(a="x"), people(a="x", b="y"), apart=wrong.stability_map(ONE))


def test_one_person_moves_all_counts_one_way():
    """What `monotonic` says: the changes of the counts drift apart by at most the largest, added up over people."""
    assert (PEOPLE >> t.count_by_key("url", groups=3, rows=1)).target.metric.monotonic
    assert not (rows(Texts(), size=2) >> t.count_by_key()).target.metric.monotonic
    space = rows(Texts())
    built = space >> t.count_by_key()
    for d_in in (ONE, TWO):
        for left, right in neighbours(space, data_sets(["a", "b", None], sizes=range(4)), d_in):
            before, after = built(left), built(right)
            moved = [after.get(key, 0) - before.get(key, 0) for key in {*before, *after}] + [0]
            assert max(moved) - min(moved) <= built.stability_map(d_in).linf


def test_the_asylum_example_has_squared_sensitivity_four():
    """At most four rows of a person, at most one in a year: 4 for the Gaussian, where a limit of four rows alone gives 16."""
    space = frame({"who": Texts(), "year": integers(lower=0, upper=9)}, identifier="who")
    each = t.in_each(t.count()) >> dp.calculus.gaussian(scale=1)
    known = space >> t.group_by("year", keys=range(10), groups=4, rows=1) >> each
    blind = space >> t.truncate_rows(rows=4) >> t.group_by("year", keys=range(10)) >> each
    assert known.cost(d_in=1) == Gaussian(scale=1, squared_sensitivity=4)
    assert blind.cost(d_in=1) == Gaussian(scale=1, squared_sensitivity=16)
    nobody_has_more = {"who": list("aaab"), "year": [1, 2, 3, 1]}
    counted = space >> t.group_by("year", keys=range(10), groups=4, rows=1) >> t.in_each(t.count())
    assert counted(nobody_has_more) == {year: [0, 2, 1, 1][year] if year < 4 else 0 for year in range(10)}


def test_equal_keys_are_one_key_whatever_they_are_written_as():
    built = rows(dp.calculus.Anything()) >> t.count_by_key()
    assert [(type(key), key, n) for key, n in built([1, 1.0, True, "1", None, [1], -0.0, 0]).items()] == [
        (int, 1, 3), (str, "1", 1), (int, 0, 2)
    ]  # fmt: skip


# The k most frequent of keys nobody declared --------------------------------------------------------------------------------

TABLES = [dict(zip("abc", counts, strict=True)) for counts in product(range(3), repeat=3)]
TABLES = [{key: n for key, n in table.items() if n} for table in TABLES]


@pytest.mark.parametrize(("k", "candidates"), [(1, 1), (1, 2), (2, 2), (2, 3)])
@pytest.mark.parametrize(
    ("space", "d_in"), [(ONE_WAY, (1, 1, 1)), (BOTH_WAYS, (1, 1, 1)), (BOTH_WAYS, (2, 2, 1)), (ONE_WAY, (3, 3, 1))]
)
def test_the_top_k_keep_their_promise_on_all_small_tables(k, candidates, space, d_in):
    mechanism = space >> dp.calculus.private_top_k(k=k, scale=1, margin=2, candidates=candidates)
    laws = [output_law(lambda e, d=table: mechanism.function(d, e), tail=TAIL) for table in TABLES]
    cost, limit = mechanism.cost(d_in=d_in), Triple(*map(Fraction, d_in))
    promised = {loss: dp.delta(cost, epsilon=loss).upper for loss in (Fraction(0), Fraction(k), Fraction(2 * k))}
    for (left, p), (right, q) in product(zip(TABLES, laws, strict=True), repeat=2):
        if within(space.distance(left, right), limit) and (space is BOTH_WAYS or _one_way(left, right)):
            for loss, most in promised.items():
                slack = p.lost + 2 * exp(loss).upper * q.lost + Fraction(1, 2**60)
                assert hockey_stick(p, q, loss).upper <= most + slack, (left, right, loss)


def _one_way(left, right):
    moved = [left.get(key, 0) - right.get(key, 0) for key in "abc"]
    return min(moved) >= 0 or max(moved) <= 0


def test_a_new_key_uses_up_its_delta():
    """One person, one key, an empty table: the whole difference is the chance that it beats the stop, 1/(1 + e^(margin - 1))."""
    mechanism = ONE_WAY >> dp.calculus.private_top_k(k=1, scale=1, margin=4, candidates=1)
    cost = mechanism.cost(d_in=(1, 1, 1))
    assert isinstance(cost, Composed)
    assert cost.costs[0] == Repeated(Exponential(eta=ONE), 1)
    shown = output_law(lambda e: mechanism.function({"a": 1}, e)).probability(("a",))
    assert shown.lower <= cost.costs[1].delta <= shown.upper + Fraction(1, 2**60)


@pytest.mark.parametrize("planted", ["no stop", "stop at the margin alone", "delta of one key"])
def test_planted_faults_of_the_top_k_are_caught(planted, monkeypatch):
    module = vars(import_module("deniable.mechanisms.private_top_k"))
    honest, slip = module["_limited"], module["_slip"]
    if planted == "no stop":
        monkeypatch.setitem(
            module, "_limited", lambda d, n, a: (lambda names, s: (names, [*s[:-1], -50]))(*honest(d, n, a))
        )
        pair, d_in = ({}, {"a": 1}), (1, 1, 1)
    elif planted == "stop at the margin alone":  # not counted from the next count: a swap of the last candidate shows
        monkeypatch.setitem(
            module, "_limited", lambda d, n, a: (lambda names, s: (names, [*s[:-1], a]))(*honest(d, n, a))
        )
        pair, d_in = ({"a": 9, "b": 9}, {"a": 9, "b": 10}), (1, 1, 1)
    else:
        monkeypatch.setitem(module, "_slip", lambda m, **how: slip(m, **{**how, "kept": 1}))
        pair, d_in = ({}, dict.fromkeys("abcd", 1)), (4, 4, 1)
    mechanism = ONE_WAY >> dp.calculus.private_top_k(
        k=1, scale=1, margin=5, candidates=4 if planted == "delta of one key" else 1
    )
    assert check_privacy(mechanism, *pair, d_in=d_in, losses=[0, 1, 2], tail=TAIL).broken


@pytest.mark.parametrize("monotonic", [True, False])
@pytest.mark.parametrize(("k", "l0", "linf"), [(1, 1, 1), (3, 5, 1), (2, 2000, 2)])
def test_the_margin_is_the_least_that_is_enough(k, l0, linf, monotonic):
    how = {"k": k, "scale": 2, "candidates": 50}
    margin = dp.calculus.margin_for(1e-6, l0=l0, linf=linf, monotonic=monotonic, **how)
    space = ONE_WAY if monotonic else BOTH_WAYS
    enough, less = (
        (space >> dp.calculus.private_top_k(margin=m, **how)).cost(d_in=(l0, l0 * linf, linf)).costs[1].delta
        for m in (margin, margin - 1)
    )
    assert enough <= Fraction(1, 10**6) < less


def test_from_rows_to_answers():
    visits = {
        "who": [n % 400 for n in range(1200)],
        "url": ["home"] * 400 + ["news"] * 400 + [f"page {n}" for n in range(400)],
    }
    space = frame({"who": integers(), "url": Texts()}, identifier="who")
    counts = space >> t.count_by_key("url", groups=3, rows=1)
    margin = dp.calculus.margin_for(1e-9, k=2, scale=2, l0=3)
    assert set((counts >> dp.calculus.private_top_k(k=5, scale=2, margin=margin))(visits)) == {"home", "news"}
    assert set((counts >> dp.calculus.threshold_histogram(scale=3, threshold=200))(visits)) == {"home", "news"}
    assert (counts >> dp.calculus.select_partitions(epsilon=1, delta=1e-9))(visits) == ["home", "news"]
    assert (rows(Texts()) >> t.count_by_key() >> dp.calculus.most_frequent(scale=1, delta=1e-9))(
        ["home"] * 90 + ["x"] * 9
    ) == "home"
    held = dp.calculus.compositor(visits, space, budget=dp.budget(epsilon=3, delta=1e-6))
    assert set(held.release(counts >> dp.calculus.private_top_k(k=2, scale=2, margin=margin))) == {"home", "news"}


def test_what_is_refused():
    with pytest.raises(InvalidArgument, match="say groups= and rows="):
        PEOPLE >> t.count_by_key("url")
    with pytest.raises(InvalidArgument, match="say groups= and rows="):
        PEOPLE >> t.group_by("url", keys=["x"])
    with pytest.raises(InvalidArgument, match="names no people"):
        rows(Texts()) >> t.count_by_key(groups=1, rows=1)
    with pytest.raises(InvalidArgument, match="no columns"):
        rows(Texts()) >> t.count_by_key("url")
    with pytest.raises(InvalidArgument, match="is not a column"):
        PEOPLE >> t.count_by_key("link", groups=1, rows=1)
    with pytest.raises(InvalidArgument, match="at least one column"):
        PEOPLE >> t.count_by_key(groups=1, rows=1)
    with pytest.raises(InvalidArgument, match="both groups and by"):
        PEOPLE >> t.truncate_rows(rows=1, groups=2)
    with pytest.raises(SpaceMismatch, match="rows or a frame"):
        ONE_WAY >> t.count_by_key()
    with pytest.raises(SpaceMismatch, match="use noisy_top_k"):
        rows(integers(lower=0, upper=1)) >> t.histogram() >> dp.calculus.private_top_k(k=1, scale=1, margin=1)
    with pytest.raises(InvalidArgument, match="at most the number of candidates"):
        ONE_WAY >> dp.calculus.private_top_k(k=3, scale=1, margin=1, candidates=2)
