"""Noise on the integers whose likelihood ratio falls from left to right: the best test of a shift is a threshold.

For P the law of the noise and Q the same moved by `steps`, delta(epsilon) = P(X <= j) - e^epsilon P(X <= j - steps), where j is
the last point whose loss is above epsilon. Mirroring the line swaps the two directions, so one of them is enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from deniable.accounting.closed.profile import sharpened
from deniable.exact import Interval, exp, expm1


@dataclass(frozen=True, slots=True)
class LaplaceProfile:
    """One number with continuous Laplace noise; `epsilon` is sensitivity/scale."""

    epsilon: Fraction
    theorem: ClassVar[str] = "the exact profile of Laplace noise"

    def delta(self, epsilon: Fraction) -> Interval:
        if epsilon >= self.epsilon:
            return Interval.point(0)
        return sharpened(lambda bits: -expm1((epsilon - self.epsilon) / 2, bits))

    def least(self) -> Interval:
        return Interval.point(0)

    def guess(self, delta: float) -> float:
        return float(self.epsilon) + 2 * math.log1p(-delta)

    def ceiling(self) -> Fraction:
        return self.epsilon


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceProfile:
    """One integer with discrete Laplace noise, moved by `steps`."""

    scale: Fraction
    steps: int
    theorem: ClassVar[str] = "the exact profile of discrete Laplace noise"

    def delta(self, epsilon: Fraction) -> Interval:
        last = last_above(self.steps, epsilon * self.scale)
        if last < 0:
            return Interval.point(0)
        return sharpened(lambda bits: self._delta(epsilon, last, bits))

    def _delta(self, epsilon: Fraction, last: int, bits: int) -> Interval:
        near = exp(Fraction(-last - 1) / self.scale, bits)
        far = exp(epsilon - (self.steps - last) / self.scale, bits)
        return 1 - (near + far) / (1 + exp(-1 / self.scale, bits))

    def least(self) -> Interval:
        return Interval.point(0)

    def guess(self, delta: float) -> float:
        return float(self.steps / self.scale) + 2 * math.log1p(-delta)

    def ceiling(self) -> Fraction:
        return self.steps / self.scale


def last_above(steps: int, threshold: Fraction) -> int:
    """The last x in [0, steps] with steps - 2 x > threshold, or -1."""
    return min(steps, math.ceil((steps - threshold) / 2) - 1) if threshold < steps else -1


@dataclass(frozen=True, slots=True)
class TruncatedLaplaceProfile:
    """One integer with discrete Laplace noise cut off beyond `radius`, moved by `steps`."""

    scale: Fraction
    radius: int
    steps: int
    theorem: ClassVar[str] = "the exact profile of truncated discrete Laplace noise"

    def delta(self, epsilon: Fraction) -> Interval:
        if self.steps > 2 * self.radius:
            return Interval.point(1)
        alone = self.steps - self.radius - 1  # up to here the neighbour gives nothing
        inside = last_above(self.steps, epsilon * self.scale)
        if inside < 0:
            return self.least()
        return sharpened(lambda bits: self._delta(epsilon, min(self.radius, max(inside, alone)), bits))

    def least(self) -> Interval:
        alone = self.steps - self.radius - 1
        return sharpened(lambda bits: self._below(alone, bits) / self._mass(bits))

    def guess(self, delta: float) -> float:
        return float(self.steps / self.scale) + 2 * math.log1p(-delta)

    def ceiling(self) -> Fraction:
        return self.steps / self.scale

    def _mass(self, bits: int) -> Interval:
        return 1 + exp(-1 / self.scale, bits) - 2 * exp(Fraction(-self.radius - 1) / self.scale, bits)

    def _delta(self, epsilon: Fraction, last: int, bits: int) -> Interval:
        other = self._below(last - self.steps, bits) * exp(epsilon, bits)
        return (self._below(last, bits) - other) / self._mass(bits)

    def _below(self, x: int, bits: int) -> Interval:
        """Pr[noise <= x], times the mass."""
        edge = exp(Fraction(-self.radius - 1) / self.scale, bits)
        if x < -self.radius:
            return Interval.point(0)
        if x <= 0:
            return exp(Fraction(x) / self.scale, bits) - edge
        whole = self._mass(bits)
        return whole - (exp(Fraction(-x - 1) / self.scale, bits) - edge) if x < self.radius else whole
