"""A promise about the total loss, and the rule for keeping it while questions come one at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Never

from deniable.accounting.conversion import best_order, divergence_within, rho_order, rho_within
from deniable.accounting.filters import Rule, RuleKind, times_that_fit
from deniable.accounting.measures.renyi import RenyiLoss
from deniable.accounting.side_by_side import Filters
from deniable.accounting.spend import Spend, round_down
from deniable.accounting.theorems import RenyiPrivacy
from deniable.cost import Cost, composed
from deniable.errors import InvalidArgument, Unaccountable
from deniable.exact import gaussian_mu, loss_text
from deniable.exact.guards import Real, nonnegative, probability, shown

_RESERVE = Fraction(1, 4)
"""The share of delta kept for thresholds when nobody said which questions will come: it costs the noise about 2 %."""

_LEAST_GAIN = Fraction(51, 50)
_SHARES = tuple(Fraction(k, 16) for k in range(1, 16))


_MAIN = Fraction(39, 40)
"""The share of what is left that goes to the filter a workload fits best: it keeps about 99 % of that filter's room."""

_UNREAD = Fraction(-1)
_RESERVES = (Fraction(1, 128), *_SHARES[1::2], Fraction(31, 32), Fraction(99, 100))


@dataclass(frozen=True, slots=True)
class _Shares:
    """The share of delta for leaks, and the shares of what that leaves; `few` is for few answers, at twice the order."""

    reserve: Fraction
    basic: Fraction
    renyi: Fraction
    gaussian: Fraction
    reason: str
    few: Fraction = Fraction(0)


_EVEN = _Shares(
    Fraction(1, 5),
    Fraction(1, 4),
    Fraction(29, 80),
    Fraction(3, 8),
    "nobody said which questions will come: a fifth of delta for leaks, a fifth for pairs, the rest for the others",
    few=Fraction(1, 80),
)


def _mainly(reserve: Fraction) -> Iterator[_Shares]:
    """Most to one filter and a little to the others; adding up alone needs nothing beyond the reserve."""
    few, reason = (1 - _MAIN) / 2, "most of delta goes to the filter that suits the workload"
    yield _Shares(reserve, few, _MAIN, few, reason)
    yield _Shares(reserve, few, few, _MAIN, reason)
    yield _Shares(reserve, _MAIN, few, few, reason)


def _fitting(filters: Filters, workload: Cost) -> Fraction | None:
    """How many times over a workload fits one of the filters; None when it costs nothing, -1 when none reads it."""
    try:
        asked = filters.read(workload)
    except Unaccountable:
        return _UNREAD
    rooms = filters.rooms(asked, filters.nothing)
    return None if None in rooms else max(room for room in rooms if room is not None)


def _renyi(cost: Cost) -> RenyiLoss | None:
    try:
        return RenyiPrivacy().read(cost)
    except Unaccountable:
        return None


