"""Costs that compare different neighbours are never read together, by anything that reads."""

from fractions import Fraction
from itertools import product

import pytest

import deniable as dp
from deniable import accounting
from deniable.accounting import composition
from deniable.accounting.strength import MEASURES
from deniable.cost import Gaussian, Laplace, Mixed, Neighbours, Parallel, Sampled, Sampling, composed
from deniable.errors import Unaccountable

HALF = Fraction(1, 2)
GAUSSIAN = Gaussian(scale=2, sensitivity=1)
WAYS = list(product(Sampling, Neighbours))


def sample(cost, how, neighbours):
    return Sampled(cost, rate=HALF, how=how, neighbours=neighbours)


def joined(one, two):
    """Every way to put two costs together."""
    yield composed([one, two])
    yield composed([GAUSSIAN, one.repeated(3), two.group(2)])
    yield Parallel((one, two))
    yield Mixed([(HALF, one), (HALF, two)])


READERS = {
    "epsilon": lambda cost: dp.epsilon(cost, delta=Fraction(1, 1000)),
    "delta": lambda cost: dp.delta(cost, epsilon=1),
    "pure": accounting.pure,
    "rho": accounting.rho,
    "explain": lambda cost: dp.explain(cost, delta=Fraction(1, 1000)),
    "profile": lambda cost: dp.profile(cost)(1),
    "trade-off curve": lambda cost: dp.tradeoff(cost)(HALF),
    "loss distribution": dp.loss_distribution,
    "advanced composition": lambda cost: composition.advanced(cost, delta=Fraction(1, 1000)),
    "optimal composition": lambda cost: composition.optimal_bound(cost, delta=Fraction(1, 1000)),
    **{measure.name: measure.read for measure in MEASURES},
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())
def test_unlike_neighbours_are_refused_by_every_reader(reader):
    for one, two in product(WAYS, WAYS):
        if one[1] is two[1]:
            continue
        for cost in joined(sample(Laplace(scale=3), *one), sample(Laplace(scale=4), *two)):
            with pytest.raises(Unaccountable, match="compare different neighbours") as refusal:
                reader(cost)
            assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(("outer", "inner"), list(product(WAYS, WAYS)))
def test_a_sample_of_a_sample_needs_what_its_own_draw_compares(outer, inner):
    """Presence for independent draws, replacement for a fixed number."""
    cost = sample(sample(GAUSSIAN, *inner), *outer)
    present = inner[1] is not Neighbours.REPLACE
    if present == (outer[0] is Sampling.POISSON):
        assert dp.delta(cost, epsilon=1, gap=0.1).upper < 1
    else:
        with pytest.raises(Unaccountable, match="declare the inner sample so"):
            dp.delta(cost, epsilon=1)


def test_what_says_nothing_of_neighbours_goes_with_everything():
    for how, neighbours in WAYS:
        cost = GAUSSIAN + sample(GAUSSIAN, how, neighbours) + sample(GAUSSIAN, how, neighbours).repeated(2)
        assert dp.epsilon(cost, delta=Fraction(1, 1000), gap=0.1).upper < 20
    assert accounting.pure(Laplace(scale=2) + Laplace(scale=3)) == Fraction(5, 6)
