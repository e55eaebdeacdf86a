"""Metrics are exact, symmetric, zero on equal data and satisfy the triangle inequality; each refuses a domain it does not fit."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.core import (
    L1,
    L2,
    AbsoluteDistance,
    Anything,
    ChangeOne,
    DiscreteDistance,
    Frame,
    Hamming,
    IdentifierDistance,
    InsertDelete,
    Keyed,
    Lattice,
    LInfinity,
    Lp,
    Numbers,
    PartitionDistance,
    RangeDistance,
    Root,
    Rows,
    Space,
    SymmetricDistance,
    Texts,
    Triple,
    Vectors,
    adjacent,
    frame,
    numbers,
    rows,
)
from deniable.errors import InvalidArgument, SpaceMismatch

small = st.lists(st.integers(0, 2), max_size=5)
sized = st.lists(st.integers(0, 2), min_size=4, max_size=4)
UNSIZED, SIZED = Rows(Lattice()), Rows(Lattice(), 4)


@pytest.mark.parametrize("metric", [SymmetricDistance(), InsertDelete()])
@given(a=small, b=small, c=small)
def test_unsized_data_set_metrics_are_metrics(metric, a, b, c):
    def d(x, y):
        return metric.distance(x, y, UNSIZED)

    assert d(a, a) == 0
    assert d(a, b) == d(b, a)
    assert d(a, c) <= d(a, b) + d(b, c)


@pytest.mark.parametrize("metric", [ChangeOne(), Hamming()])
@given(a=sized, b=sized, c=sized)
def test_sized_data_set_metrics_are_metrics(metric, a, b, c):
    def d(x, y):
        return metric.distance(x, y, SIZED)

    assert d(a, a) == 0
    assert d(a, b) == d(b, a)
    assert d(a, c) <= d(a, b) + d(b, c)


@given(a=sized, b=sized)
def test_how_the_data_set_metrics_bound_one_another(a, b):
    change = ChangeOne().distance(a, b, SIZED)
    assert SymmetricDistance().distance(a, b, UNSIZED) == 2 * change
    assert change <= Hamming().distance(a, b, SIZED)
    assert SymmetricDistance().distance(a, b, UNSIZED) <= InsertDelete().distance(a, b, UNSIZED)


def test_insert_delete_sees_order_and_symmetric_does_not():
    assert SymmetricDistance().distance([1, 2], [2, 1], UNSIZED) == 0
    assert InsertDelete().distance([1, 2], [2, 1], UNSIZED) == 2


def test_missing_values_are_alike():
    space = rows(numbers())
    assert space.distance([float("nan"), 1.0], np.array([1.0, np.nan])) == 0
    assert space.distance([None], [0.0]) == 2


def test_vector_metrics():
    domain = Vectors(Lattice(step=Fraction(1, 2)), 3)
    left, right = [0, 0, 0], [2, -4, 1]
    assert L1().distance(left, right, domain) == Fraction(7, 2)
    assert L2().distance(left, right, domain) == Root(Fraction(21, 4))
    assert LInfinity().distance(left, right, domain) == 2
    assert Lp(3).distance(left, right, domain) == 1 + 8 + Fraction(1, 8)
    assert RangeDistance().distance(left, right, domain) == 3
    assert RangeDistance().distance([5, 5, 5], [0, 0, 0], domain) == 0


def test_keyed_results_are_compared_key_by_key():
    domain = Keyed(Lattice())
    assert L1().distance({"a": 1}, {"a": 3, "b": 2}, domain) == 4


def test_identifier_distance_counts_people_not_rows():
    space = frame({"who": Texts(), "x": Lattice()}, identifier="who")
    left = {"who": ["a", "a", "b"], "x": [1, 2, 3]}
    right = {"who": ["b", "a", "c"], "x": [3, 9, 9]}
    assert space.distance(left, right) == 3  # a's rows changed: one person removed, one added; c was added
    assert adjacent(left, right, space, d_in=3)
    assert not adjacent(left, right, space, d_in=2)
    assert adjacent(left, {"who": ["b"], "x": [3]}, space, d_in=1)


def test_rows_without_an_identifier_are_one_person():
    space = frame({"who": Numbers(), "x": Lattice()}, identifier="who")
    nan = float("nan")
    assert space.distance({"who": [nan, None], "x": [1, 2]}, {"who": [], "x": []}) == 1


def test_true_is_not_one_and_unhashable_rows_count():
    space = Space(Rows(Anything()), SymmetricDistance())
    assert space.distance([True], [1]) == 2
    assert space.distance([{1, 2}], [{2, 1}]) == 0
    assert space.distance([{1}], [{2}]) == 2


def test_partition_distance_of_vectors():
    metric = PartitionDistance(AbsoluteDistance())
    domain = Vectors(Lattice(Fraction(1, 2)), 3)
    assert metric.distance([0, 1, 2], [0, 3, 1], domain) == Triple(Fraction(2), Fraction(3, 2), Fraction(1))
    keyed = Keyed(Lattice(), ("a", "b"))
    assert metric.distance({"a": 2}, {"a": 1, "b": 4}, keyed) == Triple(Fraction(2), Fraction(5), Fraction(4))


def test_partition_distance_is_the_triple():
    domain = Keyed(Rows(Lattice()), ("a", "b", "c"))
    metric = PartitionDistance(SymmetricDistance())
    left = {"a": [1], "b": [2, 2], "c": []}
    right = {"a": [1], "b": [2], "c": [3, 4, 5]}
    assert metric.distance(left, right, domain) == Triple(Fraction(2), Fraction(4), Fraction(3))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_a_triple_bounds_its_norms(gaps):
    moved = [g for g in gaps if g]
    exact = Triple(Fraction(len(moved)), Fraction(sum(moved)), Fraction(max(moved, default=0)))
    assert sum(moved) <= exact.total
    assert Root(Fraction(sum(g * g for g in moved))) <= exact.root
    assert exact.tightened() <= exact


@pytest.mark.parametrize(
    ("domain", "metric"),
    [
        (Rows(Numbers()), ChangeOne()),
        (Rows(Numbers()), Hamming()),
        (Numbers(), SymmetricDistance()),
        (Rows(Numbers()), AbsoluteDistance()),
        (Rows(Numbers()), L1()),
        (Frame({"x": Numbers()}), IdentifierDistance("who")),
        (Vectors(Texts(), 2), L2()),
        (Rows(Numbers()), PartitionDistance(SymmetricDistance())),
        (Rows(Numbers()), DiscreteDistance()),
    ],
)
def test_a_metric_refuses_a_domain_it_does_not_fit(domain, metric):
    with pytest.raises(SpaceMismatch, match="does not measure"):
        Space(domain, metric)


def test_adjacency_refuses_what_is_not_in_the_space():
    with pytest.raises(InvalidArgument, match="not a member"):
        adjacent(["x"], [1.0], rows(numbers()))


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), "1", True, (1, 2)])
def test_distances_refuse_nonsense(bad):
    with pytest.raises(InvalidArgument):
        adjacent([1.0], [1.0], rows(numbers()), d_in=bad)
