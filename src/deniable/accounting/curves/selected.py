"""The best of a random number of private candidates: Papernot and Steinke 2022.

Truncated negative binomial tries with shape eta > -1 and gamma in (0, 1): theorem 2, with ln E[K] and every auxiliary order in
[1, infinity] allowed (errata E9). Poisson tries: theorem 6 in the form that holds for every mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from deniable.accounting.curves.curve import BITS, Curve, log_moment, log_sum, point
from deniable.exact import Interval, exp, ln, power

_STEPS = 48


def expected_tries(shape: Fraction, gamma: Fraction) -> Interval:
    """E[K] = eta (1-gamma) / (gamma (1 - gamma^eta)), and (1-gamma)/(gamma ln(1/gamma)) at eta = 0."""
    if shape == 0:
        return (1 - gamma) / (gamma * -ln(gamma, BITS))
    return shape * (1 - gamma) / (gamma * (1 - power(gamma, shape, BITS)))


@dataclass(frozen=True, slots=True)
class NegativeBinomialCurve:
    """r(a) + ln E[K]/(a-1) + (1+eta) min over b of ((1-1/b) r(b) + ln(1/gamma)/b)."""

    base: Curve
    shape: Fraction
    gamma: Fraction
    ceiling: Fraction | None
    """The candidate's pure loss, if it has one: the auxiliary order infinity."""

    def at(self, order: Fraction) -> Fraction | None:
        inner = self.base.at(order)
        extra = _least(self)
        if inner is None:
            return None
        tries = ln(expected_tries(self.shape, self.gamma), BITS).upper
        return inner + max(Fraction(0), tries) / (order - 1) + (1 + self.shape) * extra

    def estimate(self, order: float) -> float:
        found = _least(self)
        tries = max(0.0, math.log(expected_tries(self.shape, self.gamma).upper))
        return self.base.estimate(order) + tries / (order - 1) + float((1 + self.shape) * found)


@lru_cache(maxsize=256)
def _least(curve: NegativeBinomialCurve) -> Fraction:
    """The minimum over auxiliary orders, at a few good ones: any order is sound."""
    cost = -ln(curve.gamma, BITS).lower
    found = [cost] if curve.ceiling is None else [cost, curve.ceiling]
    for order in _orders(curve):
        inner = curve.base.at(order)
        if inner is not None:
            found.append((1 - 1 / order) * inner + cost / order)
    return min(found)


def _orders(curve: NegativeBinomialCurve) -> list[Fraction]:
    cost = math.log(1 / curve.gamma)

    def value(t: float) -> float:
        order = 1 + math.exp(t)
        return (1 - 1 / order) * curve.base.estimate(order) + cost / order

    best = min((k / 4 for k in range(-_STEPS, _STEPS + 1)), key=value)
    steps = (Fraction(math.exp(best + k / 40)).limit_denominator(1000) for k in range(-5, 6))
    return [1 + step for step in steps if step > 0]


@dataclass(frozen=True, slots=True)
class PoissonCurve:
    """ln(e^-mu + mu e^((a-1)(r(a) + mu d)))/(a-1), d the candidate's delta at ln(1 + 1/(a-1)); no tries give a constant."""

    base: Curve
    mean: Fraction
    delta: Callable[[Fraction], Fraction]

    def at(self, order: Fraction) -> Fraction | None:
        inner = self.base.at(order)
        if inner is None:
            return None
        near = ln(order / (order - 1), BITS).lower
        raised = inner + self.mean * self.delta(near)
        parts = [(exp(-self.mean, BITS), point(Fraction(0))), (point(self.mean), point((order - 1) * raised))]
        return log_moment(parts, order)

    def estimate(self, order: float) -> float:
        inner = self.base.estimate(order)
        if math.isinf(inner):
            return math.inf
        near = Fraction(math.log(order / (order - 1)))
        mean = float(self.mean)
        raised = inner + mean * float(self.delta(near))
        return log_sum([(math.exp(-mean), 0.0), (mean, (order - 1) * raised)]) / (order - 1)
