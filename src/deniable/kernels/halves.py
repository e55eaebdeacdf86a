"""Noise of two halves that are measured under one price: a pair of Laplace draws, as their sum and their difference carry it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from deniable.exact import Interval, exp
from deniable.kernels.integer_noise import DiscreteLaplaceNoise, Noise
from deniable.kernels.laws import Law, chance, least


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
        return _error(self.scale, beta)

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
def _error(scale: Fraction, beta: Fraction) -> int:
    noise = HalvesNoise(scale, "", Fraction(1))
    rarity, near = -math.log(chance(beta)), 0.0
    for _ in range(8):  # P[|sum| > t scale] is about (1 + t / 2) exp(-t)
        near = rarity + math.log1p(near / 2)
    return least(lambda t: (2 * noise.right_tail(t + 1)).upper <= beta, near=int(near * float(scale)))
