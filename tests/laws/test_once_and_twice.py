"""One release never reads dearer than two, whatever the record: plain, on a sample, for a group, with a unit replaced."""

from fractions import Fraction

import pytest

from deniable.accounting import delta, epsilon
from deniable.cost import Gaussian, Grouped, Neighbours, Sampled, Sampling
from deniable.errors import Unaccountable
from tests.conftest import EXPLORES
from tests.laws.test_cost_laws import SINGLE

RATE = Fraction(1, 20)
WAYS = {
    "plain": lambda cost: cost,
    "poisson": lambda cost: cost.sampled(rate=RATE),
    "poisson, replaced": lambda cost: cost.sampled(rate=RATE, neighbours=Neighbours.REPLACE),
    "fixed size, replaced": lambda cost: Sampled(
        cost, rate=RATE, how=Sampling.WITHOUT_REPLACEMENT, neighbours=Neighbours.REPLACE
    ),
    "group": lambda cost: Grouped(cost, 2),
    "group on a sample": lambda cost: Grouped(cost.sampled(rate=RATE), 3),
}
FEW = [Gaussian(scale=Fraction(10, 7), sensitivity=1)]
CHANCE, GAP = Fraction(1, 10**6), 1e-2
SLACK = 1 + 2 * GAP
"""Both brackets are as wide as this: of two releases that cost the same the first may read a little wider."""


def once_is_no_dearer(cost):
    try:
        both = epsilon(cost.repeated(2), delta=CHANCE, gap=GAP)
    except Unaccountable:
        return
    once = epsilon(cost, delta=CHANCE, gap=GAP)
    assert once.upper <= both.upper * SLACK
    assert once.lower <= both.upper
    for loss in (Fraction(0), Fraction(1, 5), Fraction(min(both.upper, 500.0)) / 2):
        single, double = delta(cost, epsilon=loss, gap=GAP), delta(cost.repeated(2), epsilon=loss, gap=GAP)
        assert single.upper <= double.upper * SLACK
        assert single.lower <= double.upper


@pytest.mark.parametrize("cost", SINGLE, ids=lambda cost: type(cost).__name__)
def test_no_record_costs_more_once_than_twice(cost):
    once_is_no_dearer(cost)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cost", FEW, ids=lambda cost: type(cost).__name__)
def test_no_sample_and_no_group_costs_more_once_than_twice(cost, way):
    once_is_no_dearer(WAYS[way](cost))


@pytest.mark.slow
@pytest.mark.skipif(not EXPLORES, reason="the whole table takes an hour: dev.py test --explore")
@pytest.mark.parametrize("way", [way for way in WAYS if way != "plain"])
@pytest.mark.parametrize("cost", SINGLE, ids=lambda cost: type(cost).__name__)
def test_nothing_costs_more_once_than_twice(cost, way):
    once_is_no_dearer(WAYS[way](cost))
