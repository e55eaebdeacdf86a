"""One integer with discrete Gaussian noise: its own exact sums, because it is not a rounded Gaussian and not GDP."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from deniable.accounting.closed.gaussian import GaussianProfile
from deniable.accounting.closed.lattice_normal import cdf
from deniable.accounting.closed.profile import sharpened
from deniable.exact import Interval

_TABULATED = 256


@dataclass(frozen=True, slots=True)
class DiscreteGaussianProfile:
    """delta(epsilon) = Pr[X > t - steps/2] - e^epsilon Pr[X > t + steps/2], t = epsilon scale²/steps; steps are whole."""

    scale: Fraction
    steps: int
    theorem: ClassVar[str] = "the exact sum of Canonne, Kamath and Steinke 2020, theorem 7"

    def delta(self, epsilon: Fraction) -> Interval:
        last = math.ceil(Fraction(self.steps, 2) - epsilon * self.scale**2 / self.steps) - 1
        return sharpened(lambda bits: self._delta(epsilon, last, bits))

    def _delta(self, epsilon: Fraction, last: int, bits: int) -> Interval:
        return cdf(self.scale, last, bits) - cdf(self.scale, last - self.steps, bits, epsilon)

    def least(self) -> Interval:
        return Interval.point(0)

    def guess(self, delta: float) -> float:
        """ln((F(j) - delta)/F(j - steps)) at the best j, in floats; for wide noise, that of the continuous Gaussian."""
        if self.scale > _TABULATED or self.steps > _TABULATED**2:
            return GaussianProfile(self.steps**2 / self.scale**2).guess(delta)
        reach = math.ceil(40 * self.scale) + self.steps
        points = np.arange(-reach, reach + 1)
        below = np.logaddexp.accumulate(-(points.astype(float) ** 2) / (2 * float(self.scale) ** 2))
        below -= below[-1]
        mine, other = np.exp(below[self.steps :]) - delta, below[: -self.steps]
        possible = mine > 0
        return float(np.max(np.log(mine[possible]) - other[possible], initial=0.0))

    def ceiling(self) -> None:
        return None
