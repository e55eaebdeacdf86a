"""Releases whose loss takes two or three values, and the exponential mechanism, whose worst case is one of those."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from deniable.accounting.closed.profile import sharpened
from deniable.exact import Interval, exp, expm1, ln


@dataclass(frozen=True, slots=True)
class ResponseProfile:
    """One randomised response: `truth` against `other`, the probabilities of one answer for two people."""

    truth: Fraction
    other: Fraction
    theorem: ClassVar[str] = "the exact profile of randomised response"

    def delta(self, epsilon: Fraction) -> Interval:
        return sharpened(lambda bits: self._delta(epsilon, bits))

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
        return sharpened(lambda bits: expm1((epsilon - self.eta) / 2, bits) ** 2 / -expm1(-self.eta, bits))

    def least(self) -> Interval:
        return Interval.point(0)

    def guess(self, delta: float) -> float:
        root = math.sqrt(delta * -math.expm1(-float(self.eta)))
        return float(self.eta) + 2 * math.log1p(-root) if root < 1 else 0.0

    def ceiling(self) -> Fraction:
        return self.eta
