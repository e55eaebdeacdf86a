"""A composition taken as one pair: for a sample that several releases see, or for disjoint parts with several releases each.

Its profile is tabulated once, with as many tilts as it takes; between the points of the table the bounds stay sound: chords above a
convex function from above, lines P(S) - x Q(S) of tabulated events from below.
"""

from __future__ import annotations

import math

import numpy as np

from deniable.accounting.pld.composition import Reading, Steps, look, read
from deniable.accounting.pld.floats import TINY, Floats

_SHARE = 0.01
_POINTS = 500
_FAINTEST = 1e-60


class NestedPair:
    """Steps in one direction, as one pair; `swapped` is the other direction."""

    kink = 0.0
    lattice = 0.0

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.ceiling = math.fsum(times * pair.ceiling for pair, times in steps) * (1 + 1e-14)
        kept = math.fsum(times * math.log1p(-min(pair.infinite, 0.5)) for pair, times in steps)
        self.infinite = -math.expm1(kept) * (1 - 1e-12)
        self._table: tuple[Floats, Floats, Floats, Floats] | None = None

    @property
    def swapped(self) -> NestedPair:
        return NestedPair(tuple((pair.swapped, times) for pair, times in self.steps))

    def upper(self, epsilon: Floats) -> Floats:
        points, profile, _, _ = self._tabulated()
        place = np.clip(np.searchsorted(points, epsilon, side="right") - 1, 0, len(points) - 2)
        left, right = points[place], points[place + 1]
        share = np.clip(np.expm1(epsilon - left) / np.expm1(right - left), 0.0, 1.0)
        chord = profile[place] + (profile[place + 1] - profile[place]) * share
        beyond = np.where(epsilon >= self.ceiling, profile[-1] if self.infinite > 0 else TINY, profile[-1])
        return np.where(epsilon < points[-1], chord * (1 + 1e-13), beyond) + TINY

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        points, _, chance, other = self._tabulated()
        place = np.clip(np.searchsorted(points, at), 0, len(points) - 1)
        value = chance[place] - np.exp(epsilon) * other[place] * (1 + 1e-13)
        return np.maximum(value, -1.0) - TINY

    def _tabulated(self) -> tuple[Floats, Floats, Floats, Floats]:
        if self._table is None:
            self._table = self._made()
        return self._table

    def _made(self) -> tuple[Floats, Floats, Floats, Floats]:
        points, readings = self._points()
        upper, chance, other = np.ones_like(points), np.zeros_like(points), np.zeros_like(points)
        best = np.zeros_like(points)
        centers = np.array([center for center, _ in readings])
        for row, epsilon in enumerate(points):
            close = int(np.searchsorted(centers, epsilon))
            for _, reading in readings[max(close - 1, 0) : close + 1]:
                upper[row] = min(upper[row], reading.upper(float(epsilon)))
                p, q = reading.below.event(float(epsilon))
                p = max(p + reading.below.infinite, 0.0)
                if p - math.exp(epsilon) * q > best[row]:
                    best[row], chance[row], other[row] = p - math.exp(epsilon) * q, p, q
        return points, np.minimum.accumulate(upper), chance, other

    def _points(self) -> tuple[Floats, list[tuple[float, Reading]]]:
        """Losses from 0 to where nothing is left, and readings centred among them."""
        readings: list[tuple[float, Reading]] = []
        epsilon, top = 0.0, 0.0
        for _ in range(60):
            view = look(self.steps, epsilon=epsilon)
            reading = read(self.steps, view, _SHARE)
            readings.append((epsilon, reading))
            top = epsilon
            if reading.upper(epsilon) - max(reading.above.infinite, 0.0) < _FAINTEST:
                break
            epsilon += 6 / view.tilt
            if epsilon >= self.ceiling * 0.9999:
                break
        small = max(readings[0][1].upper(0.0), 1e-12) * 1e-2
        growth = (max(top, 2 * small) / small) ** (1 / _POINTS)
        return np.concatenate([[0.0], small * growth ** np.arange(_POINTS + 1)]), readings
