"""What one reading may take. The bounds are public numbers: whether one is reached depends on the cost alone.

A reading that would pass them stops, keeps the bracket it has, which is sound, and another theorem is asked instead. With
those on places, terms and knots a reading stays below about 1 GB.
"""

from __future__ import annotations

MOST_PLACES = 1 << 21
"""The longest transform."""

MOST_TERMS = 200_000_000
"""The largest product of places and frequencies that is summed term by term."""

MOST_KNOTS = 1 << 17
"""The most knots of one pair."""

MOST_WORK = 1_500_000_000
"""About how many floating point operations one question may take: a few seconds."""


class Beyond(Exception):
    """This reading would take more than it may, or numbers that floats do not hold."""


class Meter:
    """Counts the work of one question."""

    def __init__(self, most: int = MOST_WORK) -> None:
        self._left = most

    def take(self, work: int) -> None:
        """Go on, or stop here."""
        self._left -= work
        if self._left < 0:
            raise Beyond("the bound on work is reached")
