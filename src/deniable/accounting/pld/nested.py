"""A composition taken as one pair: for a sample that several releases see, or for disjoint parts with several releases each.

Its profile is tabulated once, with as many tilts as it takes; between the points of the table the bounds stay sound: chords above a
convex function from above, lines P(S) - x Q(S) of tabulated events from below.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from deniable.accounting.pld.composition import Reading, Steps, View, look, read
from deniable.accounting.pld.floats import TINY, Floats
from deniable.accounting.pld.limits import MOST_WORK, Beyond, Meter

_SHARES = (0.05, 0.03, 0.01)
_RUNGS = 120
_FALL = 0.12
"""Between two points delta falls by about this share: a chord is then within two thousandths of the curve."""
_DEPTHS = (
    0.5,
    1,
    1.5,
    2.1,
    2.8,
    3.6,
    4.5,
    5.5,
    6.6,
    7.8,
    9.2,
    10.8,
    12.6,
    14.6,
    17,
    20,
    23,
    27,
    32,
    38,
    45,
    53,
    62,
    72,
)
"""Natural logarithms of 1/delta, close enough that neighbouring tilts see well in between; the last is 5e-32."""


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
        self._back: NestedPair | None = None
        self._meter = Meter(10 * MOST_WORK)

    @property
    def swapped(self) -> NestedPair:
        """The other direction, made once: its table is costly, and steps that are their own swap need no second one."""
        if self._back is None:
            back = tuple((pair.swapped, times) for pair, times in self.steps)
            same = all(pair is other for (pair, _), (other, _) in zip(self.steps, back, strict=True))
            self._back = self if same else NestedPair(back)
            self._back._back = self
        return self._back

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
            try:
                self._table = self._made()
            except (Beyond, ArithmeticError):  # nothing is known, which is sound
                points = np.array([0.0, 1.0])
                self._table = points, np.ones(2), np.zeros(2), np.zeros(2)
        return self._table

    def _made(self) -> tuple[Floats, Floats, Floats, Floats]:
        points, readings = self._points()
        upper, chance, other = np.ones_like(points), np.zeros_like(points), np.zeros_like(points)
        best = np.zeros_like(points)
        centers = np.array([center for center, _ in readings])
        for row, epsilon in enumerate(points):
            close = int(np.searchsorted(centers, epsilon))
            for reading in (each for _, near in readings[max(close - 1, 0) : close + 1] for each in near):
                upper[row] = min(upper[row], reading.upper(float(epsilon)))
                p, q = reading.below.event(float(epsilon))
                p = max(p + reading.below.infinite, 0.0)
                if p - math.exp(epsilon) * q > best[row]:
                    best[row], chance[row], other[row] = p - math.exp(epsilon) * q, p, q
        return points, np.minimum.accumulate(upper), chance, other

    def _points(self) -> tuple[Floats, list[tuple[float, list[Reading]]]]:
        """Losses from 0 to where next to nothing is left, and readings centred among them, for each depth of delta."""
        readings = [(0.0, self._read(look(self.steps, epsilon=0.0)))]
        for depth in _DEPTHS:
            view = look(self.steps, log_delta=-depth)
            if view.epsilon >= self.ceiling * 0.9999:
                break
            if view.epsilon > readings[-1][0]:
                readings.append((view.epsilon, self._read(view)))
        small = max(min(each.upper(0.0) for each in readings[0][1]), 1e-12) * 1e-2
        rungs = [0.0, *(small * 1.05 ** np.arange(_RUNGS))]
        for (low, _), (high, near) in pairwise(readings):
            rungs += np.arange(low, high, _FALL / near[0].view.tilt).tolist()
        top = max(readings[-1][0], 2 * small)
        return np.unique([rung for rung in rungs if rung < top] + [top]), readings

    def _read(self, view: View) -> list[Reading]:
        """On several grids: where atoms fall between the points of one, another serves better; every one is sound."""
        return [read(self.steps, view, share, self._meter) for share in _SHARES]
