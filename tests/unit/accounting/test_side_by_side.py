"""Filters side by side: who is in, who leads, what is left; costs that only some can read; what is written down."""

import json
from dataclasses import dataclass
from fractions import Fraction

import pytest

import deniable as dp
from deniable.accounting import Adaptivity, Filters, Rule, RuleKind, Spend, budget, filters_from_record
from deniable.cost import (
    FREE,
    Bounded,
    Calibrated,
    Concentrated,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mixed,
    Parallel,
    TruncatedLaplace,
)
from deniable.errors import BudgetExceeded, InvalidArgument, Unaccountable
from deniable.exact import gaussian_mu

BUDGET = budget(epsilon=1, delta=1e-6)
FILTERS = BUDGET.filters()
BASIC, RENYI, GAUSSIAN, FEW = range(4)


def read(cost):
    return FILTERS.read(cost).parts


def test_a_budget_with_a_delta_keeps_four_filters_and_every_other_one_rule():
    kinds = [RuleKind.BASIC, RuleKind.RENYI, RuleKind.GAUSSIAN, RuleKind.RENYI]
    assert [rule.kind for rule in FILTERS.rules] == kinds
    assert FILTERS.rules[FEW].order == 2 * FILTERS.rules[RENYI].order
    for single in (budget(epsilon=1), budget(rho=1), budget(rho=1, delta=1e-6)):
        assert single.filters().only == single.rule()
    assert budget(epsilon=0, delta=1e-6).filters().rules[0].kind is RuleKind.BASIC


def test_a_filter_that_cannot_read_an_answered_cost_is_out_for_good():
    gate = dp.calculus.PrivacyFilter(FILTERS)
    gate.charge(Gaussian(scale=100, sensitivity=1))  # adding up cannot read it
    assert FILTERS.alive(gate._tally) == [False, True, True, True]
    gate.charge(Bounded(epsilon=Fraction(1, 100)))
    assert FILTERS.alive(gate._tally) == [False, True, True, True]
    with pytest.raises(BudgetExceeded):
        gate.charge(Bounded(epsilon=Fraction(4, 5)))
    fresh = dp.calculus.PrivacyFilter(FILTERS)
    fresh.charge(Bounded(epsilon=Fraction(4, 5)))
    assert FILTERS.alive(fresh._tally) == [True, False, False, False]
    with pytest.raises(BudgetExceeded):
        fresh.charge(Gaussian(scale=100, sensitivity=1))


def test_a_refusal_changes_nothing():
    gate = dp.calculus.PrivacyFilter(FILTERS)
    gate.charge(Bounded(epsilon=Fraction(1, 2)))
    before, listed = gate._tally, gate.charged
    for cost in (Bounded(epsilon=Fraction(3, 4)), Gaussian(scale=1, sensitivity=1), Bounded(epsilon=0, delta=1e-6)):
        with pytest.raises(BudgetExceeded, match=r"epsilon = 0\.5"):
            gate.charge(cost)
    with pytest.raises(Unaccountable):
        gate.charge(Concentrated(rho=1, delta=1e-9).group(2))
    assert (gate._tally, gate.charged) == (before, listed)


@pytest.mark.parametrize(
    ("cost", "readers", "leak"),
    [
        (Laplace(scale=40), {BASIC, RENYI, GAUSSIAN}, 0),
        (Gaussian(scale=40, sensitivity=1), {RENYI, GAUSSIAN}, 0),
        (Concentrated(rho=Fraction(1, 1000), delta=Fraction(1, 10**8)), {RENYI}, Fraction(1, 10**8)),
        (Bounded(epsilon=Fraction(1, 10), delta=Fraction(1, 10**8)), {BASIC, RENYI, GAUSSIAN}, Fraction(1, 10**8)),
        (TruncatedLaplace(scale=3, radius=50).repeated(2), {BASIC, RENYI, GAUSSIAN}, None),
        (TruncatedLaplace(scale=3, radius=50).sampled(rate=Fraction(1, 7)), {BASIC, RENYI}, None),
        (Mixed([(Fraction(1, 3), TruncatedLaplace(scale=3, radius=50)), (Fraction(2, 3), FREE)]), {BASIC, RENYI}, None),
        (Parallel((Gaussian(scale=40, sensitivity=1), Bounded(epsilon=0, delta=Fraction(1, 10**8)))), {RENYI}, None),
        (
            Calibrated(Gaussian(scale=40, sensitivity=1), epsilon=Fraction(1, 10), delta=Fraction(1, 10**8)),
            {BASIC, RENYI, GAUSSIAN},
            0,
        ),
    ],
)
def test_who_reads_what_and_all_mean_the_same_leak(cost, readers, leak):
    found = FILTERS.read(cost)
    readers = readers | ({FEW} if RENYI in readers else set())
    assert {place for place, part in enumerate(found.parts) if part is not None} == readers
    if leak is None:
        assert found.leak > 0
    else:
        assert found.leak == leak
    for place in readers - {BASIC}:
        assert found.parts[place].delta == found.leak


