"""Bounded range: the pair of an exponential mechanism whose losses span at most eta (Dong, Durfee and Rogers 2020).

Its laws are the two-point ones with losses t and t - eta. At every epsilon the worst is t = (epsilon + eta)/2, and the pointwise
worst, (1 - e^((epsilon-eta)/2))^2 / (1 - e^-eta), is itself a profile: one pair that dominates them all, so adaptively
chosen queries compose through it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deniable.accounting.pld.floats import TINY, Floats, U


@dataclass(frozen=True, slots=True)
class BoundedRangePair:
    """Losses in an interval of length eta, which lies between `low` and `high`."""

    low: float
    high: float

    infinite = 0.0
    kink = 0.0
    lattice = 0.0

    @property
    def swapped(self) -> BoundedRangePair:
        return self

    @property
    def ceiling(self) -> float:
        return self.high

    def upper(self, epsilon: Floats) -> Floats:
        exponent = np.minimum((epsilon - self.high) / 2, 0.0)
        most: Floats = np.minimum(np.expm1(exponent) ** 2 / -np.expm1(-self.high) * (1 + 48 * U), 1.0) + TINY
        return most

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        """The event of the likelier outcome, under the two-point law with t = (at + eta)/2: P(S)(1 - e^(epsilon-t))."""
        top = (at + self.low) / 2
        mass = np.expm1(top - self.low) / np.expm1(-self.low)
        gain = -np.expm1(epsilon - top)
        blur = U * (64 * np.abs(gain) + 8 * (epsilon + at + self.low) * np.exp(np.maximum(epsilon - top, 0.0)))
        return np.where(at < self.low, mass * (gain - blur) - TINY, 0.0)
