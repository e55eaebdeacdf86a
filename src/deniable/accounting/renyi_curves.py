"""Rényi curves: an upper bound on the divergence at every order above one, orders being any real number.

Several units at once, from the curve of one: the weak triangle inequality of Rényi divergences, step by step:
D_a(P|R) <= (a - 1/p)/(a - 1) D_(p a)(P|Q) + D_(q (a - 1/p))(Q|R) with 1/p + 1/q = 1 (Mironov 2017, proposition 11).

The best of a random number of private candidates: Papernot and Steinke 2022.

Truncated negative binomial tries with shape eta > -1 and gamma in (0, 1): theorem 2, with ln E[K] and every auxiliary order in
[1, infinity] allowed (errata E9). Poisson tries: theorem 6 in the form that holds for every mean.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import itemgetter
from typing import Protocol

from deniable.accounting.pure_profiles import PureLoss
from deniable.exact import Interval, exp, expm1, ln, power

BITS = 80
_NEGLIGIBLE = Fraction(-200)


class Curve(Protocol):
    """An upper bound on the Rényi divergence of both directions, as a function of the order."""

    def at(self, order: Fraction) -> Fraction | None:
        """The bound at an exact order above one, rounded up; None where there is none."""
        ...

    def estimate(self, order: float) -> float:
        """About the same in floats, infinite where there is none: only for choosing an order."""
        ...


def log_moment(parts: list[tuple[Interval, Interval]], order: Fraction) -> Fraction:
    """ln(sum of weight e^exponent)/(order - 1) from above, the largest exponent taken out first.

    What is left far below it is raised to where it still adds nothing: its exact size would be a fraction of many thousand digits.
    """
    top = max(exponent.upper for _, exponent in parts)
    total = Interval.point(0)
    for weight, exponent in parts:
        below = (exponent - top).rounded(BITS + 16)
        total = total + weight * exp(max(below.upper, _NEGLIGIBLE), BITS)
    return max(Fraction(0), (top + ln(total.rounded(BITS), BITS).upper) / (order - 1))


def _decay(exponent: Fraction) -> Interval:
    """e^-exponent; what is negligible is between nought and e^-200: its exact size would be a fraction of many thousand digits."""
    most = exp(max(-exponent, _NEGLIGIBLE), BITS + 32)
    return Interval(Fraction(0), most.upper) if exponent > -_NEGLIGIBLE else most


def _decayed(exponent: Fraction) -> Interval:
    """1 - e^-exponent, also next to nought."""
    return 1 - _decay(exponent) if exponent > 1 else -expm1(-exponent, BITS + 32)


def point(value: Fraction) -> Interval:
    """An exact number as an interval."""
    return Interval.point(value)


def log_sum(parts: list[tuple[float, float]]) -> float:
    """ln(sum of weight e^exponent) in floats."""
    top = max(exponent for _, exponent in parts)
    total = sum(weight * math.exp(exponent - top) for weight, exponent in parts)
    return top + math.log(total) if total > 0 else -math.inf


@dataclass(frozen=True, slots=True)
class LinearCurve:
    """rho · order: Gaussian noise of any kind, and whatever is rho-zCDP."""

    rho: Fraction

    def at(self, order: Fraction) -> Fraction:
        return self.rho * order

    def estimate(self, order: float) -> float:
        return float(self.rho) * order


@dataclass(frozen=True, slots=True)
class PureCurve:
    """Whatever is epsilon-private: at worst randomised response with those odds (Bun and Steinke 2016)."""

    loss: PureLoss

    def at(self, order: Fraction) -> Fraction:
        epsilon = self.loss.log(BITS)
        if epsilon.lower > -_NEGLIGIBLE:
            return epsilon.upper  # within e^-200 of the curve, and e^-epsilon would be a number of many digits
        grown = 1 + exp(-epsilon, BITS)
        weight = 1 / grown
        parts = [(weight, epsilon * (order - 1)), (weight, epsilon * -order)]
        return min(epsilon.upper, log_moment(parts, order))

    def estimate(self, order: float) -> float:
        epsilon = float(self.loss.log(BITS).upper)
        log = log_sum([(1.0, epsilon * (order - 1)), (1.0, -epsilon * order)]) - math.log1p(math.exp(-epsilon))
        return min(epsilon, log / (order - 1))


@dataclass(frozen=True, slots=True)
class LaplaceCurve:
    """Laplace noise; one number carrying all the sensitivity is the worst (the log-moment is convex in it and 0 at 0)."""

    epsilon: Fraction

    def at(self, order: Fraction) -> Fraction:
        odd = 2 * order - 1
        parts = [
            (point(order / odd), point((order - 1) * self.epsilon)),
            (point((order - 1) / odd), point(-order * self.epsilon)),
        ]
        return min(self.epsilon, log_moment(parts, order))

    def estimate(self, order: float) -> float:
        epsilon, odd = float(self.epsilon), 2 * order - 1
        log = log_sum([(order / odd, (order - 1) * epsilon), ((order - 1) / odd, -order * epsilon)])
        return min(epsilon, log / (order - 1))


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceCurve:
    """Discrete Laplace noise: A e^((a-1) epsilon) + B e^(-a epsilon), with c = e^(-(2a-1)/scale) and q = e^(-1/scale):
    A = (1 - q c)/((1 + q)(1 - c)), B = (q - c)/((1 + q)(1 - c)). Convex in the sensitivity, so one number is the worst."""

    scale: Fraction
    steps: int

    def at(self, order: Fraction) -> Fraction:
        q = _decay(1 / self.scale)
        below = _decayed((2 * order - 1) / self.scale)  # 1 - c
        common = (1 + q) * below
        c, epsilon = 1 - below, self.steps / self.scale
        shrink = _decayed(2 * (order - 1) / self.scale)  # 1 - c/q
        parts = [
            ((1 - q * c) / common, point((order - 1) * epsilon)),
            (q * shrink / common, point(-order * epsilon)),
        ]
        return min(epsilon, log_moment(parts, order))

    def estimate(self, order: float) -> float:
        scale, epsilon = float(self.scale), float(self.steps / self.scale)
        q, below = math.exp(-1 / scale), -math.expm1(-(2 * order - 1) / scale)
        common = (1 + q) * below
        shrink = -math.expm1(-2 * (order - 1) / scale)
        parts = [((1 - q * (1 - below)) / common, (order - 1) * epsilon), (q * shrink / common, -order * epsilon)]
        return min(epsilon, log_sum(parts) / (order - 1))


@dataclass(frozen=True, slots=True)
class RangeCurve:
    """Bounded range eta: the worst two-point law has losses t and t - eta with
    e^t = (a-1)(1 - e^(-a eta)) / (a (e^-eta - e^(-a eta))), and then the divergence is
    t + ln((1 - e^(-a eta)) / (a (1 - e^-eta)))/(a-1)."""

    eta: Fraction

    def at(self, order: Fraction) -> Fraction:
        kept = -expm1(-order * self.eta, BITS)
        lost = -expm1(-(order - 1) * self.eta, BITS)  # e^-eta - e^(-a eta), over e^-eta
        top = ln(((order - 1) / order * kept / lost).rounded(BITS), BITS) + self.eta
        rest = ln((kept / (order * -expm1(-self.eta, BITS))).rounded(BITS), BITS) / (order - 1)
        return min(self.eta, max(Fraction(0), (top + rest).upper))

    def estimate(self, order: float) -> float:
        eta = float(self.eta)
        kept, lost = -math.expm1(-order * eta), -math.expm1(-(order - 1) * eta)
        top = eta + math.log((order - 1) * kept / (order * lost))
        return min(eta, top + math.log(kept / (order * -math.expm1(-eta))) / (order - 1))


@dataclass(frozen=True, slots=True)
class ResponseCurve:
    """Randomised response among several answers, one person's answer replaced."""

    truth: Fraction
    other: Fraction
    rest: Fraction

    def at(self, order: Fraction) -> Fraction:
        ratio = ln(self.truth / self.other, BITS)
        parts = [
            (point(self.truth), ratio * (order - 1)),
            (point(self.other), ratio * (1 - order)),
            (point(self.rest), point(Fraction(0))),
        ]
        return min(ratio.upper, log_moment(parts, order))

    def estimate(self, order: float) -> float:
        ratio = math.log(self.truth / self.other)
        parts = [(float(self.truth), ratio * (order - 1)), (float(self.other), ratio * (1 - order))]
        return min(ratio, log_sum([*parts, (float(self.rest), 0.0)]) / (order - 1))


