"""From divergences to (epsilon, delta) and back: one formula, at the best order, rounded outward.

delta <= exp((a-1)(r - epsilon)) (1-1/a)^(a-1) / a for divergence r at order a (Canonne, Kamath and Steinke 2020, proposition 12;
Balle, Barthe, Gaboardi, Hsu and Sato 2020, theorem 21). Any order is sound, so floats may choose it and exact arithmetic decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from deniable.accounting.measures.renyi import RenyiLoss
from deniable.accounting.profiles import leak, with_leaks
from deniable.accounting.spend import ln, round_down
from deniable.exact import Interval, exp, sqrt

_BITS = 96
_LOW, _HIGH = -14.0, 30.0
_WHOLE = 4
_NEAR = 1 + Fraction(1, 2**10)


def rho_within(*, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho, rounded down, such that every rho-zCDP mechanism is (epsilon, delta)-private.

    Guarantee: sound at the one order used; no other order can gain more than the last digits.
    """
    if delta == 0:
        return Fraction(0)
    order = rho_order(epsilon=epsilon, delta=delta)
    room = (ln(delta).lower + ln(order).lower) / (order - 1)
    return max(Fraction(0), round_down((epsilon + room - ln(1 - 1 / order).upper) / order))


def rho_order(*, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The order at which zCDP implies most: `rho_within` reads its limit there."""
    log, loss = _log(delta), float(epsilon)

    def missing(t: float) -> float:
        order = 1 + math.exp(t)
        return -(loss + (log + math.log1p(math.exp(t))) / (order - 1) - t + math.log1p(math.exp(t))) / order

    return _order(best_place(missing, low=-30.0, high=60.0))


def divergence_within(order: Fraction, *, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest divergence at `order`, rounded down, that implies (epsilon, delta)-privacy; may be negative."""
    room = (ln(delta).lower + ln(order).lower) / (order - 1)
    return round_down(epsilon + room - ln(1 - 1 / order).upper)


def best_order(loss: RenyiLoss, *, epsilon: Fraction, delta: Fraction) -> Fraction | None:
    """An order at which as many copies of a loss as possible stay within (epsilon, delta)."""
    log, target = _log(delta), float(epsilon)

    def crowding(t: float) -> float:
        order = 1 + math.exp(t)
        room = target + (log + math.log(order)) / (order - 1) - t + math.log(order)
        return loss.estimate(order) / room if room > 0 else math.inf

    place = best_place(crowding)
    if not math.isfinite(crowding(place)):
        return None
    order = _order(place)
    return Fraction(round(order)) if order > _WHOLE else order


def epsilon_within(loss: RenyiLoss, *, delta: Fraction) -> tuple[Fraction, Fraction] | None:
    """The least epsilon at `delta`, rounded up, and the order that gives it; None where no order does."""
    leaked = leak(loss.leaks).upper
    if leaked >= delta:
        return None
    left = (delta - leaked) / (1 - leaked)
    log = _log(left)

    def value(t: float) -> float:
        order = 1 + math.exp(t)
        return loss.estimate(order) + t - math.log(order) - (log + math.log(order)) / (order - 1)

    def exactly(order: Fraction) -> Fraction | None:
        divergence = loss.at(order)
        if divergence is None:
            return None
        return divergence + ln(1 - 1 / order).upper - (ln(left).lower + ln(order).lower) / (order - 1)

    found = _least(exactly, best_place(value))
    if apart(loss) <= left:
        return Fraction(0), Fraction(1)
    return None if found is None else (max(Fraction(0), found[0]), found[1])


def delta_within(loss: RenyiLoss, *, epsilon: Fraction) -> Fraction:
    """The least delta at `epsilon`, rounded up; 1 where no order gives less."""
    target = float(epsilon)

    def value(t: float) -> float:
        order = 1 + math.exp(t)
        return (order - 1) * (loss.estimate(order) - target + t - math.log(order)) - math.log(order)

    def exactly(order: Fraction) -> Fraction | None:
        divergence = loss.at(order)
        if divergence is None:
            return None
        return (order - 1) * (divergence - epsilon + ln(1 - 1 / order).upper) - ln(order).lower

    found = _least(exactly, best_place(value))
    inner = Fraction(1) if found is None or found[0] >= 0 else exp(found[0], _BITS).upper
    return min(Fraction(1), with_leaks(Interval.point(min(apart(loss), inner)), loss.leaks).upper)


def apart(loss: RenyiLoss) -> Fraction:
    """At least the total variation, which is delta at epsilon = 0: Pinsker's and Bretagnolle and Huber's inequalities.

    Divergences rise with the order, so the one next to order one is at least Kullback and Leibler's.
    """
    near = loss.at(_NEAR)
    if near is None:
        return Fraction(1)
    if near == 0:
        return Fraction(0)
    pinsker = sqrt(near / 2, _BITS).upper
    return min(pinsker, sqrt((1 - exp(-near, _BITS)).rounded(_BITS), _BITS).upper, Fraction(1))


def best_place(value: Callable[[float], float], *, low: float = _LOW, high: float = _HIGH) -> float:
    """ln(order - 1) where a function with one valley is least: a grid, then golden section."""
    grid = [low + (high - low) * k / 60 for k in range(61)]
    values = [value(t) for t in grid]
    place = min(range(61), key=lambda k: values[k] if not math.isnan(values[k]) else math.inf)
    left, right = grid[max(0, place - 1)], grid[min(60, place + 1)]
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(40):
        first, second = right - ratio * (right - left), left + ratio * (right - left)
        left, right = (left, second) if value(first) < value(second) else (first, right)
    return (left + right) / 2


def _least(exactly: Callable[[Fraction], Fraction | None], place: float) -> tuple[Fraction, Fraction] | None:
    order = _order(place)
    nearby = {order} if order < 2 else {order, Fraction(math.floor(order)), Fraction(math.ceil(order))}
    found = [(value, each) for each in sorted(nearby) if (value := exactly(each)) is not None]
    return min(found, default=None)


def _order(place: float) -> Fraction:
    size = math.exp(place)
    short = Fraction(size).limit_denominator(max(16, math.ceil(2**12 / size)))
    return 1 + (short if short > 0 else Fraction(size))


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)
