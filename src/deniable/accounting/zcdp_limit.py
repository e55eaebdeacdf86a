"""How much zero-concentrated loss an (epsilon, delta) promise can hold."""

from __future__ import annotations

import math
from fractions import Fraction

from deniable.accounting.rounding import granted, ln


def rho_within(*, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho, rounded down, such that every rho-zCDP mechanism is (epsilon, delta)-private.

    Guarantee: at one order a, chosen near the best, delta <= exp((a-1)(a rho - epsilon)) (1-1/a)^(a-1) / a, evaluated with
    outward rounding (Canonne, Kamath and Steinke 2020, proposition 12). No order at all is optimistic, only less tight.
    """
    if delta == 0:
        return Fraction(0)
    best = _peak(float(epsilon), math.log(delta.numerator) - math.log(delta.denominator))
    order = 1 + Fraction(math.exp(best)).limit_denominator(10**6)
    return max(Fraction(0), granted(_rho_at(order, epsilon, delta)))


def _rho_at(order: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    if order == 1:
        return Fraction(0)
    room = (ln(delta).lower + ln(order).lower) / (order - 1)
    return (epsilon + room - ln(1 - 1 / order).upper) / order


def _peak(epsilon: float, log_delta: float) -> float:
    """ln(order - 1) where the bound is largest, by golden section (the bound has one peak)."""

    def rho(t: float) -> float:
        order = 1 + math.exp(t)
        return (epsilon + (log_delta + math.log1p(math.exp(t))) / (order - 1) - t + math.log1p(math.exp(t))) / order

    low, high, ratio = -30.0, 60.0, (math.sqrt(5) - 1) / 2
    for _ in range(90):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if rho(left) < rho(right):
            low = left
        else:
            high = right
    return (low + high) / 2
