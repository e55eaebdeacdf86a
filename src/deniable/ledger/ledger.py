"""The durable budget: reserve, run, store, release, in that order, whatever happens in between.

Guarantee: an answer that leaves through `release` or `fetch` was charged, durably, under every cap it falls under, before it
was drawn; it is drawn once and the same bytes leave every time. A crash after `reserve` leaves the charge standing. Nothing
is ever refunded, changed or removed. Sums are exact, shared by threads and processes, and follow from the chain of events
alone. Times are noted only for what happens before data is touched, since how long a query ran may tell about the data.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deniable.cost import Cost
from deniable.errors import InvalidArgument, NotGranted, Retired
from deniable.ledger.amend import Restate, amended
from deniable.ledger.chain import Event, EventKind
from deniable.ledger.costs_json import cost_record
from deniable.ledger.desk import check_grant
from deniable.ledger.ledger_view import ANALYST, LedgerView
from deniable.ledger.opening import secret
from deniable.ledger.proposals import ProposedCodebook, open_proposal
from deniable.ledger.receipt import Receipt
from deniable.ledger.replay import Transaction
from deniable.ledger.request import (
    Ask,
    Reservation,
    StoredAnswer,
    answered,
    charges,
    costs_by_unit,
    earlier,
    pays_again,
)
from deniable.ledger.state import Charge, spend_from_record, spend_record, tally_from_record
from deniable.ledger.store import opened, sealed
from deniable.ledger.terms import Terms, named


class Ledger(LedgerView):
    """One durable budget. Open it with `Ledger.open`; share it freely among threads; open it again in other processes.

    Guarantee: all answers released under it together stay within the limit of every cap in its terms.
    """

    __slots__ = ()

    # What a session does

    def reserve(
        self,
        cost: Cost | Mapping[str, Cost],
        *,
        request: str | None = None,
        plan: str = "",
        data_version: int | None = None,
        account: str = ANALYST,
        look: Callable[[], None] | None = None,
        tables: Sequence[str] = (),
        question: str = "",
    ) -> Reservation:
        """Charge `cost` under every cap it falls under, durably, or raise and charge nothing.

        The same request again, or the same plan at the same cost on the same data version, is not charged: the reservation
        says `answered`, and `release` gives the stored answer. `plan` is a digest of everything that decides the answer, its
        noise included; without one nothing is shared. A request that was charged but never answered raises `Unanswered`.
        `data_version` is the one of the data at hand, by default that of the moment this ledger was opened. `look` is called
        before a charge, and may refuse from what is public, such as a file that is gone. `tables` names the private tables
        that are read, for `touching`; without names it may have been any. `question` is what was asked, in words, for `history`.
        """
        request = f"request-{secret(128)}" if request is None else request
        self._refuse_early(cost, account, look)
        with self._transaction() as transaction:
            asked = self._ask(transaction, cost, request=request, plan=plan, data_version=data_version, account=account)
            ask = replace(asked, tables=tuple(named(table=each) for each in tables), question=question[:2000])
            old = earlier(transaction.state, ask)
            if transaction.terms.grants:
                check_grant(transaction, ask)
            if old is None:
                if look is not None:
                    look()
                number = self._charge(transaction, ask, answer="stored")
            else:
                number = old.count
                self._share(transaction, ask, old)
        charged = transaction.appended is not None
        return Reservation(transaction.state.ledger, number, request, account, old is not None, charged, os.getpid())

    def store(self, reservation: Reservation, payload: bytes) -> None:
        """Keep the answer of a reservation, durably, before it is shown to anyone. A second answer is refused."""
        reservation.check_process()
        if not isinstance(payload, bytes):
            raise InvalidArgument(f"an answer is stored as bytes, got {type(payload).__name__}")
        with self._transaction() as transaction:
            charge = _charge_of(transaction, reservation)
            if charge.sealed:
                raise Retired(f"request {reservation.request!r} is answered already; release the stored answer")
            answer, seal = sealed(payload)
            transaction.writing.keep(charge.count, answer)
            transaction.append(EventKind.STORE, {"reservation": charge.count, "seal": seal})

    def release(self, reservation: Reservation) -> StoredAnswer:
        """The stored answer of a reservation and its receipt; the same bytes and receipt every time."""
        with self._transaction() as transaction:
            return _release(transaction, _charge_of(transaction, reservation), reservation.account, reservation.request)

    def fetch(self, request: str, *, account: str = ANALYST) -> StoredAnswer:
        """The answer to an earlier request of this analyst, at no cost."""
        with self._snapshot() as snapshot:
            number = snapshot.state.by_request.get((account, request))
        if number is None:
            raise InvalidArgument(f"no request {request!r} by {account!r} in this ledger; check the request id")
        with self._transaction() as transaction:
            return _release(transaction, transaction.state.charges[number], account, request)

    def answer(
        self,
        cost: Cost | Mapping[str, Cost],
        run: Callable[[], bytes],
        *,
        request: str | None = None,
        plan: str = "",
        data_version: int | None = None,
        account: str = ANALYST,
        look: Callable[[], None] | None = None,
        tables: Sequence[str] = (),
        question: str = "",
    ) -> StoredAnswer:
        """Reserve, `run` (unless answered before), store, release. If `run` fails the charge stands."""
        reservation = self.reserve(
            cost,
            request=request,
            plan=plan,
            data_version=data_version,
            account=account,
            look=look,
            tables=tables,
            question=question,
        )
        if not reservation.answered:
            self.store(reservation, run())
        return self.release(reservation)

    def charge(self, cost: Cost, *, account: str = ANALYST) -> None:
        """Charge a cost whose answer is not stored here: this makes a ledger a `Gate` for a compositor."""
        request = f"request-{secret(128)}"
        self._refuse_early(cost, account)
        with self._transaction() as transaction:
            ask = self._ask(transaction, cost, request=request, plan="", data_version=None, account=account)
            if transaction.terms.grants:
                check_grant(transaction, ask)
            self._charge(transaction, ask, answer="elsewhere")

    # What a curator does

    def amend(
        self, terms: Terms, *, reason: str, by: str, restate: Restate | None = None, proposal: int | None = None
    ) -> None:
        """Change the terms, on the record; everything charged so far is carried over under the new caps.

        The new limit holds as if it had been there from the start, unless the answers themselves led to it. Other open
        sessions must open the ledger again. A changed unit needs `restate`: what an old cost is in the new unit.
        `proposal` is the event whose proposed codebook this takes up, while the codebook it was edited from is in force.
        """
        body: dict[str, Any] = {"reason": named(reason=reason), "by": named(by=by)}
        body |= {} if proposal is None else {"proposal": proposal}
        with self._transaction() as transaction:
            if proposal is not None:
                _check_base(open_proposal(transaction.state.proposals, proposal), transaction.terms)
            change = amended(transaction.state, transaction.terms, terms, restate=restate)
            event = transaction.append(EventKind.AMEND, {**body, **change})
        with self._snapshot():  # so that `terms` are the new ones
            self._amended = event.count

    def new_version(self, *, reason: str, by: str) -> int:
        """Declare that the data changed, and return its new version. Budgets go on: the same people may still be in it."""
        body = {"reason": named(reason=reason), "by": named(by=by)}
        with self._transaction() as transaction:
            version = transaction.state.data_version + 1
            transaction.append(EventKind.NEW_VERSION, {**body, "data_version": version})
        self._version = version
        return version

    def note(self, text: str, *, by: str) -> None:
        """Write a remark into the chain."""
        body = {"text": named(text=text), "by": named(by=by)}
        with self._transaction() as transaction:
            transaction.append(EventKind.NOTE, body)

    # How it is done

    def _refuse_early(
        self, cost: Cost | Mapping[str, Cost], account: str, look: Callable[[], None] | None = None
    ) -> None:
        """What cannot be charged makes no ledger."""
        with self._snapshot() as snapshot:
            if self._planned is None:
                return
            caps = [cap for cap in snapshot.terms.all_caps if cap.covers(account)]
            costs = costs_by_unit(cost, snapshot.terms)
            ask = Ask(costs=costs, data_version=1, request="first", plan="", account=account)
            charges(snapshot.state, ask, caps, snapshot.terms, snapshot.moment)
        if look is not None:
            look()

    def _ask(
        self, transaction: Transaction, cost: Cost | Mapping[str, Cost], *, data_version: int | None, **asked: str
    ) -> Ask:
        if transaction.state.amended != self._amended:
            raise Retired(
                f"the curator changed this ledger's terms (event {transaction.state.amended}); open it again with the new ones"
            )
        version = self._version if data_version is None else data_version
        request, plan, account = asked["request"], asked["plan"], asked["account"]
        costs = costs_by_unit(cost, transaction.terms)
        return Ask(costs=costs, data_version=version, request=request, plan=plan, account=account)

    def _charge(self, transaction: Transaction, ask: Ask, *, answer: str) -> int:
        version = transaction.state.data_version
        if ask.data_version != version:
            raise InvalidArgument(f"data_version is {version} by now, got {ask.data_version!r}; open a new session")
        caps = [cap for cap in transaction.terms.all_caps if cap.covers(ask.account)]
        paid = charges(transaction.state, ask, caps, transaction.terms, transaction.moment)
        return transaction.append(EventKind.RESERVE, reserve_body(transaction, ask, paid, answer=answer)).count

    def _share(self, transaction: Transaction, ask: Ask, old: Charge) -> None:
        """An answer someone paid for costs the data nothing more, but it does count under a cap of this analyst alone."""
        caps = pays_again(transaction.state, old, ask.account, transaction.terms)
        if caps:
            paid = charges(transaction.state, ask, caps, transaction.terms, transaction.moment)
            transaction.append(EventKind.RESERVE, reserve_body(transaction, ask, paid, of=old.count))


def _check_base(proposal: ProposedCodebook, terms: Terms) -> None:
    if proposal.body["base"] != terms.codebook:
        raise NotGranted("the codebook was changed since this was proposed; edit the one in force")


def _release(transaction: Transaction, charge: Charge, account: str, request: str) -> StoredAnswer:
    answered(charge, request)
    if transaction.state.by_request.get((account, request), charge.count) != charge.count:
        raise InvalidArgument(f"request {request!r} was already used for another query; give each query its own id")
    payload = opened(transaction.reading.answer(charge.count), charge.sealed)
    event = charge.releases.get((account, request))
    if event is None:
        event = transaction.append(EventKind.RELEASE, release_body(transaction, charge, account, request))
    return StoredAnswer(payload, receipt(transaction.state.ledger, charge, event))


def _charge_of(transaction: Transaction, reservation: Reservation) -> Charge:
    if reservation.ledger != transaction.state.ledger:
        raise InvalidArgument(f"request {reservation.request!r} was reserved in another ledger; use that one")
    return transaction.state.charges[reservation.number]


# What events say ------------------------------------------------------------------------------------------------------


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
