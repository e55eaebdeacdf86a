"""Profiles of Gaussian noise, continuous, rounded or discrete.

Any mix of continuous or rounded Gaussians is one Gaussian, and its profile is known exactly.

One integer with discrete Gaussian noise: its own exact sums, because it is not a rounded Gaussian and not GDP.

Certified tails of the discrete Gaussian: sums of e^(-x²/(2 scale²)) over the integers from n on.

Up to a few hundred steps of scale the sum is taken term by term in integers, rounded both ways; beyond, by Euler and
Maclaurin's formula with its remainder bounded.

Floats only say where to look; exact arithmetic decides there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from deniable.accounting.profiles import sharpen
from deniable.exact import Interval, exp, gaussian_delta, sqrt
from deniable.exact.normal import mills_ratio


def log_normal_tail(x: float) -> float:
    """ln Pr[normal > x]."""
    if x < 30:
        return math.log(math.erfc(x / math.sqrt(2)) / 2) if x < 5 else _log_tail(x)
    return _log_tail(x)


def _log_tail(x: float) -> float:
    """By the continued fraction of Mills' ratio."""
    t = x
    for k in range(60, 0, -1):
        t = x + k / t
    return -x * x / 2 - 0.5 * math.log(2 * math.pi) - math.log(t)


def log_gaussian_delta(mu: float, epsilon: float) -> float:
    """ln delta of a Gaussian with sensitivity/scale `mu`."""
    mine = log_normal_tail(epsilon / mu - mu / 2)
    other = log_normal_tail(epsilon / mu + mu / 2) + epsilon
    gap = other - mine
    if gap < -1e-6:
        return mine + math.log(-math.expm1(gap))
    # too close to subtract: the density at the middle times the width
    return mine + math.log(max(mu * max(epsilon / mu, 1e-300), 1e-300) / max(1.0, (epsilon / mu) ** 2))


def crossing(function: Callable[[float], float], target: float, *, start: float = 1.0) -> float:
    """Where a falling function of x > 0 reaches `target`, by bracketing and halving in ln x."""
    low = high = start
    for _ in range(400):
        if not function(high) > target:
            break
        low, high = high, high * 4
    for _ in range(400):
        if function(low) > target or low < 1e-300:
            break
        low, high = low / 4, low
    for _ in range(80):
        middle = math.sqrt(low * high)
        if not low < middle < high:
            break
        if function(middle) > target:
            low = middle
        else:
            high = middle
    return high


_ROOT = 128
_SHARP = 48


@dataclass(frozen=True, slots=True)
class GaussianProfile:
    """Noise whose squared sensitivity-to-scale ratios add up to `square`."""

    square: Fraction
    theorem: ClassVar[str] = "the analytic Gaussian (Balle and Wang 2018); 1/scale² add up (Dong, Roth and Su 2022)"

    def delta(self, epsilon: Fraction) -> Interval:
        """delta grows with the shift, so the two ends of its root enclose it."""
        mu = sqrt(self.square, _ROOT)
        high = gaussian_delta(mu.upper, epsilon, _SHARP)
        low = high if mu.lower == mu.upper else gaussian_delta(mu.lower, epsilon, _SHARP)
        return Interval(low.lower, high.upper)

    def least(self) -> Interval:
        return Interval.point(0)

    def guess(self, delta: float) -> float:
        mu = math.sqrt(self.square)
        return crossing(lambda epsilon: log_gaussian_delta(mu, epsilon), math.log(delta), start=mu)

    def ceiling(self) -> None:
        return None


_TABULATED = 256


@dataclass(frozen=True, slots=True)
class DiscreteGaussianProfile:
    """delta(epsilon) = Pr[X > t - steps/2] - e^epsilon Pr[X > t + steps/2], t = epsilon scale²/steps; steps are whole."""

    scale: Fraction
    steps: int
    theorem: ClassVar[str] = "the exact sum of Canonne, Kamath and Steinke 2020, theorem 7"

    def delta(self, epsilon: Fraction) -> Interval:
        last = math.ceil(Fraction(self.steps, 2) - epsilon * self.scale**2 / self.steps) - 1
        return sharpen(lambda bits: self._delta(epsilon, last, bits))

    def _delta(self, epsilon: Fraction, last: int, bits: int) -> Interval:
        return cdf(self.scale, last, bits) - cdf(self.scale, last - self.steps, bits, epsilon)

    def least(self) -> Interval:
        return Interval.point(0)

    def guess(self, delta: float) -> float:
        """ln((F(j) - delta)/F(j - steps)) at the best j, in floats; for wide noise, that of the continuous Gaussian."""
        if self.scale > _TABULATED or self.steps > _TABULATED**2:
            return GaussianProfile(self.steps**2 / self.scale**2).guess(delta)
        reach = math.ceil(40 * self.scale) + self.steps
        points = np.arange(-reach, reach + 1)
        below = np.logaddexp.accumulate(-(points.astype(float) ** 2) / (2 * float(self.scale) ** 2))
        below -= below[-1]
        mine, other = np.exp(below[self.steps :]) - delta, below[: -self.steps]
        possible = mine > 0
        return float(np.max(np.log(mine[possible]) - other[possible], initial=0.0))

    def ceiling(self) -> None:
        return None