@dataclass(frozen=True, slots=True)
class ListedCurve:
    """Divergences proved at some orders. (order - 1) · divergence is convex and 0 at order one, hence below every chord."""

    points: tuple[tuple[Fraction, Fraction], ...]

    def at(self, order: Fraction) -> Fraction | None:
        hull = _lower_hull(self.points)
        if order > hull[-1][0]:
            return None
        place = max(1, bisect_left(hull, order, key=itemgetter(0)))
        (low, first), (high, second) = hull[place - 1], hull[place]
        return (first + (second - first) * (order - low) / (high - low)) / (order - 1)

    def estimate(self, order: float) -> float:
        found = self.at(Fraction(order))
        return math.inf if found is None else float(found)


@lru_cache(maxsize=256)
def _lower_hull(points: tuple[tuple[Fraction, Fraction], ...]) -> tuple[tuple[Fraction, Fraction], ...]:
    """The largest convex function below the points (order, (order - 1) · divergence), from (1, 0) on."""
    least: dict[Fraction, Fraction] = {}
    for order, divergence in points:
        least[order] = min(divergence, least.get(order, divergence))
    hull = [(Fraction(1), Fraction(0))]
    for place in sorted((order, (order - 1) * value) for order, value in least.items()):
        while len(hull) > 1 and _above(hull[-2], hull[-1], place):
            hull.pop()
        hull.append(place)
    return tuple(hull)


