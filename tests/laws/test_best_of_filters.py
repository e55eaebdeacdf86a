"""The best of several filters against every adaptive adversary on small mechanisms, by enumeration, in both directions.

The adversary asks releases with two outcomes (and perhaps a leak), each written down as the cost record that prices it, choosing
each, and when to stop, from all answers so far. Backward induction over all transcripts gives the largest delta that any
adversary reaches. Unsound look-alikes are planted and exceed the budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import pytest

from deniable.accounting import Filters, RuleKind, Spend, Tally, budget
from deniable.accounting.side_by_side import filters_from_record
from deniable.cost import Bounded, Concentrated, Cost, Gaussian, RandomizedResponse, composed
from deniable.errors import Unaccountable

Counts = tuple[int, ...]
Allowed = Callable[[Counts, int], bool]
EPSILON, DELTA = Fraction(3, 2), Fraction(1, 10)
ROUNDING = 1e-9


@dataclass(frozen=True)
class Item:
    """A cost, and a law it prices: the chance of outcome one on each of two neighbours, after a leak has not happened."""

    cost: Cost
    here: float
    there: float
    leak: float = 0.0

    def swapped(self) -> Item:
        return Item(self.cost, self.there, self.here, self.leak)

    def loss(self, one: bool) -> float:
        return math.log(self.here / self.there) if one else math.log((1 - self.here) / (1 - self.there))


def response(truth: Fraction) -> Item:
    return Item(RandomizedResponse(truth=truth), float(truth), float(1 - truth))


def pure(epsilon: float, leak: float) -> Item:
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    return Item(Bounded(epsilon=Fraction(epsilon), delta=Fraction(leak)), truth, 1 - truth, leak)


def sign_of_gaussian(mu: float) -> Item:
    """Gaussian noise, and then the better side alone: adding up cannot read it."""
    truth = 0.5 * math.erfc(-mu / 2 / math.sqrt(2))
    return Item(Gaussian(scale=1, sensitivity=Fraction(mu)), truth, 1 - truth)


def sampled(truth: Fraction, rate: Fraction) -> Item:
    """A response about a unit that is in the sample or not: one way it is easier to see than the other."""
    q = float(1 - truth)
    return Item(RandomizedResponse(truth=truth).sampled(rate=rate), q + float(rate) * (float(truth) - q), q)


MILD, STRONG = response(Fraction(3, 5)), response(Fraction(7, 10))
WEAK = sign_of_gaussian(1 / 8)
ONLY_RENYI = replace(
    WEAK, cost=Concentrated(rho=Fraction(1, 128))
)  # mu squared over two: nothing but rho is known of it
LEAKY = pure(0.5, 2.0**-8)
NORMAL = sign_of_gaussian(0.25)
HALF = sampled(Fraction(7, 10), Fraction(1, 2))
MENUS = {
    "responses": (MILD, STRONG),
    "one that only Rényi reads": (ONLY_RENYI, STRONG),
    "Gaussian and pure": (NORMAL, STRONG),
    "with leaks": (LEAKY, MILD),
    "samples": (HALF, MILD),
}
LONGEST = {"one that only Rényi reads": 70}
"""Weak releases add up to something only when there are many of them."""


def worst_delta(menu: tuple[Item, ...], allowed: Allowed, epsilon: float, *, longest: int = 14) -> float:
    """The best adversary's delta: E (1 - e^(epsilon - loss))+ under its favourite strategy; a leak gives it everything."""
    allowed = cache(allowed)

    @cache
    def value(counts: Counts, ones: Counts) -> float:
        pairs = zip(menu, counts, ones, strict=True)
        loss = sum(one * item.loss(True) + (times - one) * item.loss(False) for item, times, one in pairs)
        best = max(0.0, -math.expm1(epsilon - loss))
        for which, item in enumerate(menu):
            if sum(counts) < longest and allowed(counts, which):
                after = more(counts, which)
                kept = item.here * value(after, more(ones, which)) + (1 - item.here) * value(after, ones)
                best = max(best, item.leak + (1 - item.leak) * kept)
        return best

    return value((0,) * len(menu), (0,) * len(menu))


def more(counts: Counts, which: int) -> Counts:
    return tuple(times + (place == which) for place, times in enumerate(counts))


def tally_of(filters: Filters, menu: tuple[Item, ...], counts: Counts) -> Tally:
    """What was answered, one charge at a time."""
    tally = filters.nothing
    for item, times in zip(menu, counts, strict=True):
        read = reading(filters, item.cost)
        for _ in range(times):
            tally = tally + read
    return tally


@cache
def reading(filters: Filters, cost: Cost) -> Tally:
    return filters.read(cost)


def before_running(filters: Filters, menu: tuple[Item, ...]) -> Allowed:
    return lambda counts, which: filters.fits(tally_of(filters, menu, more(counts, which)))


PAIR = Bounded(epsilon=Fraction(1, 50), delta=Fraction(1, 10**13))
BUDGET = budget(epsilon=EPSILON, delta=DELTA)


@pytest.mark.parametrize("way", ["here", "there"])
@pytest.mark.parametrize("name", MENUS)
@pytest.mark.parametrize("workload", [False, True])
def test_no_adversary_gets_more_than_the_budget(name, way, workload):
    menu = MENUS[name]
    filters = BUDGET.filters([menu[0].cost.repeated(4)] if workload else None)
    laws = menu if way == "here" else tuple(item.swapped() for item in menu)
    found = worst_delta(laws, before_running(filters, menu), EPSILON, longest=LONGEST.get(name, 14))
    assert found <= float(DELTA) + ROUNDING
    assert found > float(DELTA) / (40 if name in LONGEST else 20)


