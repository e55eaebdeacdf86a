"""From a pair to masses on a grid of losses, once from above and once from below.

A measure m on losses stands for the profile g(x) = sum over l of m(l) (1 - x e^-l)+. Whenever g is above (below) the profile of
a pair for every real epsilon, the convolution of such measures is above (below) the profile of the composition
(docs/theory/pld.md), even when the masses do not add up to one. So every rounding error is simply paid in mass.

Above: connect the dots (Doroshenko et al. 2022): g interpolates upper bounds at the knots, linearly in x.
Below: on each cell between two knots g stays below one line P(S) - x Q(S), which is below the profile everywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from deniable.accounting.pld.floats import Floats, Integers, U
from deniable.accounting.pld.pair import Pair


@dataclass(frozen=True, slots=True)
class Grid:
    """Losses are whole multiples of `quantum`, a power of two, and exact floats; one step is `stride` quanta."""

    quantum: float
    stride: int

    @property
    def step(self) -> float:
        return self.stride * self.quantum


@dataclass(frozen=True, slots=True)
class Knots:
    """Some losses of a grid, each `offset` quanta and a whole number of steps; `pivot` is the place of the one closest to 0."""

    grid: Grid
    index: Integers
    offset: int
    pivot: int

    @property
    def loss(self) -> Floats:
        losses: Floats = ((self.offset + self.grid.stride * self.index) * self.grid.quantum).astype(np.float64)
        return losses


@dataclass(frozen=True, slots=True)
class Measure:
    """Masses at losses and at infinity. A negative mass at infinity is what a bound from below still owes."""

    index: Integers
    offset: int
    loss: Floats
    mass: Floats
    infinite: float


def _measure(knots: Knots, mass: Floats, infinite: float) -> Measure:
    kept = mass > 0
    kept[knots.pivot] = True  # so that there is always a place
    return Measure(knots.index[kept], knots.offset, knots.loss[kept], mass[kept], infinite)


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


def dots_above(pair: Pair, knots: Knots) -> Measure:
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


def dots_below(pair: Pair, knots: Knots) -> Measure:
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
