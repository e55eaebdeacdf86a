"""What is asked of a ledger, what answers it, and which caps it charges: decisions without side effects."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn

from deniable.accounting import Tally
from deniable.accounting.side_by_side import lost_by
from deniable.cost import Cost
from deniable.errors import BudgetExceeded, InvalidArgument, Retired, Unanswered
from deniable.ledger.caps import Balance, Cap
from deniable.ledger.costs_json import cost_record
from deniable.ledger.receipt import Receipt
from deniable.ledger.state import Charge, State, tally_record
from deniable.ledger.terms import Terms, named


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request: who asks for what, at what cost in each unit definition the ledger has a cap in."""

    costs: Mapping[str, Cost]
    request: str
    plan: str
    account: str
    data_version: int
    tables: tuple[str, ...] = ()
    question: str = ""

    def __post_init__(self) -> None:
        named(request=self.request)
        named(account=self.account)
        if self.plan:
            named(plan=self.plan)


@dataclass(frozen=True, slots=True)
class Reservation:
    """A durable charge, or an earlier answer that makes a new one unnecessary.

    number: the event of the charge. answered: an answer is stored already, so release it instead of running again.
    charged: this very call added a charge to the ledger.
    """

    ledger: str
    number: int
    request: str
    account: str
    answered: bool
    charged: bool
    process: int

    def check_process(self) -> None:
        """Only the process that reserved may store: two copies of a reservation would be two draws."""
        if os.getpid() != self.process:
            raise Retired(f"request {self.request!r} was reserved before this process was forked; reserve in this one")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Reservation cannot be copied or pickled: it stands for one draw in one process")


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The stored bytes of an answer, the same every time, and the receipt they left with."""

    payload: bytes
    receipt: Receipt


def costs_by_unit(cost: Cost | Mapping[str, Cost], terms: Terms) -> dict[str, Cost]:
    """The cost in every unit definition the ledger has a cap in; one plain cost means the data's own unit."""
    costs = dict(cost) if isinstance(cost, Mapping) else {terms.unit: cost}
    for unit in terms.units:
        if unit not in costs:
            raise InvalidArgument(f"a cap is written in unit {unit!r}; give the cost in it too, as {{unit: cost, ...}}")
    for unit, each in costs.items():
        if unit not in terms.units:
            raise InvalidArgument(f"no cap is written in unit {unit!r}; the units are {', '.join(terms.units)}")
        cost_record(each)
    return costs


def earlier(state: State, ask: Ask) -> Charge | None:
    """The charge this request already made or may share: the same request again, or the same plan on the same data."""
    number = state.by_request.get((ask.account, ask.request))
    if number is None:
        return state.stored(ask.plan, ask.data_version, ask.costs) if ask.plan else None
    charge = state.charges[number]
    if charge.body["plan"] != ask.plan or not charge.costs_the_same(ask.costs):
        raise InvalidArgument(f"request {ask.request!r} was already used for another query; give each query its own id")
    return answered(charge, ask.request)


def answered(charge: Charge, request: str) -> Charge:
    """This charge, if its answer is stored; else say that it is spent."""
    if not charge.sealed:
        raise Unanswered(
            f"request {request!r} was charged as event {charge.count} but no answer is stored: it is still running, or its "
            "process stopped; the charge stands, ask again under a new request id to spend again"
        )
    return charge


def pays_again(state: State, charge: Charge, account: str, terms: Terms) -> list[Cap]:
    """The caps of this analyst alone that have not paid for an answer another analyst paid for."""
    if charge.body["account"] == account or (account, charge.count) in state.shared:
        return []
    return [cap for cap in terms.all_caps if cap.analyst is not None and cap.covers(account)]


def charges(state: State, ask: Ask, caps: list[Cap], terms: Terms, moment: datetime) -> list[dict[str, Any]]:
    """What each cap is charged: all of these, or `BudgetExceeded` and none."""
    records = []
    for cap in caps:
        cost = ask.costs[cap.unit or terms.unit]
        asked = cap.filters.read(cost)
        balance = state.balance(cap, ask.account, moment)
        if not cap.filters.fits(balance.tally + asked):
            raise _exceeded(balance, asked, cost)
        slot = cap.slot(ask.account, moment)
        records.append({"cap": slot.cap, "account": slot.account, "period": slot.period, **tally_record(asked)})
    return records


def _exceeded(balance: Balance, tally: Tally, cost: Cost) -> BudgetExceeded:
    """Of several rules side by side in the epsilon that would still be allowed."""
    filters = balance.cap.filters
    asked, left = filters.stated(tally), balance.left
    wanted = "what adding up cannot read" if asked is None else str(asked)
    when = f" in {balance.period}" if balance.period else ""
    return BudgetExceeded(
        f"asked for {wanted}, but {left.shown(downwards=True)} is left of "
        f"{filters.whole} (cap: {balance.cap.name}{when}); nothing was spent, ask for less or stop here"
        + lost_by(balance.rule, cost),
        asked=asked,
        spent=balance.spent,
        left=left,
    )
