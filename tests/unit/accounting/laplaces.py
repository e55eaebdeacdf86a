"""The exact profile of repeated continuous Laplace noise, in closed form.

The loss of one release with largest loss a is +a with probability 1/2, -a with probability e^-a/2, and has the density
e^((z-a)/2)/4 between. A sum of m continuous parts has the density e^(z/2) times that of m uniform numbers (Irwin and Hall), up
to a factor: a piecewise polynomial, against which e^(z/2) and e^(-z/2) integrate in closed form.
"""

from __future__ import annotations

from functools import cache

import mpmath
from mpmath import mpf


def laplace_delta(loss: mpf, times: int, epsilon: mpf) -> mpf:
    """delta at epsilon of `times` releases of largest loss `loss` each."""
    with mpmath.workdps(60 + 4 * times):
        found = mpf(0)
        for up in range(times + 1):
            for down in range(times + 1 - up):
                inside = times - up - down
                weight = mpmath.mpf(_multinomial(up, down, inside)) / mpf(2) ** (up + down) / mpf(4) ** inside
                weight *= mpmath.exp(-loss * down - loss * inside / 2)
                found += weight * _excess(loss, inside, epsilon - (up - down) * loss)
        return +found


@cache
def _multinomial(a: int, b: int, c: int) -> int:
    return int(mpmath.factorial(a + b + c) / mpmath.factorial(a) / mpmath.factorial(b) / mpmath.factorial(c))


def _excess(loss: mpf, count: int, epsilon: mpf) -> mpf:
    """The integral of e^(z/2) n(z) (1 - e^(epsilon - z))+, n the density of `count` uniform parts on [-a, a], times (2a)^count."""
    if count == 0:
        return max(mpf(0), 1 - mpmath.exp(epsilon))
    top = count * loss
    if epsilon >= top:
        return mpf(0)
    found = mpf(0)
    for knot in range(count + 1):
        start = (2 * knot - count) * loss
        low = max(start, epsilon)
        if low >= top:
            continue
        sign = (-1) ** knot * mpmath.binomial(count, knot) / mpmath.factorial(count - 1)
        first = _power(count - 1, start, low, top, mpf(1) / 2)
        second = _power(count - 1, start, low, top, -mpf(1) / 2)
        found += sign * (first - mpmath.exp(epsilon) * second)
    return found


def _power(degree: int, start: mpf, low: mpf, high: mpf, rate: mpf) -> mpf:
    """The integral of (z - start)^degree e^(rate z) from `low` to `high`."""

    def primitive(z: mpf) -> mpf:
        value, factor = mpf(0), mpf(1)
        for k in range(degree + 1):
            value += factor * (z - start) ** (degree - k) / rate ** (k + 1)
            factor *= -(degree - k)
        return value * mpmath.exp(rate * z)

    return primitive(high) - primitive(low)
