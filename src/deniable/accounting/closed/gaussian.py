"""Any mix of continuous or rounded Gaussians is one Gaussian, and its profile is known exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from deniable.accounting.floats import crossing, log_gaussian_delta
from deniable.exact import Interval, gaussian_delta, sqrt

_ROOT = 128
_SHARP = 48


@dataclass(frozen=True, slots=True)
class GaussianProfile:
    """Noise whose squared sensitivity-to-scale ratios add up to `square`."""

    square: Fraction
    theorem: ClassVar[str] = "the analytic Gaussian (Balle and Wang 2018); 1/scale² add up (Dong, Roth and Su 2022)"

    def delta(self, epsilon: Fraction) -> Interval:
        """delta grows with the shift, so the two ends of its root enclose it."""
        mu = sqrt(self.square, _ROOT)
        high = gaussian_delta(mu.upper, epsilon, _SHARP)
        low = high if mu.lower == mu.upper else gaussian_delta(mu.lower, epsilon, _SHARP)
        return Interval(low.lower, high.upper)

    def least(self) -> Interval:
        return Interval.point(0)

    def guess(self, delta: float) -> float:
        mu = math.sqrt(self.square)
        return crossing(lambda epsilon: log_gaussian_delta(mu, epsilon), math.log(delta), start=mu)

    def ceiling(self) -> None:
        return None
