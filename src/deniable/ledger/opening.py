"""How a ledger is opened: made at its first charge, found again, or refused under other terms.

Guarantee: a ledger that vanished is missed by its anchor, and one with charges keeps its terms.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, Self

from deniable.engines.places import is_postgres, is_url
from deniable.errors import InvalidArgument, LedgerError
from deniable.ledger.amend import amended
from deniable.ledger.anchor import Anchor, FolderAnchor, Mark
from deniable.ledger.chain import FORMAT, EventKind
from deniable.ledger.journal import Journal
from deniable.ledger.replay import Clock, Replay, Snapshot, Transaction
from deniable.ledger.sqlite_journal import SqliteJournal
from deniable.ledger.terms import Terms
from deniable.noise.entropy import system_entropy


def journal_at(place: str | os.PathLike[str]) -> Journal:
    """The journal at a path, or in the database of a `postgresql://` URL (its schema: `?ledger=name`)."""
    if isinstance(place, str) and is_postgres(place):
        from deniable.ledger.postgres_journal import PostgresJournal

        return PostgresJournal(place)
    if is_url(place):
        raise InvalidArgument(
            "this URL names no ledger; write postgresql://user@host/database?ledger=name, or a file's name"
        )
    return SqliteJournal(place)


class OpenedLedger:
    """A journal, its anchor, and the state that follows from them."""

    __slots__ = ("_amended", "_begun", "_planned", "_replay", "_version")

    def __init__(self, journal: Journal, *, anchor: Anchor | None = None, clock: Clock | None = None) -> None:
        """A ledger over any journal; `open` and `existing` are the usual ways to have one."""
        self._replay = Replay(journal, anchor=FolderAnchor() if anchor is None else anchor, clock=clock)
        self._amended = self._version = 0
        self._planned: Terms | None = None
        self._begun: Callable[[Any], None] | None = None

    @classmethod
    def planned(
        cls,
        path: str | os.PathLike[str],
        *,
        terms: Terms,
        anchor: Anchor | None = None,
        clock: Clock | None = None,
        begun: Callable[[Any], None] | None = None,
    ) -> Self:
        """Like `open`, but a ledger that is not there yet is made at its first charge, and one without charges takes other terms.

        `begun` is called once it is there.
        """
        ledger = cls(journal_at(path), anchor=anchor, clock=clock)
        ledger._planned, ledger._begun = terms, begun
        journal, resident = ledger._replay.journal, ledger._replay.anchor.living_at(ledger.place)
        if journal.exists or resident:
            ledger._begin_now()
        return ledger

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, terms: Terms, anchor: Anchor | None = None, clock: Clock | None = None
    ) -> Self:
        """The ledger in this file or `postgresql://` database, made if there is none. Other terms than its own are refused."""
        return cls(journal_at(path), anchor=anchor, clock=clock).opened(terms)

    @classmethod
    def existing(
        cls, path: str | os.PathLike[str], *, anchor: Anchor | None = None, clock: Clock | None = None
    ) -> Self:
        """The ledger in this file or `postgresql://` database, under the terms it has."""
        return cls(journal_at(path), anchor=anchor, clock=clock).opened(None)

    def opened(self, terms: Terms | None) -> Self:
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

    def _begin_now(self) -> None:
        """Make or open what was planned. Two threads may do so at once: the second finds what the first made."""
        if self._planned is None:
            return
        self.opened(self._planned)
        self._planned = None
        if self._begun is not None:
            self._begun(self)

    def _begin(self, terms: Terms, resident: str | None) -> None:
        with self._replay.transaction() as transaction:
            if transaction.state.count == 0 and not resident:
                transaction.append(
                    EventKind.OPEN, {"format": FORMAT, "ledger": secret(128), "terms": terms.to_record()}
                )

    def _restart(self, terms: Terms) -> None:
        """Take other terms while nothing was charged under the old ones; if something was meanwhile, refuse them."""
        with self._replay.transaction() as transaction:
            if transaction.state.charges:
                raise _other_terms(transaction.terms.differences(terms), self.place)
            change = amended(transaction.state, transaction.terms, terms, restate=None)
            transaction.append(
                EventKind.AMEND, {"reason": "nothing was charged under the old terms", "by": "opening", **change}
            )

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

    @property
    def place(self) -> str:
        """Where it is kept: a file, or a database without its password."""
        return self._replay.journal.place

    def __repr__(self) -> str:
        return f"Ledger({self._replay.journal.place!r})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Ledger cannot be copied or pickled; open it by its path in the other process")


def secret(bits: int) -> str:
    """Random hexadecimal digits that nobody can guess."""
    return f"{system_entropy().bits(bits):0{bits // 4}x}"


def _vanished(place: str, resident: str | None) -> LedgerError:
    if resident is None:
        return LedgerError(
            f"{place} holds no ledger; look at the name, or ask first: a ledger is made at its first charge"
        )
    return LedgerError(
        f"ledger {resident[:12]} lived at {place} and is no longer there; put its file back, or give a new ledger a new name"
    )


def _other_terms(found: list[str], place: str) -> LedgerError:
    return LedgerError(
        f"the ledger {place} was opened with {'; '.join(found)}; state the same terms, or have the curator record the "
        "change with `deniable ledger amend` or dataset.amend(...)"
    )
