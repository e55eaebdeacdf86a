"""Pairs whose loss takes finitely many values, for mechanisms that treat both neighbours alike.

Two lists of (loss, mass under P), one never below and one never above the truth: the profile grows with every loss and every mass,
so bounding those bounds it. It is linear in e^epsilon between atoms; all sums run over positive terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from deniable.accounting.pld.floats import TINY, Floats, U, suffix_sums

_SPAN = 300.0


@dataclass(frozen=True, slots=True)
class Atoms:
    """Masses under P at ascending finite losses, and the mass where Q has none."""

    loss: Floats
    mass: Floats
    infinite: float = 0.0


class _Ladder:
    """At each atom, the profile there and the mass from there on, discounted to there (both without the infinite part)."""

    def __init__(self, atoms: Atoms) -> None:
        loss, mass = atoms.loss, atoms.mass
        self.loss, self.infinite = loss, atoms.infinite
        self.slope = np.empty_like(loss)
        carried, end = 0.0, len(loss)
        while end > 0:  # in pieces short enough for the discounts
            start = int(np.searchsorted(loss[:end], loss[end - 1] - _SPAN))
            discount = np.exp(loss[start] - loss[start:end])
            sums = suffix_sums(mass[start:end] * discount) + carried * discount[-1]
            self.slope[start:end] = sums / discount
            if start:
                carried = float(self.slope[start]) * math.exp(loss[start - 1] - loss[start])
            end = start
        rises = -np.expm1(loss[:-1] - loss[1:]) * self.slope[1:]
        self.value = np.append(suffix_sums(rises), 0.0)
        self.rounding = U * (200 + 8 * math.sqrt(len(loss)) + 2 * _SPAN)

    def bound(self, at: Floats, epsilon: Floats, side: float) -> Floats:
        """Sum over losses above `at` of mass (1 - e^(epsilon - loss)), moved to the given side."""
        place = np.searchsorted(self.loss, at, side="right")
        inside = np.minimum(place, len(self.loss) - 1)
        loss, slope = self.value[inside], self.slope[inside]
        gain = -slope * np.expm1(epsilon - self.loss[inside])
        error = self.rounding * (loss + np.abs(gain)) + TINY
        return np.where(place < len(self.loss), loss + gain + side * error, 0.0) + self.infinite * (1 + side * 2 * U)


class AtomsPair:
    """A pair given by atoms: `below` has a smaller profile than the truth, `above` a larger one. The true pair is its own swap."""

    def __init__(self, below: Atoms, above: Atoms, *, lattice: float = 0.0, ceiling: float | None = None) -> None:
        self.below, self.above, self.lattice = below, above, lattice
        self.ceiling = max(float(above.loss[-1]), 0.0) if ceiling is None else ceiling
        self._low, self._high = _Ladder(below), _Ladder(above)

    @property
    def swapped(self) -> AtomsPair:
        return self

    @property
    def infinite(self) -> float:
        return self.below.infinite

    @property
    def kink(self) -> float:
        return max(float(self.below.loss[-1]), 0.0) if self.below.mass[-1] > 1e-3 else 0.0

    def upper(self, epsilon: Floats) -> Floats:
        return np.minimum(self._high.bound(epsilon, epsilon, +1.0) + TINY, 1.0)

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        return self._low.bound(at, epsilon, -1.0)
