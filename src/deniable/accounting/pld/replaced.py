"""Replacing one unit under Poisson sampling, for any mechanism (Balle, Barthe and Gaboardi 2018).

With R the answers without the unit, P with it and Q with its replacement, (1-q) R + q P against (1-q) R + q Q has, for x >= 1,
a profile of at most q ((1-b) f(y) + b g(y)), where y = 1 + (x-1)/q, b = x/y, f is the profile of P against R (one unit
removed) and g that of P
against Q (one unit replaced: removed, and another added).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deniable.accounting.pld.floats import TINY, Floats, U
from deniable.accounting.pld.pair import Pair
from deniable.accounting.pld.sampled import SampledPair, amplified


@dataclass(frozen=True, slots=True)
class ReplacedInSamplePair:
    """`removed` compares with and without a unit, `replaced` with one unit or another."""

    removed: Pair
    replaced: Pair
    low: float
    high: float

    kink = 0.0
    lattice = 0.0

    @property
    def swapped(self) -> Pair:
        return self

    @property
    def ceiling(self) -> float:
        return SampledPair(self.replaced, self.low, self.high).ceiling

    @property
    def infinite(self) -> float:
        return SampledPair(self.removed, self.low, self.high).infinite

    def upper(self, epsilon: Floats) -> Floats:
        inner = amplified(epsilon, self.high, -1.0)
        share = np.exp(np.minimum(epsilon - inner, 0.0))
        near, far = self.removed.upper(inner), self.replaced.upper(inner)
        mixed = near + share * np.maximum(far - near, 0.0)
        most: Floats = self.high * mixed * (1 + 64 * U) + TINY
        return most

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        """A replacement that changes nothing any more is one possible replacement."""
        return SampledPair(self.removed, self.low, self.high).line(at, epsilon)
