"""Where events and answers are kept: the small protocol the ledger needs, so that SQLite and a server can both do it.

A journal stores what it is given, in order, and never changes or removes any of it. It knows nothing of privacy: the ledger
decides inside `writing()`, where it is alone. A database connection does not survive a fork, and the replayed state belongs to
one thread at a time: every journal holds `ONE_AT_A_TIME` while it is open.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from deniable.ledger.chain import Event
from deniable.ledger.store import Answer


class _Turn:
    """A lock that says so where a thread would wait for itself."""

    def __init__(self) -> None:
        self._lock, self._holder = threading.Lock(), 0
        self.acquire, self.release = self._lock.acquire, self._lock.release

    def __enter__(self) -> None:
        if self._holder == threading.get_ident():
            raise RuntimeError("this thread holds a ledger open: no other look and nothing written inside")
        self.acquire()
        self._holder = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        self._holder = 0
        self.release()


ONE_AT_A_TIME = _Turn()
LET_GO: list[Callable[[], None]] = []
"""What closes connections that are kept between operations; called before a fork, while `ONE_AT_A_TIME` is held."""


class Reading(Protocol):
    """A consistent look at the journal."""

    def events(self, *, after: Event | None) -> Iterator[Event]:
        """The events after this one, each checked against the chain; all of them when `after` is None."""
        ...

    def answer(self, reservation: int) -> Answer | None:
        """The stored answer of a reservation."""
        ...

    def kept(self) -> frozenset[int]:
        """The reservations that have a stored answer."""
        ...


class Nothing:
    """What a journal that is not there yet holds."""

    def events(self, *, after: Event | None) -> Iterator[Event]:
        """None."""
        return iter(())

    def answer(self, reservation: int) -> Answer | None:
        """None."""
        return None

    def kept(self) -> frozenset[int]:
        """None."""
        return frozenset()


class Writing(Reading, Protocol):
    """The journal, held by this writer alone; everything in it becomes durable together, or none of it."""

    def append(self, event: Event) -> None:
        """Add the next event of the chain."""
        ...

    def keep(self, reservation: int, answer: Answer) -> None:
        """Add the answer of a reservation; a second one is refused."""
        ...


class Journal(Protocol):
    """A place for one ledger, shared by threads and processes. Within a process, only one snapshot or transaction at a time."""

    @property
    def place(self) -> str:
        """Where it is, without credentials; an anchor remembers it."""
        ...

    @property
    def exists(self) -> bool:
        """Is there a ledger here already?"""
        ...

    def create(self) -> None:
        """Make an empty journal here; do nothing if another process was quicker."""
        ...

    def reading(self) -> AbstractContextManager[Reading]:
        """Look, together with other readers."""
        ...

    def writing(self) -> AbstractContextManager[Writing]:
        """Hold the journal alone. Leaving normally returns only when all is on disk; an error undoes everything."""
        ...

    def check(self) -> None:
        """Raise `LedgerError` if the storage itself is damaged or was tampered with."""
        ...

    def backup(self, target: str) -> None:
        """A consistent copy at a place where nothing is yet."""
        ...


def _before_fork() -> None:
    ONE_AT_A_TIME.acquire()
    for let_go in LET_GO:
        let_go()


if hasattr(os, "register_at_fork"):  # no connection is open at the moment of a fork, in either process
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=ONE_AT_A_TIME.release,
        after_in_child=ONE_AT_A_TIME.release,
    )
