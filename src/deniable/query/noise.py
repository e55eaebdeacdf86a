"""Noise for one released column: its law, what it costs, how far it throws, and the draw.

Scales are in steps of the column's grid, so noise is integer arithmetic on integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from deniable.cost import FREE, Cost, DiscreteLaplace, Gaussian
from deniable.mechanisms.laws import Law, error_bound
from deniable.noise import Entropy, discrete_laplaces, rounded_gaussians
from deniable.plan.sensitivity import Sensitivity

__all__ = ["Law", "Noise"]


@dataclass(frozen=True, slots=True)
class Noise:
    """Integer noise of one law (discrete Laplace or rounded Gaussian) and scale."""

    law: Law
    scale: Fraction

    def cost(self, moved: Sensitivity) -> Cost:
        """What adding this to a column costs when one unit moves it by at most `moved`."""
        if moved.l1 == 0:
            return FREE
        if self.law is Law.LAPLACE:
            return DiscreteLaplace(scale=self.scale, sensitivity=moved.l1, coordinates=moved.l0)
        return Gaussian(scale=self.scale, squared_sensitivity=moved.l2_squared)

    def half_width(self, beta: Fraction) -> int:
        """The least t with P(|noise| > t) certainly at most beta."""
        return _half_width(self.law, self.scale, beta)

    def draw(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """That many independent draws."""
        if self.law is Law.LAPLACE:
            return discrete_laplaces(self.scale, count, entropy)
        return rounded_gaussians(self.scale, count, entropy)


@lru_cache(maxsize=4096)
def _half_width(law: Law, scale: Fraction, beta: Fraction) -> int:
    return error_bound(law, scale=scale, beta=beta)
