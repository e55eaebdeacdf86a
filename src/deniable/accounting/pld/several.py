"""One of several pairs: the worst of them, or one drawn by a coin that everybody may see."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from deniable.accounting.pld.floats import Floats, U
from deniable.accounting.pld.pair import Pair


class WorstPair:
    """Disjoint parts: one unit sits in one of them, and nobody says in which.

    The pointwise largest of convex profiles is convex, hence the profile of one pair that dominates them all.
    """

    lattice = 0.0
    kink = 0.0

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = tuple(pairs)
        self.ceiling = max(pair.ceiling for pair in pairs)
        self.infinite = max(pair.infinite for pair in pairs)

    @property
    def swapped(self) -> Pair:
        back = [pair.swapped for pair in self.pairs]
        return self if all(one is other for one, other in zip(self.pairs, back, strict=True)) else WorstPair(back)

    def upper(self, epsilon: Floats) -> Floats:
        found: Floats = np.maximum.reduce([pair.upper(epsilon) for pair in self.pairs])
        return found

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        """The line of whichever pair is worst at the event's own loss."""
        here = np.array([pair.line(at, at) for pair in self.pairs])
        lines = np.array([pair.line(at, epsilon) for pair in self.pairs])
        found: Floats = np.take_along_axis(lines, np.argmax(here, axis=0)[None], axis=0)[0]
        return found


class MixedPair:
    """One of these pairs, with chances between two floats each; profiles of mixtures by a known coin are averages."""

    lattice = 0.0
    kink = 0.0

    def __init__(self, parts: Sequence[tuple[float, float, Pair]]) -> None:
        self.parts = tuple(parts)
        self.ceiling = max(pair.ceiling for _, _, pair in parts)
        self.infinite = math.fsum(low * pair.infinite for low, _, pair in parts) * (1 - 4 * U)

    @property
    def swapped(self) -> Pair:
        back = [(low, high, pair.swapped) for low, high, pair in self.parts]
        same = all(one[2] is other[2] for one, other in zip(self.parts, back, strict=True))
        return self if same else MixedPair(back)

    def upper(self, epsilon: Floats) -> Floats:
        found = np.zeros_like(epsilon)
        for _, high, pair in self.parts:
            found += high * pair.upper(epsilon)
        return found * (1 + 4 * U * len(self.parts))

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        found = np.zeros_like(epsilon)
        for low, high, pair in self.parts:
            value = pair.line(at, epsilon)
            found += np.where(value > 0, low, high) * value
        return found - 4 * U * len(self.parts) * np.abs(found)
