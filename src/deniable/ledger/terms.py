"""The terms a ledger was opened under: which data, whose privacy, what budget, which codebook.

A sum of losses means something only while these stay the same, so they are the first event of the chain and every later
opening must state them again. Changing one is an act of the curator, recorded in the chain (`Ledger.amend`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from deniable.accounting import Budget, Filters, Rule
from deniable.errors import InvalidArgument
from deniable.ledger.caps import Cap, Period, distinct
from deniable.ledger.chain import canonical


def fingerprint(public_text: str) -> str:
    """The hash of a public text, such as a codebook. Never use it on private data: a hash of data can be guessed."""
    return hashlib.sha256(public_text.encode()).hexdigest()


def named(**values: object) -> str:
    """One named short text: not empty, printable, at most 200 characters."""
    ((name, value),) = values.items()
    if not (isinstance(value, str) and 0 < len(value) <= 200 and value.isprintable() and value.strip() == value):
        raise InvalidArgument(f"{name} must be a short printable text, got {value!r}")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a ledger counts.

    dataset: its public name. unit: who is protected and how much one of them may add, in words.
    budget: the data-wide promise, for all time unless `period` says it starts afresh; rule: how it is kept, the budget's own
    choice if none is given. codebook: the fingerprint of the public codebook text. caps: further limits, see `Cap`.
    facts: what prices rest on, by the name of the table or variable; where they are stated they bind, and the fingerprint
    does not: names may be added or left out, but one that stays keeps its facts.
    grants: every charge needs a live grant (`Ledger.desk`).
    """

    dataset: str
    unit: str
    budget: Budget
    codebook: str
    rule: Rule | Filters | None = None
    period: Period | None = None
    caps: tuple[Cap, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    grants: bool = False

    def __post_init__(self) -> None:
        named(dataset=self.dataset)
        named(codebook=self.codebook)
        if not (isinstance(self.unit, str) and self.unit):
            raise InvalidArgument(f"unit must say who is protected, got {self.unit!r}")
        distinct(self.all_caps)

    @property
    def main(self) -> Cap:
        """The data-wide cap."""
        return Cap(budget=self.budget, rule=self.rule, period=self.period)

    @property
    def all_caps(self) -> tuple[Cap, ...]:
        """The data-wide cap first, then the further ones."""
        return (self.main, *self.caps)

    @property
    def units(self) -> tuple[str, ...]:
        """The unit definitions a charge must be priced in, this data's own first."""
        return tuple(dict.fromkeys(cap.unit or self.unit for cap in self.all_caps))

    def differences(self, stated: Terms) -> list[str]:
        """In which terms `stated` differs from these, with both values. How a budget is kept counts only where stated."""
        mine, theirs = self._promise(), stated._promise()
        if self.facts and stated.facts:
            mine, theirs = ({**promise, "codebook": ""} for promise in (mine, theirs))
        ours, other = ({**promise, **terms._words()} for promise, terms in ((mine, self), (theirs, stated)))
        found = [
            f"{name} {ours[name]}, not {other[name]}"
            if name in ("budget", "caps") and ours[name] != other[name]
            else f"{name} {_shown(mine[name])}, not {_shown(theirs[name])}"
            for name in mine
            if mine[name] != theirs[name]
        ]
        found += [
            f"{name} {_shown(facts)}, not {_shown(stated.facts[name])}"
            for name, facts in self.facts.items()
            if name in stated.facts and stated.facts[name] != facts
        ]
        if not found:
            pairs = zip(self.all_caps, stated.all_caps, strict=True)
            rules = [(ours.filters.name, cap.rule.name, cap.name) for ours, cap in pairs if cap.rule]
            found = [f"rule {ours!r} for {cap}, not {other!r}" for ours, other, cap in rules if ours != other]
        return found

    def _words(self) -> dict[str, str]:
        """What is limited to how much, for people."""
        caps = ", ".join(f"{cap.budget} ({cap.name})" for cap in self.caps)
        return {"budget": str(self.main.budget), "caps": caps or "none"}

    def _promise(self) -> dict[str, Any]:
        main = self.main.promise()
        return {
            "dataset": self.dataset,
            "unit": self.unit,
            "codebook": self.codebook,
            "budget": main["budget"],
            "period": main["period"],
            "caps": [cap.promise() for cap in self.caps],
            "grants": self.grants,
        }

    def to_record(self) -> dict[str, Any]:
        """The terms as a JSON-able dictionary."""
        return {
            "dataset": self.dataset,
            "unit": self.unit,
            "codebook": self.codebook,
            "caps": [cap.to_record() for cap in self.all_caps],
            **({"facts": dict(self.facts)} if self.facts else {}),
            **({"grants": True} if self.grants else {}),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Terms:
        """The terms `to_record` wrote."""
        main, *caps = (Cap.from_record(cap) for cap in record["caps"])
        return cls(
            dataset=record["dataset"],
            unit=record["unit"],
            codebook=record["codebook"],
            budget=main.budget,
            rule=main.rule,
            period=main.period,
            caps=tuple(caps),
            facts=record.get("facts", {}),
            grants=bool(record.get("grants", False)),
        )


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, str) else canonical(value)
    return text if len(text) <= 90 else text[:87] + "..."
