"""Laws of losses on a grid, below and above the truth.

From a pair to masses on a grid of losses, once from above and once from below.

A measure m on losses stands for the profile g(x) = sum over l of m(l) (1 - x e^-l)+. Whenever g is above (below) the profile of
a pair for every real epsilon, the convolution of such measures is above (below) the profile of the composition
(docs/theory/pld.md), even when the masses do not add up to one. So every rounding error is simply paid in mass.

Above: connect the dots (Doroshenko et al. 2022): g interpolates upper bounds at the knots, linearly in x.
Below: on each cell between two knots g stays below one line P(S) - x Q(S), which is below the profile everywhere.

Where to put the knots: one step for all pairs, and for each pair multiples of it, denser where its tilted losses lie.

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

from deniable.accounting.pld.outward import MOST_KNOTS, Beyond, Floats, Integers, U
from deniable.accounting.pld.pair import Pair


@dataclass(frozen=True, slots=True)
class LossGrid:
    """Losses are whole multiples of `quantum`, a power of two, and exact floats; one step is `stride` quanta."""

    quantum: float
    stride: int

    @property
    def step(self) -> float:
        return self.stride * self.quantum


@dataclass(frozen=True, slots=True)
class Knots:
    """Some losses of a grid, each `offset` quanta and a whole number of steps; `pivot` is the place of the one closest to 0."""

    grid: LossGrid
    index: Integers
    offset: int
    pivot: int

    @property
    def loss(self) -> Floats:
        losses: Floats = ((self.offset + self.grid.stride * self.index) * self.grid.quantum).astype(np.float64)
        return losses


@dataclass(frozen=True, slots=True)
class GridMeasure:
    """Masses at losses and at infinity. A negative mass at infinity is what a bound from below still owes."""

    index: Integers
    offset: int
    loss: Floats
    mass: Floats
    infinite: float


def _measure(knots: Knots, mass: Floats, infinite: float) -> GridMeasure:
    kept = mass > 0
    kept[knots.pivot] = True  # so that there is always a place
    return GridMeasure(knots.index[kept], knots.offset, knots.loss[kept], mass[kept], infinite)


def _kinked(values: Floats, loss: Floats) -> tuple[Floats, Floats, float]:
    """For the function through (e^loss_i, values_i): the masses at knots 1.., how far they may be off, the slope at knot 0."""
    drop, width = values[:-1] - values[1:], np.diff(loss)
    left, right = drop / -np.expm1(-width), drop / np.expm1(width)
    right_after = np.append(right[1:], 0.0)
    return left - right_after, 10 * U * (np.abs(left) + np.abs(right_after)), float(right[0])


def _assembled(knots: Knots, forward: Floats, backward: Floats) -> tuple[Floats, Floats]:
    """Masses and their possible errors at all knots, from the values f of one half and g of the other; both begin at the pivot.

    There f is given and g follows from f(x) = 1 - x + x g(1/x).
    """
    loss, pivot = knots.loss, knots.pivot
    shift = float(loss[pivot])
    scale, behind = math.exp(shift), math.exp(-shift) * forward[0]
    backward[0] = behind - math.expm1(-shift)
    up, up_error, up_slope = _kinked(forward, loss[pivot:])
    down, down_error, down_slope = _kinked(backward, -loss[pivot::-1])
    loose = 32 * U * (behind + abs(shift)) / -math.expm1(loss[pivot - 1] - shift)  # backward[0] is rounded
    down_error[0] += loose
    here = scale * (1 - backward[0] - down_slope) - up_slope
    here_error = 20 * U * (scale * (1 + abs(backward[0]) + abs(down_slope)) + abs(up_slope)) + 2 * scale * loose
    shrink = np.exp(loss[:pivot])
    mass = np.concatenate([down[::-1] * shrink, [here], up])
    error = np.concatenate([shrink * (down_error + 10 * U * np.abs(down))[::-1], [here_error], up_error])
    return mass, error


def dots_above(pair: Pair, knots: Knots) -> GridMeasure:
    """Guarantee: its profile is at least the pair's, for every real epsilon."""
    loss, pivot = knots.loss, knots.pivot
    forward = pair.upper(np.maximum(loss[pivot:], 0.0))
    backward = pair.swapped.upper(np.maximum(-loss[pivot::-1], 0.0))
    shift = float(loss[pivot])
    if shift < 0:
        forward[0] = (math.exp(shift) * backward[0] - math.expm1(shift)) * (1 + 32 * U)
    forward, backward = np.minimum.accumulate(forward), np.minimum.accumulate(backward)
    mass, error = _assembled(knots, forward, np.minimum(backward, math.exp(-shift) * forward[0] - math.expm1(-shift)))
    mass, _ = _without_debt((mass + error)[::-1])  # what is missing at one loss may be taken from smaller ones
    return _measure(knots, mass[::-1] * (1 + 4 * U), float(forward[-1]))


def dots_below(pair: Pair, knots: Knots) -> GridMeasure:
    """Guarantee: its profile is at most the pair's, for every real epsilon."""
    loss, pivot = knots.loss, knots.pivot
    shift = float(loss[pivot])
    forward = _lines(pair, loss[pivot:], backward=False)
    forward[-1] = pair.infinite
    backward = _lines(pair.swapped, -loss[pivot::-1], backward=True)
    turned = math.exp(shift) * backward[0] - math.expm1(shift)
    forward[0] = min(forward[0], turned - 32 * U * (abs(turned) + abs(shift)))
    mass, error = _assembled(knots, forward, backward)
    mass[0] = min(mass[0], 0.0)  # below the first knot the lowest line goes on, without a kink there
    mass, owed = _without_debt(mass - error)  # what is too much at one loss may be taken from larger ones
    return _measure(knots, mass * (1 - 4 * U), pair.infinite - owed * (1 + 4 * U))


