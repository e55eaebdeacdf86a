"""Curves of single releases with a formula at every order."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import itemgetter

from deniable.accounting.closed.binomial import PureLoss
from deniable.accounting.curves.curve import BITS, log_moment, log_sum, point
from deniable.exact import exp, expm1, ln


@dataclass(frozen=True, slots=True)
class Linear:
    """rho · order: Gaussian noise of any kind, and whatever is rho-zCDP."""

    rho: Fraction

    def at(self, order: Fraction) -> Fraction:
        return self.rho * order

    def estimate(self, order: float) -> float:
        return float(self.rho) * order


@dataclass(frozen=True, slots=True)
class AnyPure:
    """Whatever is epsilon-private: at worst randomised response with those odds (Bun and Steinke 2016)."""

    loss: PureLoss

    def at(self, order: Fraction) -> Fraction:
        epsilon = self.loss.log(BITS)
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
        q = exp(-1 / self.scale, BITS + 32)
        below = -expm1(-(2 * order - 1) / self.scale, BITS + 32)  # 1 - c
        common = (1 + q) * below
        c, epsilon = 1 - below, self.steps / self.scale
        shrink = -expm1(-2 * (order - 1) / self.scale, BITS + 32)  # 1 - c/q
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
class Listed:
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
