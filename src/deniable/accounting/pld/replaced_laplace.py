"""Replacing one unit under Poisson sampling, Laplace noise on one number: the worst pair itself.

With d = sensitivity/scale the pair is ((1-q) L(0) + q L(d), (1-q) L(0) + q L(-d)): the unit moves the answer one way, its
replacement the other way (docs/theory/pld-pairs.md). It is its own swap; its loss grows along the line, is 0 at 0 and constant
beyond -d and d, so events are half-lines. All grow with q and d; `low` and `high` enclose them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from deniable.accounting.pld.atoms import AtomsPair
from deniable.accounting.pld.discrete import pair_of_atoms
from deniable.accounting.pld.floats import TINY, Floats, U
from deniable.exact import Interval, exp, ln

MOST_STEPS = 500
"""Discrete noise that moves further than this keeps the bound by joint convexity: its atoms would take too long to enclose."""
_SLACK = 64 * U
_BITS = 100


@dataclass(frozen=True, slots=True)
class ReplacedLaplacePair:
    """Continuous Laplace noise."""

    rate: tuple[float, float]
    shift: tuple[float, float]

    lattice = 0.0
    infinite = 0.0

    @property
    def swapped(self) -> ReplacedLaplacePair:
        return self

    @property
    def ceiling(self) -> float:
        return _largest(self.rate[1], self.shift[1]) * (1 + _SLACK)

    @property
    def kink(self) -> float:
        return _largest(self.rate[0], self.shift[0]) * (1 - _SLACK)

    def upper(self, epsilon: Floats) -> Floats:
        q, d = self.rate[1], self.shift[1]
        t = _edge(epsilon, q, d)
        rest = 1 - q + q * math.exp(-d)
        grown = 1 + q * (np.exp(2 * t - d) - math.exp(-d)) / rest
        both = np.exp(t - d) + grown * np.exp(-t - d) + (1 - q) * (np.exp(t - d) - np.exp(-t - d)) / rest
        value = np.maximum(q * (1 - both / 2), 0.0) * (1 + _SLACK) + _SLACK * q
        found: Floats = np.where(epsilon < self.ceiling, value, 0.0) + TINY
        return found

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        q, d = self.rate[0], self.shift[0]
        t = _edge(at, q, d)
        gain = q * (1 - np.exp(t - d) / 2 - np.exp(epsilon - t - d) / 2)
        value = gain - (1 - q) * np.exp(-t) * np.expm1(epsilon) / 2
        blur = _SLACK * (q * (1 + np.exp(epsilon)) + np.expm1(epsilon))
        found: Floats = np.where(at < self.kink, value - blur, 0.0) - TINY
        return found


def _largest(q: float, d: float) -> float:
    """ln((1 - q + q e^d)/(1 - q + q e^-d))."""
    return math.log1p(q * math.expm1(d)) - math.log1p(q * math.expm1(-d))


def _edge(epsilon: Floats, q: float, d: float) -> Floats:
    """Where the loss is `epsilon`: e^(2 t) = 1 + (e^epsilon - 1) (1 - q + q e^-d) e^d/q, never beyond d."""
    squared = np.expm1(np.minimum(epsilon, 700.0)) * (1 - q + q * math.exp(-d)) * math.exp(d) / q
    return np.minimum(np.log1p(squared) / 2, d)


def replaced_discrete_laplace(scale: Fraction, steps: int, rate: Fraction) -> AtomsPair:
    """Noise on the integers with ratio r = e^(-1/scale), moved by `steps` one way or the other: 2·steps + 1 losses."""
    r = exp(-1 / scale, _BITS)
    powers = [Interval.point(1)]
    for _ in range(2 * steps):
        powers.append((powers[-1] * r).rounded(_BITS))
    point = (1 - r) / (1 + r)

    def mass(z: int) -> Interval:
        if abs(z) == steps:
            far = powers[0] if z > 0 else powers[2 * steps]
            return ((1 - rate) * powers[steps] + rate * far) / (1 + r)
        return point * ((1 - rate) * powers[abs(z)] + rate * powers[steps - z])

    masses = {z: mass(z).rounded(_BITS) for z in range(-steps, steps + 1)}
    return pair_of_atoms(
        (ln((masses[z] / masses[-z]).rounded(_BITS), _BITS), masses[z]) for z in range(-steps, steps + 1)
    )