def _lines(pair: Pair, loss: Floats, *, backward: bool) -> Floats:
    """Values at the knots whose chords stay, cell by cell, below one line under the profile. Only the first loss may be negative.

    A line touches the profile in the middle of its cell, but for cells with an atom: there it touches at the larger loss of
    the pair
    itself, so that the atom is, in effect, moved down to the smaller one.
    """
    first, last = np.maximum(loss[:-1], 0.0), loss[1:]
    exact = pair.line(np.append(first, last[-1]), np.append(first, last[-1]))
    event = np.maximum((loss[:-1] + loss[1:]) / 2, 0.0)
    ends = pair.line(event, first), pair.line(event, last)
    short, long = exact[:-1] - ends[0], exact[1:] - ends[1]  # how far the line falls short of the profile at both ends
    if backward:
        torn = (short > 3 * long) & (short > 0.02 * (exact[1:] - pair.line(first, last)))
    else:
        torn = (long > 3 * short) & (long > 0.02 * (exact[:-1] - pair.line(last, first)))
        torn |= ~(ends[1] > pair.infinite)
    start, end = ends
    if torn.any():
        event = np.where(torn, first if backward else last, event)
        start, end = pair.line(event, first), pair.line(event, last)
    if (
        loss[0] < 0
    ):  # the line goes on to the left with at least the slope it has between 0 and the profile at the next knot
        fall = start[0] - float(pair.upper(last[:1])[0])
        if last[0] < 700:  # beyond, the slope is next to nothing
            start[0] += max(fall, 0.0) * math.expm1(loss[0]) / -math.expm1(last[0]) * (1 - 32 * U)
    if backward:
        end = np.fmax(end, start - (np.exp(last) - np.exp(first)) * (1 + 16 * U))  # no slope exceeds 1
        flat = ~(start + end > 0)
    else:
        flat = ~(end > pair.infinite)
    # the event of infinite losses alone is better where another one does not pay up to the far end
    start, end = np.where(flat, pair.infinite, start), np.where(flat, pair.infinite, end)
    values = np.concatenate([start[:1], np.minimum(end[:-1], start[1:]), end[-1:]])
    return np.minimum.accumulate(values) if backward else values


def _without_debt(mass: Floats) -> tuple[Floats, float]:
    """Carry every negative mass on to the next places until it is covered; what is never covered is returned."""
    if not (mass < 0).any():
        return mass, 0.0
    debt, paid = 0.0, mass.tolist()
    for place, here in enumerate(paid):
        if debt > 0 or here < 0:
            left = here - debt
            paid[place], debt = max(left, 0.0), max(-left, 0.0)
    return np.array(paid), debt


_MANY = 20_000
_LARGEST = 1e280
_COARSE = 1024
"""A grid fits its step to atoms only where the step has so many quanta."""
_MARGIN = 1e-9
"""Knots lie this share of a loss below the atoms they are for: far enough for a line through the atom to be positive there."""


def grid_for(pairs: Sequence[Pair], wanted: float, largest: float) -> LossGrid:
    """A grid of about the wanted step, whose losses up to `largest` are exact; it fits atoms where that can be had."""
    if not (wanted > 0 and max(wanted, largest) < _LARGEST):
        raise Beyond("the losses are beyond floats")
    quantum = math.ldexp(1.0, math.ceil(math.log2(max(largest, wanted, 1e-200))) - 50)
    lattices = [pair.lattice for pair in pairs]
    shortest = min(lattices)
    if shortest > max(wanted / 4, _COARSE * quantum) and all(_misfit(lattice, shortest) < 1e-9 for lattice in lattices):
        return LossGrid(quantum, math.floor(shortest * (1 - _MARGIN) / quantum))
    spans = np.unique([_span(pair) * (1 - _MARGIN) - 8 * quantum for pair in pairs if _span(pair) > 0])
    if not len(spans) or spans[0] < max(wanted, _COARSE * quantum):
        return LossGrid(quantum, max(math.floor(wanted / quantum), 1))
    fewest = math.ceil(spans[-1] / wanted)
    if spans[-1] < fewest * _COARSE * quantum:
        return LossGrid(quantum, max(math.floor(wanted / quantum), 1))
    trials = fewest + np.arange(min(fewest, 4000) if len(spans) > 1 else 1)
    steps = np.maximum(np.floor(spans[-1] / trials / quantum), 1.0) * quantum
    shares = spans[:, None] / steps
    misfits = np.maximum(shares - np.floor(shares * (1 + 1e-10)), 0.0).sum(axis=0)
    return LossGrid(quantum, round(steps[int(np.argmin(misfits))] / quantum))


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


def place(pair: Pair, grid: LossGrid, layout: Layout) -> Knots:
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


def coarsen(grid: LossGrid, every: Sequence[Knots]) -> tuple[LossGrid, list[Knots]]:
    """The same knots on the coarsest grid that has them all."""
    common = int(np.gcd.reduce(np.concatenate([knots.index for knots in every])))
    wide = LossGrid(grid.quantum, grid.stride * common)
    return wide, [Knots(wide, knots.index // common, knots.offset, knots.pivot) for knots in every]


def _offset(pair: Pair, grid: LossGrid, layout: Layout) -> int:
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
