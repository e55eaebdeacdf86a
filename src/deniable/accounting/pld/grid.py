"""Where to put the knots: one step for all pairs, and for each pair multiples of it, denser where its tilted losses lie.

Connecting dots that lie w apart adds at most w^2/4 to the variance of a loss. So the spacing is a fixed share of the width of the
bulk near it, and the same share of the distance further out: every loss pays in proportion to what it contributes. A bulk
narrower than the step becomes one knot, placed where its outcomes, taken together, have their loss; otherwise the grid is shifted
to meet a law's extreme atoms, which a bound from below could only give up. Choices, not guarantees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable.accounting.pld.dots import Grid, Knots
from deniable.accounting.pld.floats import Integers
from deniable.accounting.pld.limits import MOST_KNOTS, Beyond
from deniable.accounting.pld.pair import Pair

_MANY = 20_000
_LARGEST = 1e280
_COARSE = 1024
"""A grid fits its step to atoms only where the step has so many quanta."""
_MARGIN = 1e-9
"""Knots lie this share of a loss below the atoms they are for: far enough for a line through the atom to be positive there."""


def grid_for(pairs: Sequence[Pair], wanted: float, largest: float) -> Grid:
    """A grid of about the wanted step, whose losses up to `largest` are exact; it fits atoms where that can be had."""
    if not (wanted > 0 and max(wanted, largest) < _LARGEST):
        raise Beyond("the losses are beyond floats")
    quantum = math.ldexp(1.0, math.ceil(math.log2(max(largest, wanted, 1e-200))) - 50)
    lattices = [pair.lattice for pair in pairs]
    shortest = min(lattices)
    if shortest > max(wanted / 4, _COARSE * quantum) and all(_misfit(lattice, shortest) < 1e-9 for lattice in lattices):
        return Grid(quantum, math.floor(shortest * (1 - _MARGIN) / quantum))
    spans = np.unique([_span(pair) * (1 - _MARGIN) - 8 * quantum for pair in pairs if _span(pair) > 0])
    if not len(spans) or spans[0] < max(wanted, _COARSE * quantum):
        return Grid(quantum, max(math.floor(wanted / quantum), 1))
    fewest = math.ceil(spans[-1] / wanted)
    if spans[-1] < fewest * _COARSE * quantum:
        return Grid(quantum, max(math.floor(wanted / quantum), 1))
    trials = fewest + np.arange(min(fewest, 4000) if len(spans) > 1 else 1)
    steps = np.maximum(np.floor(spans[-1] / trials / quantum), 1.0) * quantum
    shares = spans[:, None] / steps
    misfits = np.maximum(shares - np.floor(shares * (1 + 1e-10)), 0.0).sum(axis=0)
    return Grid(quantum, round(steps[int(np.argmin(misfits))] / quantum))


def _span(pair: Pair) -> float:
    """What the step should divide, so that atoms lie on knots: the distance of a lattice's losses, or of the extreme ones."""
    if pair.lattice > 0:
        return pair.lattice
    return pair.kink + pair.swapped.kink if pair.kink > 0 < pair.swapped.kink else 0.0


def _misfit(loss: float, step: float) -> float:
    """How far above a multiple of the step, as a share of the step; a hair below counts as none."""
    share = loss / step
    return max(share - math.floor(share + 1e-10), 0.0)


@dataclass(frozen=True, slots=True)
class Layout:
    """How one pair's knots are to lie: dense within `width` of `center` and within `edge` of the bottom.

    Above `cutoff` they are never `widest` apart; below it nothing matters under the tilt.
    """

    center: float
    width: float
    share: float
    bottom: float
    top: float
    cutoff: float
    widest: float
    edge: float


