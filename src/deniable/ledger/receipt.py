"""Receipts: what every release carries away, so that anyone can check later that it was charged, and where.

A receipt names the ledger's event count and head hash, which makes every receipt in anyone's hands an anchor too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deniable.accounting import Spend
from deniable.cost import Cost
from deniable.exact import loss_text
from deniable.ledger.costs_json import cost_from_record, cost_record
from deniable.ledger.numbers import number_from_text, number_text

_PLAIN = ("id", "ledger", "count", "head", "measure", "unit", "dataset", "data_version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Proof that an answer was charged.

    id: unique among all ledgers. count, head: the event of this release and the hash of the chain up to it.
    cost: what happened. charged: how the ledger's rule read it, in `measure` (epsilon or rho). spent, left: the data-wide
    budget at the release, over its lifetime and still to be spent.
    """

    id: str
    ledger: str
    count: int
    head: str
    cost: Cost
    measure: str
    charged: Spend
    spent: Spend
    left: Spend
    unit: str
    dataset: str
    data_version: int

    def to_record(self) -> dict[str, Any]:
        """The receipt as a JSON-able dictionary, exact."""
        return {
            "id": self.id,
            "ledger": self.ledger,
            "count": self.count,
            "head": self.head,
            "cost": cost_record(self.cost),
            "measure": self.measure,
            "charged": _written(self.charged),
            "spent": _written(self.spent),
            "left": _written(self.left),
            "unit": self.unit,
            "dataset": self.dataset,
            "data_version": self.data_version,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Receipt:
        """The receipt `to_record` wrote."""
        plain = {name: record[name] for name in _PLAIN}
        return cls(
            cost=cost_from_record(record["cost"]),
            charged=_read(record["charged"]),
            spent=_read(record["spent"]),
            left=_read(record["left"]),
            **plain,
        )

    def shown(self, spend: Spend, *, downwards: bool = False) -> str:
        """An amount for people, in this receipt's measure; rounded up, or downwards for what is left."""
        return loss_text(self.measure, spend.loss, spend.delta, downwards=downwards)

    def __str__(self) -> str:
        left = self.shown(self.left, downwards=True)
        return f"receipt {self.id}: {self.shown(self.charged)} charged; {self.shown(self.spent)} spent, {left} left"


def _written(spend: Spend) -> dict[str, str]:
    return {"loss": number_text(spend.loss), "delta": number_text(spend.delta)}


def _read(record: Mapping[str, Any]) -> Spend:
    return Spend(number_from_text(record["loss"]), number_from_text(record["delta"]))
