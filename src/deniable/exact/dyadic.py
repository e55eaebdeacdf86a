"""Enclosures as three integers, for speed inside: (lower, upper, e) holds v when lower * 2**e <= v <= upper * 2**e.

The operations are exact or round outward. They skip the greatest common divisors of Fractions, which an `Interval`
pays only once, when a result leaves through `enclosure`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from deniable.exact.interval import Interval

Dyadic = tuple[int, int, int]


def enclosure(value: Dyadic) -> Interval:
    """The interval of a dyadic pair."""
    lower, upper, exponent = value
    return Interval(_scaled(lower, exponent), _scaled(upper, exponent))


def _scaled(mantissa: int, exponent: int) -> Fraction:
    if exponent >= 0:
        return Fraction(mantissa << exponent)
    if not mantissa:
        return Fraction(0)
    zeros = min((mantissa & -mantissa).bit_length() - 1, -exponent)
    return Fraction(mantissa >> zeros, 1 << (-exponent - zeros))


def tight(value: Dyadic, bits: int) -> bool:
    """True when the width is at most 2**-bits of the smallest absolute value."""
    lower, upper, _ = value
    return (upper - lower) << bits <= (lower if lower > 0 else -upper)


def negated(a: Dyadic) -> Dyadic:
    """-a."""
    return -a[1], -a[0], a[2]


def plus(a: Dyadic, b: Dyadic) -> Dyadic:
    """a + b, exactly."""
    shift = a[2] - b[2]
    if shift >= 0:
        return (a[0] << shift) + b[0], (a[1] << shift) + b[1], b[2]
    return a[0] + (b[0] << -shift), a[1] + (b[1] << -shift), a[2]


def minus(a: Dyadic, b: Dyadic) -> Dyadic:
    """a - b, exactly."""
    return plus(a, negated(b))


def times(a: Dyadic, b: Dyadic) -> Dyadic:
    """a * b, exactly, for pairs that are not negative."""
    return a[0] * b[0], a[1] * b[1], a[2] + b[2]


def over(a: Dyadic, b: Dyadic, bits: int) -> Dyadic:
    """a / b for a not negative and b positive, each end rounded outward by at most 2**-bits of itself."""
    shift = max(0, bits + b[1].bit_length() - a[0].bit_length() + 1)
    return (a[0] << shift) // b[1], -((-a[1] << shift) // b[0]), a[2] - b[2] - shift


def trimmed(value: Dyadic, bits: int) -> Dyadic:
    """The pair with its integers cut to `bits` bits, outward."""
    lower, upper, exponent = value
    excess = max(abs(lower), abs(upper)).bit_length() - bits
    return (lower >> excess, -(-upper >> excess), exponent + excess) if excess > 0 else value


def one_minus(value: Dyadic, bits: int) -> Dyadic:
    """1 - v for v in [0, 1], at `bits` bits after the point, outward: short however tiny v is."""
    lower, upper, exponent = value
    drop = -exponent - bits
    if drop >= 0:
        return (1 << bits) - -(-upper >> drop), (1 << bits) - (lower >> drop), -bits
    return (1 << bits) - (upper << -drop), (1 << bits) - (lower << -drop), -bits


def refined(attempt: Callable[[int], Dyadic], bits: int, working: int) -> Dyadic:
    """`attempt(working)`, repeated at growing precision until its relative width is at most 2**-bits.

    Sound whatever `attempt` loses to cancellation, since every attempt is an enclosure; it ends because the functions
    asked for are not zero where they are asked (their zeros are answered exactly, before).
    """
    while True:
        result = attempt(working)
        if tight(result, bits):
            return result
        working += working // 4 + 16
