"""Costs as JSON: every record of the union comes back equal, through real JSON text, and nothing else is accepted."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import cost as costs
from deniable.cost import Cost
from deniable.errors import InvalidArgument
from deniable.ledger.costs_json import cost_from_record, cost_record

fractions = st.fractions(min_value=0, max_value=10**6)
positives = fractions.filter(lambda x: x > 0)
chances = st.fractions(min_value=0, max_value=1)
counts = st.integers(min_value=1, max_value=10**30)

SINGLE = st.one_of(
    st.builds(costs.Laplace, scale=positives, sensitivity=fractions, coordinates=counts),
    st.builds(costs.DiscreteLaplace, scale=positives, sensitivity=counts, coordinates=counts),
    st.builds(costs.Gaussian, scale=positives, squared_sensitivity=fractions),
    st.builds(
        costs.DiscreteGaussian, scale=positives, squared_sensitivity=fractions, coordinates=counts, largest=counts
    ),
    st.builds(costs.TruncatedLaplace, scale=positives, radius=counts, sensitivity=counts),
    st.builds(costs.Exponential, eta=fractions),
    st.builds(costs.RandomizedResponse, truth=st.fractions(min_value=0.5, max_value=0.99)),
    st.builds(costs.Bounded, epsilon=fractions, delta=chances),
    st.builds(costs.Concentrated, rho=fractions, delta=chances),
    st.builds(costs.Renyi, st.lists(st.tuples(positives.map(lambda x: 1 + x), fractions), min_size=1, max_size=3)),
    st.builds(costs.Shuffled, epsilon=fractions, reports=counts),
)


def _nested(inner: st.SearchStrategy[Cost]) -> st.SearchStrategy[Cost]:
    several = st.lists(inner, max_size=3).map(tuple)
    return st.one_of(
        st.builds(costs.Composed, several),
        st.builds(costs.Parallel, several),
        st.builds(lambda share, one, two: costs.Mixed([(share, one), (1 - share, two)]), chances, inner, inner),
        st.builds(costs.Repeated, inner, counts),
        st.builds(costs.Grouped, inner, counts),
        st.builds(costs.Calibrated, inner, epsilon=fractions, delta=chances),
        st.builds(
            costs.Sampled,
            inner,
            rate=chances,
            how=st.sampled_from(costs.Sampling),
            neighbours=st.sampled_from(costs.Neighbours),
        ),
        st.builds(
            costs.Selected,
            inner,
            stopping=st.sampled_from(costs.Stopping),
            tries=st.fractions(min_value=Fraction(1, 100), max_value=Fraction(99, 100)),
            shape=fractions,
        ),
    )


EVERY = st.recursive(SINGLE, _nested, max_leaves=5)


@given(EVERY)
def test_every_cost_comes_back_equal(cost: Cost):
    assert cost_from_record(json.loads(json.dumps(cost_record(cost)))) == cost


def test_no_record_of_the_union_is_left_out():
    built = {
        costs.Laplace(scale=1),
        costs.DiscreteLaplace(scale=1),
        costs.Gaussian(scale=1, sensitivity=1),
        costs.DiscreteGaussian(scale=1, sensitivity=1),
        costs.TruncatedLaplace(scale=1, radius=5),
        costs.Exponential(eta=1),
        costs.RandomizedResponse(truth=Fraction(3, 4)),
        costs.Bounded(epsilon=1),
        costs.Concentrated(rho=1),
        costs.Renyi([(2, 1)]),
        costs.FREE,
        costs.Repeated(costs.Bounded(epsilon=1), 3),
        costs.Sampled(costs.Bounded(epsilon=1), rate=Fraction(1, 2)),
        costs.Allocated(costs.Bounded(epsilon=1), 4),
        costs.Shuffled(epsilon=1, reports=9),
        costs.Selected(costs.Bounded(epsilon=1), stopping=costs.Stopping.POISSON, tries=2),
        costs.Parallel((costs.Bounded(epsilon=1),)),
        costs.Mixed([(1, costs.Bounded(epsilon=1))]),
        costs.Grouped(costs.Bounded(epsilon=1), 2),
        costs.Calibrated(costs.Gaussian(scale=1, sensitivity=1), epsilon=1, delta=Fraction(1, 2)),
    }
    assert {type(cost) for cost in built} == set(get_args(Cost))
    for cost in built:
        back = cost_from_record(json.loads(json.dumps(cost_record(cost))))
        assert back == cost
        assert hash(back) == hash(cost)


def test_the_record_reads_well():
    assert cost_record(costs.Repeated(costs.DiscreteLaplace(scale=Fraction(3, 2)), 100)) == {
        "type": "Repeated",
        "cost": {"type": "DiscreteLaplace", "scale": "3/2", "sensitivity": 1, "coordinates": 1},
        "times": 100,
    }


@pytest.mark.parametrize(
    "record",
    [
        None,
        3,
        {},
        {"type": "Laplace"},
        {"type": "os.system", "command": "true"},
        {"type": "Exponential", "eta": 0.1},
        {"type": "Exponential", "eta": "nan"},
        {"type": "Exponential", "eta": "-1"},
        {"type": "Exponential", "eta": "2/4"},
        {"type": "Exponential", "eta": "1/0"},
        {"type": "Exponential", "eta": "1", "note": "more"},
        {"type": "Bounded", "epsilon": "1", "delta": "2"},
        {"type": "Repeated", "cost": {"type": "Exponential", "eta": "1"}, "times": -1},
        {"type": "Repeated", "cost": {"type": "Exponential", "eta": "1"}, "times": "1/2"},
        {"type": "Repeated", "cost": "Exponential", "times": 1},
        {"type": "Composed", "costs": {"type": "Exponential", "eta": "1"}},
        {"type": "Renyi", "curve": [["2", "1", "3"]]},
        {"type": "Shuffled", "epsilon": "1", "reports": True},
        {
            "type": "Sampled",
            "cost": {"type": "Exponential", "eta": "1"},
            "rate": "1/2",
            "how": "SECRETLY",
            "neighbours": "REPLACE",
        },
    ],
)
def test_anything_else_is_refused(record: object):
    with pytest.raises(InvalidArgument):
        cost_from_record(record)


def test_only_costs_are_written():
    with pytest.raises(InvalidArgument):
        cost_record("Bounded(epsilon=1)")  # type: ignore[arg-type]


def test_numbers_too_long_for_decimal_text_survive():
    cost = costs.Repeated(costs.Exponential(eta=Fraction(1, 3**20000)), 7**20000)
    assert cost_from_record(json.loads(json.dumps(cost_record(cost)))) == cost
