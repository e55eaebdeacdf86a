"""Costs that only promise a divergence: zero-concentrated or Rényi privacy, as bounds on their profile.

A Rényi bound r at order a > 1 bounds the profile everywhere (Canonne, Kamath and Steinke 2020, Proposition 12):
delta(eps) <= e^((a-1)(r - eps)) (1 - 1/a)^a / (a-1). The least over orders is above the profile of every such mechanism, which is
convex, so connecting its dots is sound. From below we know a mechanism that keeps the promise: the Gaussian, or nothing.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from deniable.accounting.pld.floats import TINY, Floats, U, float_above, float_below
from deniable.accounting.pld.gaussian import gaussian_pair

_LADDER = 1.03 ** np.arange(-40, 41)


class PromisedPair:
    """A profile bounded through Rényi orders; its own swap, as the promise holds both ways."""

    ceiling = math.inf
    infinite = 0.0
    kink = 0.0
    lattice = 0.0

    def __init__(self, *, rho: Fraction | None = None, curve: tuple[tuple[Fraction, Fraction], ...] = ()) -> None:
        self.rho = None if rho is None else float_above(rho)
        orders = [(float_below(a), float_above(r)) for a, r in curve]  # a bound at an order holds at every smaller one
        self.orders, self.losses = np.array([a for a, _ in orders]), np.array([r for _, r in orders])
        self.example = None if rho is None else gaussian_pair(2 * rho)

    @property
    def swapped(self) -> PromisedPair:
        return self

    def upper(self, epsilon: Floats) -> Floats:
        if self.rho is None:
            orders, losses = np.broadcast_arrays(self.orders[:, None], self.losses[:, None])
        else:
            best = 1 + np.maximum(epsilon - self.rho, 0.0) / (2 * self.rho) + 0.3 / math.sqrt(self.rho)
            orders = 1 + (best - 1) * _LADDER[:, None]
            losses = orders * self.rho
        exponent = (orders - 1) * (losses - epsilon) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
        blur = 64 * U * (1 + orders * (losses + epsilon + 1))
        least = np.min(np.exp(np.minimum(exponent + blur, 0.0)), axis=0) * (1 + 16 * U)
        most: Floats = np.minimum(least, self._apart()) + TINY
        return most

    def _apart(self) -> float:
        """At least the total variation: by Kullback and Leibler's divergence, which the least order bounds."""
        divergence = self.rho if self.rho is not None else float(self.losses.min())
        return min(math.sqrt(-math.expm1(-divergence)), math.sqrt(divergence / 2)) * (1 + 64 * U)

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        return np.zeros_like(epsilon) if self.example is None else self.example.line(at, epsilon)
