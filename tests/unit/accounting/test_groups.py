"""Groups of units over disjoint parts: the worst way to sit in them, and no worse."""

from fractions import Fraction
from itertools import product

import pytest

from deniable.accounting import delta, epsilon
from deniable.accounting.group_privacy import group_cost
from deniable.cost import Bounded, Gaussian, Laplace, Parallel, RandomizedResponse
from tests.finite import hockey_stick

ONE, TWO = Fraction(3, 4), Fraction(5, 8)


def reports(truth, people):
    """The law of so many randomised responses, all from people who answer yes, and from people who answer no."""
    laws = ({}, {})
    for answer in product((1, 0), repeat=people):
        for law, said in zip(laws, (1, 0), strict=True):
            law[answer] = Fraction(1)
            for each in answer:
                law[answer] *= truth if each == said else 1 - truth
    return laws


def together(one, two):
    return {(a, b): p * q for (a, p), (b, q) in product(one.items(), two.items())}


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_group_over_two_parts_costs_its_worst_split(size):
    cost = Parallel((RandomizedResponse(truth=ONE), RandomizedResponse(truth=TWO))).group(size)
    for at in (Fraction(0), Fraction(1, 2), Fraction(3, 2)):
        truth = Fraction(0)
        for first in range(size + 1):
            mine, theirs = (
                together(a, b) for a, b in zip(reports(ONE, first), reports(TWO, size - first), strict=True)
            )
            truth = max(truth, hockey_stick(mine, theirs, epsilon=at).upper)
        found = delta(cost, epsilon=at)
        assert float(truth) * (1 - 1e-9) <= found.upper <= float(truth) * (1 + 1e-4)


def test_the_worst_split_of_a_gaussian_and_a_laplace_part():
    parts = (Gaussian(scale=1, sensitivity=1), Laplace(scale=2))
    chance = Fraction(1, 100)
    splits = [group_cost(parts[0], 2), parts[0] + parts[1], group_cost(parts[1], 2)]
    found = epsilon(Parallel(parts).group(2), delta=chance).upper
    assert found == pytest.approx(max(epsilon(each, delta=chance).upper for each in splits), rel=1e-4)


def test_equal_parts_may_also_hold_one_unit_each():
    both = group_cost(Parallel((Bounded(epsilon=1), Bounded(epsilon=1))), 2)
    assert both == Parallel((Bounded(epsilon=2), Bounded(epsilon=1) + Bounded(epsilon=1)))
    alone = group_cost(Parallel((Bounded(epsilon=1),)), 2)
    assert alone == Parallel((Bounded(epsilon=2),))
