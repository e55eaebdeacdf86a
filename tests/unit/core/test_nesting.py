"""Compositors in compositors: each kind in each, concurrent children, the theorem named, and no loss distribution in a filter."""

from fractions import Fraction

import pytest

import deniable as dp
from deniable.accounting import Adaptivity, Spend
from deniable.accounting.filters import RuleKind
from deniable.core import integers, rows
from deniable.cost import Bounded, Concentrated, Gaussian, Laplace
from deniable.errors import BudgetExceeded, InvalidArgument

SPACE = rows(integers(lower=0, upper=1))
STEP = dp.calculus.count() >> dp.calculus.laplace(scale=10)
PRICE = (SPACE >> STEP).cost(d_in=1)
SMALL = dp.budget(epsilon=Fraction(1, 5))


def parent(kind, child):
    """A compositor of this kind with room for that child."""
    if kind == "filter":
        return dp.calculus.compositor([1] * 9, SPACE, budget=dp.budget(epsilon=1))
    if kind == "odometer":
        return dp.calculus.odometer([1] * 9, SPACE)
    wanted = Bounded(epsilon=SMALL.epsilon) if child == "filter" else PRICE
    return dp.calculus.compositor([1] * 9, SPACE, costs=[wanted])


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
    above = dp.calculus.compositor([1] * 9, SPACE, budget=dp.budget(epsilon=1))
    between = opened(above, middle)
    below = between.planned([PRICE])
    below.release(SPACE >> STEP)
    assert above.spent.loss == (Fraction(1, 5) if middle == "filter" else Fraction(1, 10))


def test_concurrent_children_share_one_budget():
    """Two children used turn by turn: what each may spend was paid when it was opened, and a third does not fit."""
    whole = dp.calculus.compositor([1] * 9, SPACE, budget=dp.budget(epsilon=Fraction(1, 2)))
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
    assert all(kind.adaptivity is Adaptivity.LOSSES for kind in RuleKind)
    assert all("distribution" not in kind.theorem for kind in RuleKind)
    assert dp.calculus.compositor([], SPACE, costs=[PRICE]).adaptivity is Adaptivity.QUERIES
    assert dp.calculus.compositor([], SPACE, budget=dp.budget(epsilon=1)).adaptivity is Adaptivity.LOSSES


