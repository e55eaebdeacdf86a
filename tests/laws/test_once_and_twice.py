"""One release never reads dearer than two, whatever the record: plain, on a sample, for a group, with a unit replaced."""

from fractions import Fraction

import pytest

from deniable.accounting import delta, epsilon
from deniable.cost import (
    Calibrated,
    Composed,
    Gaussian,
    Grouped,
    Neighbours,
    Parallel,
    Repeated,
    Sampled,
    Sampling,
    Selected,
)
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
CHANCE, GAP, COARSE = Fraction(1, 10**6), 1e-2, 0.3
FINE_LOSSES = (Fraction(0), Fraction(1, 5), None)


def once_is_no_dearer(cost, *, gap=GAP, losses=FINE_LOSSES):
    """Both brackets may be as wide as `gap`: of two releases that cost the same the first may read so much wider."""
    slack = 1 + 2 * gap
    try:
        both = epsilon(cost.repeated(2), delta=CHANCE, gap=gap)
    except Unaccountable:
        return
    once = epsilon(cost, delta=CHANCE, gap=gap)
    assert once.upper <= both.upper * slack
    assert once.lower <= both.upper
    for loss in losses:
        at = Fraction(min(both.upper, 500.0)) / 2 if loss is None else loss
        single, double = delta(cost, epsilon=at, gap=gap), delta(cost.repeated(2), epsilon=at, gap=gap)
        assert single.upper <= double.upper * slack
        assert single.lower <= double.upper


@pytest.mark.parametrize("cost", SINGLE, ids=lambda cost: type(cost).__name__)
def test_no_record_costs_more_once_than_twice(cost):
    once_is_no_dearer(cost)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cost", FEW, ids=lambda cost: type(cost).__name__)
def test_no_sample_and_no_group_costs_more_once_than_twice(cost, way):
    once_is_no_dearer(WAYS[way](cost))


SAMPLED_WAYS = [way for way in WAYS if way != "plain"]


def _coarse_cases():
    """Every kind of record once, in turn on all kinds of samples; records made of records as groups, which read quickly."""
    for place, cost in enumerate(SINGLE):
        if isinstance(cost, Grouped) and not isinstance(cost.cost, Gaussian):
            continue  # a group of a curve alone: minutes in any way
        made_of_others = isinstance(cost, Selected | Parallel | Repeated | Calibrated | Composed)
        yield cost, "group" if made_of_others else SAMPLED_WAYS[2 * place % len(SAMPLED_WAYS)]


@pytest.mark.parametrize(
    ("cost", "way"), list(_coarse_cases()), ids=lambda v: v if isinstance(v, str) else type(v).__name__
)
def test_every_record_in_one_way_coarsely(cost, way):
    """The whole table with narrow brackets takes an hour; this notices whatever is off by more than half."""
    once_is_no_dearer(WAYS[way](cost), gap=COARSE, losses=())


@pytest.mark.parametrize("gap", [GAP, COARSE])
def test_a_single_release_read_too_dearly_is_caught(monkeypatch, gap):
    """Planted: one release read at twice its price (it was 26 times once)."""
    honest = epsilon

    def dear(cost, **asked):
        return honest(cost if isinstance(cost, Composed | Repeated) else cost.repeated(5), **asked)

    once_is_no_dearer(FEW[0], gap=gap, losses=())
    monkeypatch.setitem(globals(), "epsilon", dear)
    with pytest.raises(AssertionError):
        once_is_no_dearer(FEW[0], gap=gap, losses=())


@pytest.mark.slow
@pytest.mark.skipif(not EXPLORES, reason="the whole table takes an hour: dev.py test --explore")
@pytest.mark.parametrize("way", SAMPLED_WAYS)
@pytest.mark.parametrize("cost", SINGLE, ids=lambda cost: type(cost).__name__)
def test_nothing_costs_more_once_than_twice(cost, way):
    once_is_no_dearer(WAYS[way](cost))
