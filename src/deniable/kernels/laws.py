"""The laws of the noise we add, as certified probabilities: tails, masses and the error that is rarely exceeded.

Everything is counted in lattice steps. A probability is an `Interval` that holds the exact one; an error is the smallest
number of steps that is certainly enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import assert_never

from deniable.exact import Interval, exp, expm1, ln, sqrt
from deniable.exact.fixed import pi
from deniable.exact.normal import log_normal_cdf, normal_upper_tail

_HALF, _ONE = Fraction(1, 2), Fraction(1)
_SUMMED = 12
"""Up to this scale the discrete Gaussian's tail is a sum; above, it lies between two integrals."""


class Law(Enum):
    """Which noise: the samplers of `deniable.noise` of the same names follow these laws exactly."""

    LAPLACE = "discrete Laplace"
    GAUSSIAN = "rounded Gaussian"
    DISCRETE_GAUSSIAN = "discrete Gaussian"

    @property
    def pure(self) -> bool:
        """Whether noise of this law gives an epsilon without a delta."""
        match self:
            case Law.LAPLACE:
                return True
            case Law.GAUSSIAN | Law.DISCRETE_GAUSSIAN:
                return False
            case _:
                assert_never(self)


def upper_tail(law: Law, *, scale: Fraction, at_least: int) -> Interval:
    """P[noise >= at_least], the mass at `at_least` included."""
    if at_least <= 0:
        return 1 - upper_tail(law, scale=scale, at_least=1 - at_least)
    match law:
        case Law.LAPLACE:
            return exp(-at_least / scale) / (exp(-1 / scale) + 1)
        case Law.GAUSSIAN:
            return normal_upper_tail((at_least - _HALF) / scale)
        case Law.DISCRETE_GAUSSIAN:
            return _discrete_gaussian_tail(scale, at_least)
        case _:
            assert_never(law)


def mass(law: Law, *, scale: Fraction, at: int) -> Interval:
    """P[noise = at]."""
    match law:
        case Law.LAPLACE:
            step = exp(-1 / scale)
            return exp(-abs(at) / scale) * (1 - step) / (step + 1)
        case Law.GAUSSIAN:
            near = abs(at)
            return normal_upper_tail((near - _HALF) / scale) - normal_upper_tail((near + _HALF) / scale)
        case Law.DISCRETE_GAUSSIAN:
            return _bell(scale, at) / _bells(scale)
        case _:
            assert_never(law)


def loss(law: Law, *, scale: Fraction, near: int, far: int) -> Interval:
    """ln P[noise = near] / P[noise = far]: exact but for the rounded Gaussian, which is enclosed to 2**-48."""
    match law:
        case Law.LAPLACE:
            return Interval.point((abs(far) - abs(near)) / scale)
        case Law.GAUSSIAN:
            return _rounded_loss(scale, abs(near), abs(far)) if abs(near) != abs(far) else Interval.point(0)
        case Law.DISCRETE_GAUSSIAN:
            return Interval.point(Fraction(far * far - near * near) / (2 * scale * scale))
        case _:
            assert_never(law)


def beyond(law: Law, *, scale: Fraction, error: int) -> Interval:
    """P[|noise| > error]."""
    return 2 * upper_tail(law, scale=scale, at_least=error + 1)


def error_bound(law: Law, *, scale: Fraction, beta: Fraction) -> int:
    """The smallest error t (in steps) with P[|noise| > t] certainly at most `beta`."""
    return least(lambda t: beyond(law, scale=scale, error=t).upper <= beta, near=_guess(law, scale, float(beta)))


def largest_error_bound(law: Law, *, scale: Fraction, beta: Fraction, count: int) -> int:
    """The smallest t with P[some of `count` independent draws is beyond t] certainly at most `beta`."""
    return joint_error_bound(law, [(scale, count)], beta=beta)


