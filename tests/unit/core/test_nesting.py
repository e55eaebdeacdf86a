"""Compositors in compositors: each kind in each, concurrent children, the theorem named, and no loss distribution in a filter."""

from fractions import Fraction

import pytest

import deniable as dp
from deniable.accounting import Adaptivity
from deniable.accounting.filters import BasicRule, ConcentratedRule, GaussianRule, PureRule, RenyiRule
from deniable.core import integers, rows
from deniable.cost import Bounded, Concentrated, Gaussian, Laplace
from deniable.errors import BudgetExceeded, InvalidArgument

SPACE = rows(integers(lower=0, upper=1))
STEP = dp.calculus.count() >> dp.laplace(scale=10)
PRICE = (SPACE >> STEP).cost(d_in=1)
SMALL = dp.budget(epsilon=Fraction(1, 5))


def parent(kind, child):
    """A compositor of this kind with room for that child."""
    if kind == "filter":
        return dp.compositor([1] * 9, SPACE, budget=dp.budget(epsilon=1))
    if kind == "odometer":
        return dp.odometer([1] * 9, SPACE)
    wanted = Bounded(epsilon=SMALL.epsilon) if child == "filter" else PRICE
    return dp.compositor([1] * 9, SPACE, costs=[wanted])


def opened(compositor, kind):
    match kind:
        case "filter":
            return compositor.filter(SMALL)
        case "odometer":
            return compositor.odometer()
        case _:
            return compositor.planned([PRICE])


@pytest.mark.parametrize("outer", ["filter", "odometer", "planned"])
@pytest.mark.parametrize("inner", ["filter", "odometer", "planned"])
def test_each_in_each(outer, inner):
    """The parent has paid when the child answers, whatever the two are; every object names its theorem."""
    above = parent(outer, inner)
    below = opened(above, inner)
    assert isinstance(below.release(below.space >> STEP), int)
    paid = dp.costs.Bounded(epsilon=SMALL.epsilon) if inner == "filter" else PRICE
    assert above.gate.charged == paid
    assert isinstance(below.adaptivity, Adaptivity)
    assert isinstance(above.adaptivity, Adaptivity)
    assert below.theorem
    assert above.theorem


@pytest.mark.parametrize("middle", ["filter", "odometer"])
def test_three_deep(middle):
    above = dp.compositor([1] * 9, SPACE, budget=dp.budget(epsilon=1))
    between = opened(above, middle)
    below = between.planned([PRICE])
    below.release(SPACE >> STEP)
    assert above.spent.loss == (Fraction(1, 5) if middle == "filter" else Fraction(1, 10))


def test_concurrent_children_share_one_budget():
    """Two children used turn by turn: what each may spend was paid when it was opened, and a third does not fit."""
    whole = dp.compositor([1] * 9, SPACE, budget=dp.budget(epsilon=Fraction(1, 2)))
    one, two = whole.filter(SMALL), whole.filter(SMALL)
    for child in (one, two, two, one):
        child.release(SPACE >> STEP)
    with pytest.raises(BudgetExceeded):
        one.release(SPACE >> STEP)
    with pytest.raises(BudgetExceeded):
        whole.filter(SMALL)
    assert whole.spent.loss == Fraction(2, 5)


def test_a_filter_says_which_theorem_it_rests_on_and_never_a_loss_distribution():
    """A loss distribution is sound for losses fixed beforehand only: no rule of a filter is one."""
    rules = (PureRule, BasicRule, ConcentratedRule, GaussianRule, RenyiRule)
    assert all(rule.adaptivity is Adaptivity.LOSSES for rule in rules)
    assert all("distribution" not in rule.theorem for rule in rules)
    assert dp.compositor([], SPACE, costs=[PRICE]).adaptivity is Adaptivity.QUERIES
    assert dp.compositor([], SPACE, budget=dp.budget(epsilon=1)).adaptivity is Adaptivity.LOSSES


@pytest.mark.parametrize(
    ("workload", "kind"),
    [
        ([Gaussian(scale=20, sensitivity=1)] * 50, GaussianRule),
        ([Bounded(epsilon=Fraction(1, 2), delta=Fraction(1, 10**7))], BasicRule),
        ([Laplace(scale=200)] * 300, (ConcentratedRule, RenyiRule)),
        ([Gaussian(scale=3, sensitivity=1).sampled(rate=Fraction(1, 100))] * 200, RenyiRule),
    ],
)
def test_a_workload_picks_the_best_rule_and_says_so(workload, kind):
    budget = dp.budget(epsilon=1, delta=1e-6)
    session = dp.compositor([1] * 9, SPACE, budget=budget, workload=workload)
    rule = session.gate.rule
    assert isinstance(rule, kind)
    assert rule.theorem in session.theorem
    assert rule.reason in session.theorem
    others = [budget.rule(), budget.rule([Bounded(epsilon=1, delta=Fraction(1, 10**7))])]
    fits = [_fitting(each, workload) for each in (rule, *others)]
    assert fits[0] >= max(fits[1:])


def _fitting(rule, workload):
    """How many times over the workload fits a rule, by trying."""
    try:
        spent = rule.read(dp.costs.composed(workload))
    except dp.Unaccountable:
        return 0
    return min(
        rule.limit.loss / spent.loss if spent.loss else 10**9, rule.limit.delta / spent.delta if spent.delta else 10**9
    )


def test_a_workload_belongs_to_a_budget():
    with pytest.raises(InvalidArgument, match="a plan needs none"):
        dp.compositor([], SPACE, costs=[PRICE], workload=[PRICE])


def test_a_child_with_a_workload():
    whole = dp.compositor([1] * 9, SPACE, budget=dp.budget(epsilon=2, delta=1e-5))
    child = whole.filter(
        dp.budget(epsilon=Fraction(1, 4), delta=1e-7), workload=[Gaussian(scale=50, sensitivity=1)] * 9
    )
    assert isinstance(child.gate.rule, GaussianRule)
    assert whole.spent.loss > 0


def test_an_odometer_under_a_plan_counts_in_rho():
    plan = dp.compositor([1] * 9, SPACE, costs=[Concentrated(rho=1)])
    child = plan.odometer()
    assert isinstance(child.gate.inner.rule, ConcentratedRule)
