"""Any mix of continuous or rounded Gaussians is one Gaussian, and its profile is known exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from deniable.accounting.closed.profile import sharpened
from deniable.accounting.floats import crossing, log_gaussian_delta
from deniable.exact import Interval, exp, sqrt
from deniable.exact.normal import log_normal_cdf, normal_cdf


@dataclass(frozen=True, slots=True)
class GaussianProfile:
    """Noise whose squared sensitivity-to-scale ratios add up to `square`."""

    square: Fraction
    theorem: ClassVar[str] = "the analytic Gaussian (Balle and Wang 2018); 1/scale² add up (Dong, Roth and Su 2022)"

    def delta(self, epsilon: Fraction) -> Interval:
        return sharpened(lambda bits: gaussian_delta(self.square, epsilon, bits))

    def least(self) -> Interval:
        return Interval.point(0)

    def guess(self, delta: float) -> float:
        mu = math.sqrt(self.square)
        return crossing(lambda epsilon: log_gaussian_delta(mu, epsilon), math.log(delta), start=mu)


def gaussian_delta(square: Fraction, epsilon: Fraction, bits: int) -> Interval:
    """Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), mu the root of `square`; the second factor in logarithms."""
    mu = sqrt(square, bits + 20)
    shift = epsilon / mu
    half = mu / 2
    far = (-half - shift).rounded(bits + 20)
    guard = max(8, int(far.lower**2).bit_length() + 4)
    grown = log_normal_cdf(far, bits + guard) + epsilon
    return normal_cdf((half - shift).rounded(bits + 20), bits) - exp(grown.rounded(bits + guard), bits)
