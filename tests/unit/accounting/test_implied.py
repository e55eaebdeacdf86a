"""Guarantees that follow for coarser and finer units: sound on enumerated mechanisms, exact where a theorem is."""

import math
from fractions import Fraction

import pytest

import deniable as dp
from deniable.accounting import Spend, implications
from deniable.cost import Bounded, Gaussian, Laplace
from deniable.errors import InvalidArgument


def hockey_stick(p, q, epsilon):
    return sum(max(0.0, p.get(x, 0.0) - math.exp(epsilon) * q.get(x, 0.0)) for x in p)


def truncated(shift, scale, radius):
    weights = {k + shift: math.exp(-abs(k) / scale) for k in range(-radius, radius + 1)}
    return {x: w / sum(weights.values()) for x, w in weights.items()}


@pytest.mark.parametrize("units", [1, 2, 3, 5])
@pytest.mark.parametrize(("scale", "radius"), [(2, 6), (3, 10), (1, 4)])
def test_a_budget_for_one_covers_groups_of_an_enumerated_mechanism(units, scale, radius):
    """Truncated noise on a count: each unit moves it by one, a group by as many; what is implied covers both ways."""
    laws = [truncated(k, scale, radius) for k in range(units + 1)]
    delta = Fraction(
        max(hockey_stick(laws[0], laws[1], 1 / scale), hockey_stick(laws[1], laws[0], 1 / scale)) * (1 + 1e-12)
    )
    found = dp.implied_guarantee(dp.budget(epsilon=Fraction(1, scale), delta=delta), units=units)
    assert found.loss == Fraction(units, scale)
    for one, two in ((laws[0], laws[-1]), (laws[-1], laws[0])):
        assert hockey_stick(one, two, units / scale) <= float(found.delta) * (1 + 1e-9)
    if units > 1:
        assert hockey_stick(laws[0], laws[-1], units / scale) > float(found.delta) * 0.5, "and is not far above it"


@pytest.mark.parametrize("units", [1, 2, 7])
def test_exact_where_a_theorem_is(units):
    assert dp.implied_guarantee(dp.budget(epsilon=Fraction(1, 2)), units=units) == Spend(Fraction(units, 2))
    assert dp.implied_guarantee(dp.budget(rho=Fraction(1, 50)), units=units) == Spend(Fraction(units**2, 50))
    noise = Gaussian(scale=10, sensitivity=1)
    read = dp.implied_guarantee(noise, units=units, delta=1e-6)
    assert read.loss == Fraction(dp.epsilon(Gaussian(scale=10, sensitivity=units), delta=1e-6).upper)
    assert dp.implied_guarantee(Laplace(scale=10), units=units, delta=1e-9).loss <= Fraction(units, 10) * (
        1 + Fraction(1, 10**12)
    )
    assert dp.implied_guarantee(dp.budget(rho=Fraction(1, 50)), units=units, delta=1e-6).unit == "epsilon"


def test_one_unit_or_a_part_of_it_keeps_the_budget_itself():
    for budget in (dp.budget(epsilon=1, delta=1e-6), dp.budget(rho=1, delta=1e-6), dp.budget(epsilon=1)):
        same = dp.implied_guarantee(budget, units=1)
        assert (same.loss, same.delta) == (budget.epsilon or budget.rho, budget.delta)


def test_what_cannot_be_said_is_refused_or_called_nothing():
    with pytest.raises(InvalidArgument, match="no theorem groups"):
        dp.implied_guarantee(dp.budget(rho=1, delta=1e-9), units=2)
    with pytest.raises(InvalidArgument, match="which delta"):
        dp.implied_guarantee(Bounded(epsilon=1), units=2)
    with pytest.raises(InvalidArgument, match="units"):
        dp.implied_guarantee(dp.budget(epsilon=1), units=0)
    read = dp.implied_guarantee(dp.budget(rho=Fraction(1, 10), delta=1e-9), units=2, delta=1e-8)
    assert 0 < read.delta < 1
    lost = implications(dp.budget(epsilon=3, delta=1e-6), unit="student", coarser={"school": 40}, finer=["test"])
    assert [row.spend.delta >= 1 for row in lost.rows] == [False, False, True]
    assert str(lost).splitlines()[2].endswith("no protection")
    assert str(lost).startswith("test (one unit, or a part of one): epsilon = 3, delta = 1e-6\nstudent (")
