"""Noise of one kind and scale, in whole steps: its draw, its exact law, its error, its variance and its price.

Everything that is said about a release (price, threshold, interval) and what is drawn for it come from the same object, one of the
closed union `Noise`. A kind that is added to it makes the type checker name every place that tells kinds apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.cost import Cost, DiscreteGaussian, DiscreteLaplace, Gaussian
from deniable.exact import Interval, exp, ln, sqrt
from deniable.exact.normal import normal_quantile, normal_upper_tail
from deniable.kernels.gaussian_laws import bell, bells, discrete_gaussian_tail, rounded_loss
from deniable.kernels.laws import Law, SymmetricNoise, chance, least
from deniable.kernels.staircase import Staircase
from deniable.kernels.unit_sensitivity import Sensitivity
from deniable.noise import Entropy

_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceNoise(SymmetricNoise):
    """P(k) proportional to exp(-|k| / scale)."""

    scale: Fraction

    law = Law.LAPLACE
    log_concave = True

    def cost(self, apart: Sensitivity) -> Cost:
        return DiscreteLaplace(scale=self.scale, sensitivity=apart.l1, coordinates=max(apart.l0, 1))

    def one(self, entropy: Entropy) -> int:
        return noise.discrete_laplace(self.scale, entropy)

    def draw(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        return noise.discrete_laplaces(self.scale, count, entropy)

    def right_tail(self, at_least: int) -> Interval:
        return exp(-at_least / self.scale) / (exp(-1 / self.scale) + 1)

    def mass(self, at: int) -> Interval:
        step = exp(-1 / self.scale)
        return exp(-abs(at) / self.scale) * (1 - step) / (step + 1)

    def loss(self, *, near: int, far: int) -> Interval:
        return Interval.point((abs(far) - abs(near)) / self.scale)

    @property
    def variance(self) -> Fraction:
        return 2 * self.scale**2

    def mean_size(self, shift: float) -> float:
        size, scale = abs(shift), float(self.scale)
        return size + scale * math.exp(-size / scale)

    def sum_error(self, *, count: int, beta: Fraction) -> Fraction:
        """Chernoff's bound, valid at every tilt below 1/scale, taken near the best one."""
        rarity = ln(2 / beta).upper
        tilt = _tilt(self.scale, count, float(rarity))
        q, up, down = exp(-1 / self.scale, 96), exp(tilt, 96), exp(-tilt, 96)
        moment = (1 - q) ** 2 / ((1 - q * up) * (1 - q * down))
        return (rarity + count * ln(moment).upper) / tilt

    def weighted_error(self, *, deviation: Fraction, reach: Fraction, beta: Fraction) -> Fraction | None:
        return None

    def near_error(self, beta: float) -> int:
        return int(float(self.scale) * -math.log(beta))


