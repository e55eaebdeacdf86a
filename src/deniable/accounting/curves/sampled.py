"""What sampling does to any Rényi curve.

Three bounds, the least taken: the moment is jointly convex; a pure loss is amplified; and at whole orders the moment of the mixture
expands binomially into the moments of the base, with a factor 3 from the third on for the other direction (Zhu and Wang 2019,
theorem 6). Wang, Balle and Kasiviswanathan 2019, theorem 9, does it for fixed-size samples with a unit replaced.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from deniable.accounting.curves.curve import BITS, Curve, log_moment, log_sum, point
from deniable.exact import exp, ln
from deniable.exact.gamma import log_binomial

LARGEST = 256
"""Sums are taken at whole orders up to this one."""


@dataclass(frozen=True, slots=True)
class ConvexSample:
    """((1-q) + q e^((a-1) base))^(1/(a-1)): joint convexity; holds for every sampler that hits the unit with chance q."""

    base: Curve
    rate: Fraction

    def at(self, order: Fraction) -> Fraction | None:
        inner = self.base.at(order)
        if inner is None:
            return None
        parts = [(point(1 - self.rate), point(Fraction(0))), (point(self.rate), point((order - 1) * inner))]
        return min(inner, log_moment(parts, order))

    def estimate(self, order: float) -> float:
        inner, rate = self.base.estimate(order), float(self.rate)
        if math.isinf(inner):
            return math.inf
        return min(inner, log_sum([(1 - rate, 0.0), (rate, (order - 1) * inner)]) / (order - 1))


@dataclass(frozen=True, slots=True)
class BinomialSample:
    """A unit added to or removed from a Poisson sample; whole orders, chords between them."""

    base: Curve
    rate: Fraction

    def at(self, order: Fraction) -> Fraction | None:
        return between_whole_orders(self._log, order)

    def _log(self, order: int) -> Fraction | None:
        """(1-q)^(a-1) (a q - q + 1) + C(a,2) q² (1-q)^(a-2) e^r(2) + 3 sum_(l>2) C(a,l) (1-q)^(a-l) q^l e^((l-1) r(l))."""
        kept, drawn = ln(1 - self.rate, BITS), ln(self.rate, BITS)
        parts = [(point(order * self.rate - self.rate + 1), kept * (order - 1))]
        for size in range(2, order + 1):
            inner = self.base.at(Fraction(size))
            if inner is None:
                return None
            log = log_binomial(order, size, BITS) + kept * (order - size) + drawn * size + (size - 1) * inner
            parts.append((point(Fraction(1 if size == 2 else 3)), log))
        return log_moment(parts, Fraction(2))

    def estimate(self, order: float) -> float:
        def log(whole: int) -> float:
            rate = float(self.rate)
            parts = [(whole * rate - rate + 1, (whole - 1) * math.log1p(-rate))]
            for size in range(2, whole + 1):
                inner = self.base.estimate(float(size))
                choose = math.lgamma(whole + 1) - math.lgamma(size + 1) - math.lgamma(whole - size + 1)
                value = choose + (whole - size) * math.log1p(-rate) + size * math.log(rate) + (size - 1) * inner
                parts.append((1.0 if size == 2 else 3.0, value))
            return math.inf if any(math.isinf(value) for _, value in parts) else log_sum(parts)

        return estimate_between(log, order)


@dataclass(frozen=True, slots=True)
class FixedSizeSample:
    """One unit replaced, a fixed number of units drawn; whole orders, chords between them."""

    base: Curve
    rate: Fraction

    def at(self, order: Fraction) -> Fraction | None:
        return between_whole_orders(self._log, order)

    def _log(self, order: int) -> Fraction | None:
        """1 + q² C(a,2) min(4 (e^r(2) - 1), 2 e^r(2)) + 2 sum_(j>2) q^j C(a,j) e^((j-1) r(j))."""
        second = self.base.at(Fraction(2))
        if second is None:
            return None
        drawn = ln(self.rate, BITS)
        grown = exp(second, BITS)
        factor = (4 * (grown - 1)).least(2 * grown)
        parts = [(point(Fraction(1)), point(Fraction(0)))]
        parts.append((factor, drawn * 2 + log_binomial(order, 2, BITS)))
        for size in range(3, order + 1):
            inner = self.base.at(Fraction(size))
            if inner is None:
                return None
            parts.append((point(Fraction(2)), log_binomial(order, size, BITS) + drawn * size + (size - 1) * inner))
        return log_moment(parts, Fraction(2))

    def estimate(self, order: float) -> float:
        def log(whole: int) -> float:
            rate, second = float(self.rate), self.base.estimate(2.0)
            factor = min(4 * math.expm1(min(700.0, second)), 2 * math.exp(min(700.0, second)))
            parts = [(1.0, 0.0), (factor, 2 * math.log(rate) + math.log(whole * (whole - 1) / 2))]
            for size in range(3, whole + 1):
                choose = math.lgamma(whole + 1) - math.lgamma(size + 1) - math.lgamma(whole - size + 1)
                parts.append((2.0, choose + size * math.log(rate) + (size - 1) * self.base.estimate(float(size))))
            return math.inf if any(math.isinf(value) for _, value in parts) else log_sum(parts)

        return estimate_between(log, order)


def between_whole_orders(log: Callable[[int], Fraction | None], order: Fraction) -> Fraction | None:
    """A bound at any order from bounds on ln of the moment at whole ones: the true one is convex and 0 at order one."""
    low = int(order)
    if order > LARGEST:
        return None
    share = order - low
    first = Fraction(0) if low == 1 else log(low)
    second = log(low + 1) if share else Fraction(0)
    if first is None or second is None:
        return None
    return (first * (1 - share) + second * share) / (order - 1)


def estimate_between(log: Callable[[int], float], order: float) -> float:
    """The same in floats."""
    low = int(order)
    if order > LARGEST - 1:
        return math.inf
    first = 0.0 if low <= 1 else log(low)
    share = order - low
    second = log(low + 1) if share else first
    return (first * (1 - share) + second * share) / (order - 1) if not math.isinf(second) else math.inf


@dataclass(frozen=True, slots=True)
class Least:
    """The best of several curves for one release, and of a constant that holds at every order."""

    curves: tuple[Curve, ...]
    ceiling: Fraction | None = None

    def at(self, order: Fraction) -> Fraction | None:
        found = [value for curve in self.curves if (value := curve.at(order)) is not None]
        return min([*found, *([] if self.ceiling is None else [self.ceiling])], default=None)

    def estimate(self, order: float) -> float:
        ceiling = math.inf if self.ceiling is None else float(self.ceiling)
        return min(ceiling, *(curve.estimate(order) for curve in self.curves))


@dataclass(frozen=True, slots=True)
class Greatest:
    """The worst of several curves: disjoint parts."""

    curves: tuple[Curve, ...]

    def at(self, order: Fraction) -> Fraction | None:
        found = [curve.at(order) for curve in self.curves]
        known = [value for value in found if value is not None]
        return max(known, default=Fraction(0)) if len(known) == len(found) else None

    def estimate(self, order: float) -> float:
        return max((curve.estimate(order) for curve in self.curves), default=0.0)


@dataclass(frozen=True, slots=True)
class Mixture:
    """ln(sum of chance e^((a-1) divergence))/(a-1): one of several, drawn by a known coin."""

    parts: tuple[tuple[Fraction, Curve], ...]

    def at(self, order: Fraction) -> Fraction | None:
        values = [(chance, curve.at(order)) for chance, curve in self.parts]
        known = [(point(chance), point((order - 1) * value)) for chance, value in values if value is not None]
        return log_moment(known, order) if len(known) == len(values) else None

    def estimate(self, order: float) -> float:
        values = [(float(chance), (order - 1) * curve.estimate(order)) for chance, curve in self.parts]
        return math.inf if any(math.isinf(value) for _, value in values) else log_sum(values) / (order - 1)