def place(pair: Pair, grid: Grid, layout: Layout) -> Knots:
    """The knots of one pair on a grid."""
    step = grid.step
    if pair.lattice > 0 and _misfit(pair.lattice, step) < 1e-6:
        stride = round(pair.lattice / step)
        count = math.floor(pair.ceiling / pair.lattice * (1 + 1e-9)) + 1
        if 2 * count + 1 > MOST_KNOTS:
            raise Beyond("one release has too many losses")
        return Knots(grid, stride * np.arange(-count, count + 1, dtype=np.int64), 0, count)
    offset = _offset(pair, grid, layout)
    shift = offset * grid.quantum
    centers = [(layout.center, layout.width, layout.share), (layout.bottom, layout.edge, 2 * layout.share)]
    unit = 1 << min(_level(width / step, share) for _, width, share in centers)
    first = min(math.floor((layout.bottom - shift) / step / unit) - 1, -1) * unit
    last = max(math.ceil((layout.top - shift) / step / unit), 1) * unit
    marks = [0, first, last]
    for sign, kink in ((1, pair.kink), (-1, pair.swapped.kink)):
        if kink > 0:
            mark = math.floor((kink - sign * shift) / step)
            marks += [place for place in (sign * mark, sign * (mark + 1)) if first - 1 <= place <= last + 1]
    even = max((layout.cutoff - shift) / step, float(first)), layout.widest / step
    pieces = [
        _levels((center - shift) / step, width / step, share, (first, last), even) for center, width, share in centers
    ]
    index = np.unique(np.concatenate([*pieces, np.array(marks, dtype=np.int64)]))
    if len(index) > MOST_KNOTS:
        raise Beyond("one release has too many knots")
    return Knots(grid, index, offset, int(np.searchsorted(index, 0)))


def coarsened(grid: Grid, every: Sequence[Knots]) -> tuple[Grid, list[Knots]]:
    """The same knots on the coarsest grid that has them all."""
    common = int(np.gcd.reduce(np.concatenate([knots.index for knots in every])))
    wide = Grid(grid.quantum, grid.stride * common)
    return wide, [Knots(wide, knots.index // common, knots.offset, knots.pivot) for knots in every]


def _offset(pair: Pair, grid: Grid, layout: Layout) -> int:
    """By how many quanta to shift: to meet a narrow bulk, or the lowest atom, or the highest."""
    loss = _together(pair, layout.center, grid.step) if layout.width < grid.step else None
    if loss is None:
        bottom = pair.swapped.kink
        loss = -bottom * (1 - _MARGIN / 4) + 2 * grid.quantum if bottom > 0 else pair.kink * (1 - _MARGIN)
    half = grid.stride // 2
    return (math.floor(loss / grid.quantum) + half) % grid.stride - half


def _together(pair: Pair, center: float, width: float) -> float | None:
    """The loss of all outcomes within half a `width` of it, taken as one; None if they are far from 0."""
    loss = center
    for _ in range(3):
        tops = np.array([loss + width / 2]), np.array([width / 2 - loss])
        if min(tops) <= 0:
            return None
        gains = [float(side.line(top, np.zeros(1))[0]) for side, top in zip((pair, pair.swapped), tops, strict=True)]
        loss = math.log1p(max(gains[1] - gains[0], -0.5))
    return loss


def _level(width: float, share: float) -> int:
    """The power of two that spaces a bulk of this width, in steps, as the share asks."""
    return max(0, math.floor(math.log2(max(share * width, 1.0))))


def _levels(center: float, width: float, share: float, ends: tuple[int, int], even: tuple[float, float]) -> Integers:
    """Multiples of 1, 2, 4, ... steps, each out to where the next will do: evenly spaced, but for doublings here and there.

    From the loss even[0] on they never lie more than about even[1] apart.
    """
    first, last = ends
    start, widest = even[0], max(even[1], (last - even[0]) / _MANY, 1.0)
    level = _level(width, share)
    pieces: list[Integers] = []
    while True:
        spacing = 1 << level
        reach = max(1.5 * spacing / share, width)
        low, high = max(center - reach, first), min(center + reach, last)
        pieces.append(_multiples(spacing, low, high))
        if spacing <= widest < 2 * spacing or (len(pieces) == 1 and spacing > widest):
            pieces.append(_multiples(spacing, max(start, first), last))
        if low <= first and (high >= last or spacing > widest):
            return np.concatenate(pieces)
        level += 1


def _multiples(spacing: int, low: float, high: float) -> Integers:
    """All multiples of a spacing from just below `low` to just above `high`."""
    return spacing * np.arange(math.floor(low / spacing), math.ceil(high / spacing) + 1, dtype=np.int64)