@dataclass(frozen=True, slots=True)
class RoundedGaussianNoise(SymmetricNoise):
    """A normal number of this scale, rounded to the nearest whole one."""

    scale: Fraction

    law = Law.GAUSSIAN
    log_concave = True

    def cost(self, apart: Sensitivity) -> Cost:
        return Gaussian(scale=self.scale, squared_sensitivity=apart.l2_squared)

    def one(self, entropy: Entropy) -> int:
        return noise.rounded_gaussian(self.scale, entropy)

    def draw(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        return noise.rounded_gaussians(self.scale, count, entropy)

    def right_tail(self, at_least: int) -> Interval:
        return normal_upper_tail((at_least - _HALF) / self.scale)

    def mass(self, at: int) -> Interval:
        near = abs(at)
        return normal_upper_tail((near - _HALF) / self.scale) - normal_upper_tail((near + _HALF) / self.scale)

    def loss(self, *, near: int, far: int) -> Interval:
        """Enclosed to 2**-48."""
        return rounded_loss(self.scale, abs(near), abs(far)) if abs(near) != abs(far) else Interval.point(0)

    @property
    def variance(self) -> Fraction:
        return self.scale**2

    def mean_size(self, shift: float) -> float:
        return _normal_size(shift, float(self.scale))

    def sum_error(self, *, count: int, beta: Fraction) -> Fraction:
        """A normal, and at most half a step for each draw."""
        return sqrt(2 * count * ln(2 / beta).upper).upper * self.scale + Fraction(count, 2)

    def weighted_error(self, *, deviation: Fraction, reach: Fraction, beta: Fraction) -> Fraction | None:
        return normal_quantile(1 - beta / 2, bits=40).upper * deviation + reach / 2

    def near_error(self, beta: float) -> int:
        return int(float(self.scale) * -NormalDist().inv_cdf(beta / 2))


@dataclass(frozen=True, slots=True)
class DiscreteGaussianNoise(SymmetricNoise):
    """P(k) proportional to exp(-k² / (2 scale²))."""

    scale: Fraction

    law = Law.DISCRETE_GAUSSIAN
    log_concave = True

    def cost(self, apart: Sensitivity) -> Cost:
        return DiscreteGaussian(
            scale=self.scale,
            squared_sensitivity=apart.l2_squared,
            coordinates=max(apart.l0, 1),
            largest=apart.linf,
        )

    def one(self, entropy: Entropy) -> int:
        return noise.discrete_gaussian(self.scale, entropy)

    def draw(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        return noise.discrete_gaussians(self.scale, count, entropy)

    def right_tail(self, at_least: int) -> Interval:
        return discrete_gaussian_tail(self.scale, at_least)

    def mass(self, at: int) -> Interval:
        return bell(self.scale, at) / bells(self.scale)

    def loss(self, *, near: int, far: int) -> Interval:
        return Interval.point(Fraction(far * far - near * near) / (2 * self.scale * self.scale))

    @property
    def variance(self) -> Fraction:
        return self.scale**2

    def mean_size(self, shift: float) -> float:
        return _normal_size(shift, float(self.scale))

    def sum_error(self, *, count: int, beta: Fraction) -> Fraction:
        """Subgaussian, with the variance of its scale."""
        return sqrt(2 * count * ln(2 / beta).upper).upper * self.scale

    def weighted_error(self, *, deviation: Fraction, reach: Fraction, beta: Fraction) -> Fraction | None:
        return sqrt(2 * ln(2 / beta).upper, 64).upper * deviation

    def near_error(self, beta: float) -> int:
        return int(float(self.scale) * -NormalDist().inv_cdf(beta / 2))


Noise: TypeAlias = DiscreteLaplaceNoise | RoundedGaussianNoise | DiscreteGaussianNoise | Staircase
"""Every kind of noise there is."""


def noise_of(law: Law, scale: Fraction) -> Noise:
    """Noise of this law and scale (in steps); stairs are one step wide, which is discrete Laplace noise."""
    match law:
        case Law.LAPLACE:
            return DiscreteLaplaceNoise(scale)
        case Law.GAUSSIAN:
            return RoundedGaussianNoise(scale)
        case Law.DISCRETE_GAUSSIAN:
            return DiscreteGaussianNoise(scale)
        case Law.STAIRCASE:
            return Staircase(1, 1, 1 / scale)
        case _:
            assert_never(law)


@dataclass(frozen=True, slots=True)
class HalvesNoise:
    """The sum of two independent discrete Laplace draws of one scale, or their difference, which has the same law.

    `pair` names the two draws: two columns that name the same carry the sum and the difference of the same draws, which are
    uncorrelated but not independent. One step of the column stands for `step`.
    Guarantee: `right_tail` and `error` are those of exactly this law; the price is that of `half`, for both halves together.
    """

    scale: Fraction
    pair: str
    step: Fraction

    @property
    def law(self) -> Law:
        """The law of both draws."""
        return Law.LAPLACE

    @property
    def half(self) -> DiscreteLaplaceNoise:
        """The noise of each half, in steps of the halves."""
        return DiscreteLaplaceNoise(self.scale)

    @property
    def variance(self) -> Fraction:
        """The variance, near enough for weights and comparisons."""
        return 2 * self.half.variance

    def right_tail(self, at_least: int) -> Interval:
        """P[noise >= at_least] for at_least >= 1."""
        step = exp(-1 / self.scale)
        inner = (1 - step) * at_least + (step * step + 1) / (step + 1) + step
        return exp(-at_least / self.scale) * inner / ((step + 1) * (step + 1))

    def error(self, beta: Fraction) -> int:
        """The least t with P[|noise| > t] certainly at most beta."""
        return _halves_error(self.scale, beta)

    def mean_size(self, shift: float) -> float:
        """The mean of |shift + noise|: a forecast, by the continuous law."""
        scale = float(self.scale)
        away = abs(shift) / scale
        return scale * (away + math.exp(-away) * (3 + away) / 2)

    def weighted_error(self, *, deviation: Fraction, reach: Fraction, beta: Fraction) -> Fraction | None:
        """None: of a weighted sum of several such draws no bound is known beyond those of its parts."""
        return self.half.weighted_error(deviation=deviation, reach=reach, beta=beta)


ColumnNoise: TypeAlias = Noise | HalvesNoise
"""What a measured column of a table can carry."""


@lru_cache(maxsize=4096)
def _halves_error(scale: Fraction, beta: Fraction) -> int:
    noise = HalvesNoise(scale, "", Fraction(1))
    rarity, near = -math.log(chance(beta)), 0.0
    for _ in range(8):  # P[|sum| > t scale] is about (1 + t / 2) exp(-t)
        near = rarity + math.log1p(near / 2)
    return least(lambda t: (2 * noise.right_tail(t + 1)).upper <= beta, near=int(near * float(scale)))


def joint_error(draws: Sequence[tuple[Noise, int]], beta: Fraction) -> int:
    """The least t with P[some draw is beyond t] certainly at most `beta`: so many independent draws of each noise."""
    guess = max((kind.near_error(chance(beta / max(count, 1))) for kind, count in draws), default=0)

    def kept(t: int) -> Fraction:
        return math.prod(((1 - kind.beyond(t).upper) ** count for kind, count in draws), start=Fraction(1))

    return least(lambda t: kept(t) >= 1 - beta, near=guess)


def _normal_size(shift: float, scale: float) -> float:
    """The mean of |shift + normal|."""
    size = abs(shift)
    top = scale * math.sqrt(2 / math.pi) * math.exp(-((size / scale) ** 2) / 2)
    return top + size * (1 - 2 * NormalDist().cdf(-size / scale))


def _tilt(scale: Fraction, count: int, rarity: float) -> Fraction:
    """Close to the tilt that makes the bound smallest; any value in (0, 1/scale) is sound."""
    width = float(scale)
    q = math.exp(-1 / width)

    def bound(share: float) -> float:
        tilt = share / width
        moment = (1 - q) ** 2 / ((1 - q * math.exp(tilt)) * (1 - q * math.exp(-tilt)))
        return (rarity + count * math.log(moment)) / tilt

    shares = [k / 64 for k in range(1, 64)]
    return Fraction(min(shares, key=bound)) / scale
