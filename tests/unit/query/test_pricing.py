"""A price is what is charged, the charge covers what happens, and nothing here needs data."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.accounting import BasicRule, PureRule, Spend, budget, epsilon, rho
from deniable.cost import Bounded
from deniable.errors import InvalidArgument, QueryRefused
from deniable.mechanisms.laws import Law
from deniable.mechanisms.selection import new_key_delta
from deniable.plan.sensitivity import Sensitivity
from deniable.query.pricing import Additive, Needs, Request, Selection, bill, coarse

EPSILON_RULE = BasicRule(Spend(Fraction(10), Fraction(1, 10**5)))
RHO_RULE = budget(rho=10, delta=1e-5).rule()


@st.composite
def needs(draw, *, observed=None):
    groups = draw(st.integers(1, 5))
    additive = tuple(
        Additive(f"m{i}", Sensitivity(l0=groups, l1=groups * each, linf=each))
        for i, each in enumerate(draw(st.lists(st.integers(1, 50), max_size=3)))
    )
    selections = tuple(
        Selection(
            f"c{i}", Fraction(draw(st.integers(1, 9)), 2), draw(st.booleans()), groups, draw(st.integers(1, 3)), 64
        )
        for i in range(draw(st.integers(0 if additive else 1, 2)))
    )
    units = ()
    if draw(st.booleans() if observed is None else observed):
        additive = (*additive, Additive("u", Sensitivity(l0=groups, l1=groups, linf=1)))
        units = ("u",)
    return Needs(additive, selections, units)


asked_epsilon = st.fractions(Fraction(1, 100), Fraction(5), max_denominator=100)


@settings(max_examples=40, deadline=None)
@given(needs=needs(), asked=asked_epsilon, law=st.sampled_from([None, Law.LAPLACE, Law.GAUSSIAN]))
def test_the_charge_covers_what_happens_in_epsilon(needs, asked, law):
    delta = Fraction(1, 10**6)
    stated = bill(needs, Request(asked, None, delta, law), EPSILON_RULE)
    assert isinstance(stated.charge, Bounded)
    assert stated.charge.epsilon == asked
    assert stated.charge.delta <= delta
    assert epsilon(stated.cost, delta=stated.charge.delta).lower <= float(asked) * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(needs=needs(), asked=st.fractions(Fraction(1, 1000), Fraction(1), max_denominator=1000))
def test_the_charge_is_what_happens_in_rho(needs, asked):
    stated = bill(needs, Request(None, asked, Fraction(1, 10**6)), RHO_RULE)
    assert stated.charge == stated.cost
    spend = RHO_RULE.read(stated.charge)
    assert spend.loss <= asked
    assert spend.delta <= Fraction(1, 10**6)


@settings(max_examples=30, deadline=None)
@given(needs=needs(observed=st.just(True)), asked=asked_epsilon)
def test_the_threshold_hides_a_key_only_one_unit_has(needs, asked):
    stated = bill(needs, Request(asked, None, Fraction(1, 10**6)), EPSILON_RULE)
    (threshold,) = stated.thresholds
    moved = next(part.moved for part in needs.additive if part.name == "u")
    noise = stated.noises["u"]
    leak = new_key_delta(threshold.at, scale=noise.scale, l0=moved.l0, linf=1, law=noise.law)
    assert leak <= threshold.delta
    if threshold.at > 2:  # one lower would not do: the threshold is not needlessly high
        low = new_key_delta(threshold.at - 1, scale=noise.scale, l0=moved.l0, linf=1, law=noise.law)
        assert low > threshold.delta


def test_without_delta_only_laplace_is_used_and_observed_keys_are_refused():
    one = Needs((Additive("m", Sensitivity(l0=1, l1=1, linf=1)),), ())
    pure = PureRule(Spend(Fraction(1)))
    assert bill(one, Request(Fraction(1), None, Fraction(0)), pure).law is Law.LAPLACE
    with pytest.raises(InvalidArgument, match="needs a delta"):
        bill(one, Request(Fraction(1), None, Fraction(0), Law.GAUSSIAN), pure)
    with pytest.raises(QueryRefused, match="keys-need-delta"):
        bill(Needs(one.additive, (), ("m",)), Request(Fraction(1), None, Fraction(0)), pure)


def test_the_better_law_is_chosen_and_said():
    narrow = Needs((Additive("m", Sensitivity(l0=1, l1=1, linf=1)),), ())
    wide = Needs((Additive("m", Sensitivity(l0=50, l1=50, linf=1)),), ())
    asked = Request(Fraction(1), None, Fraction(1, 10**7))
    assert bill(narrow, asked, EPSILON_RULE).law is Law.LAPLACE
    stated = bill(wide, asked, EPSILON_RULE)
    assert stated.law is Law.GAUSSIAN
    assert "times as wide" in stated.reason


def test_rho_can_be_paid_from_an_epsilon_budget():
    one = Needs((Additive("m", Sensitivity(l0=1, l1=1, linf=1)),), ())
    asked = Request(None, Fraction(1, 100), Fraction(1, 10**6))
    stated = bill(one, asked, EPSILON_RULE)
    assert isinstance(stated.charge, Bounded)
    assert float(stated.charge.epsilon) >= epsilon(stated.cost, delta=stated.charge.delta).lower
    assert rho(stated.cost) <= Fraction(1, 100)


@given(st.fractions(Fraction(1, 10**6), Fraction(10**9), max_denominator=10**6))
def test_scales_are_only_rounded_up_and_hardly(scale):
    rounded = coarse(scale)
    assert scale <= rounded <= scale * (1 + Fraction(1, 2**22))


@pytest.mark.parametrize(("epsilon", "rho"), [(None, None), (Fraction(1), Fraction(1))])
def test_a_request_is_paid_in_one_currency(epsilon, rho):
    with pytest.raises(InvalidArgument, match="one of them"):
        Request(epsilon, rho, Fraction(0))