@dataclass(frozen=True, slots=True)
class Budget:
    """At most `epsilon` with `delta`, or at most `rho` (with `delta` set aside for thresholds); exactly one of the two."""

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None

    def rule(self, workload: Iterable[Cost] | None = None) -> Rule:
        """The best sound rule for spending this budget on questions like `workload`, or on any if that is not known.

        Guarantee: whatever fits the rule's limit keeps this budget's promise, with queries and losses chosen along the way.
        """
        if self.rho is not None:
            return Rule(RuleKind.CONCENTRATED, Spend(self.rho, self.delta))
        assert self.epsilon is not None
        if self.delta == 0:
            return Rule(RuleKind.PURE, Spend(self.epsilon))
        if workload is None:
            reason = (
                "with a delta, squared losses add (zCDP): better than adding epsilons from a handful of releases on"
            )
            return self._concentrated(self.delta * _RESERVE, reason)
        return self._best(composed(workload))

    def filters(self, workload: Iterable[Cost] | None = None) -> Filters:
        """The filters that keep this budget: one rule for rho or without a delta, else the best of several side by side.

        With a `workload` most of delta goes to the filter under which it fits most often; without one each gets its share.

        Guarantee: whatever one of them has allowed from the start keeps this budget's promise, with queries and losses chosen
        along the way (docs/theory/best-of-filters.md).
        """
        if self.rho is not None or self.delta == 0:
            return Filters.single(self.rule())
        return _evenly(self) if workload is None else self._suited(composed(workload))

    def _side_by_side(self, shares: _Shares, order: Fraction | None = None) -> Filters:
        """All shares of delta together keep it: r + (1 - r)(t1 + t2 + ...) = delta, where r is the reserve for leaks."""
        assert self.epsilon is not None
        reserve = round_down(self.delta * shares.reserve)
        left = self._left(reserve)
        pairs = round_down(left * shares.basic)
        rules = [Rule(RuleKind.BASIC, Spend(self.epsilon, reserve + pairs), "epsilons add, and need no share of delta")]
        for kind, share in ((RuleKind.RENYI, left * shares.renyi), (RuleKind.GAUSSIAN, left * shares.gaussian)):
            rule = self._shared(kind, share, reserve, order)
            rules += [rule] if rule.limit.loss > 0 else []
        if shares.few and rules[1:] and (usual := rules[1].order):
            rule = self._shared(RuleKind.RENYI, left * shares.few, reserve, 2 * usual)
            rules += [rule] if rule.limit.loss > 0 else []
        return Filters(tuple(rules), reserve, shares.reason)

    def _shared(self, kind: RuleKind, share: Fraction, reserve: Fraction, order: Fraction | None) -> Rule:
        assert self.epsilon is not None
        if kind is RuleKind.GAUSSIAN:
            mu = gaussian_mu(self.epsilon, share).lower
            return Rule(kind, Spend(round_down(mu**2), reserve), "squares of mu add: the exact curve of Gaussian noise")
        order = order or rho_order(epsilon=self.epsilon, delta=share)
        limit = divergence_within(order, epsilon=self.epsilon, delta=share)
        return Rule(kind, Spend(limit, reserve), f"divergences of order {float(order):g} add", order)

    def _suited(self, workload: Cost) -> Filters:
        """Of all ways to share, the one that lets the workload in most often; an order of its own must be worth its while."""
        assert self.epsilon is not None
        loss = _renyi(workload)
        order = None if loss is None else best_order(loss, epsilon=self.epsilon, delta=self.delta * _MAIN)
        leaking = loss is None or bool(loss.leaks)
        shares = [each for reserve in (_RESERVES if leaking else _RESERVES[:1]) for each in _mainly(reserve)]
        plain, usual = self._roomiest(workload, shares, None)
        own, better = (plain, usual) if usual is None or order is None else self._roomiest(workload, shares, order)
        chosen, most = (
            (own, better) if usual is None or better is None or better > usual * _LEAST_GAIN else (plain, usual)
        )
        if most == _UNREAD:
            raise Unaccountable("no filter reads this workload; declare it as one plan and read it by deniable.epsilon")
        return chosen

    def _roomiest(
        self, workload: Cost, shares: Iterable[_Shares], order: Fraction | None
    ) -> tuple[Filters, Fraction | None]:
        """The filters into which the workload fits most often, and how often; None when it costs nothing."""
        found = [(each, _fitting(each, workload)) for each in (self._side_by_side(one, order) for one in shares)]
        return max(found, key=lambda pair: math.inf if pair[1] is None else pair[1])

    def _concentrated(self, reserve: Fraction, reason: str) -> Rule:
        """Both parts together keep delta: a (rho, reserve) mechanism is (epsilon, reserve + (1 - reserve) delta(rho))."""
        assert self.epsilon is not None
        reserve = round_down(reserve)
        rho = rho_within(epsilon=self.epsilon, delta=self._left(reserve))
        return Rule(RuleKind.CONCENTRATED, Spend(rho, reserve), reason)

    def _best(self, workload: Cost) -> Rule:
        """The rule under which the workload fits most often; a later, less simple one must be worth its while."""
        best, most = None, Fraction(-1)
        for candidate in self._candidates(workload):
            try:
                fitting = times_that_fit(candidate, candidate.read(workload))
            except Unaccountable:
                continue
            if fitting is None:
                return candidate
            if fitting > most * _LEAST_GAIN:
                best, most = candidate, fitting
        if best is None:
            raise Unaccountable("no filter reads this workload; declare it as one plan and read it by deniable.epsilon")
        return best

    def _candidates(self, workload: Cost) -> Iterator[Rule]:
        assert self.epsilon is not None
        yield Rule(RuleKind.BASIC, Spend(self.epsilon, self.delta))
        loss = _renyi(workload)
        if loss is None:
            return
        for share in _SHARES if loss.leaks else (Fraction(0),):
            yield self._concentrated(self.delta * share, "squared losses add (zCDP): more of the workload fits")
            yield self._gaussian(self.delta * share)
            yield from self._renyi(self.delta * share, loss)

    def _left(self, reserve: Fraction) -> Fraction:
        """What 1 - (1 - reserve)(1 - left) = delta leaves."""
        return (self.delta - reserve) / (1 - reserve)

    def _gaussian(self, reserve: Fraction) -> Rule:
        assert self.epsilon is not None
        reserve = round_down(reserve)
        mu = gaussian_mu(self.epsilon, self._left(reserve)).lower
        return Rule(RuleKind.GAUSSIAN, Spend(round_down(mu**2), reserve))

    def _renyi(self, reserve: Fraction, loss: RenyiLoss) -> Iterator[Rule]:
        """One order, the best for as many repetitions of the workload as fit."""
        assert self.epsilon is not None
        reserve = round_down(reserve)
        left = self._left(reserve)
        order = best_order(loss, epsilon=self.epsilon, delta=left)
        if order is not None:
            limit = divergence_within(order, epsilon=self.epsilon, delta=left)
            if limit > 0:
                reason = f"one Rényi order, {float(order):g}, suits the workload best"
                yield Rule(RuleKind.RENYI, Spend(limit, reserve), reason, order)

    def __str__(self) -> str:
        unit, loss = ("rho", self.rho or Fraction(0)) if self.epsilon is None else ("epsilon", self.epsilon)
        return loss_text(unit, loss, self.delta)


@lru_cache(maxsize=64)
def _evenly(budget: Budget) -> Filters:
    """The filters of a budget without a workload: a function of the budget alone, and asked for at every charge."""
    return budget._side_by_side(_EVEN)


def budget(*unnamed: Never, epsilon: Real | None = None, delta: Real = 0, rho: Real | None = None) -> Budget:
    """A budget: `epsilon`, `epsilon` with `delta`, or `rho` (zero-concentrated), optionally with a `delta` for thresholds.

    Guarantee: nothing by itself; the rule it gives keeps it.
    """
    if unnamed:
        raise InvalidArgument(f"say what {shown(unnamed[0])} is: dp.budget(epsilon=1), or with delta=1e-7, or rho=0.1")
    if (epsilon is None) == (rho is None):
        raise InvalidArgument(f"a budget needs epsilon or rho, one of them; got epsilon={epsilon!r}, rho={rho!r}")
    chance = probability(delta=delta)
    if not chance < 1:
        raise InvalidArgument(f"delta must be below 1, got {delta!r}: with 1 anything may be published")
    return Budget(
        epsilon=None if epsilon is None else nonnegative(epsilon=epsilon),
        delta=chance,
        rho=None if rho is None else nonnegative(rho=rho),
    )
