"""What is no cost is refused in words by everything that reads one: a number, a list, a mechanism instead of its cost."""

from __future__ import annotations

import pytest

import deniable as dp
from deniable import accounting
from deniable import calculus as c
from deniable.errors import InvalidArgument

MECHANISM = c.rows(c.integers(lower=0, upper=10)) >> c.total() >> c.laplace(scale=1)
READERS = {
    "epsilon": lambda cost: dp.epsilon(cost, delta=1e-6),
    "pure epsilon": lambda cost: dp.epsilon(cost, delta=0),
    "delta": lambda cost: dp.delta(cost, epsilon=1),
    "explain": lambda cost: dp.explain(cost, delta=1e-6),
    "tradeoff": dp.tradeoff,
    "profile": accounting.profile,
    "loss distribution": accounting.loss_distribution,
    "pure": accounting.pure,
    "rho": accounting.rho,
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("wrong", [0.5, "epsilon = 1", None, [dp.costs.Gaussian(scale=2)], MECHANISM, dp.costs.Laplace])
def test_what_is_no_cost_is_refused_in_words(read, wrong):
    with pytest.raises(InvalidArgument, match=r"a cost is a record of dp\.costs"):
        read(wrong)


def test_a_list_inside_a_composition_is_refused_too():
    with pytest.raises(InvalidArgument, match=r"a cost is a record of dp\.costs"):
        dp.epsilon(dp.costs.Composed(([dp.costs.Gaussian(scale=2)],)), delta=1e-6)
