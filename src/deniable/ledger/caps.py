"""Caps: whose spending is limited, in which unit, over which period. One charge falls under several of them at once.

A data-wide cap for all time is the plain budget. Around and below it a curator may set caps per analyst, per unit definition
and per calendar period; a charge must fit under every cap it falls under, or it is refused and nothing is spent anywhere.
A periodic cap starts afresh in each period and names the period; its lifetime sum is always kept and shown beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any

from deniable.accounting import Budget, Filters, Rule, Spend, Tally, budget, filters_from_record
from deniable.errors import InvalidArgument
from deniable.ledger.numbers import number_from_text, number_text


class Period(Enum):
    """Calendar periods, in Coordinated Universal Time."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"

    def label(self, moment: datetime) -> str:
        """The name of the period `moment` lies in: 2026-03-31, 2026-W14, 2026-03, 2026-Q1, 2026."""
        match self:
            case Period.DAY:
                return f"{moment:%Y-%m-%d}"
            case Period.WEEK:
                year, week, _ = moment.isocalendar()
                return f"{year}-W{week:02}"
            case Period.MONTH:
                return f"{moment:%Y-%m}"
            case Period.QUARTER:
                return f"{moment:%Y}-Q{(moment.month + 2) // 3}"
            case Period.YEAR:
                return f"{moment:%Y}"


class Each(Enum):
    """Stands for "every analyst separately" in a cap."""

    ANALYST = "each analyst"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """A limit on what may be spent.

    budget: the promise. rule: how costs are read and added to keep it; the budget's own choice if none is given.
    analyst: a name, `Each.ANALYST` for the same limit for everyone separately, or None for all analysts together.
    unit: the unit definition this cap is written in; None for the one in the ledger's terms.
    period: None for all time, or a calendar period after which it starts afresh.
    """

    budget: Budget
    rule: Rule | Filters | None = None
    analyst: str | Each | None = None
    unit: str | None = None
    period: Period | None = None

    @property
    def filters(self) -> Filters:
        """The rule that keeps the budget, or several side by side."""
        if isinstance(self.rule, Rule):
            return Filters.single(self.rule)
        return self.rule or self.budget.filters()

    @property
    def name(self) -> str:
        """What this cap limits, in words; unique within a ledger."""
        whose = "each analyst" if self.analyst is Each.ANALYST else f"analyst {self.analyst}"
        whose = "data set" if self.analyst is None else whose
        unit = "" if self.unit is None else f", unit {self.unit}"
        return f"{whose}{unit}" + ("" if self.period is None else f", per {self.period.value}")

    def covers(self, account: str) -> bool:
        """Does a charge by this analyst fall under the cap?"""
        return self.analyst is None or self.analyst is Each.ANALYST or self.analyst == account

    def slot(self, account: str, moment: datetime) -> Slot:
        """Which of the cap's sums a charge at `moment` is added to."""
        holder = "" if self.analyst is None else account
        return Slot(self.name, holder, "" if self.period is None else self.period.label(moment))

    def promise(self) -> dict[str, Any]:
        """What is limited to how much, without the way it is counted: two caps that agree here promise the same."""
        analyst = {"each": True} if self.analyst is Each.ANALYST else self.analyst
        period = None if self.period is None else self.period.value
        return {"budget": _budget_record(self.budget), "analyst": analyst, "unit": self.unit, "period": period}

    def to_record(self) -> dict[str, Any]:
        """The cap as a JSON-able dictionary, with the rule that was chosen: a later version keeps to it."""
        return {**self.promise(), "rule": self.filters.to_record()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Cap:
        """The cap `to_record` wrote."""
        analyst = record["analyst"]
        return cls(
            budget=_budget_from_record(record["budget"]),
            rule=filters_from_record(record["rule"]),
            analyst=Each.ANALYST if isinstance(analyst, Mapping) else analyst,
            unit=record["unit"],
            period=None if record["period"] is None else Period(record["period"]),
        )


def _budget_record(budget: Budget) -> dict[str, Any]:
    numbers = {"epsilon": budget.epsilon, "delta": budget.delta, "rho": budget.rho}
    return {name: number_text(number) for name, number in numbers.items() if number is not None}


def _budget_from_record(record: Mapping[str, str]) -> Budget:
    return budget(**{name: number_from_text(text) for name, text in record.items()})


@dataclass(frozen=True, slots=True)
class Slot:
    """One running sum: a cap, whose it is ("" for everyone's), and the period ("" for all time)."""

    cap: str
    account: str
    period: str

    @property
    def lifetime(self) -> Slot:
        """The same sum over all periods."""
        return Slot(self.cap, self.account, "")


@dataclass(frozen=True, slots=True)
class Balance:
    """Where one cap stands: spent and left now (in `period`, if it has one), and the lifetime sum.

    Amounts are those of the cap's one rule; where several keep an (epsilon, delta) budget side by side, they are said in
    epsilon. `rule` is the one that leaves most; `tally` and `whole` are what every rule counts, now and ever.
    """

    cap: Cap
    account: str
    period: str
    tally: Tally
    whole: Tally

    @property
    def rule(self) -> Rule:
        """The rule that leaves most."""
        return self.cap.filters.leader(self.tally)

    @property
    def spent(self) -> Spend:
        """What was spent now (in the period, if the cap has one).

        Deltas of answers are added up; where they come to more than the budget has and a rule keeps it all the same, it is the
        budget's own delta that was spent, and no less is ever said.
        """
        used = self.cap.filters.used(self.tally)
        beyond = used.delta > self.cap.budget.delta and self.cap.filters.fits(self.tally)
        return replace(used, delta=self.cap.budget.delta) if beyond else used

    @property
    def left(self) -> Spend:
        """What is left; never below zero, even after the curator lowered the budget."""
        return self.cap.filters.room(self.tally)

    @property
    def lifetime(self) -> Spend:
        """What was spent over all periods."""
        return self.cap.filters.used(self.whole) if self.period else self.spent

    def __str__(self) -> str:
        now = f" in {self.period}, {self.lifetime} over its lifetime" if self.period else ""
        limit = self.cap.filters.whole
        return f"{self.cap.name}: {self.spent} of {limit} spent{now}; {self.left.shown(downwards=True)} left"


def distinct(caps: tuple[Cap, ...]) -> tuple[Cap, ...]:
    """These caps, refused if two of them limit the same thing."""
    names = [cap.name for cap in caps]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InvalidArgument(f"two caps limit the same thing, {min(twice)!r}; keep one of them")
    return caps
