"""A price is what is charged, the charge covers what happens, and nothing here needs data."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.accounting import Filters, Rule, RuleKind, Spend, budget, epsilon, rho
from deniable.cost import Bounded
from deniable.errors import InvalidArgument, QueryRefused
from deniable.kernels.laws import Law
from deniable.kernels.unit_sensitivity import Sensitivity
from deniable.mechanisms.private_keys import new_key_delta
from deniable.query.allocation import Request, allocate, coarse
from deniable.query.columns import SliceColumn
from deniable.query.measurements import Additive, Measurements, Selection

EPSILON_RULE = Filters.single(Rule(RuleKind.BASIC, Spend(Fraction(10), Fraction(1, 10**5))))
RHO_RULE = budget(rho=10, delta=1e-5).filters()


@st.composite
def needs(draw, *, observed=None):
    groups = draw(st.integers(1, 5))
    additive = tuple(
        Additive(SliceColumn(f"m{i}"), Sensitivity(l0=groups, l1=groups * each, linf=each))
        for i, each in enumerate(draw(st.lists(st.integers(1, 50), max_size=3)))
    )
    selections = tuple(
        Selection(
            SliceColumn(f"c{i}"),
            Fraction(draw(st.integers(1, 9)), 2),
            draw(st.booleans()),
            groups,
            draw(st.integers(1, 3)),
            64,
        )
        for i in range(draw(st.integers(0 if additive else 1, 2)))
    )
    units = ()
    if draw(st.booleans() if observed is None else observed):
        additive = (*additive, Additive(SliceColumn("u"), Sensitivity(l0=groups, l1=groups, linf=1)))
        units = (SliceColumn("u"),)
    return Measurements(additive, selections, units)


asked_epsilon = st.fractions(Fraction(1, 100), Fraction(5), max_denominator=100)


@settings(max_examples=40, deadline=None)
@given(needs=needs(), asked=asked_epsilon, law=st.sampled_from([None, Law.LAPLACE, Law.GAUSSIAN]))
def test_the_charge_covers_what_happens_in_epsilon(needs, asked, law):
    delta = Fraction(1, 10**6)
    stated = allocate(needs, Request(asked, None, delta, law), EPSILON_RULE)
    assert isinstance(stated.charge, Bounded)
    assert stated.charge.epsilon == asked
    assert stated.charge.delta <= delta
    assert epsilon(stated.cost, delta=stated.charge.delta, gap=1e-2).lower <= float(asked) * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(needs=needs(), asked=st.fractions(Fraction(1, 1000), Fraction(1), max_denominator=1000))
def test_the_charge_is_what_happens_in_rho(needs, asked):
    stated = allocate(needs, Request(None, asked, Fraction(1, 10**6)), RHO_RULE)
    assert stated.charge == stated.cost
    spend = RHO_RULE.rules[0].read(stated.charge)
    assert spend.loss <= asked
    assert spend.delta <= Fraction(1, 10**6)


@settings(max_examples=30, deadline=None)
@given(needs=needs(observed=st.just(True)), asked=asked_epsilon)
def test_the_threshold_hides_a_key_only_one_unit_has(needs, asked):
    stated = allocate(needs, Request(asked, None, Fraction(1, 10**6)), EPSILON_RULE)
    (threshold,) = stated.thresholds
    moved = next(part.sensitivity for part in needs.additive if part.key == SliceColumn("u"))
    noise = stated.noises[SliceColumn("u")]
    leak = new_key_delta(threshold.at, scale=noise.scale, l0=moved.l0, linf=1, law=noise.law)
    assert leak <= threshold.delta
    if threshold.at > 2:  # one lower would not do: the threshold is not needlessly high
        low = new_key_delta(threshold.at - 1, scale=noise.scale, l0=moved.l0, linf=1, law=noise.law)
        assert low > threshold.delta


def test_without_delta_only_laplace_is_used_and_observed_keys_are_refused():
    one = Measurements((Additive(SliceColumn("m"), Sensitivity(l0=1, l1=1, linf=1)),), ())
    pure = budget(epsilon=1).filters()
    assert allocate(one, Request(Fraction(1), None, Fraction(0)), pure).law is Law.LAPLACE
    with pytest.raises(InvalidArgument, match="needs a delta"):
        allocate(one, Request(Fraction(1), None, Fraction(0), Law.GAUSSIAN), pure)
    with pytest.raises(QueryRefused, match="keys-need-delta"):
        allocate(Measurements(one.additive, (), (SliceColumn("m"),)), Request(Fraction(1), None, Fraction(0)), pure)


def test_the_better_law_is_chosen_and_said():
    narrow = Measurements((Additive(SliceColumn("m"), Sensitivity(l0=1, l1=1, linf=1)),), ())
    wide = Measurements((Additive(SliceColumn("m"), Sensitivity(l0=50, l1=50, linf=1)),), ())
    asked = Request(Fraction(1), None, Fraction(1, 10**7))
    assert allocate(narrow, asked, EPSILON_RULE).law is Law.LAPLACE
    stated = allocate(wide, asked, EPSILON_RULE)
    assert stated.law is Law.GAUSSIAN
    assert "times as large" in stated.reason


def test_rho_can_be_paid_from_an_epsilon_budget():
    one = Measurements((Additive(SliceColumn("m"), Sensitivity(l0=1, l1=1, linf=1)),), ())
    asked = Request(None, Fraction(1, 100), Fraction(1, 10**6))
    stated = allocate(one, asked, EPSILON_RULE)
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


@pytest.mark.parametrize("asked", [Fraction(1e-320), Fraction(5e-324), Fraction(1, 10**400), Fraction(1, 10**5000)])
@pytest.mark.parametrize("law", [Law.LAPLACE, None])
def test_a_tiny_price_is_refused_in_one_line(asked, law):
    """No float is as large as the scale it would need; the message says about how large that is."""
    part = Additive(SliceColumn("m"), Sensitivity(l0=2, l1=6, linf=3))
    for request, rule in (
        (Request(asked, None, Fraction(0), law), EPSILON_RULE),
        (Request(None, asked**2, Fraction(0), law), RHO_RULE),
    ):
        with pytest.raises(
            InvalidArgument,
            match=r"^this price needs noise of (more than )?[\d.]+e\+\d+ grid steps, more than can be drawn; .*$",
        ):
            allocate(Measurements((part,), (), ()), request, rule)
    choice = Selection(SliceColumn("c"), Fraction(1, 2), True, 2, 1, 64)
    assert choice.score_error(asked, Fraction(1, 20)) == float("inf")


@pytest.mark.parametrize("levels", [1, 2, 3, 4])
@pytest.mark.parametrize("law", [None, *Law])
@pytest.mark.parametrize("paid", [{"epsilon": 1}, {"rho": 1}])
def test_thresholds_of_several_levels_share_the_delta_that_was_asked(levels, law, paid):
    import deniable as dp
    from deniable.testing import Silent

    book = {
        "name": "v",
        "unit": {"id": "p", "groups": 2, "rows_per_group": 1},
        "tables": {"v": {"variables": {"p": "integer", **{f"k{i}": "string" for i in range(levels)}}}},
    }
    data = dp.Dataset({"p": [1], **{f"k{i}": ["a"] for i in range(levels)}}, codebook=book)
    session = data.session(dp.budget(**dict.fromkeys(paid, 10), delta=Fraction(1, 100)), entropy=Silent())
    asked = session.query().group_by(*(f"k{i}" for i in range(levels))).rollup().agg(n=dp.count())
    price = asked.price(**paid, delta=Fraction(1, 10**6), law=law)
    assert len(price.thresholds) == levels
    assert price.spend.delta <= Fraction(1, 10**6)