@pytest.mark.parametrize(
    ("workload", "kind"),
    [
        ([Gaussian(scale=50, sensitivity=1)] * 50, RuleKind.GAUSSIAN),
        ([Bounded(epsilon=Fraction(1, 2), delta=Fraction(1, 10**7))], RuleKind.BASIC),
        ([Laplace(scale=200)] * 300, RuleKind.RENYI),
        ([Gaussian(scale=3, sensitivity=1).sampled(rate=Fraction(1, 100))] * 200, RuleKind.RENYI),
    ],
)
def test_a_workload_picks_the_best_rule_and_says_so(workload, kind):
    """The filter that suits it gets most of delta: hardly less fits than under the best rule alone with all of delta."""
    budget = dp.budget(epsilon=1, delta=1e-6)
    session = dp.calculus.compositor([1] * 9, SPACE, budget=budget, workload=workload)
    session.gate.charge(dp.costs.composed(workload[: len(workload) // 2 or 1]))
    assert session.gate.rule.kind is kind
    assert "best of several filters" in session.theorem
    assert "suits the workload" in session.theorem
    best = max(_fitting(each, workload) for each in (budget.rule(), budget.rule(workload)))
    found = _fitting(session.gate.rule, workload)
    assert best * Fraction(97, 100) <= found


def _fitting(rule, workload):
    """How many times over the workload fits a rule, by trying."""
    try:
        spent = rule.read(dp.costs.composed(workload))
    except dp.errors.Unaccountable:
        return 0
    return min(
        rule.limit.loss / spent.loss if spent.loss else 10**9, rule.limit.delta / spent.delta if spent.delta else 10**9
    )


def test_a_workload_belongs_to_a_budget():
    with pytest.raises(InvalidArgument, match="a plan needs none"):
        dp.calculus.compositor([], SPACE, costs=[PRICE], workload=[PRICE])


def test_a_child_with_a_workload():
    whole = dp.calculus.compositor([1] * 9, SPACE, budget=dp.budget(epsilon=2, delta=1e-5))
    child = whole.filter(
        dp.budget(epsilon=Fraction(1, 4), delta=1e-7), workload=[Gaussian(scale=50, sensitivity=1)] * 9
    )
    even = dp.budget(epsilon=Fraction(1, 4), delta=1e-7).filters()
    assert child.gate.filters.rules[2].limit.loss > even.rules[2].limit.loss
    assert whole.spent == Spend(Fraction(1, 4), Fraction(1, 10**7))


def test_an_odometer_under_a_plan_counts_in_rho():
    plan = dp.calculus.compositor([1] * 9, SPACE, costs=[Concentrated(rho=1)])
    child = plan.odometer()
    assert child.gate.inner.rule.kind is RuleKind.CONCENTRATED


def test_a_child_is_charged_what_its_own_rule_guarantees():
    """Under a rho parent a child of (1, 1e-6) keeps rho too, and costs a twentieth of what its pair would."""
    whole = dp.calculus.compositor([1] * 9, SPACE, budget=dp.budget(rho=Fraction(1, 10), delta=1e-5))
    child = whole.filter(dp.budget(epsilon=1, delta=1e-6))
    rule = child.gate.filters.only
    assert rule.kind is RuleKind.CONCENTRATED
    assert whole.gate.charged == Concentrated(rho=rule.limit.loss, delta=rule.limit.delta)
    assert whole.spent == rule.limit
    for _ in range(3):
        whole.filter(dp.budget(epsilon=1, delta=1e-6))
    with pytest.raises(BudgetExceeded):
        whole.filter(dp.budget(epsilon=1, delta=1e-6))


def test_the_plainest_pair_of_budgets_nests():
    whole = dp.calculus.compositor([1] * 9, SPACE, budget=dp.budget(epsilon=2, delta=1e-5))
    whole.filter(dp.budget(epsilon=1, delta=1e-6))
    assert whole.spent == Spend(Fraction(1), Fraction(1, 10**6))
    assert whole.gate.charged == Bounded(epsilon=1, delta=Fraction(1, 10**6))


@pytest.mark.parametrize("parent", [{"epsilon": 5}, {"rho": 5}])
def test_the_delta_of_a_child_is_paid_and_compared(parent):
    """Five children with a delta each: the parent pays five, and refuses the sixth for its delta alone."""
    small = dp.budget(epsilon=Fraction(1, 10), delta=Fraction(1, 10**6))
    cost = (small.rule() if "rho" in parent else small.filters().rules[0]).limit
    each = cost.delta if "rho" in parent else small.delta
    room = 5 * each if "rho" in parent else 25 * each  # a fifth is kept for leaks
    whole = dp.calculus.compositor([1] * 9, SPACE, budget=dp.budget(**parent, delta=room))
    for count in range(1, 6):
        whole.filter(small)
        assert whole.spent.delta == count * each
    with pytest.raises(BudgetExceeded):
        whole.filter(small)
    whole.filter(dp.budget(epsilon=Fraction(1, 10)))


def test_a_filter_in_memory_compares_delta():
    leak = Bounded(epsilon=0, delta=Fraction(1, 10**7))
    for budget, most in (
        (dp.budget(rho=1, delta=Fraction(1, 10**6)), 10),
        (dp.budget(epsilon=1, delta=Fraction(1, 10**6)), 2),
    ):
        gate = dp.calculus.PrivacyFilter(budget.filters())
        for _ in range(most):
            gate.charge(leak)
        with pytest.raises(BudgetExceeded, match="delta = 1e-7"):
            gate.charge(leak)


def test_an_odometer_without_a_budget_adds_epsilons_and_deltas():
    meter = dp.calculus.odometer([1] * 9, SPACE)
    meter.gate.charge(Bounded(epsilon=Fraction(1, 2), delta=Fraction(1, 10**6)))
    meter.gate.charge(Bounded(epsilon=Fraction(1, 2), delta=Fraction(1, 10**6)))
    assert str(meter.spent) == "epsilon = 1, delta = 2e-6"
