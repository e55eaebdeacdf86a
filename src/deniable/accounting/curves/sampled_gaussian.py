"""The Poisson-sampled Gaussian at every order: Mironov, Talwar and Zhang 2019.

The unit is added or removed. At a whole order the moment is a finite sum. At any other, split the line where the two parts of the
mixture are equal and expand each side: from the order on the terms alternate, and their sizes are moments of a positive measure,
so that few of them give the whole sum with a proved error (Cohen, Rodriguez Villegas and Zagier 2000).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from deniable.accounting.curves.curve import BITS
from deniable.exact import Interval, exp, ln, sqrt
from deniable.exact.gamma import log_binomial
from deniable.exact.normal import log_normal_cdf

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
