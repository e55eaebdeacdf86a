"""Composition theorems: each is an upper bound on the exact truth, in the order the textbooks promise."""

import math
from fractions import Fraction

import pytest

from deniable.accounting import composition, epsilon
from deniable.cost import Bounded, Gaussian, Laplace
from deniable.errors import Unaccountable

SMALL = Fraction(1, 10**6)


@pytest.mark.parametrize("each", [0.001, 0.01, 0.1, 1.0])
@pytest.mark.parametrize("times", [1, 10, 100, 1000])
def test_every_rule_is_at_least_the_exact_composition(each, times):
    cost = Bounded(epsilon=each).repeated(times)
    right = epsilon(cost, delta=SMALL).lower
    assert composition.basic(cost).loss >= right
    assert composition.advanced(cost, delta=SMALL) >= right
    assert composition.optimal_bound(cost, delta=SMALL) >= right
    assert composition.optimal_bound(cost, delta=SMALL) <= composition.basic(cost).loss


def test_advanced_composition_is_its_formula():
    found = composition.advanced(Bounded(epsilon=0.1).repeated(100), delta=SMALL)
    right = 0.1 * math.sqrt(200 * math.log(10**6)) + 100 * 0.1 * math.expm1(0.1)
    assert float(found) == pytest.approx(right, rel=1e-14)


def test_the_closed_bound_takes_different_losses_and_their_deltas():
    cost = Bounded(epsilon=0.1, delta=1e-8).repeated(10) + Laplace(scale=20).repeated(50)
    found = composition.optimal_bound(cost, delta=SMALL)
    squares = 10 * 0.01 + 50 / 400
    mean = 10 * 0.1 * math.tanh(0.05) + 50 * 0.05 * math.tanh(0.025)
    slack = 1 - (1 - 1e-6) / (1 - 1e-8) ** 10
    spread = min(math.log(1 / slack), math.log(math.e + math.sqrt(squares) / slack))
    assert float(found) == pytest.approx(min(3.5, mean + math.sqrt(2 * squares * spread)), rel=1e-9)


def test_delta_that_is_leaked_already_leaves_nothing_to_say():
    cost = Bounded(epsilon=0.1, delta=1e-6).repeated(10)
    assert composition.advanced(cost, delta=SMALL) is None
    assert composition.optimal_bound(cost, delta=SMALL) is None


def test_a_curve_has_no_single_pair():
    with pytest.raises(Unaccountable, match="zero-concentrated"):
        composition.advanced(Gaussian(scale=1, sensitivity=1), delta=SMALL)
