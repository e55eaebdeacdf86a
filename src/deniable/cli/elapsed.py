"""How long a command has been at it, on standard error, once it takes more than two seconds; only where a person looks on.

It counts seconds and says nothing of how far the work has come: that would tell about the data.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

PATIENCE = 2.0
"""Seconds of silence."""


@contextmanager
def elapsed(
    what: str, *, stream: TextIO | None = None, patience: float = PATIENCE, tick: float = 1.0
) -> Iterator[None]:
    """While the work inside goes on, a line that counts seconds; gone when it ends, and never there without a terminal."""
    shown = sys.stderr if stream is None else stream
    if not shown.isatty():
        yield
        return
    done = threading.Event()
    counter = threading.Thread(target=_count, args=(what, shown, done, patience, tick), daemon=True)
    counter.start()
    try:
        yield
    finally:
        done.set()
        counter.join()


def _count(what: str, stream: TextIO, done: threading.Event, patience: float, tick: float) -> None:
    seconds, widest = patience, 0
    if done.wait(patience):
        return
    while True:
        line = f"{what}: working, {seconds:.0f} s"
        widest = max(widest, len(line))
        stream.write(f"\r{line}")
        stream.flush()
        if done.wait(tick):
            break
        seconds += tick
    stream.write("\r" + " " * widest + "\r")
    stream.flush()
