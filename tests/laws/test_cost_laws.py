"""Laws of every cost under every measure: it is read or refused, counts are neither forgotten nor applied twice, and more never
costs less."""

from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.accounting import Spend, delta, epsilon
from deniable.accounting.strength import MEASURES
from deniable.cost import (
    FREE,
    Allocated,
    Bounded,
    Calibrated,
    Composed,
    Concentrated,
    Cost,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Grouped,
    Laplace,
    Mixed,
    Neighbours,
    Parallel,
    RandomizedResponse,
    Renyi,
    Repeated,
    Sampled,
    Sampling,
    Selected,
    Shuffled,
    Stopping,
    TruncatedLaplace,
    composed,
)
from deniable.errors import Unaccountable

SINGLE = [
    Laplace(scale=4),
    Laplace(scale=4, sensitivity=2, coordinates=3),
    DiscreteLaplace(scale=5, sensitivity=2),
    Gaussian(scale=4, sensitivity=1),
    DiscreteGaussian(scale=6, sensitivity=2),
    DiscreteGaussian(scale=6, squared_sensitivity=5, coordinates=5, largest=1),
    TruncatedLaplace(scale=3, radius=60, sensitivity=2),
    Exponential(eta=Fraction(1, 2)),
    RandomizedResponse(truth=Fraction(3, 4)),
    RandomizedResponse(truth=Fraction(1, 2), categories=5),
    Bounded(epsilon=Fraction(1, 3)),
    Bounded(epsilon=Fraction(1, 3), delta=Fraction(1, 10**8)),
    Concentrated(rho=Fraction(1, 50)),
    Concentrated(rho=Fraction(1, 50), delta=Fraction(1, 10**8)),
    Renyi((Fraction(a), Fraction(a, 60)) for a in range(2, 60)),
    Allocated(Gaussian(scale=2, sensitivity=1), 20),
    Allocated(Laplace(scale=2), 3),
    Shuffled(epsilon=1, reports=3000),
    Gaussian(scale=2, sensitivity=1).sampled(rate=Fraction(1, 50)),
    Gaussian(scale=2, sensitivity=1).sampled(rate=Fraction(1, 50), neighbours=Neighbours.REPLACE),
    Sampled(
        Gaussian(scale=2, sensitivity=1),
        rate=Fraction(1, 50),
        how=Sampling.WITHOUT_REPLACEMENT,
        neighbours=Neighbours.REPLACE,
    ),
    Laplace(scale=2).sampled(rate=Fraction(1, 10)),
    Selected(Gaussian(scale=20, sensitivity=1), stopping=Stopping.NEGATIVE_BINOMIAL, tries=Fraction(1, 10)),
    Selected(Laplace(scale=20), stopping=Stopping.POISSON, tries=5),
    Parallel((Laplace(scale=4), Gaussian(scale=4, sensitivity=1))),
    Mixed([(Fraction(1, 3), Laplace(scale=4)), (Fraction(2, 3), Gaussian(scale=4, sensitivity=1))]),
    Grouped(Gaussian(scale=8, sensitivity=1), 3),
    Grouped(Renyi((Fraction(a), Fraction(a, 400)) for a in range(2, 100)), 2),
    Repeated(Laplace(scale=40), 3),
    Calibrated(Gaussian(scale=8, sensitivity=1), epsilon=1, delta=Fraction(1, 10)),
    Composed((Laplace(scale=9), Gaussian(scale=9, sensitivity=1))),
]


def test_every_record_of_the_union_is_tried():
    assert {type(cost) for cost in SINGLE} == set(get_args(Cost))


def assert_one_line(refusal):
    assert len(str(refusal).splitlines()) == 1


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
@pytest.mark.parametrize("cost", SINGLE, ids=lambda cost: type(cost).__name__)
def test_every_measure_reads_or_refuses_every_cost(cost, measure):
    try:
        loss = measure.read(cost)
    except Unaccountable as refusal:
        assert_one_line(refusal)
        return
    assert loss == measure.read(cost)
    assert measure.repeat(loss, 1) == loss
    assert measure.at_most(loss, loss)


