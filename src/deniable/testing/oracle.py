"""The samplers of Canonne, Kamath and Steinke (2020) on plain integers: another road to the same laws, for tests.

They are exact too, but the words they read follow the noise they draw, so the product does not use them: the tests use
them to check our laws, and to check that the test of constant work would notice.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from deniable.noise import Entropy, bernoulli, uniform_below


def exp_coin(x: Fraction, entropy: Entropy) -> bool:
    """True with probability exp(-x), by the alternating series (their algorithm 1)."""
    while x > 1:
        if not exp_coin(Fraction(1), entropy):
            return False
        x -= 1
    k = 1
    while bernoulli(x / k, entropy):
        k += 1
    return k % 2 == 1


def laplace(scale: Fraction, entropy: Entropy) -> int:
    """P(k) proportional to exp(-|k|/scale) (their algorithm 2)."""
    t, s = scale.numerator, scale.denominator
    while True:
        low = uniform_below(t, entropy)
        if not exp_coin(Fraction(low, t), entropy):
            continue
        high = 0
        while exp_coin(Fraction(1), entropy):
            high += 1
        magnitude, negative = (low + t * high) // s, bernoulli(Fraction(1, 2), entropy)
        if magnitude or not negative:
            return -magnitude if negative else magnitude


def gaussian(scale: Fraction, entropy: Entropy) -> int:
    """P(k) proportional to exp(-k**2 / (2 scale**2)) (their algorithm 3)."""
    variance = scale * scale
    t = isqrt(int(variance)) + 1
    while True:
        k = laplace(Fraction(t), entropy)
        if exp_coin((abs(k) - variance / t) ** 2 / (2 * variance), entropy):
            return k
