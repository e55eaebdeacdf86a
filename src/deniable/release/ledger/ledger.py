"""The durable budget: reserve, run, store, release, in that order, whatever happens in between.

Guarantee: an answer that leaves through `release` or `fetch` was charged, durably, under every cap it falls under, before it
was drawn; it is drawn once and the same bytes leave every time. A crash after `reserve` leaves the charge standing. Nothing
is ever refunded, changed or removed. Sums are exact, shared by threads and processes, and follow from the chain of events
alone. Times are noted only for what happens before data is touched, since how long a query ran may tell about the data.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from deniable.accounting import Spend
from deniable.cost import Cost
from deniable.errors import InvalidArgument, LedgerError, Retired
from deniable.noise.entropy import system_entropy
from deniable.release.anchor import Anchor, FolderAnchor, Mark
from deniable.release.ledger.amend import Restate, amended
from deniable.release.ledger.bodies import receipt, release_body, reserve_body
from deniable.release.ledger.book import Book, Clock, Turn
from deniable.release.ledger.caps import Balance
from deniable.release.ledger.event import FORMAT, Kind, canonical
from deniable.release.ledger.journal import Journal
from deniable.release.ledger.places import journal_at
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
from deniable.release.ledger.state import Charge
from deniable.release.ledger.terms import Terms, named
from deniable.release.receipt import Receipt
from deniable.release.store import opened, sealed

ANALYST = "analyst"
"""The account of a session that names none."""


class Ledger:
    """One durable budget. Open it with `Ledger.open`; share it freely among threads; open it again in other processes.

    Guarantee: all answers released under it together stay within the limit of every cap in its terms.
    """

    __slots__ = ("_amended", "_book", "_version")

    def __init__(self, journal: Journal, *, anchor: Anchor | None = None, clock: Clock | None = None) -> None:
        """A ledger over any journal; `open` and `existing` are the usual ways to have one."""
        self._book = Book(journal, anchor=FolderAnchor() if anchor is None else anchor, clock=clock)
        self._amended = self._version = 0

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, terms: Terms, anchor: Anchor | None = None, clock: Clock | None = None
    ) -> Ledger:
        """The ledger in this file or `postgresql://` database, made if there is none. Other terms than its own are refused."""
        return cls(journal_at(path), anchor=anchor, clock=clock).opened(terms)

    @classmethod
    def existing(
        cls, path: str | os.PathLike[str], *, anchor: Anchor | None = None, clock: Clock | None = None
    ) -> Ledger:
        """The ledger in this file or `postgresql://` database, under the terms it has."""
        return cls(journal_at(path), anchor=anchor, clock=clock).opened(None)

    def opened(self, terms: Terms | None) -> Ledger:
        """This ledger, begun if it is new, checked against its storage, its anchor and the terms if some are stated."""
        book = self._book
        place = book.journal.place
        resident = book.anchor.living_at(place)
        if not book.journal.exists:
            if resident or terms is None:
                raise _vanished(place, resident)
            book.journal.create()
        book.journal.check()
        if terms is not None:
            self._begin(terms, resident)
        with book.looking() as look:
            state = look.state
            if not state.ledger or resident not in (None, state.ledger):
                raise _vanished(place, resident)
            if terms is not None:
                _refuse_other_terms(look.terms, terms, place)
        with book.looking() as look:  # again, now that the anchor can be asked for this ledger by its id
            self._amended, self._version = look.state.amended, look.state.data_version
            mark = Mark(look.state.count, look.state.head)
        book.anchor.settle(state.ledger, place)
        book.anchor.advance(state.ledger, mark)
        return self

    def _begin(self, terms: Terms, resident: str | None) -> None:
        with self._book.alone() as turn:
            if turn.state.count == 0 and not resident:
                turn.append(Kind.OPEN, {"format": FORMAT, "ledger": _secret(128), "terms": terms.to_record()})

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
        `data_version` is the one of the data at hand, by default that of the moment this ledger was opened.
        """
        request = f"request-{_secret(128)}" if request is None else request
        with self._book.alone() as turn:
            ask = self._ask(turn, cost, request=request, plan=plan, data_version=data_version, account=account)
            old = earlier(turn.state, ask)
            if old is None:
                number = self._charge(turn, ask, answer="stored")
            else:
                number = old.count
                self._share(turn, ask, old)
        charged = turn.appended is not None
        return Reservation(turn.state.ledger, number, request, account, old is not None, charged, os.getpid())

    def store(self, reservation: Reservation, payload: bytes) -> None:
        """Keep the answer of a reservation, durably, before it is shown to anyone. A second answer is refused."""
        reservation.check_process()
        if not isinstance(payload, bytes):
            raise InvalidArgument(f"an answer is stored as bytes, got {type(payload).__name__}")
        with self._book.alone() as turn:
            charge = _charge_of(turn, reservation)
            if charge.sealed:
                raise Retired(f"request {reservation.request!r} is answered already; release the stored answer")
            answer, seal = sealed(payload)
            turn.writing.keep(charge.count, answer)
            turn.append(Kind.STORE, {"reservation": charge.count, "seal": seal})

    def release(self, reservation: Reservation) -> Released:
        """The stored answer of a reservation and its receipt; the same bytes and receipt every time."""
        with self._book.alone() as turn:
            return _release(turn, _charge_of(turn, reservation), reservation.account, reservation.request)

    def fetch(self, request: str, *, account: str = ANALYST) -> Released:
        """The answer to an earlier request of this analyst, at no cost."""
        with self._book.alone() as turn:
            number = turn.state.by_request.get((account, request))
            if number is None:
                raise InvalidArgument(f"no request {request!r} by {account!r} in this ledger; check the request id")
            return _release(turn, turn.state.charges[number], account, request)

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
        request = f"request-{_secret(128)}"
        with self._book.alone() as turn:
            ask = self._ask(turn, cost, request=request, plan="", data_version=None, account=account)
            self._charge(turn, ask, answer="elsewhere")

    # What can be seen

    @property
    def terms(self) -> Terms:
        """What this ledger counts, as last seen; after an amendment elsewhere `reserve` asks to open it again."""
        return self._book.terms

    @property
    def id(self) -> str:
        """What tells this ledger from every other."""
        return self._book.ledger

    @property
    def place(self) -> str:
        """Where it is kept: a file, or a database without its password."""
        return self._book.journal.place

    @property
    def mark(self) -> Mark:
        """How far the chain has come: the count and hash of its last event."""
        with self._book.looking() as look:
            return Mark(look.state.count, look.state.head)

    @property
    def data_version(self) -> int:
        """The public label of the data now: a counter the curator raises."""
        with self._book.looking() as look:
            return look.state.data_version

    @property
    def spent(self) -> Spend:
        """What was spent of the data-wide budget over its lifetime, exactly."""
        return self.balances()[0].lifetime

    @property
    def left(self) -> Spend:
        """What the data-wide budget has left (in this period, if it has one), exactly."""
        return self.balances()[0].left

    def balances(self, *, account: str = ANALYST) -> tuple[Balance, ...]:
        """Where every cap stands that a charge by this analyst falls under; the data-wide one first."""
        with self._book.looking() as look:
            caps = (cap for cap in look.terms.all_caps if cap.covers(account))
            return tuple(look.state.balance(cap, account, look.moment) for cap in caps)

    def fits(self, cost: Cost | Mapping[str, Cost], *, account: str = ANALYST) -> bool:
        """Would a new charge of this cost be accepted now? Nothing is spent by asking."""
        terms = self.terms
        costs = costs_by_unit(cost, terms)
        return all(
            each.cap.filter.fits(each.spent + each.cap.filter.read(costs[each.cap.unit or terms.unit]))
            for each in self.balances(account=account)
        )

    def charges(self) -> tuple[Charge, ...]:
        """Every charge in order: what was asked, by whom, at what cost, and whether its answer is stored."""
        with self._book.looking() as look:
            return tuple(look.state.charges.values())

    def unanswered(self) -> tuple[Charge, ...]:
        """Charges whose answer was to be stored and never was: spent, with nothing to fetch."""
        return tuple(charge for charge in self.charges() if charge.waiting)

    def confirms(self, receipt: Receipt) -> bool:
        """Is this receipt part of the chain? If it is not, events were lost or it belongs to another ledger."""
        with self._book.looking() as look:
            return receipt.ledger == look.state.ledger and look.state.holds(Mark(receipt.count, receipt.head))

    def export(self) -> Iterator[str]:
        """Every event as one line of JSON, answers not included."""
        with self._book.looking() as look:
            lines = [canonical(event.to_record()) for event in look.reading.events(after=None)]
        return iter(lines)

    def backup(self, target: str | os.PathLike[str]) -> None:
        """A consistent copy of the whole ledger, answers included, in a new file."""
        self._book.journal.backup(os.fspath(target))

    # What a curator does

    def amend(self, terms: Terms, *, reason: str, by: str, restate: Restate | None = None) -> None:
        """Change the terms, on the record; everything charged so far is carried over under the new caps.

        The new limit holds as if it had been there from the start, unless the answers themselves led to it. Other open
        sessions must open the ledger again. A changed unit needs `restate`: what an old cost is in the new unit.
        """
        body = {"reason": named(reason=reason), "by": named(by=by)}
        with self._book.alone() as turn:
            change = amended(turn.state, turn.terms, terms, restate=restate)
            event = turn.append(Kind.AMEND, {**body, **change})
        with self._book.looking():  # so that `terms` are the new ones
            self._amended = event.count

    def new_version(self, *, reason: str, by: str) -> int:
        """Declare that the data changed, and return its new version. Budgets go on: the same people may still be in it."""
        body = {"reason": named(reason=reason), "by": named(by=by)}
        with self._book.alone() as turn:
            version = turn.state.data_version + 1
            turn.append(Kind.NEW_VERSION, {**body, "data_version": version})
        self._version = version
        return version

    def note(self, text: str, *, by: str) -> None:
        """Write a remark into the chain."""
        body = {"text": named(text=text), "by": named(by=by)}
        with self._book.alone() as turn:
            turn.append(Kind.NOTE, body)

    # How it is done

    def _ask(self, turn: Turn, cost: Cost | Mapping[str, Cost], *, data_version: int | None, **asked: str) -> Ask:
        if turn.state.amended != self._amended:
            raise Retired(
                f"the curator changed this ledger's terms (event {turn.state.amended}); open it again with the new ones"
            )
        version = self._version if data_version is None else data_version
        return Ask(costs=costs_by_unit(cost, turn.terms), data_version=version, **asked)

    def _charge(self, turn: Turn, ask: Ask, *, answer: str) -> int:
        version = turn.state.data_version
        if ask.data_version != version:
            raise InvalidArgument(f"data_version is {version} by now, got {ask.data_version!r}; open a new session")
        caps = [cap for cap in turn.terms.all_caps if cap.covers(ask.account)]
        paid = charges(turn.state, ask, caps, turn.terms, turn.moment)
        return turn.append(Kind.RESERVE, reserve_body(turn, ask, paid, answer=answer)).count

    def _share(self, turn: Turn, ask: Ask, old: Charge) -> None:
        """An answer someone paid for costs the data nothing more, but it does count under a cap of this analyst alone."""
        caps = pays_again(turn.state, old, ask.account, turn.terms)
        if caps:
            paid = charges(turn.state, ask, caps, turn.terms, turn.moment)
            turn.append(Kind.RESERVE, reserve_body(turn, ask, paid, of=old.count))

    def __repr__(self) -> str:
        return f"Ledger({self._book.journal.place!r})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Ledger cannot be copied or pickled; open it by its path in the other process")


def _release(turn: Turn, charge: Charge, account: str, request: str) -> Released:
    answered(charge, request)
    if turn.state.by_request.get((account, request), charge.count) != charge.count:
        raise InvalidArgument(f"request {request!r} was already used for another query; give each query its own id")
    payload = opened(turn.reading.answer(charge.count), charge.sealed)
    event = charge.releases.get((account, request))
    if event is None:
        event = turn.append(Kind.RELEASE, release_body(turn, charge, account, request))
    return Released(payload, receipt(turn.state.ledger, charge, event))


def _charge_of(turn: Turn, reservation: Reservation) -> Charge:
    if reservation.ledger != turn.state.ledger:
        raise InvalidArgument(f"request {reservation.request!r} was reserved in another ledger; use that one")
    return turn.state.charges[reservation.number]


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
