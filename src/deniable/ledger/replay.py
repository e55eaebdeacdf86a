"""The replayed state together with the storage and the anchor it is checked against, at every snapshot and transaction.

The state only ever holds what was read back from the storage, so it never runs ahead of the disk. A snapshot reads the anchor
before the file and a transaction holds the file alone, so another process's progress is never mistaken for a restored file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from deniable.errors import DeniableError, LedgerError
from deniable.exact import number_of
from deniable.ledger.anchor import Anchor, Mark
from deniable.ledger.chain import Event, EventKind, linked
from deniable.ledger.journal import Journal, Nothing, Reading, Writing
from deniable.ledger.state import State
from deniable.ledger.terms import Terms

Clock = Callable[[], datetime]

_UNTIMED = frozenset({EventKind.STORE, EventKind.RELEASE})
"""These happen after data was touched: when they happen may tell about the data, so their time is not written down."""


class Snapshot:
    """The state as of now."""

    def __init__(self, state: State, reading: Reading, moment: datetime) -> None:
        self.state, self.reading, self.moment = state, reading, moment

    @property
    def terms(self) -> Terms:
        """The terms as last amended."""
        return _known(self.state.terms)


class Transaction(Snapshot):
    """The state as of now, which nobody else can change before the transaction ends."""

    def __init__(self, state: State, writing: Writing, moment: datetime) -> None:
        super().__init__(state, writing, moment)
        self.writing = writing
        self.appended: Event | None = None

    def append(self, kind: EventKind, body: Mapping[str, Any]) -> Event:
        """Add the one event of this transaction."""
        timed = {} if kind in _UNTIMED else {"at": self.moment.isoformat()}
        state = self.state
        event = linked(count=state.count + 1, kind=kind, body={**body, **timed}, previous=state.head)
        self.writing.append(event)
        self.appended = event
        return event


class Replay:
    """A journal, an anchor, a clock, and what the journal adds up to."""

    __slots__ = ("_clock", "_held", "_seen", "_state", "anchor", "journal")

    def __init__(self, journal: Journal, *, anchor: Anchor, clock: Clock | None = None) -> None:
        self.journal, self.anchor = journal, anchor
        self._clock: Clock = clock or (lambda: datetime.now(UTC))
        self._state = State()
        self._held = threading.local()
        self._seen: Mark | None = None
        """What this very object wrote last: an anchor that needs no second place, for as long as the process lives."""

    @property
    def ledger(self) -> str:
        """The ledger's id, once a snapshot was taken."""
        return self._state.ledger

    @property
    def terms(self) -> Terms:
        """The terms as last seen."""
        return _known(self._state.terms)

    def nothing(self, terms: Terms) -> Snapshot:
        """The state of a ledger that is not there yet: its terms, and nothing spent."""
        return Snapshot(State(terms=terms, data_version=1), Nothing(), self._moment())

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """The state as of now, together with other readers; one that this thread holds already is used again."""
        held: Snapshot | None = getattr(self._held, "snapshot", None)
        if held is not None:
            yield held
            return
        known = self._state.ledger
        anchored = self.anchor.last(known) if known else None
        with self.journal.reading() as reading:
            self._catch_up(reading)
            self._check(anchored)
            yield Snapshot(self._state, reading, self._moment())

    @contextmanager
    def held(self) -> Iterator[None]:
        """Whatever this thread reads inside is one state, read once. Nothing can be written inside: others wait meanwhile."""
        with self.snapshot() as snapshot:
            outer = getattr(self._held, "snapshot", None)
            self._held.snapshot = snapshot
            try:
                yield
            finally:
                self._held.snapshot = outer

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Hold the journal for one event. When it ends the event is on disk and the anchor has followed."""
        if getattr(self._held, "snapshot", None) is not None:
            raise RuntimeError("a snapshot is held: nothing can be written inside")
        with self.journal.writing() as writing:
            self._catch_up(writing)
            state = self._state
            self._check(self.anchor.last(state.ledger) if state.ledger else None)
            transaction = Transaction(state, writing, self._moment())
            yield transaction
        if transaction.appended and state.ledger:
            self._seen = Mark(transaction.appended.count, transaction.appended.head)
            self.anchor.advance(state.ledger, self._seen)

    def _moment(self) -> datetime:
        """Now, but never before the last event: a clock set back does not reopen a period."""
        now = self._clock().astimezone(UTC).replace(microsecond=0)
        last = datetime.fromisoformat(self._state.moment) if self._state.moment else now
        return max(now, last)

    def _catch_up(self, reading: Reading) -> None:
        """Read the events that others, or we ourselves, have added. Half a replay is thrown away."""
        try:
            for event in reading.events(after=self._state.last):
                self._state.apply(event)
        except BaseException as error:
            self._state = State()
            if isinstance(error, LedgerError) or not isinstance(
                error, DeniableError | LookupError | TypeError | ValueError
            ):
                raise
            raise LedgerError("the ledger's events contradict one another; restore the file from a backup") from None

    def _check(self, anchored: Mark | None) -> None:
        for mark in (anchored, self._seen):
            if mark and not self._state.holds(mark):
                raise LedgerError(
                    f"this ledger has {number_of(self._state.count, 'event')}, but {mark.count} with another head "
                    "were seen: the file was "
                    "restored from an older copy, or a copy of it was used; put the latest file back"
                )


def _known(terms: Terms | None) -> Terms:
    if terms is None:
        raise LedgerError("this ledger has not been opened yet; open it with its terms")
    return terms
