"""The Gaussian pair: N(mu, 1) against N(0, 1). Its profile is Balle and Wang's (2018), written with Mills' ratio.

With a = epsilon/mu - mu/2 and b = epsilon/mu + mu/2 one has e^epsilon phi(b) = phi(a), so
delta = Phi(-a) - e^epsilon Phi(-b) = phi(a) (mills(a) - mills(b)): no cancellation beyond that of the difference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from deniable.accounting.pld.floats import TINY, Floats, U, root
from deniable.accounting.pld.normal import MILLS_ERROR, ROOT_TWO_PI, mills, mills_slope


@dataclass(frozen=True, slots=True)
class GaussianPair:
    """N(mu, 1) against N(0, 1) with mu between `low` and `high`; the profile grows with mu."""

    low: float
    high: float

    ceiling = math.inf
    infinite = 0.0
    kink = 0.0
    lattice = 0.0

    @property
    def swapped(self) -> GaussianPair:
        return self

    def upper(self, epsilon: Floats) -> Floats:
        if self.high == 0:
            return np.full_like(epsilon, TINY)
        return np.minimum(_tail_difference(self.high, epsilon, epsilon, +1.0) + TINY, 1.0)

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        if self.low == 0:
            return np.zeros_like(epsilon)
        return _tail_difference(self.low, at, epsilon, -1.0) - TINY


def gaussian_pair(square: Fraction) -> GaussianPair:
    """The pair with mu^2 equal to an exact number."""
    return GaussianPair(*root(square))


def _tail_difference(mu: float, at: Floats, epsilon: Floats, side: float) -> Floats:
    """Phi(-a) - e^epsilon Phi(-b) for a, b = at/mu -+ mu/2, moved by its rounding error to the given side."""
    center = at / mu
    a, b = center - mu / 2, center + mu / 2
    blur = 2 * U * (center + mu)  # bounds the rounding errors of a and b
    near = np.maximum(a, -1.0)
    low_tail = a < -1.0
    first, second = mills(np.where(low_tail, -a, near)), mills(b)
    first_error = MILLS_ERROR * first + mills_slope(np.where(low_tail, -a, near)) * blur
    second_error = MILLS_ERROR * second + mills_slope(b) * blur
    shift = epsilon - at
    tilt = np.exp(shift)
    tilt_error = (8 + np.abs(shift)) * U * tilt
    density = np.exp(-0.5 * a * a) / ROOT_TWO_PI
    density_error = U * (12 + a * a) + np.abs(a) * blur  # relative
    error = first_error + tilt * second_error + 2 * tilt_error * second
    above = first - tilt * second
    inside = np.where(low_tail, first + tilt * second, above)
    error += 4 * U * (first + tilt * second)
    moved = inside + np.where(low_tail, -side, side) * error
    grown = density * moved * (1 + np.where(low_tail, -side, side) * np.sign(moved) * density_error)
    return np.where(low_tail, 1.0 - grown + side * 2 * U, grown)
