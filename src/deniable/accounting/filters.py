"""Rules for spending along the way: what may be added up while the next question still depends on the last answer.

A rule reads each cost as a `Spend`, adds, and says whether the sum fits its limit. Only measures with a theorem for losses chosen
along the way are here; a privacy loss distribution is not (it is sound for losses fixed beforehand). All arithmetic is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeAlias

from deniable.accounting.measures.approximate import Approximate
from deniable.accounting.measures.concentrated import ZeroConcentrated
from deniable.accounting.measures.gaussian import GaussianPrivacy
from deniable.accounting.measures.measure import Adaptivity
from deniable.accounting.measures.pure import Pure
from deniable.accounting.measures.renyi import RenyiPrivacy
from deniable.accounting.rounding import charged
from deniable.accounting.spend import NOTHING, Spend
from deniable.accounting.terms import Terms, terms
from deniable.cost import Cost
from deniable.errors import InvalidArgument, Unaccountable

__all__ = [
    "NOTHING",
    "BasicRule",
    "ConcentratedRule",
    "GaussianRule",
    "PureRule",
    "RenyiRule",
    "Rule",
    "Spend",
    "rule_from_record",
]

Record: TypeAlias = dict[str, Any]


class Rule(Protocol):
    """What a filter needs to know; `limit` is inclusive."""

    @property
    def name(self) -> str: ...

    @property
    def unit(self) -> str:
        """What `Spend.loss` counts: "epsilon" or "rho"."""
        ...

    @property
    def theorem(self) -> str: ...

    @property
    def adaptivity(self) -> Adaptivity: ...

    @property
    def limit(self) -> Spend: ...

    @property
    def reason(self) -> str:
        """Why this rule was picked."""
        ...

    def read(self, cost: Cost) -> Spend:
        """What a cost spends: exact, rounded up; `Unaccountable` if this rule cannot read it."""
        ...

    def fits(self, spent: Spend) -> bool:
        """Whether a total spend is within the limit."""
        ...

    def to_record(self) -> Record: ...


def _record(rule: Rule) -> Record:
    return {"rule": rule.name, "limit": rule.limit.to_record(), "reason": rule.reason}


@dataclass(frozen=True, slots=True)
class PureRule:
    """Epsilons add up to at most the limit.

    Guarantee: everything answered under it together is epsilon-private, for adaptively chosen queries and losses.
    """

    limit: Spend
    reason: str = "the budget has no delta"
    name: ClassVar[str] = "pure"
    unit: ClassVar[str] = "epsilon"
    theorem: ClassVar[str] = Pure.theorem
    adaptivity: ClassVar[Adaptivity] = Pure.adaptivity

    def read(self, cost: Cost) -> Spend:
        return Spend(Pure().read(cost))

    def fits(self, spent: Spend) -> bool:
        return spent <= self.limit

    def to_record(self) -> Record:
        return _record(self)

    @classmethod
    def from_record(cls, record: Record) -> PureRule:
        return cls(Spend.from_record(record["limit"]), reason=record["reason"])


@dataclass(frozen=True, slots=True)
class BasicRule:
    """Epsilons and deltas each add up to at most the limit.

    Guarantee: everything answered under it together is (epsilon, delta)-private, for adaptively chosen queries and losses.
    """

    limit: Spend
    reason: str = "few releases, each with its own (epsilon, delta)"
    name: ClassVar[str] = "basic"
    unit: ClassVar[str] = "epsilon"
    theorem: ClassVar[str] = Approximate.theorem
    adaptivity: ClassVar[Adaptivity] = Approximate.adaptivity

    def read(self, cost: Cost) -> Spend:
        return Approximate().read(cost)

    def fits(self, spent: Spend) -> bool:
        return spent <= self.limit

    def to_record(self) -> Record:
        return _record(self)

    @classmethod
    def from_record(cls, record: Record) -> BasicRule:
        return cls(Spend.from_record(record["limit"]), reason=record["reason"])


@dataclass(frozen=True, slots=True)
class ConcentratedRule:
    """Rhos and deltas each add up to at most the limit.

    Guarantee: everything answered under it together is delta-approximately rho-zCDP at the limit, for adaptively chosen queries
    and losses; `Budget.rule` chooses the limit so that this implies the (epsilon, delta) that was asked for.
    """

    limit: Spend
    reason: str = "the budget is in rho"
    name: ClassVar[str] = "concentrated"
    unit: ClassVar[str] = "rho"
    theorem: ClassVar[str] = ZeroConcentrated.theorem
    adaptivity: ClassVar[Adaptivity] = ZeroConcentrated.adaptivity

    def read(self, cost: Cost) -> Spend:
        return ZeroConcentrated().read(cost)

    def fits(self, spent: Spend) -> bool:
        return spent <= self.limit

    def to_record(self) -> Record:
        return _record(self)

    @classmethod
    def from_record(cls, record: Record) -> ConcentratedRule:
        return cls(Spend.from_record(record["limit"]), reason=record["reason"])


@dataclass(frozen=True, slots=True)
class GaussianRule:
    """Squares of mu add up to at most the limit; only for releases that are Gaussian-private.

    Guarantee: everything answered under it together is Gaussian-private at the limit, for adaptively chosen queries and losses;
    `Budget.rule` chooses the limit so that this implies the (epsilon, delta) that was asked for.
    """

    limit: Spend
    reason: str = "all releases are Gaussian: the exact curve"
    name: ClassVar[str] = "gaussian"
    unit: ClassVar[str] = "mu squared"
    theorem: ClassVar[str] = GaussianPrivacy.theorem
    adaptivity: ClassVar[Adaptivity] = GaussianPrivacy.adaptivity

    def read(self, cost: Cost) -> Spend:
        parts = terms(cost)
        leaked = sum((chance * times for chance, times in parts.leaks), Fraction(0))
        return Spend(GaussianPrivacy().read(Terms(parts.releases).cost), charged(leaked))

    def fits(self, spent: Spend) -> bool:
        return spent <= self.limit

    def to_record(self) -> Record:
        return _record(self)

    @classmethod
    def from_record(cls, record: Record) -> GaussianRule:
        return cls(Spend.from_record(record["limit"]), reason=record["reason"])


@dataclass(frozen=True, slots=True)
class RenyiRule:
    """Divergences at one order, fixed beforehand, add up to at most the limit, and leaks beside them.

    Guarantee: everything answered under it together is Rényi-private at that order and limit, for adaptively chosen queries and
    losses; `Budget.rule` chooses order and limit so that this implies the (epsilon, delta) that was asked for.
    """

    limit: Spend
    order: Fraction
    reason: str = "divergences of one order add"
    name: ClassVar[str] = "renyi"
    unit: ClassVar[str] = "divergence"
    theorem: ClassVar[str] = (
        "divergences of one order add, whoever chooses them when (Feldman and Zrnic 2021; Lécuyer 2021)"
    )
    adaptivity: ClassVar[Adaptivity] = Adaptivity.LOSSES

    def read(self, cost: Cost) -> Spend:
        loss = RenyiPrivacy().read(cost)
        value = loss.at(self.order)
        if value is None:
            raise Unaccountable(f"this cost has no bound at order {float(self.order):g}; declare it in the workload")
        leaked = sum((chance * times for chance, times in loss.leaks), Fraction(0))
        return Spend(charged(value), charged(leaked))

    def fits(self, spent: Spend) -> bool:
        return spent <= self.limit

    def to_record(self) -> Record:
        return {**_record(self), "order": str(self.order)}

    @classmethod
    def from_record(cls, record: Record) -> RenyiRule:
        return cls(Spend.from_record(record["limit"]), Fraction(record["order"]), reason=record["reason"])


_KINDS = (PureRule, BasicRule, ConcentratedRule, GaussianRule, RenyiRule)
_RULES = {kind.name: kind for kind in _KINDS}


def rule_from_record(record: Record) -> Rule:
    """The rule that `to_record` wrote down."""
    kind = _RULES.get(record.get("rule", ""))
    if kind is None:
        raise InvalidArgument(f"a rule is one of {sorted(_RULES)}, got {record.get('rule')!r}")
    found: Rule = kind.from_record(record)
    return found


def times_that_fit(rule: Rule, workload: Spend) -> Fraction | None:
    """How many times over a spend fits the limit, as a fraction; None when it costs nothing."""
    rooms = [
        limit / asked
        for asked, limit in ((workload.loss, rule.limit.loss), (workload.delta, rule.limit.delta))
        if asked > 0
    ]
    return min(rooms, default=None)
