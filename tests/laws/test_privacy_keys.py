"""Keys that come from the data: thresholds, the optimal rule, propose-test-release and set union, by exact output laws."""

import math
from fractions import Fraction
from importlib import import_module

import pytest

from deniable.audit.comparison import check_privacy, compare, hockey_stick
from deniable.audit.exact_law import OutputLaw, chance, output_law
from deniable.core.domain import Anything, Keyed, Lattice, Rows
from deniable.core.metric import L1, AbsoluteDistance, PartitionDistance, SymmetricDistance
from deniable.core.space import Space
from deniable.cost import Bounded, Composed, Grouped, Repeated
from deniable.exact import exp
from deniable.kernels import DiscreteLaplaceNoise
from deniable.mechanisms import (
    Law,
    most_frequent,
    propose_test_release,
    select_partitions,
    set_union,
    threshold_histogram,
)

TABLE = Space(Keyed(Lattice(), None), PartitionDistance(AbsoluteDistance()))
COUNTS = Space(Keyed(Lattice(), None), L1())
TAIL = Fraction(1, 10**7)
LOSSES = [0, Fraction(1, 2), 1, 2]


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("threshold", [2, 3, 5])
@pytest.mark.parametrize(("left", "right"), [({"a": 3}, {"a": 3, "b": 1}), ({"a": 3}, {"a": 4}), ({}, {"a": 1})])
def test_a_threshold_keeps_its_promise(law, threshold, left, right):
    mechanism = TABLE >> threshold_histogram(scale=1, threshold=threshold, law=law)
    verdict = check_privacy(mechanism, left, right, d_in=(1, 1, 1), losses=LOSSES, tail=TAIL)
    assert verdict.kept
    assert not verdict.broken


def test_the_delta_of_a_new_key_is_reached():
    """Between no key and one key the whole difference is the chance that it is shown: exactly the promised delta."""
    mechanism = TABLE >> threshold_histogram(scale=1, threshold=4)
    laws = [output_law(lambda e, d=d: mechanism.function(d, e), tail=TAIL) for d in ({}, {"a": 1})]
    cost = mechanism.cost(d_in=(1, 1, 1))
    assert isinstance(cost, Composed)
    slip = cost.costs[1].delta
    seen = hockey_stick(laws[1], laws[0], Fraction(3))
    assert abs(seen.midpoint - slip) < Fraction(1, 10**6)
    above = DiscreteLaplaceNoise(Fraction(1)).tail(4 - 1 + 1).upper  # leaving out the mass at the threshold
    assert compare(*laws, Composed((cost.costs[0], Bounded(epsilon=0, delta=above)))).broken


@pytest.mark.parametrize(
    ("d_in", "right"), [((2, 2, 1), {"a": 1, "b": 1}), ((1, 2, 2), {"a": 2}), ((2, 3, 2), {"a": 2, "b": 1})]
)
def test_several_new_keys(d_in, right):
    mechanism = TABLE >> threshold_histogram(scale=Fraction(1, 2), threshold=4)
    assert check_privacy(mechanism, {}, right, d_in=d_in, losses=[0, 2, 4], tail=TAIL).kept


def test_a_zero_count_is_an_absent_key():
    mechanism = TABLE >> threshold_histogram(scale=1, threshold=1)
    laws = [output_law(lambda e, d=d: mechanism.function(d, e), tail=TAIL) for d in ({"a": 2}, {"a": 2, "b": 0})]
    assert laws[0].chances == laws[1].chances


def test_the_l1_distance_is_priced_by_its_worst_split():
    mechanism = COUNTS >> threshold_histogram(scale=1, threshold=3)
    for right in ({"a": 2}, {"a": 1, "b": 1}):
        assert check_privacy(mechanism, {}, right, d_in=2, losses=[0, 1, 2], tail=TAIL).kept


@pytest.mark.parametrize("units", [0, 1, 3, 6, 9])
def test_the_optimal_rule(units):
    mechanism = TABLE >> select_partitions(epsilon=1, delta=Fraction(1, 100))
    left, right = {"a": 5, "b": units}, {"a": 5, "b": units + 1}
    verdict = check_privacy(mechanism, left, right, d_in=(1, 1, 1), losses=[0, Fraction(1, 2), 1])
    assert verdict.kept
    assert units > 6 or verdict.reaches(Fraction(1, 100))
    assert check_privacy(mechanism, {"b": units}, {"b": units + 1, "a": 1}, d_in=(2, 2, 1), losses=[0, 1, 2]).kept
    assert check_privacy(mechanism, {"b": units}, {"b": units + 2}, d_in=(1, 2, 2), losses=[0, 1, 2]).kept


def test_what_the_optimal_rule_charges():
    mechanism, each = (
        TABLE >> select_partitions(epsilon=1, delta=Fraction(1, 100)),
        Bounded(epsilon=1, delta=Fraction(1, 100)),
    )
    assert mechanism.cost(d_in=(1, 1, 1)) == each
    assert mechanism.cost(d_in=(3, 3, 1)) == Repeated(each, 3)
    assert mechanism.cost(d_in=(2, 3, 2)) == Grouped(each, 3)


