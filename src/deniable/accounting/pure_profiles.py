"""Profiles of releases with a bounded loss: randomised response, the exponential mechanism, Laplace noise, any pure release.

Releases whose loss takes two or three values, and the exponential mechanism, whose worst case is one of those.

The same pure release many times over: the loss is binomial, and its tails are summed with certainty.

Any epsilon-private release is at worst randomised response (Kairouz, Oh and Viswanath 2015), so k of them have the profile
P(i <= m) - e^t Q(i <= m), where i of k answers were lies, P(i) ~ Binomial(k, 1/(1+e^epsilon)), Q(i) = P(k - i), and m is the last
number of lies whose loss (k - 2 i) epsilon is above t. Between the points of their theorem 3.3 this is the exact curve.

Noise on the integers whose likelihood ratio falls from left to right: the best test of a shift is a threshold.

For P the law of the noise and Q the same moved by `steps`, delta(epsilon) = P(X <= j) - e^epsilon P(X <= j - steps), where j is
the last point whose loss is above epsilon. Mirroring the line swaps the two directions, so one of them is enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from deniable.accounting.profiles import sharpen
from deniable.exact import Interval, exp, expm1, ln
from deniable.exact.gamma import log_binomial, ratios_down, ratios_up


@dataclass(frozen=True, slots=True)
class ResponseProfile:
    """One randomised response: `truth` against `other`, the probabilities of one answer for two people."""

    truth: Fraction
    other: Fraction
    theorem: ClassVar[str] = "the exact profile of randomised response"

    def delta(self, epsilon: Fraction) -> Interval:
        return sharpen(lambda bits: self._delta(epsilon, bits))

    def _delta(self, epsilon: Fraction, bits: int) -> Interval:
        found = self.truth - self.other * exp(epsilon, bits)
        return Interval.point(0) if found.upper <= 0 else found

    def least(self) -> Interval:
        return Interval.point(0)

    def guess(self, delta: float) -> float:
        room = float(self.truth) - delta
        return math.log(room / float(self.other)) if room > 0 else 0.0

    def ceiling(self) -> Fraction:
        return ln(self.truth / self.other, 96).upper


@dataclass(frozen=True, slots=True)
class RangeProfile:
    """One release of bounded range `eta`: (1 - e^((epsilon-eta)/2))² / (1 - e^-eta), the worst two-point law."""

    eta: Fraction
    theorem: ClassVar[str] = "the worst law of bounded range (Dong, Durfee and Rogers 2020)"

    def delta(self, epsilon: Fraction) -> Interval:
        if epsilon >= self.eta:
            return Interval.point(0)
        return sharpen(lambda bits: expm1((epsilon - self.eta) / 2, bits) ** 2 / -expm1(-self.eta, bits))

    def least(self) -> Interval:
        return Interval.point(0)

    def guess(self, delta: float) -> float:
        root = math.sqrt(delta * -math.expm1(-float(self.eta)))
        return float(self.eta) + 2 * math.log1p(-root) if root < 1 else 0.0

    def ceiling(self) -> Fraction:
        return self.eta


_NARROW = 2**7
_WIDEST = 2**22


@dataclass(frozen=True, slots=True)
class PureLoss:
    """How much likelier one of two answers is: e^`epsilon`, or the exact `odds`."""

    epsilon: Fraction | None = None
    odds: Fraction | None = None

    def log(self, bits: int) -> Interval:
        """epsilon."""
        return Interval.point(self.epsilon) if self.epsilon is not None else ln(self.odds or Fraction(1), bits)

    def grown(self, bits: int) -> Interval:
        """e to the epsilon."""
        return exp(self.epsilon, bits) if self.epsilon is not None else Interval.point(self.odds or Fraction(1))


@dataclass(frozen=True, slots=True)
class BinomialProfile:
    """`times` releases, each with the same pure `loss`."""

    loss: PureLoss
    times: int
    theorem: ClassVar[str] = "optimal composition, exactly (Kairouz, Oh and Viswanath 2015)"

    def delta(self, epsilon: Fraction) -> Interval:
        return sharpen(lambda bits: self._delta(epsilon, bits + self.times.bit_length()))

    def _delta(self, epsilon: Fraction, bits: int) -> Interval:
        edge = (self.times - epsilon / self.loss.log(bits)) / 2
        found = Interval.point(0)
        for lies in {math.ceil(edge.lower) - 1, math.ceil(edge.upper) - 1}:
            if lies >= 0:
                found = found.greatest(self._at(epsilon, lies, bits))
        return found

    def _at(self, epsilon: Fraction, lies: int, bits: int) -> Interval:
        grown = self.loss.grown(bits)
        shrunk = 1 / grown
        if lies * grown.upper < self.times - lies + 1:  # short of the mode
            mine = self._pmf(lies, bits, Fraction(0)) * ratios_down(self.times, lies, grown, bits)
        else:
            mine = 1 - self._pmf(lies + 1, bits, Fraction(0)) * ratios_up(self.times, lies + 1, shrunk, bits)
        other = self._pmf(self.times - lies, bits, epsilon) * ratios_down(self.times, lies, shrunk, bits)
        return mine - other

    def _pmf(self, lies: int, bits: int, raised: Fraction) -> Interval:
        """e^raised P(lies)."""
        if lies > self.times:
            return Interval.point(0)
        epsilon = self.loss.log(bits + 32)
        log = log_binomial(self.times, lies, bits + 16) - epsilon * lies + raised
        return exp((log - ln(1 + 1 / self.loss.grown(bits + 32), bits + 32) * self.times).rounded(bits + 48), bits)

    def least(self) -> Interval:
        return Interval.point(0)

    def guess(self, delta: float) -> float:
        """The largest ln((P(i <= m) - delta) / Q(i <= m)) over m, in floats."""
        epsilon = float(self.loss.log(64).upper)
        middle = self.times / (1 + math.exp(min(700.0, epsilon)))
        reach = int(60 * math.sqrt(middle + 1)) + _NARROW
        if reach > _WIDEST or not epsilon < 700:
            return self.times * epsilon
        low, high = max(0, int(middle) - reach), min(self.times, int(middle) + reach)
        lies = np.arange(low, high + 1)
        steps = np.log((self.times - lies[:-1]) / (lies[:-1] + 1)) - epsilon
        log = np.concatenate([[0.0], np.cumsum(steps)])
        log -= log.max()
        log -= math.log(np.exp(log).sum())
        mine = np.cumsum(np.exp(log)) - delta
        ahead = log - (self.times - 2 * lies) * epsilon
        other = np.logaddexp.accumulate(ahead)
        possible = mine > 0
        return float(np.max(np.log(mine[possible]) - other[possible], initial=0.0))

    def ceiling(self) -> Fraction:
        return self.loss.log(96).upper * self.times


@dataclass(frozen=True, slots=True)
class LaplaceProfile:
    """One number with continuous Laplace noise; `epsilon` is sensitivity/scale."""

    epsilon: Fraction
    theorem: ClassVar[str] = "the exact profile of Laplace noise"

    def delta(self, epsilon: Fraction) -> Interval:
        if epsilon >= self.epsilon:
            return Interval.point(0)
        return sharpen(lambda bits: -expm1((epsilon - self.epsilon) / 2, bits))

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
        return sharpen(lambda bits: self._delta(epsilon, last, bits))

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
        return sharpen(lambda bits: self._delta(epsilon, min(self.radius, max(inside, alone)), bits))

    def least(self) -> Interval:
        alone = self.steps - self.radius - 1
        return sharpen(lambda bits: self._below(alone, bits) / self._mass(bits))

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
