"""Two threads, one of them stopped at every line in turn: every interleaving with one switch, tried and not hoped for."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

BLOCKED = 0.02
"""How long the second thread may take before it is taken to wait for the first; too short only means fewer interleavings."""


def interleaved(act: Callable[[], Callable[[], Any]], *, inside: tuple[str, ...]) -> Iterator[list[Any]]:
    """What both threads got (an answer or the error), for every line of files below `inside` at which the first can stop.

    `act()` makes a fresh object and returns what each thread does with it.
    """
    stop = 0
    while True:
        stop += 1
        use, results = act(), list[Any]()
        paused, resume = threading.Event(), threading.Event()
        first = threading.Thread(target=_stopped, args=(use, results, stop, inside, paused, resume))
        first.start()
        while not paused.wait(0.001) and first.is_alive():
            pass
        reached = paused.is_set()
        second = threading.Thread(target=_noted, args=(use, results))
        second.start()
        second.join(BLOCKED)
        resume.set()
        first.join()
        second.join()
        yield results
        if not reached:
            return


def _noted(use: Callable[[], Any], results: list[Any]) -> None:
    try:
        results.append(use())
    except Exception as error:
        results.append(error)


def _stopped(
    use: Callable[[], Any],
    results: list[Any],
    stop: int,
    inside: tuple[str, ...],
    paused: threading.Event,
    resume: threading.Event,
) -> None:
    lines = 0

    def line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        if lines == stop and event == "line":
            paused.set()
            resume.wait()
        return line

    def call(frame: FrameType, *_: Any) -> Any:
        return line if any(part in frame.f_code.co_filename for part in inside) else None

    sys.settrace(call)
    try:
        _noted(use, results)
    finally:
        sys.settrace(None)


class Meeting:
    """A place where a thread waits for another: under a lock nobody comes, and a moment is enough to see it; without one
    two always meet, however busy the machine is, if they are patient."""

    def __init__(self, patience: float = BLOCKED) -> None:
        self._barrier, self._patience = threading.Barrier(2), patience
        self.met = False

    def wait(self) -> None:
        """Wait for a second thread, and go on without it."""
        try:
            self._barrier.wait(self._patience)
            self.met = True
        except threading.BrokenBarrierError:
            self._barrier.reset()
