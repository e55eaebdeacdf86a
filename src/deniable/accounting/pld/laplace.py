"""Laplace pairs, continuous and on the integers: shifts of a double exponential.

The likelihood ratio of a shift is monotone, so half-lines are optimal events and a larger shift is never more private.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deniable.accounting.pld.floats import TINY, Floats, U


@dataclass(frozen=True, slots=True)
class LaplacePair:
    """Laplace noise whose shift, in scales, lies between `low` and `high`.

    P(loss > t) = 1 - e^((t-c)/2)/2 and Q(loss > t) = e^(-(t+c)/2)/2 for -c <= t < c, c the shift.
    """

    low: float
    high: float

    infinite = 0.0
    lattice = 0.0

    @property
    def swapped(self) -> LaplacePair:
        return self

    @property
    def ceiling(self) -> float:
        return self.high

    @property
    def kink(self) -> float:
        return self.low

    def upper(self, epsilon: Floats) -> Floats:
        exponent = (epsilon - self.high) / 2
        return np.where(exponent < 0, -np.expm1(exponent) * (1 + 12 * U), 0.0) + TINY

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        c = self.low
        first, second = np.expm1((at - c) / 2), np.expm1(epsilon - (at + c) / 2)
        blur = U * (12 * (np.abs(first) + np.abs(second)) + 4 * (epsilon + at + c) * (2 + np.maximum(second, 0)))
        return np.where(at < c, -(first + second) / 2 - blur - TINY, 0.0)


@dataclass(frozen=True, slots=True)
class DiscreteLaplacePair:
    """Noise e^(-a|k|) on the integers, shifted by `shift`; a lies between `low` and `high`.

    For the event k <= t: P = 1 - r^(t+1)/(1+r) and Q = r^(shift-t)/(1+r), where r = e^-a and 0 <= t < shift.
    """

    low: float
    high: float
    shift: int

    infinite = 0.0

    @property
    def swapped(self) -> DiscreteLaplacePair:
        return self

    @property
    def ceiling(self) -> float:
        return self.high * self.shift * (1 + 2 * U)

    @property
    def kink(self) -> float:
        return self.low * self.shift * (1 - 2 * U)

    @property
    def lattice(self) -> float:
        return self.low if self.shift % 2 else 2 * self.low

    def upper(self, epsilon: Floats) -> Floats:
        guess = np.floor((self.shift - epsilon / self.high) / 2)
        around = [self._half_line(self.high, guess + step, epsilon, +1.0) for step in (-1.0, 0.0, 1.0)]
        most: Floats = np.maximum(np.maximum.reduce(around), 0.0) + TINY
        return most

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        top = np.ceil((self.shift - at / self.low) / 2) - 1
        return np.where(top >= 0, self._half_line(self.low, top, epsilon, -1.0) - TINY, 0.0)

    def _half_line(self, a: float, t: Floats, epsilon: Floats, side: float) -> Floats:
        t = np.clip(t, 0.0, self.shift - 1.0)
        ratio = np.exp(-a)
        first, exponent = -np.expm1(-a * (t + 1)), epsilon - a * (self.shift - t - 1)
        second = ratio * np.expm1(exponent)
        blur = U * (16 * (first + np.abs(second)) + 4 * (epsilon + a * self.shift) * (1 + np.maximum(second, 0)))
        sure: Floats = (first - second + side * blur) / (1 + ratio) * (1 + side * np.sign(first - second) * 16 * U)
        return sure