REFUSED = [
    *SINGLE,
    Grouped(Shuffled(epsilon=1, reports=300), 2),
    Grouped(Concentrated(rho=Fraction(1, 50), delta=Fraction(1, 10**8)), 2),
    Concentrated(rho=Fraction(1, 50), delta=Fraction(1, 10**8)).sampled(rate=Fraction(1, 10)),
    Laplace(scale=9) + Renyi((Fraction(a), Fraction(a, 60)) for a in range(2, 60)),
]


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
@pytest.mark.parametrize("cost", REFUSED, ids=lambda cost: type(cost).__name__)
def test_a_refusal_names_a_measure_that_reads_the_cost(cost, measure):
    """Never a dead end: what a refusal tells you to read the cost as does read it."""
    try:
        measure.read(cost)
    except Unaccountable as refusal:
        advice = str(refusal).partition("; ")[2]
        named = [each for each in MEASURES if each.name in advice and "deniable.epsilon" not in advice]
        assert named or "deniable.epsilon(cost, delta=...)" in advice
        for each in named:
            each.read(cost)
        if "deniable.epsilon" in advice:
            assert epsilon(cost, delta=Fraction(1, 1000), gap=0.1).upper >= 0


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
@pytest.mark.parametrize("cost", SINGLE, ids=lambda cost: type(cost).__name__)
def test_a_count_counts_exactly_once(cost, measure):
    try:
        loss = measure.read(cost)
    except Unaccountable:
        return
    for times in (0, 1, 2, 7, 10**6):
        assert measure.read(Repeated(cost, times)) == measure.repeat(loss, times)
    for times in (2, 7):
        assert measure.read(composed([cost] * times)) == measure.repeat(loss, times)
    assert measure.read(cost.repeated(2).repeated(3)) == measure.repeat(loss, 6)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_nothing_is_nothing_and_order_does_not_matter(measure):
    assert measure.read(FREE) == measure.read(Repeated(Laplace(scale=4), 0)) == measure.compose(())
    one, two = Laplace(scale=4), Gaussian(scale=40, sensitivity=1)
    try:
        forth, back = measure.read(one + two), measure.read(two + one)
    except Unaccountable:
        return
    assert measure.at_most(forth, back)
    assert measure.at_most(back, forth)


def test_disjoint_parts_cost_the_worst_of_them_under_every_exact_measure():
    for measure in MEASURES[:4]:
        parts = [Laplace(scale=4), Laplace(scale=5), Laplace(scale=6)]
        assert measure.read(Parallel(tuple(parts))) == measure.worst(map(measure.read, parts)) == measure.read(parts[0])


@pytest.mark.parametrize("cost", SINGLE, ids=lambda cost: type(cost).__name__)
def test_epsilon_and_delta_are_inverse_to_one_another(cost):
    found = epsilon(cost, delta=1e-6)
    assert delta(cost, epsilon=found.upper * (1 + 2e-4)).lower <= 1e-6
    if found.lower > 0:
        assert delta(cost, epsilon=found.lower * (1 - 2e-4)).upper >= 1e-6


scales = st.integers(2, 60).map(Fraction)
pieces = st.one_of(
    st.builds(lambda s: Laplace(scale=s), scales),
    st.builds(lambda s: Gaussian(scale=s, sensitivity=1), scales),
    st.builds(lambda s, k: DiscreteLaplace(scale=s, sensitivity=k), scales, st.integers(1, 3)),
    st.builds(lambda s: Bounded(epsilon=1 / s, delta=Fraction(1, 10**9)), scales),
    st.builds(lambda s: Exponential(eta=1 / s), scales),
)


@settings(max_examples=60)
@given(st.lists(st.tuples(pieces, st.integers(1, 5)), min_size=1, max_size=4))
def test_exact_measures_are_additive(parts):
    for measure in MEASURES:
        try:
            whole = measure.read(composed(each.repeated(times) for each, times in parts))
        except Unaccountable:
            continue
        apart = measure.compose(measure.repeat(measure.read(each), times) for each, times in parts)
        assert measure.at_most(whole, apart)
        if isinstance(whole, Fraction | Spend):
            assert whole == apart
