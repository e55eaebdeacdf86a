"""The same pure release many times over: the loss is binomial, and its tails are summed with certainty.

Any epsilon-private release is at worst randomised response (Kairouz, Oh and Viswanath 2015), so k of them have the profile
P(i <= m) - e^t Q(i <= m), where i of k answers were lies, P(i) ~ Binomial(k, 1/(1+e^epsilon)), Q(i) = P(k - i), and m is the last
number of lies whose loss (k - 2 i) epsilon is above t. Between the points of their theorem 3.3 this is the exact curve.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from deniable.accounting.closed.profile import sharpened
from deniable.exact import Interval, exp, ln
from deniable.exact.binomial import ratios_down, ratios_up
from deniable.exact.gamma import log_binomial

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
        return sharpened(lambda bits: self._delta(epsilon, bits + self.times.bit_length()))

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
