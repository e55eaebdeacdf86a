"""What reserve and release events say, and the receipt that follows from them."""

from __future__ import annotations

from typing import Any

from deniable.release.costs_json import cost_record
from deniable.release.ledger.book import Turn
from deniable.release.ledger.event import Event
from deniable.release.ledger.request import Ask
from deniable.release.ledger.state import Charge, spend_from_record, spend_record
from deniable.release.receipt import Receipt


def reserve_body(
    turn: Turn, ask: Ask, paid: list[dict[str, Any]], *, of: int = 0, answer: str = "stored"
) -> dict[str, Any]:
    """A charge: who asked, what happened at what cost, and what each cap paid. `of` is the charge whose answer is shared."""
    costs = {} if of else {unit: cost_record(cost) for unit, cost in ask.costs.items()}
    return {
        "request": ask.request,
        "account": ask.account,
        "plan": ask.plan,
        "data_version": turn.state.data_version,
        "costs": costs,
        "charges": paid,
        "of": of,
        "answer": answer,
    }


def release_body(turn: Turn, charge: Charge, account: str, request: str) -> dict[str, Any]:
    """An answer leaving: which, to whom, how the terms of today read it, and where the data-wide budget stands."""
    rule = turn.terms.main.filter
    balance = turn.state.balance(turn.terms.main, account, turn.moment)
    changed = charge.count < turn.state.amended
    read = rule.read(charge.costs[turn.terms.unit]) if changed else spend_from_record(charge.body["charges"][0])
    return {
        "reservation": charge.count,
        "request": request,
        "account": account,
        "dataset": turn.terms.dataset,
        "unit": turn.terms.unit,
        "measure": rule.unit,
        "charged": spend_record(read),
        "spent": spend_record(balance.lifetime),
        "left": spend_record(balance.left),
    }


def receipt(ledger: str, charge: Charge, event: Event) -> Receipt:
    """The receipt of a release event."""
    body = event.body
    return Receipt(
        id=f"{ledger[:12]}-{event.count}",
        ledger=ledger,
        count=event.count,
        head=event.head,
        cost=charge.costs[body["unit"]],
        measure=body["measure"],
        charged=spend_from_record(body["charged"]),
        spent=spend_from_record(body["spent"]),
        left=spend_from_record(body["left"]),
        unit=body["unit"],
        dataset=body["dataset"],
        data_version=charge.body["data_version"],
    )