_SUMMED = 256
_FAINT = -100_000
_NOTHING = Fraction(1, 1 << 144_000)  # above e^-100000 = 2^-144269.5


@lru_cache(maxsize=256)
def tail_sum(scale: Fraction, start: int, bits: int, gain: Fraction = Fraction(0)) -> Interval:
    """e^gain times the sum of e^(-x²/(2 scale²)) over x >= `start`, for `start` >= 0: one exponent, whatever their sizes."""
    square = scale**2
    first = _exp(gain - Fraction(start * start) / (2 * square), bits)
    if scale <= _SUMMED:
        return (first * _relative(square, start, bits)).rounded(bits)
    return _euler(square, start, first, bits).rounded(bits)


@lru_cache(maxsize=64)
def total(scale: Fraction, bits: int) -> Interval:
    """The sum over all integers."""
    return 1 + 2 * tail_sum(scale, 1, bits)


def cdf(scale: Fraction, x: int, bits: int, gain: Fraction = Fraction(0)) -> Interval:
    """e^gain Pr[X <= x]."""
    if x < 0:
        return tail_sum(scale, -x, bits, gain) / total(scale, bits)
    return (1 - tail_sum(scale, x + 1, bits) / total(scale, bits)) * (exp(gain, bits) if gain else 1)


def _exp(x: Fraction, bits: int) -> Interval:
    """e^x; so far below one that nobody asks how far, only bounded."""
    return exp(x, bits) if x > _FAINT else Interval(Fraction(0), _NOTHING)


def _relative(square: Fraction, start: int, bits: int) -> Interval:
    """The sum divided by its first term: 1 + r + r r' + ..., each ratio e^(-1/scale²) times the one before."""
    width = bits + 16
    one = 1 << width
    ratio = _exp(-Fraction(2 * start + 1) / (2 * square), width)
    shrink = _exp(-1 / square, width)
    low, high = _floor(ratio.lower, width), _ceiling(ratio.upper, width)
    shrink_low, shrink_high = _floor(shrink.lower, width), _ceiling(shrink.upper, width)
    term_low = term_high = sum_low = sum_high = one
    while term_high > 256:
        term_low, term_high = term_low * low >> width, -(-term_high * high >> width)
        low, high = low * shrink_low >> width, -(-high * shrink_high >> width)
        sum_low += term_low
        sum_high += term_high
    sum_high += -(-term_high * high // max(1, one - high))  # the ratios keep falling: a geometric series is more
    return Interval(Fraction(sum_low, one), Fraction(sum_high, one))


def _floor(x: Fraction, width: int) -> int:
    return (x.numerator << width) // x.denominator


def _ceiling(x: Fraction, width: int) -> int:
    return -((-x.numerator << width) // x.denominator)


def _euler(square: Fraction, start: int, first: Interval, bits: int) -> Interval:
    """Integral + f/2 - sum of B_2k/(2k)! f^(2k-1), k up to 6, with f^(n) = (-1)^n He_n(u) f / scale^n and u = start/scale.

    The remainder is at most 2 zeta(12)/(2 pi)^12 times the integral of |f^(12)| (`_rest`).
    """
    scale = sqrt(square, bits)
    u = (start / scale).rounded(bits)
    total = first * scale * mills_ratio(u, bits) + first / 2
    power = 1 / scale
    for order, bernoulli in _BERNOULLI:
        total = total + (hermite(order - 1, u) * first * power * (bernoulli / math.factorial(order))).rounded(bits)
        power = power / square
    rest = (_REMAINDER * _rest(u, first, bits) * power * square).upper  # scale^-11: f^(12) over scale^12, dx = scale du
    return total + Interval(-rest, rest)


def _rest(u: Interval, first: Interval, bits: int) -> Interval:
    """At least the integral of |He_12(v)| e^(-v²/2) over v >= u.

    Beyond the last zero (below the root of 50) it is He_11(u) f; elsewhere Cauchy and Schwarz with E[He_12²] = 12!.
    """
    if u.lower > _LAST_ZERO:
        return hermite(_ORDER - 1, u) * first
    return sqrt((math.factorial(_ORDER) * _ROOT_TWO_PI * first * mills_ratio(u, bits)).rounded(bits), bits)


def hermite(order: int, u: Interval) -> Interval:
    """The probabilists' Hermite polynomial, by He_(n+1) = u He_n - n He_(n-1)."""
    before, now = Interval.point(0), Interval.point(1)
    for n in range(order):
        before, now = now, (u * now - n * before).rounded(256)
    return now


_ORDER = 12
_BERNOULLI = (
    (2, Fraction(1, 6)),
    (4, Fraction(-1, 30)),
    (6, Fraction(1, 42)),
    (8, Fraction(-1, 30)),
    (10, Fraction(5, 66)),
    (12, Fraction(-691, 2730)),
)
_REMAINDER = Fraction(2001, 1000) / Fraction(6283, 1000) ** _ORDER
_LAST_ZERO = Fraction(708, 100)
_ROOT_TWO_PI = Fraction(2507, 1000)
