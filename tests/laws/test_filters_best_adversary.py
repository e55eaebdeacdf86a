"""Filters and odometers against every adaptive adversary on small mechanisms, by enumeration.

The adversary asks randomized responses, choosing each, and when to stop, from all answers so far; the filter decides what still
fits. Backward induction over all transcripts gives the largest delta at epsilon that any such adversary reaches. A sound filter
keeps it below the promise; two planted unsound ones do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import pytest

from deniable.accounting import delta as delta_of
from deniable.accounting.budgets import budget
from deniable.accounting.filters import Rule, RuleKind, Spend
from deniable.core.gate import Odometer
from deniable.cost import RandomizedResponse, composed

Counts = tuple[int, ...]
Allowed = Callable[[Counts, int], bool]
"""Whether, after so many uses of each response, one more of the numbered one may run."""

MENU = (RandomizedResponse(truth=Fraction(3, 5)), RandomizedResponse(truth=Fraction(4, 5)))
ODDS = [math.log(float(each.truth / (1 - each.truth))) for each in MENU]
ROUNDING = 1e-9


def ledger(counts: Counts):
    return composed(each.repeated(times) for each, times in zip(MENU, counts, strict=True) if times)


def more(counts: Counts, which: int) -> Counts:
    return tuple(times + (place == which) for place, times in enumerate(counts))


def worst_delta(allowed: Allowed, epsilon: float, *, longest: int = 40) -> float:
    """The best adversary's delta at epsilon: E (1 - e^(epsilon - loss))+ under its favourite strategy."""
    allowed = cache(allowed)

    @cache
    def value(counts: Counts, nets: Counts) -> float:
        loss = sum(net * odds for net, odds in zip(nets, ODDS, strict=True))
        best = max(0.0, -math.expm1(epsilon - loss))
        for which, each in enumerate(MENU):
            if sum(counts) < longest and allowed(counts, which):
                truth = float(each.truth)
                after = more(counts, which)
                up = value(after, more(nets, which))
                down = value(after, tuple(net - (place == which) for place, net in enumerate(nets)))
                best = max(best, truth * up + (1 - truth) * down)
        return best

    nothing = (0,) * len(MENU)
    return value(nothing, nothing)


def by_rule(rule: Rule) -> Allowed:
    """Charge before running: the ledger with the next charge in it must fit."""
    return lambda counts, which: rule.fits(rule.read(ledger(more(counts, which))))


BUDGET = budget(epsilon=2, delta=Fraction(1, 100))
SOUND = {
    "pure": (Rule(RuleKind.PURE, Spend(Fraction(2))), 0.0),
    "basic": (Rule(RuleKind.BASIC, Spend(Fraction(2), Fraction(1, 100))), 0.01),
    "concentrated": (BUDGET.rule(), 0.01),
    "best for the workload": (BUDGET.rule([MENU[0].repeated(8)]), 0.01),
}


@pytest.mark.parametrize("name", SOUND)
def test_no_adversary_gets_more_than_a_filter_promises(name):
    rule, promised = SOUND[name]
    found = worst_delta(by_rule(rule), 2.0)
    assert found <= promised + ROUNDING
    if promised:
        assert by_rule(rule)((0,) * len(MENU), 0), "a filter that lets nothing through shows nothing"


def test_a_renyi_filter_keeps_its_promise():
    rules = [rule for rule in BUDGET._candidates(MENU[0].repeated(8)) if rule.kind is RuleKind.RENYI]
    assert rules
    for rule in rules:
        assert 0 < worst_delta(by_rule(rule), 2.0) <= 0.01 + ROUNDING


def test_the_divergence_itself_stays_within_a_concentrated_limit():
    """Not only what it implies: at each order the worst transcript's moment is at most e^((a-1) a rho)."""
    rule = Rule(RuleKind.CONCENTRATED, Spend(Fraction(1, 2)))
    allowed = cache(by_rule(rule))
    for order in (1.5, 2.0, 4.0, 16.0):

        @cache
        def moment(counts: Counts, order: float = order) -> float:
            """E e^((order-1) loss) from here on; the moment factorises, so only the ledger matters."""
            best = 1.0
            for which, each in enumerate(MENU):
                if allowed(counts, which):
                    p, q = float(each.truth), 1 - float(each.truth)
                    step = p**order * q ** (1 - order) + q**order * p ** (1 - order)
                    best = max(best, step * moment(more(counts, which)))
            return best

        assert math.log(moment((0,) * len(MENU))) <= (order - 1) * order * 0.5 * (1 + 1e-12)


def test_checking_after_the_run_is_caught():
    rule = SOUND["pure"][0]
    late = worst_delta(lambda counts, which: rule.fits(rule.read(ledger(counts))), 2.0)
    assert late > 0.01


def test_reading_the_ledger_so_far_as_if_it_had_been_planned_is_caught():
    """The unsound filter: let the next one run if the exact (epsilon, delta) of all that ran, with it, is within the budget."""
    promised = 0.0783

    @cache
    def read(counts: Counts) -> float:
        return delta_of(ledger(counts), epsilon=2).upper

    found = worst_delta(lambda counts, which: read(more(counts, which)) <= promised, 2.0, longest=14)
    assert read((3, 1)) <= promised  # sound for a plan
    assert found > 1.3 * promised  # not for a plan made along the way


def reading(rule: Rule, counts: Counts) -> Spend:
    """What an odometer shows after these charges."""
    odometer = Odometer(rule)
    for each, times in zip(MENU, counts, strict=True):
        for _ in range(times):
            odometer.charge(each)
    return odometer.spent


@pytest.mark.parametrize("name", ["pure", "concentrated"])
def test_stopping_an_odometer_at_a_reading_fixed_beforehand_keeps_that_reading(name):
    rule, promised = SOUND[name]
    assert (
        worst_delta(lambda counts, which: reading(rule, more(counts, which)) <= rule.limit, 2.0) <= promised + ROUNDING
    )


def test_stopping_an_odometer_when_it_has_passed_the_reading_is_too_late():
    rule, _ = SOUND["pure"]
    assert worst_delta(lambda counts, which: reading(rule, counts) <= rule.limit, 2.0) > 0.01


@pytest.mark.parametrize("counts", [(0, 1), (3, 0), (2, 2), (5, 1)])
def test_a_pure_odometer_bounds_the_loss_of_every_transcript(counts):
    """Pure readings hold at any moment, one chosen from the answers too: no transcript loses more than what is shown."""
    most = sum(times * odds for times, odds in zip(counts, ODDS, strict=True))
    assert most <= float(reading(SOUND["pure"][0], counts).loss) * (1 + 1e-12)
    assert float(reading(SOUND["pure"][0], counts).loss) <= most * (1 + 1e-9)
