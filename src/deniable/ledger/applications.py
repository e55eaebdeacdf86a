"""Asking before spending: requests, grants, refusals, expiries and publications as events of the same chain.

A request names who asks for what at which price; a grant names the analyst, the plan, a limit and a date, and
reserves nothing. Under terms with `grants` a charge needs a live grant that covers it, and that is checked in the
transaction that writes the charge.

Guarantee: in such a ledger every charge was asked for by its analyst and granted by somebody else, for this plan, at
no more than it cost, before it was made and before the grant ran out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from deniable.accounting import Spend
from deniable.errors import InvalidArgument, NotGranted
from deniable.exact import loss_text
from deniable.ledger.chain import Event, EventKind
from deniable.ledger.numbers import number_from_text, number_text
from deniable.ledger.terms import named

MOST_TEXT = 20_000
"""Characters a question may have."""
MOST_REMARK = 1000
"""Characters a remark under a checklist's item may have."""


class Progress(Enum):
    """How far a request has come."""

    PENDING = "pending"
    APPROVED = "approved"
    REFUSED = "refused"
    EXPIRED = "expired"
    RUNNING = "running"
    FAILED = "charged and not answered"
    RELEASED = "released"
    PUBLISHED = "published"


_BEFORE = {
    EventKind.GRANT: (Progress.PENDING,),
    EventKind.REFUSAL: (Progress.PENDING, Progress.APPROVED, Progress.RUNNING),
    EventKind.EXPIRY: (Progress.APPROVED,),
    EventKind.PUBLICATION: (Progress.RELEASED,),
    EventKind.READING: (Progress.RELEASED, Progress.PUBLISHED),
    EventKind.SIGNATURE: (
        Progress.PENDING,
        Progress.APPROVED,
        Progress.RUNNING,
        Progress.RELEASED,
        Progress.PUBLISHED,
    ),
}
"""From which states each event may follow."""


@dataclass(frozen=True, slots=True)
class Application:
    """One request and what became of it. `events` are the bodies that followed, by kind; `charge` is the event that paid for it."""

    account: str
    request: str
    count: int
    body: Mapping[str, Any]
    events: Mapping[EventKind, Event]
    charge: int | None = None
    stored: bool = False
    readers: tuple[str, ...] = ()
    """Who else was given its answer, in order."""
    signatures: tuple[Event, ...] = ()
    """What was signed of its checklist, in order; of one item the last counts."""

    @property
    def progress(self) -> Progress:
        """Where it stands; a grant that has run out is still `approved` until the expiry is written down."""
        if EventKind.PUBLICATION in self.events:
            return Progress.PUBLISHED
        if self.stored:
            return Progress.RELEASED
        if EventKind.REFUSAL in self.events:
            return Progress.REFUSED if self.charge is None else Progress.FAILED
        if self.charge is not None:
            return Progress.RUNNING
        if EventKind.EXPIRY in self.events:
            return Progress.EXPIRED
        return Progress.APPROVED if EventKind.GRANT in self.events else Progress.PENDING

    @property
    def grant(self) -> Mapping[str, Any] | None:
        """The body of the grant, if there is one."""
        event = self.events.get(EventKind.GRANT)
        return None if event is None else event.body

    @property
    def reason(self) -> str:
        """Why it was refused, if it was."""
        event = self.events.get(EventKind.REFUSAL)
        return "" if event is None else str(event.body["reason"])

    @property
    def asked(self) -> Spend:
        """What it would cost as asked."""
        return spend_of(self.body["price"])

    @property
    def limit(self) -> Spend | None:
        """What was granted."""
        return None if self.grant is None else spend_of(self.grant["limit"])

    def live(self, moment: datetime) -> bool:
        """Is there a grant that has not run out, been withdrawn or been used?"""
        return self.progress is Progress.APPROVED and moment < self.expires

    @property
    def expires(self) -> datetime:
        """When the grant runs out; the beginning of time where there is none."""
        return datetime.fromisoformat(self.grant["expires"] if self.grant else "0001-01-01T00:00:00+00:00")


def spend_of(record: Mapping[str, Any]) -> Spend:
    """An amount as it was written down."""
    return Spend(number_from_text(record["loss"]), number_from_text(record["delta"]), str(record.get("unit", "")))


def amount(spend: Spend) -> dict[str, str]:
    """An amount to write down, with its unit."""
    return {"loss": number_text(spend.loss), "delta": number_text(spend.delta), "unit": spend.unit}


def question(text: str) -> str:
    """The text of a question: not empty and not endless."""
    if not (isinstance(text, str) and 0 < len(text.strip()) <= MOST_TEXT):
        raise InvalidArgument(f"a question is a text of at most {MOST_TEXT:,} characters, got {len(str(text)):,}")
    return text