def joint_error_bound(law: Law, draws: Sequence[tuple[Fraction, int]], *, beta: Fraction) -> int:
    """The smallest t with P[some draw is beyond t] certainly at most `beta`: so many independent draws of each scale."""
    guess = max((_guess(law, scale, float(beta) / max(count, 1)) for scale, count in draws), default=0)

    def kept(t: int) -> Fraction:
        return math.prod(((1 - beyond(law, scale=scale, error=t).upper) ** count for scale, count in draws), start=_ONE)

    return least(lambda t: kept(t) >= 1 - beta, near=guess)


def above_noise(law: Law, *, scale: Fraction, beta: Fraction) -> int:
    """The smallest whole number that noise certainly reaches with probability at most `beta`."""
    return least(lambda t: upper_tail(law, scale=scale, at_least=t).upper <= beta, near=_guess(law, scale, float(beta)))


def least(holds: Callable[[int], bool], *, near: int = 0) -> int:
    """The smallest whole number >= 0 from which `holds` is true on; `near` is a guess that saves time."""
    high, stride = max(near, 0), 1
    while not holds(high):
        high, stride = high + stride, stride * 2
    low, stride = high - 1, 1
    while low >= 0 and holds(low):
        high, low, stride = low, low - stride, stride * 2
    low = max(low, -1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _guess(law: Law, scale: Fraction, beta: float) -> int:
    chance = min(max(beta, 1e-300), 0.999)
    match law:
        case Law.LAPLACE:
            return int(float(scale) * -math.log(chance))
        case Law.GAUSSIAN | Law.DISCRETE_GAUSSIAN:
            return int(float(scale) * -NormalDist().inv_cdf(chance / 2))
        case _:
            assert_never(law)


# The rounded Gaussian --------------------------------------------------------------------------------------------------


def _rounded_loss(scale: Fraction, near: int, far: int) -> Interval:
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


def _discrete_gaussian_tail(scale: Fraction, at_least: int) -> Interval:
    """P[noise >= at_least] for at_least >= 1.

    Small scales are summed. For large ones let Q be the normal upper tail and x = at_least. Where the bell is convex
    (x - 1/2 >= scale) each term is at most the integral over the unit interval around it, so the tail is at most
    Q((x - 1/2)/scale), and it is at least Q(x/scale) as the bell falls. Elsewhere the midpoint rule is off by at most an
    eighth of the variation of the bell's slope, less than 1/(8·scale²) of the whole.
    """
    if scale <= _SUMMED:
        return _bell_sum(scale, at_least) / _bells(scale)
    if at_least - _HALF >= scale:
        lower = normal_upper_tail(at_least / scale).lower * (1 - Fraction(1, 1 << 1000))
        return Interval(lower, normal_upper_tail((at_least - _HALF) / scale).upper)
    middle, slack = normal_upper_tail((at_least - _HALF) / scale), 1 / (8 * scale * scale)
    return Interval(middle.lower - slack, middle.upper + slack)


def _bell(scale: Fraction, at: int) -> Interval:
    return exp(-Fraction(at * at) / (2 * scale * scale))


@lru_cache(maxsize=512)
def _bell_sum(scale: Fraction, start: int) -> Interval:
    """The sum of the bells at start, start + 1, ... for start >= 1.

    Later terms shrink at least as fast as the last two compared, so a geometric series bounds what is left out.
    """
    total, k = Interval.point(0), start
    while True:
        for _ in range(8):
            total, k = total + _bell(scale, k), k + 1
        ratio = exp(-Fraction(2 * k + 1) / (2 * scale * scale)).upper
        rest = _bell(scale, k).upper / (1 - ratio) if ratio < 1 else total.upper
        if rest * (1 << 64) <= total.lower or not total.lower:
            return Interval(total.lower, total.upper + rest).rounded(80)


@lru_cache(maxsize=512)
def _bells(scale: Fraction) -> Interval:
    """All bells. For a large scale Poisson's summation gives scale·√(2π)·(1 + less than 2**-1000)."""
    if scale <= _SUMMED:
        return 1 + 2 * _bell_sum(scale, 1)
    below = Fraction(pi(96), 1 << 96)
    root = sqrt(2 * Interval(below, below + Fraction(2, 1 << 96)), 80) * scale
    return Interval(root.lower, root.upper * (1 + Fraction(1, 1 << 1000)))
