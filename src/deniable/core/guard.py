"""What everything with state that must not be doubled has in common: one process, one lock, no copies.

A budget, a noisy threshold and a tree of partial sums are paid for once. A second copy, in a forked process, in a pickle, or
for a moment in another thread, would answer again with what was paid for one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from deniable.errors import Retired


class Guarded:
    """State that changes by turns. A turn belongs to one thread, in the process where the object was made.

    Guarantee: no two turns overlap; in a forked child every turn is refused; copying and pickling are refused.
    """

    __slots__ = ("_lock", "_process")

    what = "this object"
    instead = "go on in the process that made it, or start (and pay for) another"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """One change of state, alone. The process comes before the lock: in a child, a thread that is not there may hold it."""
        if os.getpid() != self._process:
            raise Retired(f"{self.what} was forked into another process and retired there; {self.instead}")
        with self._lock:
            self._begin()
            try:
                yield
            except BaseException:
                self._fail()
                raise

    def _begin(self) -> None:
        """Refuse a turn that must not begin."""

    def _fail(self) -> None:
        """Take note of a turn that did not end."""

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"{self.what} cannot be copied or pickled: two copies would answer for the price of one")


class Run(Guarded):
    """A release that goes on: it holds noise and private state, answers turn by turn, and retires.

    A turn draws first and writes last. One that fails in between (no memory, an interrupt) retires the run, because nobody
    could tell whether it was counted.
    """

    __slots__ = ("_over",)

    def __init__(self) -> None:
        super().__init__()
        self._over: str | None = None

    def _begin(self) -> None:
        if self._over is not None:
            raise Retired(self._over)

    def _fail(self) -> None:
        self._over = f"{self.what} failed in the middle of a turn and retired; start (and pay for) another"
