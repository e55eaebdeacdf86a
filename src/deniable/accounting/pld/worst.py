"""The worst of several pairs: their pointwise largest profile is convex, hence one pair that dominates them all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deniable.accounting.pld.floats import Floats
from deniable.accounting.pld.pair import Pair


class WorstPair:
    """Disjoint parts: one unit sits in one of them, and nobody says in which."""

    lattice = 0.0
    kink = 0.0

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = tuple(pairs)
        self.ceiling = max(pair.ceiling for pair in pairs)
        self.infinite = max(pair.infinite for pair in pairs)

    @property
    def swapped(self) -> WorstPair:
        return WorstPair([pair.swapped for pair in self.pairs])

    def upper(self, epsilon: Floats) -> Floats:
        most: Floats = np.maximum.reduce([pair.upper(epsilon) for pair in self.pairs])
        return most

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        """The line of whichever pair is worst at the event's own loss."""
        here = np.array([pair.line(at, at) for pair in self.pairs])
        lines = np.array([pair.line(at, epsilon) for pair in self.pairs])
        worst: Floats = np.take_along_axis(lines, np.argmax(here, axis=0)[None], axis=0)[0]
        return worst
