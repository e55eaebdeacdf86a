"""A public limit on how long a statement may take, and a way to stop one: at the limit, or when somebody interrupts.

Guarantee: reaching the limit is told by the same constant error as any failure of an engine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from fractions import Fraction
from time import monotonic
from typing import TypeVar

from deniable.errors import EngineFailed, InvalidArgument
from deniable.exact.guards import Real, rational, shown

HOUR = 3600
"""Seconds a statement may take unless the curator says otherwise."""

LONGEST = 2_147_483
"""The longest limit in seconds that every engine can count: milliseconds of 31 bits."""

_GLANCE = 0.1
"""Seconds between two looks at whether somebody interrupted."""

Found = TypeVar("Found")


def limit_seconds(time_limit: Real) -> Fraction:
    """A time limit, checked."""
    seconds = rational(time_limit=time_limit)
    if not 1 <= seconds <= LONGEST:
        raise InvalidArgument(f"time_limit must be from 1 to {LONGEST:,} seconds, got {shown(time_limit)}")
    return seconds


def stoppable(work: Callable[[], Found], stop: Callable[[], None], *, seconds: float) -> Found:
    """What `work` returns or raises; it runs in a thread of its own, so that this one hears of an interrupt.

    `stop` must make `work` end soon. It is called after `seconds`, and then this raises `EngineFailed`; or when this thread is
    interrupted, and then the interrupt goes on.
    """
    begun, ended, refused = threading.Event(), threading.Event(), threading.Event()
    found, failed = list[Found](), list[BaseException]()

    def run() -> None:
        begun.set()
        try:
            if not refused.is_set():
                found.append(work())
        except BaseException as error:
            failed.append(error)
        finally:
            ended.set()

    until = monotonic() + seconds
    try:
        threading.Thread(target=run, name="deniable engine", daemon=True).start()
        while not ended.wait(min(_GLANCE, max(until - monotonic(), 0))):
            if monotonic() >= until:
                raise EngineFailed
    except (KeyboardInterrupt, EngineFailed):
        refused.set()  # from here on the work does not begin; if it has begun it is stopped
        while begun.is_set() and not ended.is_set():
            stop()  # again and again: an order that comes too early is lost
            ended.wait(_GLANCE)
        raise
    if failed:
        raise failed[0]
    return found[0]
