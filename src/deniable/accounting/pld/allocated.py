"""Random allocation: every unit is in one of t steps, drawn secretly and uniformly (docs/theory/random-allocation.md).

Without the unit all steps answer as Q, with it one of them as P. The likelihood ratio of a whole run is the mean of t independent
ratios L = P/Q, drawn under Q, so both profiles are expectations of convex functions of their sum:
removed, E (S/t - x)+; added, E (1 - x S/t)+. A law on a grid whose stop-loss transform lies above that of L gives sums above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from deniable.accounting.pld.outward import TINY, Floats, U
from deniable.accounting.pld.pair import Pair

_POINTS = 1 << 12
_TAILS = (1e-5, 1e-8, 1e-11, 1e-14)
_UNIT = 2**70
_MOST_STEPS = 10**7


@dataclass(frozen=True, slots=True)
class _Sums:
    """Masses of a sum of `count` ratios on the multiples of a power of two, and what was cut off, per ratio."""

    masses: Floats
    step: float
    count: int
    lost: float = 0.0


class AllocatedPair:
    """A run with the unit against one without; `levels` are values of x from 1 on, `values` at least its profile there."""

    infinite = 0.0
    kink = 0.0
    lattice = 0.0

    def __init__(self, base: Pair, tables: tuple[tuple[Floats, Floats], ...], back: Pair | None = None) -> None:
        self.base, self.tables, self.ceiling = base, tables, base.ceiling
        self.swapped: Pair = self if back is None else back

    def upper(self, epsilon: Floats) -> Floats:
        x = np.exp(np.minimum(epsilon, 700.0)) * (1 - 32 * U)
        found = self.base.upper(epsilon)  # a mixture is never worse than its parts
        for levels, values in self.tables:
            near = values[np.maximum(np.searchsorted(levels, x, side="right") - 1, 0)]
            found = np.minimum(found, np.interp(x, levels, values) + 16 * U * near)
        return found + TINY

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        return np.zeros_like(epsilon)


class AllocatedBackPair:
    """A run without the unit against one with it; `values` are at least E (y - S/t)+ at the `levels` y from 0 to 1."""

    infinite = 0.0
    kink = 0.0
    lattice = 0.0

    def __init__(self, base: Pair, tables: tuple[tuple[Floats, Floats], ...], back: Pair | None = None) -> None:
        self.base, self.tables, self.ceiling = base, tables, base.ceiling
        self.swapped: Pair = self if back is None else back

    def upper(self, epsilon: Floats) -> Floats:
        y = np.exp(-epsilon) * (1 + 32 * U)
        found = self.base.upper(epsilon)
        for levels, values in self.tables:
            near = values[np.minimum(np.searchsorted(levels, y, side="left"), len(levels) - 1)]
            most = (np.interp(y, levels, values) + 16 * U * near) / np.maximum(y, TINY) * (1 + 64 * U)
            found = np.minimum(found, most)
        return found + TINY

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        return np.zeros_like(epsilon)


def allocated_pair(base: Pair, steps: int) -> Pair:
    """One of so many steps with `base`, all others without the unit.

    Guarantee: the pair's profiles lie above those of every run whose steps `base` dominates, also adaptive ones.
    """
    return base if steps == 1 or steps > _MOST_STEPS else _pair((base, steps))


@lru_cache(maxsize=16)
def _pair(run: tuple[Pair, int]) -> Pair:
    base, steps = run
    reach = [_reach(base, tail) for tail in _TAILS]
    widths = sorted({math.ceil(math.log2(max(top, 2.0) / _POINTS)) for top in reach})
    removed = tuple(_removed(base, 2.0**width, steps) for width in widths)
    added = tuple(_added(base, 2.0**width, steps) for width in widths)
    forth, back = AllocatedPair(base, removed), AllocatedBackPair(base.swapped, added)
    forth.swapped, back.swapped = back, forth
    return forth


def _reach(base: Pair, tail: float) -> float:
    """A ratio beyond which hardly any excess lies."""
    losses = np.linspace(0.0, min(base.ceiling, 40.0), 400)
    small = np.flatnonzero(base.upper(losses) <= tail)
    return math.exp(losses[small[0]] if len(small) else losses[-1])


# Laws on a grid -----------------------------------------------------------------------------------------------------------


def _removed(base: Pair, step: float, steps: int) -> tuple[Floats, Floats]:
    """Values of x and upper bounds of E (S/t - x)+ there."""
    x = step * np.arange(_POINTS + 1, dtype=np.float64)
    excess = _excess(base, x)
    lost = float(excess[-1])
    excess[-1] = 0.0  # ratios are cut at the last point: what they lose is at most their excess over it
    whole = _power(_Sums(_masses(excess, step, first=-1, last=0), step, 1, lost), steps)
    value = whole.step / steps
    after = np.append(np.cumsum(whole.masses[::-1])[::-1][1:], 0.0)  # mass beyond each point
    tops = np.append(np.cumsum((after * value)[::-1])[::-1], 0.0)[: len(after)]
    levels = value * np.arange(len(tops), dtype=np.float64)
    kept = np.searchsorted(levels, 1.0, side="left") - 1
    return levels[max(kept, 0) :], (tops * _wear(steps) + whole.lost * (1 + 1e-9))[max(kept, 0) :]


def _added(base: Pair, step: float, steps: int) -> tuple[Floats, Floats]:
    """Values of y and upper bounds of E (y - S/t)+ there."""
    x = step * np.arange(_POINTS + 1, dtype=np.float64)
    below = np.where(x > 1, (x - 1) * (1 + 4 * U) + _excess(base, x), _shortfall(base, x))
    whole = _power(_Sums(_masses(below, step, first=0, last=1), step, 1), steps)
    value = whole.step / steps
    before = np.append(0.0, np.cumsum(whole.masses)[:-1])  # mass below each point
    sums = np.cumsum(before * value)
    levels = value * np.arange(len(sums), dtype=np.float64)
    last = min(np.searchsorted(levels, 1.0, side="right") + 1, len(levels))
    return levels[:last], sums[:last] * _wear(steps)


def _excess(base: Pair, x: Floats) -> Floats:
    """At least E (L - x)+: the profile of the pair, for x < 1 by the swapped one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        far = base.upper(np.log(np.maximum(x, 1.0)) * (1 - 8 * U))
    return np.where(x >= 1, far, (1 - x) + _shortfall(base, np.minimum(x, 1.0))) * (1 + 8 * U)


