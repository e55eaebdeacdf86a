"""Quick estimates in floats. Nothing here is a guarantee: they say where to look, and exact arithmetic decides there."""

from __future__ import annotations

import math
from collections.abc import Callable


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