# Propose, test, release -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lead", range(6))
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(2)])
def test_most_frequent_keeps_its_promise(lead, scale):
    mechanism = COUNTS >> most_frequent(scale=scale, delta=Fraction(1, 50))
    base = {"a": 5 + lead, "b": 5}
    for right in (
        {"a": 5 + lead, "b": 6},
        {"a": 6 + lead, "b": 5},
        {"a": 5 + lead, "b": 5, "c": 1},
        {"a": 5 + lead, "b": 4},
    ):
        verdict = check_privacy(mechanism, base, right, d_in=1, losses=[0, 1 / scale / 2, 1 / scale], tail=TAIL)
        assert verdict.kept
        assert not verdict.broken
    two = {"a": 4 + lead, "b": 6}
    assert check_privacy(mechanism, base, two, d_in=2, losses=[0, 1 / scale, 2 / scale], tail=TAIL).kept


def test_nothing_and_one_row():
    mechanism = COUNTS >> most_frequent(scale=1, delta=Fraction(1, 50))
    assert check_privacy(mechanism, {}, {"a": 1}, d_in=1, losses=[0, 1], tail=TAIL).kept


def _printed(lead: int, scale: Fraction, delta: Fraction) -> OutputLaw:
    """As printed: release when the noisy lead exceeds ln(1/delta)·scale; continuous Laplace noise, P = 1/2·exp(-(T - lead)/scale).

    With T = ln(1/delta)·scale the chance is delta·exp(lead/scale)/2 while the lead is below T.
    """
    released = delta * exp(Fraction(lead) / scale, 160) / 2
    law = OutputLaw()
    law.add("winner" if lead else "other", chance(released))
    law.add(None, chance(1 - released))
    return law


def test_errata_32_a_tie_is_one_row_away():
    """E32: with the distance taken as the lead itself the printed test is refuted for epsilon above ln 2; ours holds."""
    delta, scale = Fraction(1, 10**6), Fraction(1)
    ahead, tied = _printed(1, scale, delta), _printed(0, scale, delta)
    assert hockey_stick(ahead, tied, Fraction(1)).lower > delta * Fraction(113, 100) - Fraction(1, 10**12)
    assert compare(ahead, tied, Bounded(epsilon=1, delta=delta), losses=[1]).broken
    mechanism = COUNTS >> most_frequent(scale=1, delta=delta)
    assert check_privacy(
        mechanism, {"a": 6, "b": 5}, {"a": 6, "b": 6}, d_in=1, losses=[1], tail=Fraction(1, 10**12)
    ).kept


def test_a_proposal_of_your_own():
    """Rows of numbers: the exact maximum, when no single row can change it."""

    def distance(rows):
        ordered = sorted(rows, reverse=True)
        if not ordered or ordered[0] != 3:
            return 0
        return sum(value == 3 for value in ordered)  # that many rows must go before the maximum is another

    space = Space(Rows(Lattice(lower=0, upper=3)), SymmetricDistance())
    mechanism = space >> propose_test_release(
        distance=lambda rows: max(0, distance(rows) - 1),
        release=lambda rows, _: max(rows, default=0),
        scale=1,
        delta=Fraction(1, 50),
        author="a test",
    )
    for left, right in (([3, 3], [3]), ([3], []), ([3, 3, 3], [3, 3]), ([1], [1, 3])):
        assert check_privacy(mechanism, left, right, losses=[0, 1], tail=TAIL).kept
    assert mechanism.claims == ("a test: <lambda>",)


# Set union ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"), [([], [["a", "b"]]), ([["a"]], [["a"], ["a", "b"]]), ([["a"]], [["a"], ["b", "c", "d"]])]
)
def test_set_union(left, right, monkeypatch):
    """Coarse weights keep the enumeration small; the promise must hold for them as well."""
    monkeypatch.setattr(import_module("deniable.mechanisms.set_union"), "_UNIT", 2)
    mechanism = Space(Rows(Anything()), SymmetricDistance()) >> set_union(items=2, scale=1, delta=Fraction(1, 20))
    verdict = check_privacy(mechanism, left, right, losses=[0, Fraction(1, 2), 1, 2], tail=Fraction(1, 50))
    assert verdict.kept


@pytest.mark.parametrize("items", [1, 2, 3])
def test_a_person_adds_to_at_most_so_many_items(items):
    """Of more items no more than `items` get weight, all subsets are possible, and the squares add up to at most one."""
    module = import_module("deniable.mechanisms.set_union")
    for held in {items, items + 1, 5}:
        own = list("abcde"[:held])
        law = output_law(lambda entropy, own=own: tuple(sorted(module._weights([own], items, entropy).items())))
        assert {len(weights) for weights in law.chances} == {items}
        assert len(law.chances) == math.comb(held, items)
        for weights in law.chances:
            assert sum(weight * weight for _, weight in weights) <= module._UNIT**2
            assert {weight for _, weight in weights} == {module.item_weight(items)}
