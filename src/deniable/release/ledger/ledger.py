"""The durable budget: reserve, run, store, release, in that order, whatever happens in between.

Guarantee: an answer that leaves through `release` or `fetch` was charged, durably, under every cap it falls under, before it
was drawn; it is drawn once and the same bytes leave every time. A crash after `reserve` leaves the charge standing. Nothing
is ever refunded, changed or removed. Sums are exact, shared by threads and processes, and follow from the chain of events
alone. Times are noted only for what happens before data is touched, since how long a query ran may tell about the data.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NoReturn

from deniable.accounting import Spend
from deniable.cost import Cost
from deniable.errors import DeniableError, InvalidArgument, LedgerError, Retired
from deniable.noise import system_entropy
from deniable.release.anchor import Anchor, FolderAnchor, Mark
from deniable.release.costs_json import cost_record
from deniable.release.ledger.amend import Restate, amended
from deniable.release.ledger.caps import Balance
from deniable.release.ledger.event import FORMAT, Event, Kind, canonical, linked
from deniable.release.ledger.journal import Journal, Reading, Writing
from deniable.release.ledger.request import (
    Ask,
    Released,
    Reservation,
    answered,
    charges,
    costs_by_unit,
    earlier,
    pays_again,
)
from deniable.release.ledger.sqlite import SqliteJournal
from deniable.release.ledger.state import Charge, State, spend_from_record, spend_record
from deniable.release.ledger.terms import Terms, named
from deniable.release.receipt import Receipt
from deniable.release.store import opened, sealed

Clock = Callable[[], datetime]
ANALYST = "analyst"
"""The account of a session that names none."""


class Ledger:
    """One durable budget. Open it with `Ledger.open`; share it freely among threads; open it again in other processes.

    Guarantee: all answers released under it together stay within the limit of every cap in its terms.
    """

    __slots__ = ("_anchor", "_clock", "_journal", "_state")

    def __init__(self, journal: Journal, *, anchor: Anchor | None = None, clock: Clock | None = None) -> None:
        """A ledger over any journal; `open` and `existing` are the usual ways to make one."""
        self._journal = journal
        self._anchor: Anchor = FolderAnchor() if anchor is None else anchor
        self._clock: Clock = clock or (lambda: datetime.now(UTC))
        self._state = State()

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, terms: Terms, anchor: Anchor | None = None, clock: Clock | None = None
    ) -> Ledger:
        """The ledger in this file, made if there is none. Other terms than it was made under are refused."""
        return cls(SqliteJournal(path), anchor=anchor, clock=clock).opened(terms)

    @classmethod
    def existing(
        cls, path: str | os.PathLike[str], *, anchor: Anchor | None = None, clock: Clock | None = None
    ) -> Ledger:
        """The ledger in this file, under the terms it has."""
        journal = SqliteJournal(path)
        if not journal.exists:
            raise LedgerError(f"there is no ledger at {os.fspath(path)}; check the path")
        return cls(journal, anchor=anchor, clock=clock).opened(None)

    def opened(self, terms: Terms | None) -> Ledger:
        """This ledger, checked against its terms, its storage and its anchor, and begun if it is new."""
        place = self._journal.place
        resident = self._anchor.living_at(place)
        if not self._journal.exists:
            if resident:
                raise _vanished(place, resident)
            self._journal.create()
        self._journal.check()
        with self._alone() as turn:
            if self._state.count == 0:
                if resident or terms is None:
                    raise _vanished(place, resident)
                turn.append(Kind.OPEN, {"format": FORMAT, "ledger": _secret(128), "terms": terms.to_record()})
            elif terms is not None:
                _refuse_other_terms(self._terms, terms, place)
            if resident and self._state.count and resident != self._state.ledger:
                raise _vanished(place, resident)
        with self._looking() as (state, _):
            self._anchor.settle(state.ledger, place)
            self._anchor.advance(state.ledger, Mark(state.count, state.head))
        return self

    # What a session does

    def reserve(
        self,
        cost: Cost | Mapping[str, Cost],
        *,
        request: str | None = None,
        plan: str = "",
        data_version: int | None = None,
        account: str = ANALYST,
    ) -> Reservation:
        """Charge `cost` under every cap it falls under, durably, or raise and charge nothing.

        The same request again, or the same plan at the same cost on the same data version, is not charged: the reservation
        says `answered`, and `release` gives the stored answer. `plan` is a digest of everything that decides the answer, its
        noise included; without one nothing is shared. A request that was charged but never answered raises `Unanswered`.
        """
        return self._reserve(
            cost, request=request, plan=plan, data_version=data_version, account=account, answer="stored"
        )

    def store(self, reservation: Reservation, payload: bytes) -> None:
        """Keep the answer of a reservation, durably, before it is shown to anyone. A second answer is refused."""
        reservation.check_process()
        if not isinstance(payload, bytes):
            raise InvalidArgument(f"an answer is stored as bytes, got {type(payload).__name__}")
        with self._alone() as turn:
            charge = self._charge(reservation)
            if charge.sealed:
                raise Retired(f"request {reservation.request!r} is answered already; release the stored answer")
            answer, seal = sealed(payload)
            turn.writing.keep(charge.count, answer)
            turn.append(Kind.STORE, {"reservation": charge.count, "seal": seal})

    def release(self, reservation: Reservation) -> Released:
        """The stored answer of a reservation and its receipt; the same bytes and receipt every time."""
        return self._release(self._charge(reservation).count, reservation.account, reservation.request)

    def fetch(self, request: str, *, account: str = ANALYST) -> Released:
        """The answer to an earlier request of this analyst, at no cost."""
        with self._looking() as (state, _):
            number = state.by_request.get((account, request))
        if number is None:
            raise InvalidArgument(f"no request {request!r} by {account!r} in this ledger; check the request id")
        return self._release(number, account, request)

    def answer(
        self,
        cost: Cost | Mapping[str, Cost],
        run: Callable[[], bytes],
        *,
        request: str | None = None,
        plan: str = "",
        data_version: int | None = None,
        account: str = ANALYST,
    ) -> Released:
        """Reserve, `run` (unless answered before), store, release. If `run` fails the charge stands."""
        reservation = self.reserve(cost, request=request, plan=plan, data_version=data_version, account=account)
        if not reservation.answered:
            self.store(reservation, run())
        return self.release(reservation)

    def charge(self, cost: Cost, *, account: str = ANALYST) -> None:
        """Charge a cost whose answer is not stored here: this makes a ledger a `Gate` for a compositor."""
        self._reserve(cost, request=None, plan="", data_version=None, account=account, answer="elsewhere")

    # What can be seen

    @property
    def terms(self) -> Terms:
        """What this ledger counts, as last amended."""
        with self._looking():
            return self._terms

    @property
    def id(self) -> str:
        """What tells this ledger from every other."""
        with self._looking() as (state, _):
            return state.ledger

    @property
    def mark(self) -> Mark:
        """How far the chain has come: the count and hash of its last event."""
        with self._looking() as (state, _):
            return Mark(state.count, state.head)

    @property
    def data_version(self) -> int:
        """The public label of the data now: a counter the curator raises."""
        with self._looking() as (state, _):
            return state.data_version

    @property
    def spent(self) -> Spend:
        """What the data-wide budget has spent over its lifetime, exactly."""
        return self.balances()[0].lifetime

    @property
    def left(self) -> Spend:
        """What the data-wide budget has left (now, in this period if it has one), exactly."""
        return self.balances()[0].left

    def balances(self, *, account: str = ANALYST) -> tuple[Balance, ...]:
        """Where every cap stands that a charge by this analyst would fall under; the data-wide one first."""
        with self._looking() as (state, _):
            caps = [cap for cap in self._terms.all_caps if cap.covers(account)]
            return tuple(state.balance(cap, account, self._moment()) for cap in caps)

    def fits(self, cost: Cost | Mapping[str, Cost], *, account: str = ANALYST) -> bool:
        """Would this be accepted now? Nothing is spent by asking."""
        with self._looking():
            costs = costs_by_unit(cost, self._terms)
        return all(
            balance.cap.filter.fits(
                balance.spent + balance.cap.filter.read(costs[balance.cap.unit or self._terms.unit])
            )
            for balance in self.balances(account=account)
        )

    def unanswered(self) -> tuple[Charge, ...]:
        """Charges whose answer was to be stored and never was: spent, with nothing to fetch."""
        with self._looking() as (state, _):
            return tuple(c for c in state.charges.values() if not c.sealed and c.body["answer"] == "stored")

    def confirms(self, receipt: Receipt) -> bool:
        """Is this receipt part of the chain? A receipt that is not means that events were lost."""
        with self._looking() as (state, _):
            return (
                receipt.ledger == state.ledger
                and 0 < receipt.count <= state.count
                and state.heads[receipt.count - 1] == receipt.head
            )

    def export(self) -> Iterator[str]:
        """Every event as one line of JSON, answers not included."""
        with self._journal.reading() as reading:
            lines = [canonical(event.to_record()) for event in reading.events(after=None)]
        return iter(lines)

    def backup(self, target: str | os.PathLike[str]) -> None:
        """A consistent copy of the whole ledger, answers included, in a new file."""
        self._journal.backup(os.fspath(target))

    # What a curator does

    def amend(self, terms: Terms, *, reason: str, by: str, restate: Restate | None = None) -> None:
        """Change the terms, on the record; everything charged so far is carried over under the new caps.

        The new limit is a guarantee as if it had been there from the start, unless the answers themselves led to it.
        """
        body = {"reason": named(reason=reason), "by": named(by=by)}
        with self._alone() as turn:
            turn.append(Kind.AMEND, {**body, **amended(self._state, self._terms, terms, restate=restate)})

    def new_version(self, *, reason: str, by: str) -> int:
        """Declare that the data changed, and return its new version. Budgets go on: the same people may still be in it."""
        body = {"reason": named(reason=reason), "by": named(by=by)}
        with self._alone() as turn:
            version = self._state.data_version + 1
            turn.append(Kind.NEW_VERSION, {**body, "data_version": version})
        return version

    def note(self, text: str, *, by: str) -> None:
        """Write a remark into the chain."""
        body = {"text": named(text=text), "by": named(by=by)}
        with self._alone() as turn:
            turn.append(Kind.NOTE, body)

    # How it is done

    def _reserve(
        self,
        cost: Cost | Mapping[str, Cost],
        *,
        request: str | None,
        plan: str,
        data_version: int | None,
        account: str,
        answer: str,
    ) -> Reservation:
        request = f"request-{_secret(128)}" if request is None else request
        with self._alone() as turn:
            state, terms = self._state, self._terms
            costs = costs_by_unit(cost, terms)
            ask = Ask(costs=costs, request=request, plan=plan, account=account, data_version=data_version)
            old = earlier(state, ask)
            caps = [cap for cap in terms.all_caps if cap.covers(account)]
            if old:
                caps = pays_again(state, old, account, terms)
            elif data_version not in (None, state.data_version):
                raise InvalidArgument(
                    f"data_version is {state.data_version} by now, got {data_version!r}; open a new session"
                )
            if not old or caps:
                paid = charges(state, ask, caps, terms, turn.moment)
                event = turn.append(Kind.RESERVE, _reserve_body(ask, state, old, paid, answer))
            number = old.count if old else event.count
        return Reservation(state.ledger, number, request, account, old is not None, not old or bool(caps), os.getpid())

    def _release(self, number: int, account: str, request: str) -> Released:
        with self._looking() as (state, reading):
            charge = answered(state.charges[number], request)
            payload = opened(reading.answer(number), charge.sealed)
            event = charge.releases.get((account, request))
            if event:
                return Released(payload, _receipt(state, charge, event))
        with self._alone() as turn:
            if (account, request) not in self._state.charges[number].releases:
                turn.append(Kind.RELEASE, self._release_body(number, account, request))
        with self._looking() as (state, _):
            charge = state.charges[number]
            return Released(payload, _receipt(state, charge, charge.releases[account, request]))

    def _release_body(self, number: int, account: str, request: str) -> dict[str, Any]:
        balance = self._state.balance(self._terms.main, account, self._moment())
        return {
            "reservation": number,
            "request": request,
            "account": account,
            "spent": spend_record(balance.lifetime),
            "left": spend_record(balance.left),
        }

    def _charge(self, reservation: Reservation) -> Charge:
        if reservation.ledger != self._state.ledger:
            raise InvalidArgument(f"request {reservation.request!r} was reserved in another ledger; use that one")
        return self._state.charges[reservation.number]

    @property
    def _terms(self) -> Terms:
        if self._state.terms is None:
            raise LedgerError(f"there is no ledger at {self._journal.place}; open one with its terms")
        return self._state.terms

    def _moment(self) -> datetime:
        """Now, but never before the last event: a clock set back does not reopen a period."""
        now = self._clock().astimezone(UTC).replace(microsecond=0)
        last = datetime.fromisoformat(self._state.moment) if self._state.moment else now
        return max(now, last)

    @contextmanager
    def _looking(self) -> Iterator[tuple[State, Reading]]:
        """The state as of now, with other readers; the anchor is read first, so it can never be ahead of what we see."""
        anchored = self._anchor.last(self._state.ledger) if self._state.ledger else None
        with self._journal.reading() as reading:
            self._catch_up(reading, anchored)
            yield self._state, reading

    @contextmanager
    def _alone(self) -> Iterator[_Turn]:
        """The state as of now, and nobody else changes it until we are done; then the anchor follows."""
        with self._journal.writing() as writing:
            self._catch_up(writing, None)
            if self._state.ledger:
                self._check_anchor(self._anchor.last(self._state.ledger))
            turn = _Turn(self._state, writing, self._moment())
            yield turn
        if turn.appended and self._state.ledger:
            self._anchor.advance(self._state.ledger, Mark(turn.appended.count, turn.appended.head))

    def _catch_up(self, reading: Reading, anchored: Mark | None) -> None:
        """Read the events that others, or we ourselves, have added. Half a replay is thrown away."""
        try:
            for event in reading.events(after=self._state.last):
                self._state.apply(event)
        except BaseException as error:
            self._state = State()
            if isinstance(error, LedgerError) or not isinstance(
                error, DeniableError | KeyError | TypeError | ValueError
            ):
                raise
            raise LedgerError("the ledger's events contradict one another; restore the file from a backup") from None
        self._check_anchor(anchored)

    def _check_anchor(self, anchored: Mark | None) -> None:
        state = self._state
        if anchored and (anchored.count > state.count or state.heads[anchored.count - 1] != anchored.head):
            raise LedgerError(
                f"this ledger has {state.count} events, but its anchor has seen {anchored.count} with another head: the file was "
                "restored from an older copy or used as a copy; put the latest file back"
            )

    def __repr__(self) -> str:
        return f"Ledger({self._journal.place!r})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Ledger cannot be copied or pickled; open it by its path in the other process")


class _Turn:
    """One turn at writing."""

    def __init__(self, state: State, writing: Writing, moment: datetime) -> None:
        self.writing, self.moment = writing, moment
        self.appended: Event | None = None
        self._last = state.last
        self._root = state.head

    def append(self, kind: Kind, body: Mapping[str, Any]) -> Event:
        """Add one event. It enters the state when it is read back, so the state never runs ahead of the file."""
        timed = {} if kind in (Kind.STORE, Kind.RELEASE) else {"at": self.moment.isoformat()}
        last = self._last
        event = linked(count=last.count + 1 if last else 1, kind=kind, body={**body, **timed}, previous=self._root)
        self.writing.append(event)
        self.appended = event
        return event


def _reserve_body(
    ask: Ask, state: State, old: Charge | None, paid: list[dict[str, Any]], answer: str
) -> dict[str, Any]:
    costs = {} if old else {unit: cost_record(cost) for unit, cost in ask.costs.items()}
    return {
        "request": ask.request,
        "account": ask.account,
        "plan": ask.plan,
        "data_version": state.data_version,
        "costs": costs,
        "charges": paid,
        "of": old.count if old else 0,
        "answer": answer,
    }


def _receipt(state: State, charge: Charge, event: Event) -> Receipt:
    terms_unit = next(iter(charge.costs))
    return Receipt(
        id=f"{state.ledger[:12]}-{event.count}",
        ledger=state.ledger,
        count=event.count,
        head=event.head,
        cost=charge.costs[terms_unit],
        charged=spend_from_record(charge.body["charges"][0]),
        spent=spend_from_record(event.body["spent"]),
        left=spend_from_record(event.body["left"]),
        unit=terms_unit,
        dataset=state.terms.dataset if state.terms else "",
        data_version=charge.body["data_version"],
    )


def _secret(bits: int) -> str:
    return f"{system_entropy().bits(bits):0{bits // 4}x}"


def _vanished(place: str, resident: str | None) -> LedgerError:
    if resident is None:
        return LedgerError(f"{place} holds no ledger; open it with its terms")
    return LedgerError(
        f"ledger {resident[:12]} lived at {place} and is no longer there; put its file back, or give a new ledger a new name"
    )


def _refuse_other_terms(recorded: Terms, stated: Terms, place: str) -> None:
    found = recorded.differences(stated)
    if found:
        raise LedgerError(
            f"the ledger {place} was opened with {'; '.join(found)}; state the same terms, or have the curator record the "
            "change with ledger.amend(...)"
        )
