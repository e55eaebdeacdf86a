"""The durable budget: reserve, run, store, release, in that order, whatever happens in between.

Guarantee: an answer that leaves through `release` or `fetch` was charged, durably, under every cap it falls under, before it
was drawn; it is drawn once and the same bytes leave every time. A crash after `reserve` leaves the charge standing. Nothing
is ever refunded, changed or removed. Sums are exact, shared by threads and processes, and follow from the chain of events
alone. Times are noted only for what happens before data is touched, since how long a query ran may tell about the data.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NoReturn

from deniable.accounting import Spend
from deniable.cost import Cost
from deniable.errors import InvalidArgument, LedgerError, Retired
from deniable.ledger.amend import Restate, amended
from deniable.ledger.anchor import Anchor, FolderAnchor, Mark
from deniable.ledger.caps import Balance
from deniable.ledger.chain import FORMAT, Kind, canonical
from deniable.ledger.desk import Desk, check_grant
from deniable.ledger.events import receipt, release_body, reserve_body
from deniable.ledger.journal import Journal
from deniable.ledger.open import journal_at
from deniable.ledger.receipt import Receipt
from deniable.ledger.replay import Clock, Replay, Snapshot, Transaction
from deniable.ledger.request import (
    Ask,
    Released,
    Reservation,
    answered,
    charges,
    costs_by_unit,
    earlier,
    pays_again,
)
from deniable.ledger.state import Charge, touching
from deniable.ledger.store import opened, sealed
from deniable.ledger.terms import Terms, named
from deniable.noise.entropy import system_entropy

ANALYST = "analyst"
"""The account of a session that names none."""


class Ledger:
    """One durable budget. Open it with `Ledger.open`; share it freely among threads; open it again in other processes.

    Guarantee: all answers released under it together stay within the limit of every cap in its terms.
    """

    __slots__ = ("_amended", "_begun", "_planned", "_replay", "_version")

    def __init__(self, journal: Journal, *, anchor: Anchor | None = None, clock: Clock | None = None) -> None:
        """A ledger over any journal; `open` and `existing` are the usual ways to have one."""
        self._replay = Replay(journal, anchor=FolderAnchor() if anchor is None else anchor, clock=clock)
        self._amended = self._version = 0
        self._planned: Terms | None = None
        self._begun: Callable[[Ledger], None] | None = None

    @classmethod
    def planned(
        cls,
        path: str | os.PathLike[str],
        *,
        terms: Terms,
        anchor: Anchor | None = None,
        clock: Clock | None = None,
        begun: Callable[[Ledger], None] | None = None,
    ) -> Ledger:
        """Like `open`, but a ledger that is not there yet is made at its first charge, and one without charges takes other terms.

        `begun` is called once it is there.
        """
        ledger = cls(journal_at(path), anchor=anchor, clock=clock)
        ledger._planned, ledger._begun = terms, begun
        journal, resident = ledger._replay.journal, ledger._replay.anchor.living_at(ledger.place)
        if journal.exists or resident:
            ledger._begin_now()
        return ledger

    def _begin_now(self) -> None:
        """Make or open what was planned. Two threads may do so at once: the second finds what the first made."""
        if self._planned is None:
            return
        self.opened(self._planned)
        self._planned = None
        if self._begun is not None:
            self._begun(self)

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

    @contextmanager
    def _snapshot(self) -> Iterator[Snapshot]:
        """The state as of now; of a ledger that is not there yet, its terms and nothing spent."""
        if self._planned is not None and self._replay.journal.exists:
            self._begin_now()
        if self._planned is None:
            with self._replay.snapshot() as snapshot:
                yield snapshot
        else:
            yield self._replay.nothing(self._planned)

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        """The state as of now, held alone; a planned ledger is made here."""
        self._begin_now()
        with self._replay.transaction() as transaction:
            yield transaction

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
        replay = self._replay
        place = replay.journal.place
        resident = replay.anchor.living_at(place)
        if not replay.journal.exists:
            if resident or terms is None:
                raise _vanished(place, resident)
            replay.journal.create()
        replay.journal.check()
        if terms is not None:
            self._begin(terms, resident)
        with replay.snapshot() as snapshot:
            state = snapshot.state
            if not state.ledger or resident not in (None, state.ledger):
                raise _vanished(place, resident)
            other = [] if terms is None else snapshot.terms.differences(terms)
            unspent = not state.charges
        if terms is not None and other:
            if self._planned is None or not unspent:
                raise _other_terms(other, place)
            self._restart(terms)
        with replay.snapshot() as snapshot:  # again, now that the anchor can be asked for this ledger by its id
            self._amended, self._version = snapshot.state.amended, snapshot.state.data_version
            mark = Mark(snapshot.state.count, snapshot.state.head)
        replay.anchor.settle(state.ledger, place)
        replay.anchor.advance(state.ledger, mark)
        return self

    def _begin(self, terms: Terms, resident: str | None) -> None:
        with self._replay.transaction() as transaction:
            if transaction.state.count == 0 and not resident:
                transaction.append(Kind.OPEN, {"format": FORMAT, "ledger": _secret(128), "terms": terms.to_record()})

    def _restart(self, terms: Terms) -> None:
        """Take other terms while nothing was charged under the old ones; if something was meanwhile, refuse them."""
        with self._replay.transaction() as transaction:
            if transaction.state.charges:
                raise _other_terms(transaction.terms.differences(terms), self.place)
            change = amended(transaction.state, transaction.terms, terms, restate=None)
            transaction.append(
                Kind.AMEND, {"reason": "nothing was charged under the old terms", "by": "opening", **change}
            )

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
        request = f"request-{_secret(128)}" if request is None else request
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
            transaction.append(Kind.STORE, {"reservation": charge.count, "seal": seal})

    def release(self, reservation: Reservation) -> Released:
        """The stored answer of a reservation and its receipt; the same bytes and receipt every time."""
        with self._transaction() as transaction:
            return _release(transaction, _charge_of(transaction, reservation), reservation.account, reservation.request)

    def fetch(self, request: str, *, account: str = ANALYST) -> Released:
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
    ) -> Released:
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
        request = f"request-{_secret(128)}"
        self._refuse_early(cost, account)
        with self._transaction() as transaction:
            ask = self._ask(transaction, cost, request=request, plan="", data_version=None, account=account)
            if transaction.terms.grants:
                check_grant(transaction, ask)
            self._charge(transaction, ask, answer="elsewhere")

    # What can be seen

    @property
    def desk(self) -> Desk:
        """Where requests are made, granted, refused, expired and published."""
        return Desk(self._replay)

    @property
    def terms(self) -> Terms:
        """What this ledger counts, as last seen; after an amendment elsewhere `reserve` asks to open it again."""
        return self._replay.terms if self._planned is None else self._planned

    @property
    def id(self) -> str:
        """What tells this ledger from every other."""
        return self._replay.ledger

    @property
    def place(self) -> str:
        """Where it is kept: a file, or a database without its password."""
        return self._replay.journal.place

    @property
    def mark(self) -> Mark:
        """How far the chain has come: the count and hash of its last event."""
        with self._snapshot() as snapshot:
            return Mark(snapshot.state.count, snapshot.state.head)

    @property
    def data_version(self) -> int:
        """The public label of the data now: a counter the curator raises."""
        with self._snapshot() as snapshot:
            return snapshot.state.data_version

    @property
    def amended(self) -> int:
        """The number of the event that last changed the terms, or zero."""
        with self._snapshot() as snapshot:
            return snapshot.state.amended

    @property
    def stale(self) -> bool:
        """Have the terms or the data changed since this was opened? Then it charges nothing: open it again."""
        with self._snapshot() as snapshot:
            return (snapshot.state.amended, snapshot.state.data_version) != (self._amended, self._version)

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
        with self._snapshot() as snapshot:
            caps = (cap for cap in snapshot.terms.all_caps if cap.covers(account))
            return tuple(snapshot.state.balance(cap, account, snapshot.moment) for cap in caps)

    def fits(self, cost: Cost | Mapping[str, Cost], *, account: str = ANALYST) -> bool:
        """Would a new charge of this cost be accepted now? Nothing is spent by asking."""
        terms = self.terms
        costs = costs_by_unit(cost, terms)
        return all(
            each.cap.filters.fits(each.tally + each.cap.filters.read(costs[each.cap.unit or terms.unit]))
            for each in self.balances(account=account)
        )

    def charges(self) -> tuple[Charge, ...]:
        """Every charge in order: what was asked, by whom, at what cost, and whether its answer is stored."""
        with self._snapshot() as snapshot:
            return tuple(snapshot.state.charges.values())

    def touching(
        self, *, tables: Iterable[str] | None = None, versions: Iterable[int] | None = None
    ) -> tuple[Charge, ...]:
        """The charges whose answers a unit could have been in, from public facts alone: nobody looks at the data.

        `tables` are those that could hold rows of the unit, `versions` the versions of the data it could have been part of;
        without them any. A charge that named no tables may have read all of them, and conditions of a query exclude nobody.
        """
        return touching(self.charges(), tables=tables, versions=versions)

    def unanswered(self) -> tuple[Charge, ...]:
        """Charges whose answer was to be stored and never was: spent, with nothing to fetch."""
        return tuple(charge for charge in self.charges() if charge.waiting)

    def confirms(self, receipt: Receipt) -> bool:
        """Is this receipt part of the chain? If it is not, events were lost or it belongs to another ledger."""
        with self._snapshot() as snapshot:
            return receipt.ledger == snapshot.state.ledger and snapshot.state.holds(Mark(receipt.count, receipt.head))

    def export(self) -> Iterator[str]:
        """Every event as one line of JSON, answers not included."""
        with self._snapshot() as snapshot:
            lines = [canonical(event.to_record()) for event in snapshot.reading.events(after=None)]
        return iter(lines)

    def backup(self, target: str | os.PathLike[str]) -> None:
        """A consistent copy of the whole ledger, answers included, in a new file."""
        if self._planned is not None and not self._replay.journal.exists:
            raise InvalidArgument("nothing was charged yet, so there is no ledger to copy")
        self._replay.journal.backup(os.fspath(target))

    # What a curator does

    def amend(self, terms: Terms, *, reason: str, by: str, restate: Restate | None = None) -> None:
        """Change the terms, on the record; everything charged so far is carried over under the new caps.

        The new limit holds as if it had been there from the start, unless the answers themselves led to it. Other open
        sessions must open the ledger again. A changed unit needs `restate`: what an old cost is in the new unit.
        """
        body = {"reason": named(reason=reason), "by": named(by=by)}
        with self._transaction() as transaction:
            change = amended(transaction.state, transaction.terms, terms, restate=restate)
            event = transaction.append(Kind.AMEND, {**body, **change})
        with self._snapshot():  # so that `terms` are the new ones
            self._amended = event.count

    def new_version(self, *, reason: str, by: str) -> int:
        """Declare that the data changed, and return its new version. Budgets go on: the same people may still be in it."""
        body = {"reason": named(reason=reason), "by": named(by=by)}
        with self._transaction() as transaction:
            version = transaction.state.data_version + 1
            transaction.append(Kind.NEW_VERSION, {**body, "data_version": version})
        self._version = version
        return version

    def note(self, text: str, *, by: str) -> None:
        """Write a remark into the chain."""
        body = {"text": named(text=text), "by": named(by=by)}
        with self._transaction() as transaction:
            transaction.append(Kind.NOTE, body)

    # How it is done

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
        return transaction.append(Kind.RESERVE, reserve_body(transaction, ask, paid, answer=answer)).count

    def _share(self, transaction: Transaction, ask: Ask, old: Charge) -> None:
        """An answer someone paid for costs the data nothing more, but it does count under a cap of this analyst alone."""
        caps = pays_again(transaction.state, old, ask.account, transaction.terms)
        if caps:
            paid = charges(transaction.state, ask, caps, transaction.terms, transaction.moment)
            transaction.append(Kind.RESERVE, reserve_body(transaction, ask, paid, of=old.count))

    def __repr__(self) -> str:
        return f"Ledger({self._replay.journal.place!r})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Ledger cannot be copied or pickled; open it by its path in the other process")


def _release(transaction: Transaction, charge: Charge, account: str, request: str) -> Released:
    answered(charge, request)
    if transaction.state.by_request.get((account, request), charge.count) != charge.count:
        raise InvalidArgument(f"request {request!r} was already used for another query; give each query its own id")
    payload = opened(transaction.reading.answer(charge.count), charge.sealed)
    event = charge.releases.get((account, request))
    if event is None:
        event = transaction.append(Kind.RELEASE, release_body(transaction, charge, account, request))
    return Released(payload, receipt(transaction.state.ledger, charge, event))


def _charge_of(transaction: Transaction, reservation: Reservation) -> Charge:
    if reservation.ledger != transaction.state.ledger:
        raise InvalidArgument(f"request {reservation.request!r} was reserved in another ledger; use that one")
    return transaction.state.charges[reservation.number]


def _secret(bits: int) -> str:
    return f"{system_entropy().bits(bits):0{bits // 4}x}"


def _vanished(place: str, resident: str | None) -> LedgerError:
    if resident is None:
        return LedgerError(f"{place} holds no ledger; open it with its terms")
    return LedgerError(
        f"ledger {resident[:12]} lived at {place} and is no longer there; put its file back, or give a new ledger a new name"
    )


def _other_terms(found: list[str], place: str) -> LedgerError:
    return LedgerError(
        f"the ledger {place} was opened with {'; '.join(found)}; state the same terms, or have the curator record the "
        "change with `deniable ledger amend` or dataset.amend(...)"
    )
