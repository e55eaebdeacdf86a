"""Rules for spending along the way: what may be added up while the next question still depends on the last answer.

A rule reads each cost as a `Spend`, adds, and says whether the sum fits its limit. Only measures with a theorem for losses chosen
along the way are here; a privacy loss distribution is not (it is sound for losses fixed beforehand). All arithmetic is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import Any, TypeAlias, assert_never

from deniable.accounting.cost_terms import terms
from deniable.accounting.measures.approximate import Approximate
from deniable.accounting.measures.concentrated import ZeroConcentrated
from deniable.accounting.measures.gaussian_privacy import GaussianPrivacy
from deniable.accounting.measures.measure import Adaptivity
from deniable.accounting.measures.pure import Pure
from deniable.accounting.spend import NOTHING, Spend, round_up
from deniable.accounting.theorems import RenyiPrivacy
from deniable.cost import Bounded, Concentrated, Cost, Gaussian, Renyi, TruncatedLaplace, composed
from deniable.errors import InvalidArgument, Unaccountable

__all__ = ["NOTHING", "Rule", "RuleKind", "Spend", "rule_from_record", "times_that_fit"]

Record: TypeAlias = dict[str, Any]

_RENYI = "divergences of one order add, whoever chooses them when (Feldman and Zrnic 2021; Lécuyer 2021)"


class RuleKind(Enum):
    """What a rule adds up. Each has a theorem for queries and losses chosen along the way."""

    PURE = "pure"
    BASIC = "basic"
    CONCENTRATED = "concentrated"
    GAUSSIAN = "gaussian"
    RENYI = "renyi"

    @property
    def unit(self) -> str:
        """What `Spend.loss` counts."""
        return _UNITS[self]

    @property
    def theorem(self) -> str:
        """Why sums may be compared with a limit."""
        return _THEOREMS[self][0]

    @property
    def adaptivity(self) -> Adaptivity:
        """What may be chosen from earlier answers."""
        return _THEOREMS[self][1]


_UNITS = {
    RuleKind.PURE: "epsilon",
    RuleKind.BASIC: "epsilon",
    RuleKind.CONCENTRATED: "rho",
    RuleKind.GAUSSIAN: "mu squared",
    RuleKind.RENYI: "divergence",
}
_THEOREMS = {
    RuleKind.PURE: (Pure.theorem, Pure.adaptivity),
    RuleKind.BASIC: (Approximate.theorem, Approximate.adaptivity),
    RuleKind.CONCENTRATED: (ZeroConcentrated.theorem, ZeroConcentrated.adaptivity),
    RuleKind.GAUSSIAN: (GaussianPrivacy.theorem, GaussianPrivacy.adaptivity),
    RuleKind.RENYI: (_RENYI, Adaptivity.LOSSES),
}
_REASONS = {
    RuleKind.PURE: "the budget has no delta",
    RuleKind.BASIC: "few releases, each with its own (epsilon, delta)",
    RuleKind.CONCENTRATED: "the budget is in rho",
    RuleKind.GAUSSIAN: "all releases are Gaussian: the exact curve",
    RuleKind.RENYI: "divergences of one order add",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """What is added up, and how far: losses and deltas each add up to at most `limit`, which is inclusive.

    `order` is the one order of a Rényi rule, fixed beforehand; `reason` says why this rule was picked.

    Guarantee: everything answered under it together keeps `limit` in the rule's own measure, for adaptively chosen queries and
    losses; `Budget.rule` chooses the limit so that this implies the (epsilon, delta) that was asked for.
    """

    kind: RuleKind
    limit: Spend
    reason: str = ""
    order: Fraction | None = None

    def __post_init__(self) -> None:
        if (self.order is not None) != (self.kind is RuleKind.RENYI):
            raise InvalidArgument(
                f"a Rényi rule has an order and no other rule has; got {self.kind} and {self.order!r}"
            )
        object.__setattr__(self, "limit", replace(self.limit, unit=self.unit))
        object.__setattr__(self, "reason", self.reason or _REASONS[self.kind])

    @property
    def name(self) -> str:
        """How the rule is called in a record."""
        return self.kind.value

    @property
    def unit(self) -> str:
        """What `Spend.loss` counts: "epsilon", "rho", "mu squared" or "divergence"."""
        return self.kind.unit

    @property
    def theorem(self) -> str:
        """Why sums may be compared with the limit."""
        return self.kind.theorem

    @property
    def adaptivity(self) -> Adaptivity:
        """What may be chosen from earlier answers."""
        return self.kind.adaptivity

    def read(self, cost: Cost) -> Spend:
        """What a cost spends: exact, rounded up; `Unaccountable` if this rule cannot read it."""
        return replace(self._read(cost), unit=self.unit)

    def _read(self, cost: Cost) -> Spend:
        match self.kind:
            case RuleKind.PURE:
                return Spend(Pure().read(cost))
            case RuleKind.BASIC:
                return Approximate().read(cost)
            case RuleKind.CONCENTRATED:
                return ZeroConcentrated().read(cost)
            case RuleKind.GAUSSIAN:
                return _gaussian(cost)
            case RuleKind.RENYI:
                assert self.order is not None
                return _renyi(cost, self.order)
            case _:
                assert_never(self.kind)

    def fits(self, spent: Spend) -> bool:
        """Whether a total spend is within the limit."""
        return spent <= self.limit

    @property
    def promise(self) -> Cost:
        """The limit as a cost: what everything answered under this rule costs together, at most."""
        loss, delta = self.limit.loss, self.limit.delta
        leak = Bounded(epsilon=0, delta=delta)
        match self.kind:
            case RuleKind.PURE | RuleKind.BASIC:
                return Bounded(epsilon=loss, delta=delta)
            case RuleKind.CONCENTRATED:
                return Concentrated(rho=loss, delta=delta)
            case RuleKind.GAUSSIAN:
                return composed([Gaussian(scale=1, squared_sensitivity=loss), *([leak] if delta else [])])
            case RuleKind.RENYI:
                assert self.order is not None
                return composed([Renyi([(self.order, loss)]), *([leak] if delta else [])])
            case _:
                assert_never(self.kind)

    def to_record(self) -> Record:
        """As a JSON-able dictionary."""
        order = {} if self.order is None else {"order": str(self.order)}
        return {"rule": self.name, "limit": self.limit.to_record(), "reason": self.reason, **order}


def _gaussian(cost: Cost) -> Spend:
    """Squares of mu, leaks beside; truncated noise is the pair it is, a pure part and a leak."""
    parts = terms(cost)
    leaked = sum((chance * times for chance, times in parts.leaks), Fraction(0))
    releases: list[Cost] = []
    for each, times in parts.releases:
        if isinstance(each, TruncatedLaplace):
            pair = Approximate().read(each)
            leaked += pair.delta * times
            releases.append(Bounded(epsilon=pair.loss).repeated(times))
        else:
            releases.append(each.repeated(times))
    return Spend(GaussianPrivacy().read(composed(releases)), round_up(leaked))


def _renyi(cost: Cost, order: Fraction) -> Spend:
    """The divergence at the order, leaks beside; one that is only bounded is never above order times rho."""
    loss = RenyiPrivacy().read(cost)
    leaked = round_up(sum((chance * times for chance, times in loss.leaks), Fraction(0)))
    bounds = [value] if (value := loss.at(order)) is not None else []
    if not (bounds and loss.exact):
        bounds += _order_times_rho(cost, order, leaked)
    if not bounds:
        raise Unaccountable(f"this cost has no bound at order {float(order):g}; declare it in the workload")
    return Spend(round_up(min(bounds)), leaked)


def _order_times_rho(cost: Cost, order: Fraction, leaked: Fraction) -> list[Fraction]:
    try:
        rho = ZeroConcentrated().read(cost)
    except Unaccountable:
        return []
    return [order * rho.loss] if rho.delta <= leaked else []


def rule_from_record(record: Record) -> Rule:
    """The rule that `to_record` wrote down."""
    kinds = {kind.value: kind for kind in RuleKind}
    kind = kinds.get(record.get("rule", ""))
    if kind is None:
        raise InvalidArgument(f"a rule is one of {sorted(kinds)}, got {record.get('rule')!r}")
    order = Fraction(record["order"]) if kind is RuleKind.RENYI else None
    return Rule(kind, Spend.from_record(record["limit"]), record["reason"], order)


def times_that_fit(rule: Rule, workload: Spend) -> Fraction | None:
    """How many times over a spend fits the limit, as a fraction; None when it costs nothing."""
    rooms = [
        limit / asked
        for asked, limit in ((workload.loss, rule.limit.loss), (workload.delta, rule.limit.delta))
        if asked > 0
    ]
    return min(rooms, default=None)
