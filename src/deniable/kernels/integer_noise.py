"""Noise of one law and scale, in whole steps: its draw, its exact law, its error, its variance and its price.

Everything that is said about a release (price, threshold, interval) and what is drawn for it come from the same `Noise`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Protocol, assert_never

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.cost import Cost, DiscreteGaussian, DiscreteLaplace, Gaussian
from deniable.exact import Interval, ln, sqrt
from deniable.exact.normal import normal_quantile
from deniable.kernels.laws import Law, error_bound, loss, mass, upper_tail
from deniable.noise import Entropy


class Apart(Protocol):
    """How far one unit moves whole numbers: at most `l0` of them, each by `linf`, by `l1` in total, squares by `l2_squared`."""

    @property
    def l0(self) -> int:
        """How many numbers differ."""
        ...

    @property
    def l1(self) -> int:
        """By how much in total."""
        ...

    @property
    def l2_squared(self) -> int:
        """The sum of the squares."""
        ...

    @property
    def linf(self) -> int:
        """By how much each."""
        ...


@dataclass(frozen=True, slots=True)
class Noise:
    """Integer noise of one law and scale (in steps).

    Guarantee: `cost`, `tail`, `mass`, `loss` and `error` are those of exactly the law that `draw` follows.
    """

    law: Law
    scale: Fraction

    def cost(self, apart: Apart) -> Cost:
        """What adding this to whole numbers costs when one unit moves them by at most `apart`."""
        match self.law:
            case Law.LAPLACE:
                return DiscreteLaplace(scale=self.scale, sensitivity=apart.l1, coordinates=max(apart.l0, 1))
            case Law.GAUSSIAN:
                return Gaussian(scale=self.scale, squared_sensitivity=apart.l2_squared)
            case Law.DISCRETE_GAUSSIAN:
                return DiscreteGaussian(
                    scale=self.scale,
                    squared_sensitivity=apart.l2_squared,
                    coordinates=max(apart.l0, 1),
                    largest=apart.linf,
                )
            case _:
                assert_never(self.law)

    def one(self, entropy: Entropy) -> int:
        """One draw."""
        match self.law:
            case Law.LAPLACE:
                return noise.discrete_laplace(self.scale, entropy)
            case Law.GAUSSIAN:
                return noise.rounded_gaussian(self.scale, entropy)
            case Law.DISCRETE_GAUSSIAN:
                return noise.discrete_gaussian(self.scale, entropy)
            case _:
                assert_never(self.law)

    def draw(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """That many independent draws."""
        match self.law:
            case Law.LAPLACE:
                return noise.discrete_laplaces(self.scale, count, entropy)
            case Law.GAUSSIAN:
                return noise.rounded_gaussians(self.scale, count, entropy)
            case Law.DISCRETE_GAUSSIAN:
                return noise.discrete_gaussians(self.scale, count, entropy)
            case _:
                assert_never(self.law)

    def tail(self, at_least: int) -> Interval:
        """P[noise >= at_least]."""
        return upper_tail(self.law, scale=self.scale, at_least=at_least)

    def mass(self, at: int) -> Interval:
        """P[noise = at]."""
        return mass(self.law, scale=self.scale, at=at)

    def loss(self, *, near: int, far: int) -> Interval:
        """ln P[noise = near] / P[noise = far]: what one answer tells about two true values."""
        return loss(self.law, scale=self.scale, near=near, far=far)

    def error(self, beta: Fraction) -> int:
        """The least t with P(|noise| > t) certainly at most beta."""
        return _error(self, beta)

    @property
    def variance(self) -> Fraction:
        """The variance of the continuous law of this scale; the weights of a fit need no more."""
        match self.law:
            case Law.LAPLACE:
                return 2 * self.scale**2
            case Law.GAUSSIAN | Law.DISCRETE_GAUSSIAN:
                return self.scale**2
            case _:
                assert_never(self.law)

    def mean_size(self, shift: float) -> float:
        """The mean of |shift + noise|, by the continuous law: a forecast."""
        size, scale = abs(shift), float(self.scale)
        match self.law:
            case Law.LAPLACE:
                return size + scale * math.exp(-size / scale)
            case Law.GAUSSIAN | Law.DISCRETE_GAUSSIAN:
                bell = scale * math.sqrt(2 / math.pi) * math.exp(-((size / scale) ** 2) / 2)
                return bell + size * (1 - 2 * NormalDist().cdf(-size / scale))
            case _:
                assert_never(self.law)


def weighted_error(law: Law, *, deviation: Fraction, reach: Fraction, beta: Fraction) -> Fraction | None:
    """A bound, rounded up, that a weighted sum of independent draws exceeds with probability at most beta; None if none is known.

    `deviation` is the root of the summed variances with squared weights, `reach` the sum of the absolute weights. A rounded
    Gaussian is a normal and at most half a step; a discrete Gaussian is subgaussian, with the variance of its scale.
    """
    match law:
        case Law.LAPLACE:
            return None
        case Law.GAUSSIAN:
            return normal_quantile(1 - beta / 2, bits=40).upper * deviation + reach / 2
        case Law.DISCRETE_GAUSSIAN:
            return sqrt(2 * ln(2 / beta).upper, 64).upper * deviation
        case _:
            assert_never(law)


@lru_cache(maxsize=4096)
def _error(kind: Noise, beta: Fraction) -> int:
    return error_bound(kind.law, scale=kind.scale, beta=beta)
