"""Certified probabilities of the rounded and of the discrete Gaussian, in whole steps."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from deniable.exact import Interval, exp, expm1, ln, sqrt
from deniable.exact.fixed import pi
from deniable.exact.normal import log_normal_cdf, normal_upper_tail

_HALF = Fraction(1, 2)
_SUMMED = 12
"""Up to this scale the discrete Gaussian's tail is a sum; above, it lies between two integrals."""

# The rounded Gaussian --------------------------------------------------------------------------------------------------


def rounded_loss(scale: Fraction, near: int, far: int) -> Interval:
    """The difference of two logarithms, with as many bits as it takes: both may be large and almost equal."""
    bits = 96
    while True:
        left, right = _log_mass(scale, near, bits), _log_mass(scale, far, bits)
        if left is not None and right is not None and ((found := left - right).width * (1 << 48)) <= 1:
            return found
        bits *= 2


def _log_mass(scale: Fraction, at: int, bits: int) -> Interval | None:
    """ln P[noise = at], at >= 0: ln Q(a) + ln(1 - Q(b)/Q(a)) for the ends a < b of its cell; None if `bits` are too few."""
    start, end = (log_normal_cdf(-(at + side) / scale, bits) for side in (-_HALF, _HALF))
    gap = end - start
    return start + ln(-expm1(gap, bits), bits) if gap.upper < 0 else None


# The discrete Gaussian -------------------------------------------------------------------------------------------------


def discrete_gaussian_tail(scale: Fraction, at_least: int) -> Interval:
    """P[noise >= at_least] for at_least >= 1.

    Small scales are summed. For large ones let Q be the normal upper tail and x = at_least. Where the bell is convex
    (x - 1/2 >= scale) each term is at most the integral over the unit interval around it, so the tail is at most
    Q((x - 1/2)/scale), and it is at least Q(x/scale) as the bell falls. Elsewhere the midpoint rule is off by at most an
    eighth of the variation of the bell's slope, less than 1/(8·scale²) of the whole.
    """
    if scale <= _SUMMED:
        return _bell_sum(scale, at_least) / bells(scale)
    if at_least - _HALF >= scale:
        lower = normal_upper_tail(at_least / scale).lower * (1 - Fraction(1, 1 << 1000))
        return Interval(lower, normal_upper_tail((at_least - _HALF) / scale).upper)
    middle, slack = normal_upper_tail((at_least - _HALF) / scale), 1 / (8 * scale * scale)
    return Interval(middle.lower - slack, middle.upper + slack)


def bell(scale: Fraction, at: int) -> Interval:
    """The weight of a value, in weights of zero."""
    return exp(-Fraction(at * at) / (2 * scale * scale))


@lru_cache(maxsize=512)
def _bell_sum(scale: Fraction, start: int) -> Interval:
    """The sum of the bells at start, start + 1, ... for start >= 1.

    Later terms shrink at least as fast as the last two compared, so a geometric series bounds what is left out.
    """
    total, k = Interval.point(0), start
    while True:
        for _ in range(8):
            total, k = total + bell(scale, k), k + 1
        ratio = exp(-Fraction(2 * k + 1) / (2 * scale * scale)).upper
        rest = bell(scale, k).upper / (1 - ratio) if ratio < 1 else total.upper
        if rest * (1 << 64) <= total.lower or not total.lower:
            return Interval(total.lower, total.upper + rest).rounded(80)


@lru_cache(maxsize=512)
def bells(scale: Fraction) -> Interval:
    """All bells. For a large scale Poisson's summation gives scale·√(2π)·(1 + less than 2**-1000)."""
    if scale <= _SUMMED:
        return 1 + 2 * _bell_sum(scale, 1)
    below = Fraction(pi(96), 1 << 96)
    root = sqrt(2 * Interval(below, below + Fraction(2, 1 << 96)), 80) * scale
    return Interval(root.lower, root.upper * (1 + Fraction(1, 1 << 1000)))
