"""The desk at which requests are made, granted, refused, expired and published, and codebooks proposed: `ledger.desk`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from deniable.accounting import Filters, Spend
from deniable.cost import Cost
from deniable.errors import BudgetExceeded, InvalidArgument
from deniable.ledger.applications import (
    Application,
    check_granted,
    checked_transition,
    grant_body,
    request_body,
    signature_body,
)
from deniable.ledger.chain import EventKind
from deniable.ledger.proposals import ProposedCodebook, open_proposal, proposal_body
from deniable.ledger.replay import Replay, Transaction
from deniable.ledger.request import Ask
from deniable.ledger.terms import named


class Desk:
    """Requests of one ledger. It never charges: only `Ledger.reserve` does, where a live grant covers it.

    Guarantee: what is written here moves no sum.
    """

    __slots__ = ("_replay",)

    def __init__(self, replay: Replay) -> None:
        self._replay = replay

    def price(self, cost: Cost) -> Spend:
        """What a cost is in the budget's own words: what a request states and a grant limits."""
        return _stated(self._replay.terms.main.filters, cost)

    def request(
        self,
        text: str,
        *,
        account: str,
        request: str,
        payment: Mapping[str, str],
        plan: str,
        price: Spend,
        purpose: str,
        dialect: str = "duckdb",
    ) -> Application:
        """Ask: the question, what is offered, the digest of its plan and what that costs. Nothing is reserved."""
        body = request_body(
            account=account,
            request=request,
            text=text,
            dialect=dialect,
            payment=payment,
            plan=plan,
            price=price,
            purpose=purpose,
        )
        with self._replay.transaction() as transaction:
            known = transaction.state.applications.get((account, request))
            if known is not None or (account, request) in transaction.state.by_request:
                raise InvalidArgument(f"request {request!r} was already used; give each request its own id")
            transaction.append(EventKind.REQUEST, body)
        return self.one(account, request)

    def grant(
        self,
        account: str,
        request: str,
        *,
        by: str,
        expires: datetime,
        limit: Spend | None = None,
        plan: str | None = None,
        payment: Mapping[str, str] | None = None,
    ) -> Application:
        """Grant a request up to a limit, until a date; for less than was asked with the plan that becomes. Nothing is reserved."""
        with self._replay.transaction() as transaction:
            known = checked_transition(
                self._found(transaction, account, request), EventKind.GRANT, by=by, request=request
            )
            most = known.asked if limit is None else limit
            left = transaction.state.balance(transaction.terms.main, account, transaction.moment).left
            if most.loss > left.loss:
                raise BudgetExceeded(
                    f"a grant of {most} is more than what is left of the budget, {left.shown(downwards=True)}",
                    asked=most,
                    left=left,
                )
            body = grant_body(
                known,
                by=by,
                plan=known.body["plan"] if plan is None else plan,
                payment=known.body["payment"] if payment is None else payment,
                limit=most,
                expires=expires,
                moment=transaction.moment,
            )
            transaction.append(EventKind.GRANT, body)
        return self.one(account, request)

    def refuse(self, account: str, request: str, *, by: str, reason: str) -> Application:
        """Refuse a request, withdraw its grant, or say of a charge that there is no answer. The reason is mandatory."""
        return self._write(account, request, EventKind.REFUSAL, by=by, reason=named(reason=reason))

    def expire(self, account: str, request: str, *, by: str) -> Application:
        """Write down that a grant has run out; refused while it has not."""
        with self._replay.transaction() as transaction:
            known = checked_transition(
                self._found(transaction, account, request), EventKind.EXPIRY, by=by, request=request
            )
            if transaction.moment < known.expires:
                raise InvalidArgument(
                    f"the grant of {request!r} holds until {known.expires.isoformat()}; withdraw it instead"
                )
            transaction.append(EventKind.EXPIRY, {"account": account, "request": request, "by": named(by=by)})
        return self.one(account, request)

    def publish(self, account: str, request: str, *, by: str, note: str = "published") -> Application:
        """Write down that an answer is for everybody now."""
        return self._write(account, request, EventKind.PUBLICATION, by=by, note=named(note=note))

    def read(self, account: str, request: str, *, by: str) -> Application:
        """Write down, once for each person, that somebody else than who asked was given the answer."""
        known = self.one(account, request)
        if by == account or by in known.readers:
            return known
        return self._write(account, request, EventKind.READING, by=by)

    def sign(self, account: str, request: str, **signed: Any) -> Application:
        """Sign one item of a request's checklist: by=, role=, item=, text=, and as needed applies=False, link=, file_hash=.

        Of several signatures under one item the last counts; all stay in the chain.
        """
        body = signature_body(account=account, request=request, **signed)
        with self._replay.transaction() as transaction:
            known = self._found(transaction, account, request)
            checked_transition(known, EventKind.SIGNATURE, by=str(body["by"]), request=request)
            transaction.append(EventKind.SIGNATURE, body)
        return self.one(account, request)

    def one(self, account: str, request: str) -> Application:
        """One request; unknown ones are refused."""
        with self._replay.snapshot() as snapshot:
            found = snapshot.state.applications.get((account, request))
        if found is None:
            raise InvalidArgument(f"there is no request {request!r} by this analyst; check its id")
        return found

    def all(self, *, account: str | None = None) -> tuple[Application, ...]:
        """Every request in order, or those of one analyst."""
        with self._replay.snapshot() as snapshot:
            found = tuple(snapshot.state.applications.values())
        return tuple(each for each in found if account in (None, each.account))

    def ready(self) -> tuple[Application, ...]:
        """Requests with a live grant, in the order they were granted: what a worker may run."""
        with self._replay.snapshot() as snapshot:
            live = [each for each in snapshot.state.applications.values() if each.live(snapshot.moment)]
        return tuple(sorted(live, key=lambda each: each.events[EventKind.GRANT].count))

    def overdue(self) -> tuple[Application, ...]:
        """Requests whose grant has run out, which nobody has written down yet."""
        with self._replay.snapshot() as snapshot:
            found = [each for each in snapshot.state.applications.values() if each.progress.value == "approved"]
            return tuple(each for each in found if not each.live(snapshot.moment))

    def propose(self, text: str, *, codebook: str, reason: str, by: str) -> ProposedCodebook:
        """Propose another codebook, whose fingerprint is given: whoever holds the data takes it up or rejects it."""
        with self._replay.transaction() as transaction:
            base = transaction.terms.codebook
            body = proposal_body(text=text, codebook=codebook, base=base, reason=reason, by=by)
            event = transaction.append(EventKind.PROPOSAL, body)
        return ProposedCodebook(event.count, event.body)

    def reject(self, proposal: int, *, by: str, reason: str) -> None:
        """Answer a proposal with no, and why."""
        body = {"proposal": proposal, "by": named(by=by), "reason": named(reason=reason)}
        with self._replay.transaction() as transaction:
            open_proposal(transaction.state.proposals, proposal)
            transaction.append(EventKind.REJECTION, body)

    def proposals(self) -> tuple[ProposedCodebook, ...]:
        """Every proposed codebook in order, with what became of it."""
        with self._replay.snapshot() as snapshot:
            return tuple(snapshot.state.proposals.values())

    def _write(self, account: str, request: str, kind: EventKind, *, by: str, **more: str) -> Application:
        with self._replay.transaction() as transaction:
            checked_transition(self._found(transaction, account, request), kind, by=by, request=request)
            transaction.append(kind, {"account": account, "request": request, "by": named(by=by), **more})
        return self.one(account, request)

    @staticmethod
    def _found(transaction: Transaction, account: str, request: str) -> Application | None:
        return transaction.state.applications.get((account, request))

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "a Desk belongs to its ledger and cannot be copied or pickled; open the ledger in the other process"
        )


def check_grant(transaction: Transaction, ask: Ask) -> None:
    """Under terms with grants: a live grant of this analyst covers this plan at this cost, or it was charged already."""
    asked = (ask.account, ask.request)
    terms, state = transaction.terms, transaction.state
    if asked in state.by_request:
        return
    cost = _stated(terms.main.filters, ask.costs[terms.unit])
    check_granted(
        state.applications.get(asked), request=ask.request, plan=ask.plan, cost=cost, moment=transaction.moment
    )


def _stated(filters: Filters, cost: Cost) -> Spend:
    tally = filters.read(cost)
    return filters.stated(tally) or filters.used(tally)
