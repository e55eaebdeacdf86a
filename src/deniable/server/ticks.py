"""Public ticks and padded sizes: when an answer leaves and how long it is must not tell how long it took or what it says.

An answer that began at a time leaves at the first multiple of the tick that lies at least one whole tick later. A
tick is chosen longer than every run seen in rehearsal; a run that is longer all the same leaves at the next multiple
after it has ended, which is the one thing that shows.
"""

from __future__ import annotations

import math
from fractions import Fraction

from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer, nonnegative


def due(start: float, *, tick: Real) -> float:
    """When what began at `start` (seconds) leaves at the earliest: a multiple of the tick, one whole tick later or more."""
    length = nonnegative(tick=tick)
    if length == 0:
        return start
    return float(math.ceil((Fraction(start) + length) / length) * length)


def leaving(start: float, end: float, *, tick: Real) -> float:
    """When what began at `start` and ended at `end` leaves: at its due time, or at the first multiple after it has ended."""
    if end < start:
        raise InvalidArgument(f"what ends begins before: start {start!r}, end {end!r}")
    length = nonnegative(tick=tick)
    planned = due(start, tick=length)
    if length == 0:
        return end
    return planned if end <= planned else float(math.ceil(Fraction(end) / length) * length)


def padded_size(size: int, *, step: int) -> int:
    """The next public size: a multiple of `step`, at least one."""
    width = integer(step=step, least=1)
    return max(1, -(-size // width)) * width
