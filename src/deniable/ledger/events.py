"""What reserve and release events say, and the receipt that follows from them."""

from __future__ import annotations

from typing import Any

from deniable.ledger.chain import Event
from deniable.ledger.costs_json import cost_record
from deniable.ledger.receipt import Receipt
from deniable.ledger.replay import Transaction
from deniable.ledger.request import Ask
from deniable.ledger.state import Charge, spend_from_record, spend_record, tally_from_record


def reserve_body(
    transaction: Transaction, ask: Ask, paid: list[dict[str, Any]], *, of: int = 0, answer: str = "stored"
) -> dict[str, Any]:
    """A charge: who asked, what happened at what cost, and what each cap paid. `of` is the charge whose answer is shared."""
    costs = {} if of else {unit: cost_record(cost) for unit, cost in ask.costs.items()}
    return {
        "request": ask.request,
        "account": ask.account,
        "plan": ask.plan,
        "data_version": transaction.state.data_version,
        "costs": costs,
        "charges": paid,
        "of": of,
        "answer": answer,
        **({"tables": list(ask.tables)} if ask.tables else {}),
        **({"question": ask.question} if ask.question else {}),
    }


def release_body(transaction: Transaction, charge: Charge, account: str, request: str) -> dict[str, Any]:
    """An answer leaving: which, to whom, how the terms of today read it, and where the data-wide budget stands."""
    filters = transaction.terms.main.filters
    balance = transaction.state.balance(transaction.terms.main, account, transaction.moment)
    changed = charge.count < transaction.state.amended
    read = (
        filters.read(charge.costs[transaction.terms.unit]) if changed else tally_from_record(charge.body["charges"][0])
    )
    return {
        "reservation": charge.count,
        "request": request,
        "account": account,
        "dataset": transaction.terms.dataset,
        "unit": transaction.terms.unit,
        "measure": filters.unit,
        "charged": spend_record(filters.stated(read) or filters.used(read)),
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
