"""Rényi curves of sampled releases, and how much one value of a curve takes.

What sampling does to any Rényi curve.

Three bounds, the least taken: the moment is jointly convex; a pure loss is amplified; and at whole orders the moment of the mixture
expands binomially into the moments of the base, with a factor 3 from the third on for the other direction (Zhu and Wang 2019,
theorem 6). Wang, Balle and Kasiviswanathan 2019, theorem 9, does it for fixed-size samples with a unit replaced.

The Poisson-sampled Gaussian at every order: Mironov, Talwar and Zhang 2019.

The unit is added or removed. At a whole order the moment is a finite sum. At any other, split the line where the two parts of the
mixture are equal and expand each side: from the order on the terms alternate, and their sizes are moments of a positive measure,
so that few of them give the whole sum with a proved error (Cohen, Rodriguez Villegas and Zagier 2000).

How much one value of a Rényi curve takes, and the public bound above which a looser curve is read.

The bound is compared with a count that depends on the cost alone. Whatever is read instead is an upper bound too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

from deniable.accounting.renyi_curves import BITS, Curve, DoubledCurve, GroupedCurve, log_moment, log_sum, point
from deniable.exact import Interval, exp, ln, sqrt
from deniable.exact.gamma import log_binomial
from deniable.exact.normal import log_normal_cdf

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
class LeastCurve:
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
class GreatestCurve:
    """The worst of several curves: disjoint parts."""

    curves: tuple[Curve, ...]

    def at(self, order: Fraction) -> Fraction | None:
        found = [curve.at(order) for curve in self.curves]
        known = [value for value in found if value is not None]
        return max(known, default=Fraction(0)) if len(known) == len(found) else None

    def estimate(self, order: float) -> float:
        return max((curve.estimate(order) for curve in self.curves), default=0.0)


@dataclass(frozen=True, slots=True)
class MixtureCurve:
    """ln(sum of chance e^((a-1) divergence))/(a-1): one of several, drawn by a known coin."""

    parts: tuple[tuple[Fraction, Curve], ...]

    def at(self, order: Fraction) -> Fraction | None:
        values = [(chance, curve.at(order)) for chance, curve in self.parts]
        known = [(point(chance), point((order - 1) * value)) for chance, value in values if value is not None]
        return log_moment(known, order) if len(known) == len(values) else None

    def estimate(self, order: float) -> float:
        values = [(float(chance), (order - 1) * curve.estimate(order)) for chance, curve in self.parts]
        return math.inf if any(math.isinf(value) for _, value in values) else log_sum(values) / (order - 1)


_TERMS = 34
_LARGEST = 2**12
_ALL_ORDERS = 2**8
_FAINT = Fraction(1, 2 ** (BITS + 96))


@dataclass(frozen=True, slots=True)
class SampledGaussianCurve:
    """Squared sensitivity-to-scale ratio `square`, each unit in the sample with probability `rate` below one."""

    square: Fraction
    rate: Fraction

    def at(self, order: Fraction) -> Fraction:
        whole = self.square * order / 2
        if order > _LARGEST:
            return whole
        if order.denominator == 1 or order < _ALL_ORDERS:
            log = _log(self._whole(int(order)) if order.denominator == 1 else self._between(order))
        else:  # the logarithm of a moment is convex in its order
            low, over = int(order), order - int(order)
            log = (1 - over) * _log(self._whole(low)) + over * _log(self._whole(low + 1))
        return min(whole, log / (order - 1))

    def _whole(self, order: int) -> Interval:
        """sum of C(a,k) (1-q)^(a-k) q^k e^(k(k-1) square/2)."""
        bits = BITS + 64
        kept, drawn = ln(1 - self.rate, bits), ln(self.rate, bits)
        total = Interval.point(0)
        growth = self._growth(order)
        for k in range(order + 1):
            log = log_binomial(order, k, bits) + kept * (order - k) + drawn * k + self.square * (k * (k - 1)) / 2
            term = exp(log.rounded(bits), bits)
            total = total + term
            if growth is not None and 2 * (order - k) * growth <= k + 1 and term.upper < _FAINT:
                total = total + Interval(Fraction(0), term.upper)  # each further term is at most half the one before
                break
        return total.rounded(bits)

    def _growth(self, order: int) -> Fraction | None:
        """At least q/(1-q) e^(order square): what one more draw multiplies a term by, apart from the binomial coefficient."""
        return self.rate / (1 - self.rate) * exp(order * self.square, 64).upper if order * self.square < 100 else None

    def _between(self, order: Fraction) -> Interval:
        """The terms up to the order one by one, the alternating rest at once."""
        split = _Split(self.square, self.rate, BITS + 64)
        total, binomial = Interval.point(0), Interval.point(1)
        first = int(order) + 1
        rest = []
        for i in range(first + _TERMS):
            term = split.terms(order, i)
            if i < first:
                total = total + term * binomial
            else:
                rest.append(term * abs(binomial))
            binomial = (binomial * ((order - i) / (i + 1))).rounded(BITS + 64)
        return (total + alternating(rest)).rounded(BITS + 64)

    def estimate(self, order: float) -> float:
        whole = float(self.square) * order / 2
        if order > _LARGEST:
            return whole
        low = int(order)
        first, second = self._float(low), self._float(low + 1)
        return min(whole, (first + (second - first) * (order - low)) / (order - 1))

    def _float(self, order: int) -> float:
        if order <= 1:
            return 0.0
        rate, square = float(self.rate), float(self.square)
        logs = [
            math.lgamma(order + 1)
            - math.lgamma(k + 1)
            - math.lgamma(order - k + 1)
            + (order - k) * math.log1p(-rate)
            + k * math.log(rate)
            + square * k * (k - 1) / 2
            for k in range(order + 1)
        ]
        top = max(logs)
        return max(0.0, top + math.log(math.fsum(math.exp(log - top) for log in logs)))


def _log(moment: Interval) -> Fraction:
    return ln(1 + max(Fraction(0), moment.upper - 1), BITS).upper


@dataclass(frozen=True, slots=True)
class _Split:
    """The two expansions, around the point where (1-q) N(0) and q N(1) are equal; scale² = 1/square."""

    square: Fraction
    rate: Fraction
    bits: int

    def terms(self, order: Fraction, i: int) -> Interval:
        """Both expansions' i-th terms without their binomial coefficient."""
        return self._term(order, Fraction(i), below=True) + self._term(order, order - i, below=False)

    def _term(self, order: Fraction, power: Fraction, *, below: bool) -> Interval:
        """(1-q)^(a-p) q^p e^(p(p-1) square/2) Pr[N(p) on this side of the split]."""
        bits = self.bits
        drawn, kept = ln(self.rate, bits), ln(1 - self.rate, bits)
        mu = sqrt(self.square, bits)
        place = (kept - drawn) / mu + mu * (Fraction(1, 2) - power)  # (split - p)/scale
        side = log_normal_cdf((place if below else -place).rounded(bits), bits)
        log = kept * (order - power) + drawn * power + self.square * power * (power - 1) / 2 + side
        return exp(log.rounded(bits), bits)