def transition_fault(application: Application | None, event: Event) -> str | None:
    """What is wrong with this event after that state, if anything."""
    kind, body = event.kind, event.body
    if kind is EventKind.REQUEST:
        return None if application is None else f"event {event.count} asks again under a request id that was used"
    if application is None:
        return f"event {event.count} is about a request that nobody made"
    if application.progress not in _BEFORE[kind]:
        return f"event {event.count} is a {kind.value} of a request that was {application.progress.value}"
    if kind is EventKind.GRANT and body["by"] == application.account:
        return f"event {event.count} is a grant to oneself"
    return None


def checked_transition(application: Application | None, kind: EventKind, *, by: str, request: str) -> Application:
    """This application, if the event may follow its state; else a refusal in words."""
    if application is None:
        raise InvalidArgument(f"there is no request {request!r} by this analyst; check its id")
    if application.progress not in _BEFORE[kind]:
        raise NotGranted(
            f"request {request!r} is {application.progress.value}: a {kind.value} does not follow; "
            f"it may after {' or '.join(state.value for state in _BEFORE[kind])}"
        )
    if kind is EventKind.GRANT and by == application.account:
        raise NotGranted(f"request {request!r} is your own; another allocator must grant it")
    return application


def check_granted(application: Application | None, *, request: str, plan: str, cost: Spend, moment: datetime) -> None:
    """Raise unless a live grant covers this plan at this cost. Called where the charge is written."""
    if application is None or application.grant is None:
        raise NotGranted(f"request {request!r} has no grant; ask for it, and have an allocator grant it")
    if not application.live(moment):
        when = "" if moment < application.expires else f", its grant ran out on {application.grant['expires']}"
        raise NotGranted(f"request {request!r} is {application.progress.value}{when}; ask again under a new id")
    if application.grant["plan"] != plan:
        raise NotGranted(f"request {request!r} was granted for another plan; ask for this one under a new id")
    limit = spend_of(application.grant["limit"])
    if not cost <= limit:
        raise NotGranted(
            f"request {request!r} was granted up to {limit}, this costs {loss_text(limit.unit or 'loss', cost.loss, cost.delta)}"
        )


def request_body(
    *,
    account: str,
    request: str,
    text: str,
    dialect: str,
    payment: Mapping[str, str],
    plan: str,
    price: Spend,
    purpose: str,
) -> dict[str, Any]:
    """What a request says: the question, the offer, the plan it becomes and what that costs."""
    return {
        "account": named(account=account),
        "request": named(request=request),
        "text": question(text),
        "dialect": named(dialect=dialect),
        "payment": {str(name): str(value) for name, value in payment.items()},
        "plan": named(plan=plan),
        "price": amount(price),
        "purpose": named(purpose=purpose),
    }


def signature_body(
    *,
    account: str,
    request: str,
    by: str,
    role: str,
    item: str,
    text: str,
    applies: bool = True,
    link: str = "",
    file_hash: str = "",
) -> dict[str, Any]:
    """What a signature under one item of a checklist says: who in which role, whether it applies, why, and what shows it."""
    words = " ".join(text.split())
    if not (0 < len(words) <= MOST_REMARK and words.isprintable()):
        raise InvalidArgument(f"text: answer the item in 1 to {MOST_REMARK:,} printable characters, got {len(words):,}")
    if link and not re.fullmatch(r"https://[!-~]{1,500}", link):
        raise InvalidArgument(f"link is written https://... without blanks, got {link[:60]!r}")
    if file_hash and not re.fullmatch(r"[0-9a-f]{64}", file_hash):
        raise InvalidArgument(f"file_hash is a SHA-256 of 64 small hexadecimal digits, got {file_hash[:70]!r}")
    shown = {name: value for name, value in (("link", link), ("file_hash", file_hash)) if value}
    signed = {"by": named(by=by), "role": named(role=role), "item": named(item=item), "text": words}
    return {"account": named(account=account), "request": named(request=request), **signed, "applies": applies, **shown}


def grant_body(
    application: Application,
    *,
    by: str,
    plan: str,
    payment: Mapping[str, str],
    limit: Spend,
    expires: datetime,
    moment: datetime,
) -> dict[str, Any]:
    """What a grant says. It may be for less than was asked, never for more, and it ends."""
    if not limit <= application.asked:
        raise InvalidArgument(f"a grant is for at most what was asked, {application.asked}; got {limit}")
    if not limit.loss > 0:
        raise InvalidArgument(f"a grant is for more than nothing, got {limit}; refuse it instead")
    if expires.tzinfo is None or not expires > moment:
        raise InvalidArgument(f"a grant ends at a time in the future, with its time zone, got {expires.isoformat()}")
    return {
        "account": application.account,
        "request": application.request,
        "by": named(by=by),
        "plan": named(plan=plan),
        "payment": {str(name): str(value) for name, value in payment.items()},
        "limit": amount(limit),
        "expires": expires.isoformat(timespec="seconds"),
    }