def _shortfall(base: Pair, x: Floats) -> Floats:
    """At least E (x - L)+ for x <= 1: x times the swapped profile at 1/x."""
    inside = np.clip(x, TINY, 1.0)
    value = inside * base.swapped.upper(-np.log(inside) * (1 - 8 * U)) * (1 + 8 * U)
    return np.where(x > 0, np.minimum(value, inside), 0.0)


def _masses(values: Floats, step: float, *, first: int, last: int) -> Floats:
    """Masses, rounded up, of the law whose transform is the greatest convex function below the points.

    A convex function below the points is below that one, too. Heights are whole multiples of a fine unit, rounded up, so that the
    turns are found exactly; a mass is the change of the slope, which is `first` before the points and `last` beyond them.
    """
    heights = [-math.floor(-value * _UNIT) for value in values.tolist()]
    kept = _turns(heights)
    one = int(_UNIT * step)
    rises = [(heights[b] - heights[a], b - a) for a, b in pairwise(kept)]
    masses = np.zeros(len(heights))
    for place, (before, wide), (after, broad) in zip(
        kept, [(first * one, 1), *rises], [*rises, (last * one, 1)], strict=True
    ):
        masses[place] = max(0.0, (after * wide - before * broad) / (wide * broad * one))
    return masses * (1 + 4 * U)


def _turns(heights: list[int]) -> list[int]:
    """The places where the lower convex hull of evenly spaced points turns."""
    kept: list[int] = []
    for place, height in enumerate(heights):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (heights[b] - heights[a]) * (place - b) < (height - heights[b]) * (b - a):
                break
            kept.pop()
        kept.append(place)
    return kept


# Sums ---------------------------------------------------------------------------------------------------------------------


def _power(single: _Sums, count: int) -> _Sums:
    """`count` independent ratios, by squaring; all terms are positive, so rounding stays relative."""
    whole: _Sums | None = None
    square = single
    while count:
        if count & 1:
            whole = square if whole is None else _both(whole, square)
        count >>= 1
        square = _both(square, square) if count else square
    assert whole is not None
    return whole


def _both(one: _Sums, two: _Sums) -> _Sums:
    while one.step < two.step:
        one = _coarser(one)
    while two.step < one.step:
        two = _coarser(two)
    count = one.count + two.count
    lost = (one.lost * one.count + two.lost * two.count) / count
    found = _Sums(np.convolve(one.masses, two.masses), one.step, count, lost)
    while len(found.masses) > _POINTS + 1:
        cut = _cut(found)
        found = cut if cut.lost <= found.lost * 1.1 + 1e-17 else _coarser(found)
    return found


def _cut(sums: _Sums) -> _Sums:
    """All beyond the last point moved to it; the excess is lost."""
    far = sums.masses[_POINTS:]
    excess = float(np.sum(far * np.arange(len(far)))) * sums.step * (1 + 1e-9)
    kept = np.append(sums.masses[:_POINTS], float(np.sum(far)) * (1 + 1e-12))
    return _Sums(kept, sums.step, sums.count, sums.lost + excess / sums.count)


def _coarser(sums: _Sums) -> _Sums:
    """Twice the step: a mass between two points goes half to each, which keeps its mean and spreads it."""
    masses = np.append(sums.masses, [0.0] * (1 + len(sums.masses) % 2))
    even, odd = masses[::2].copy(), masses[1::2] / 2
    even[: len(odd)] += odd
    even[1 : len(odd) + 1] += odd[: len(even) - 1]
    return _Sums(np.trim_zeros(even, "b"), 2 * sums.step, sums.count, sums.lost)


def _wear(steps: int) -> float:
    """How much rounding can have taken off: each squaring doubles a relative error and adds that of a convolution."""
    return 1 + 8 * U * (2 * _POINTS + 16) * 2 * steps