def alternating(sizes: list[Interval]) -> Interval:
    """a0 - a1 + a2 - ... for a totally monotone sequence given by its first n terms.

    Algorithm 1 of Cohen, Rodriguez Villegas and Zagier: off by at most 2 a0 / (3 + sqrt 8)^n.
    """
    n = len(sizes)
    before, d = 1, 3
    for _ in range(n - 1):
        before, d = d, 6 * d - before  # the Chebyshev polynomial T_n(3)
    b, c, total = Fraction(-1), Fraction(-d), Interval.point(0)
    for k, size in enumerate(sizes):
        c = b - c
        total = total + size * (c / d)
        b = b * ((k + n) * (k - n)) / (Fraction(2 * k + 1, 2) * (k + 1))
    slack = sizes[0].upper * 2 / Fraction(2 * d - 1)
    return total + Interval(-slack, slack)


MOST_VALUES = 20_000
"""The most values of simple curves that one value of a composed curve may take."""

SHORTENED = f"the steps of a group are doubled, not split best: that would take more than {MOST_VALUES} divergences"

_SAMPLED_GAUSSIAN = 1000


def work(curve: object) -> int:
    """About how many values of simple curves one value takes; a sampled Gaussian is a long sum."""
    inside = sum(map(work, _parts(curve)))
    match curve:
        case SampledGaussianCurve():
            return _SAMPLED_GAUSSIAN
        case GroupedCurve():
            return curve.values * inside
        case BinomialSample() | FixedSizeSample():
            return LARGEST * inside
        case _:
            return max(inside, 1)


def grouped_curve(base: Curve, size: int) -> Curve:
    """The curve of a group, by the best splits where they are within the bound."""
    if size > MOST_VALUES:
        return DoubledCurve(base, size)
    best = GroupedCurve(base, size)
    return best if work(best) <= MOST_VALUES else DoubledCurve(base, size)


def is_shortened(curve: object) -> bool:
    """Whether a looser curve is in it, because of the bound."""
    return isinstance(curve, DoubledCurve) or any(map(is_shortened, _parts(curve)))


def _parts(value: object) -> Iterator[Any]:
    """The curves a curve is made of."""
    if not is_dataclass(value):
        return
    for each in fields(value):
        yield from _curves(getattr(value, each.name))


def _curves(value: object) -> Iterator[Any]:
    if isinstance(value, tuple):
        for each in value:
            yield from _curves(each)
    elif hasattr(value, "at"):
        yield value