def test_truncated_noise_does_not_end_the_gaussian_filter():
    """One such release ended it: the pair it is has a Gaussian reading and a leak."""
    rule = Rule(RuleKind.GAUSSIAN, Spend(Fraction(1), Fraction(1, 10**6)))
    pair = rule.read(TruncatedLaplace(scale=3, radius=50))
    assert pair.loss == rule.read(Bounded(epsilon=Fraction(1, 3))).loss
    assert pair.delta == Rule(RuleKind.BASIC, Spend(Fraction(1))).read(TruncatedLaplace(scale=3, radius=50)).delta


def test_pairs_of_noise_and_leaks_are_kept_apart():
    """Adding up may use its share for pairs and the reserve for leaks, and neither for the other."""
    pairs = FILTERS.rules[BASIC].limit.delta - FILTERS.reserve
    noise = Calibrated(Gaussian(scale=1, sensitivity=1), epsilon=Fraction(1, 2), delta=pairs)
    assert FILTERS.alive(FILTERS.read(noise)) == [True, False, False, False]
    assert FILTERS.fits(FILTERS.read(noise + Bounded(epsilon=0, delta=FILTERS.reserve)))
    more = Calibrated(Gaussian(scale=1, sensitivity=1), epsilon=Fraction(1, 2), delta=pairs + Fraction(1, 10**12))
    assert not FILTERS.fits(FILTERS.read(more))
    assert not FILTERS.fits(FILTERS.read(Bounded(epsilon=0, delta=FILTERS.reserve + Fraction(1, 10**12))))


def test_the_renyi_filter_allows_what_concentrated_privacy_allows():
    """Its reading is capped at order times rho, and its order is the one at which rho implies most."""
    rule = FILTERS.rules[RENYI]
    for cost in (Laplace(scale=30), DiscreteLaplace(scale=3, sensitivity=5), Gaussian(scale=9, sensitivity=2)):
        assert rule.read(cost).loss <= rule.order * dp.accounting.rho(cost) + Fraction(1, 10**40)
    from deniable.accounting.conversion import rho_within

    share = 29 * (BUDGET.delta - FILTERS.reserve) / (1 - FILTERS.reserve) / 80
    assert rule.limit.loss >= rule.order * rho_within(epsilon=Fraction(1), delta=share) * (1 - Fraction(1, 10**12))


def test_the_leader_leaves_most_and_everything_speaks_of_it():
    gate = dp.calculus.PrivacyFilter(FILTERS)
    assert (gate.rule.kind, str(gate.remaining)) == (RuleKind.BASIC, "epsilon = 1, delta = 4.00001e-7")
    for _ in range(50):
        gate.charge(Gaussian(scale=100, sensitivity=1))
    assert gate.rule.kind is RuleKind.GAUSSIAN
    assert str(gate.spent) == "mu squared = 0.005"
    assert gate.remaining.loss == gate.rule.limit.loss - Fraction(5, 1000)


def test_how_often_something_still_fits_is_what_can_be_charged():
    for cost in (Laplace(scale=8), Gaussian(scale=30, sensitivity=1), TruncatedLaplace(scale=20, radius=400)):
        gate = dp.calculus.PrivacyFilter(FILTERS)
        gate.charge(Laplace(scale=40))
        more = FILTERS.more(FILTERS.read(cost), gate._tally)
        for _ in range(more):
            gate.charge(cost)
        with pytest.raises(BudgetExceeded):
            gate.charge(cost)
    assert FILTERS.more(FILTERS.read(FREE), FILTERS.nothing) is None