def _above(one: tuple[Fraction, Fraction], two: tuple[Fraction, Fraction], three: tuple[Fraction, Fraction]) -> bool:
    """Whether the middle point is on or above the chord of the others."""
    return (two[1] - one[1]) * (three[0] - one[0]) >= (three[1] - one[1]) * (two[0] - one[0])


_MANY = tuple(1 + Fraction(k, 8) for k in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 56))
_FEW = (Fraction(3, 2), Fraction(2), Fraction(3))
_ONE = (Fraction(2),)


@dataclass(frozen=True, slots=True)
class GroupedCurve:
    """The divergence between data sets `size` steps apart."""

    base: Curve
    size: int

    def at(self, order: Fraction) -> Fraction | None:
        if self.size == 1:
            return self.base.at(order)
        half = self.size // 2
        first, second = GroupedCurve(self.base, half), GroupedCurve(self.base, self.size - half)
        found = []
        for p in self._choices:
            left = first.at(p * order)
            right = second.at(p / (p - 1) * (order - 1 / p))
            if left is not None and right is not None:
                found.append((order - 1 / p) / (order - 1) * left + right)
        return min(found, default=None)

    @property
    def values(self) -> int:
        """How many values of the base one value takes."""
        half = self.size // 2
        if not half:
            return 1
        parts = (GroupedCurve(self.base, each).values for each in {half, self.size - half})
        return len(self._choices) * sum(parts) * (2 if 2 * half == self.size else 1)

    @property
    def _choices(self) -> tuple[Fraction, ...]:  # the tree of choices stays small
        return _MANY if self.size <= 4 else _FEW if self.size <= 16 else _ONE

    def estimate(self, order: float) -> float:
        if self.size == 1:
            return self.base.estimate(order)
        half = self.size // 2
        first, second = GroupedCurve(self.base, half), GroupedCurve(self.base, self.size - half)
        found = math.inf
        for p in map(float, self._choices):
            left, right = first.estimate(p * order), second.estimate(p / (p - 1) * (order - 1 / p))
            found = min(found, (order - 1 / p) / (order - 1) * left + right)
        return found


@dataclass(frozen=True, slots=True)
class DoubledCurve:
    """The same from one value: both halves of a group at twice the order, again and again; a smaller half takes idle steps.

    p = q = 2 above, and the second order 2a - 1 raised to 2a, as divergences rise with the order.
    """

    base: Curve
    size: int

    def at(self, order: Fraction) -> Fraction | None:
        factor = Fraction(1)
        for _ in range((self.size - 1).bit_length()):
            factor, order = factor * (1 + (order - Fraction(1, 2)) / (order - 1)), 2 * order
        found = self.base.at(order)
        return None if found is None else factor * found

    def estimate(self, order: float) -> float:
        factor = 1.0
        for _ in range((self.size - 1).bit_length()):
            factor, order = factor * (1 + (order - 0.5) / (order - 1)), 2 * order
        return factor * self.base.estimate(order)


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
