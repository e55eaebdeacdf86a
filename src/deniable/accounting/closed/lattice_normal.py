"""Certified tails of the discrete Gaussian: sums of e^(-x²/(2 scale²)) over the integers from n on.

Up to a few hundred steps of scale the sum is taken term by term in integers, rounded both ways; beyond, by Euler and
Maclaurin's formula with its remainder bounded.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from deniable.exact import Interval, exp, sqrt
from deniable.exact.normal import mills_ratio

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