@pytest.mark.parametrize("spent", [6, 9, 30, 71, 200], ids=lambda scale: f"scale {scale}")
def test_what_is_left_is_found_in_few_readings_and_no_more_is_allowed(spent, monkeypatch):
    tally, asked, honest = FILTERS.read(Gaussian(scale=spent, sensitivity=1)), [], Filters.read
    monkeypatch.setattr(Filters, "read", lambda self, cost: asked.append(cost) or honest(self, cost))
    room = FILTERS.room(tally).loss
    assert 0 < len(asked) <= 13
    assert FILTERS._allows(tally, room)
    assert not FILTERS._allows(tally, room + Fraction(1, 10**6))


def test_the_record_comes_back():
    for filters in (FILTERS, budget(rho=1).filters(), BUDGET.filters([Gaussian(scale=50, sensitivity=1)] * 9)):
        assert filters_from_record(json.loads(json.dumps(filters.to_record()))) == filters


@dataclass(frozen=True)
class Planned:
    """A rule of one's own that is sound for losses fixed beforehand only."""

    limit: Spend
    name: str = "planned"
    unit: str = "epsilon"
    adaptivity: Adaptivity = Adaptivity.QUERIES
    reason: str = "none"


def test_a_filter_refuses_a_rule_for_losses_fixed_beforehand():
    with pytest.raises(InvalidArgument, match="fixed beforehand"):
        dp.calculus.PrivacyFilter(Planned(Spend(Fraction(1))))


def test_filters_are_checked_when_built():
    with pytest.raises(InvalidArgument, match="at least one rule"):
        Filters((), Fraction(0))
    with pytest.raises(InvalidArgument, match="reserve"):
        Filters((Rule(RuleKind.BASIC, Spend(Fraction(1))),), Fraction(1, 2))
    with pytest.raises(InvalidArgument, match="order"):
        Rule(RuleKind.RENYI, Spend(Fraction(1)))


def _fitting(kind, share, order, cost):
    """How often a cost fits into one filter with this share of delta."""
    rule = BUDGET._shared(kind, BUDGET.delta * share, BUDGET.delta, order)
    try:
        return rule.limit.loss // rule.read(cost).loss if rule.limit.loss > 0 else 0
    except Unaccountable:
        return 0


def test_few_large_answers_fit_under_the_higher_order():
    """Three rounds of a pure count and a table count of 0.2 each; two without the filter at twice the order."""
    mu = gaussian_mu(Fraction(1, 5), Fraction(1, 10**8)).lower
    table = Calibrated(Gaussian(scale=1, squared_sensitivity=mu**2), epsilon=Fraction(1, 5), delta=Fraction(1, 10**8))
    cost = DiscreteLaplace(scale=5) + table
    assert FILTERS.more(FILTERS.read(cost), FILTERS.nothing) == 3
    fewer = Filters(FILTERS.rules[:FEW], FILTERS.reserve)
    assert fewer.more(fewer.read(cost), fewer.nothing) == 2


def test_no_division_of_delta_serves_every_workload():
    """88 % of the best rule alone: the page's two workloads would take more than all of delta together."""
    step, count = Gaussian(scale=1, sensitivity=1).sampled(rate=Fraction(1, 1000)), Gaussian(scale=20, sensitivity=1)
    orders = [Fraction(quarters, 4) for quarters in (51, 52, 53)]
    assert max(_fitting(RuleKind.RENYI, Fraction(4, 5), order, step) for order in orders) < 10_275
    assert max(_fitting(RuleKind.RENYI, Fraction(1), order, step) for order in orders) >= 11_676
    assert (
        _fitting(RuleKind.GAUSSIAN, Fraction(29, 100), None, count) < 20 <= _fitting(RuleKind.GAUSSIAN, 1, None, count)
    )
    assert _fitting(RuleKind.RENYI, Fraction(1), None, count) < 20
    mixed = (
        DiscreteLaplace(scale=200) + Gaussian(scale=150, sensitivity=1) + Bounded(epsilon=Fraction(1, 200), delta=1e-9)
    )
    assert 428 * FILTERS.read(mixed).leak > FILTERS.reserve