@pytest.mark.parametrize("part", [Fraction(1, 4), Fraction(1, 8)])
def test_a_release_that_only_renyi_reads_and_reads_too_cheaply_is_caught(part):
    """Planted: a fraction of its rho counted for each of many weak releases lets the adversary past the budget."""
    cheap = (replace(ONLY_RENYI, cost=Concentrated(rho=part * ONLY_RENYI.cost.rho)), STRONG)
    filters = BUDGET.filters([ONLY_RENYI.cost.repeated(4)])
    assert worst_delta(cheap, before_running(filters, cheap), EPSILON, longest=140) > 1.1 * float(DELTA)


@pytest.mark.parametrize("name", MENUS)
def test_each_filter_allows_something_that_another_does_not(name):
    """Otherwise the law above would say nothing about several filters."""
    filters, menu = BUDGET.filters(), MENUS[name]
    ways = {tuple(filters.alive(tally_of(filters, menu, (one, two)))) for one in range(15) for two in range(15 - one)}
    assert len({alive for alive in ways if any(alive)}) > 2


def test_a_filter_that_returns_is_caught(monkeypatch):
    """Two filters of ln 2, each skipping what it cannot read: 2/9; and the real ones, if an unread cost were nothing."""
    third = response(Fraction(2, 3))
    skipping = worst_delta((third, third), lambda counts, which: counts[which] < 1, math.log(2))
    assert skipping == pytest.approx(2 / 9)

    def forgetful(self: Tally, other: Tally) -> Tally:
        zero = Spend(Fraction(0))
        pairs = zip(self.parts, other.parts, strict=True)
        return Tally(tuple((one or zero) + (two or zero) for one, two in pairs), self.leak + other.leak)

    monkeypatch.setattr(Tally, "__add__", forgetful)
    menu = (ONLY_RENYI, STRONG)
    assert worst_delta(menu, before_running(BUDGET.filters(), menu), EPSILON, longest=140) > 1.2 * float(DELTA)


def test_shares_counted_once_are_caught():
    """Two plans, each of exactly delta, allowed side by side: who decides after the first answer gets more than either."""
    menu, epsilon = (MILD, STRONG), 1.0
    plans = [(6, 0), (2, 1)]

    def within(*allowed: Counts) -> Allowed:
        def inside(counts: Counts, which: int) -> bool:
            return any(all(a <= b for a, b in zip(more(counts, which), plan, strict=True)) for plan in allowed)

        return inside

    alone = [worst_delta(menu, within(plan), epsilon) for plan in plans]
    together = worst_delta(menu, within(*plans), epsilon)
    assert max(alone) * 1.2 < together <= sum(alone) + ROUNDING


def test_checking_after_running_is_caught():
    filters, menu = BUDGET.filters(), MENUS["responses"]
    late = worst_delta(menu, lambda counts, _: filters.fits(tally_of(filters, menu, counts)), EPSILON)
    assert late > float(DELTA)


def test_different_leaks_put_a_filter_out():
    """All filters mean the same leak of every cost they read; adding up counts the pairs of noise beyond it."""
    filters = BUDGET.filters()
    for items in MENUS.values():
        for item in items:
            read = reading(filters, item.cost)
            assert read.leak == pytest.approx(Fraction(item.leak))
            assert all(part is None or part.delta == read.leak for part in read.parts)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 5])
@pytest.mark.parametrize("delta", [Fraction(1, 100), Fraction(1, 10**6), Fraction(1, 10**12)])
@pytest.mark.parametrize(
    "workload",
    [None, [Gaussian(scale=30, sensitivity=1)], [Bounded(epsilon=Fraction(1, 50), delta=Fraction(1, 10**13))]],
)
def test_shares_add_up_to_delta(epsilon, delta, workload):
    """r + (1 - r)(t1 + t2 + t3) is at most delta, each t read back from the limit it became."""
    filters = filters_from_record(budget(epsilon=epsilon, delta=delta).filters(workload).to_record())
    reserve = filters.reserve
    spent = sum((implied(rule, Fraction(epsilon), reserve) for rule in filters.rules), Fraction(0))
    total = reserve + (1 - reserve) * spent
    assert delta * Fraction(99, 100) < total <= delta * (1 + Fraction(1, 10**9))


def implied(rule, epsilon, reserve):
    """The delta at epsilon of a filter's limit without leaks, by formulas of its own."""
    if rule.kind is RuleKind.BASIC:
        return rule.limit.delta - reserve
    loss = float(rule.limit.loss)
    if rule.kind is RuleKind.GAUSSIAN:
        from deniable.exact import gaussian_delta, sqrt

        return gaussian_delta(sqrt(rule.limit.loss, 200).upper, epsilon).upper
    a = float(rule.order)
    return Fraction(math.exp((a - 1) * (loss - float(epsilon) + math.log1p(-1 / a)) - math.log(a)))


def test_what_no_filter_reads_is_refused():
    with pytest.raises(Unaccountable):
        BUDGET.filters().read(composed([Concentrated(rho=1, delta=Fraction(1, 2)).group(2)]))
