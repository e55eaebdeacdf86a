"""Where to look: sketches of the pairs, their cumulants, and the tilt at which a question is answered best.

A quick look at some pairs before any careful work: about where their losses lie, and how a tilt moves the sum.

Nothing here carries a guarantee; it only chooses grids, tilts and windows. A poor choice costs width, never soundness.

Exponential tilting of measures: multiply by e^(s loss), scale to one, and undo it on the way out.

Under the right tilt the losses that decide a delta of 1e-20 are the typical ones, so errors stay relative to the answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable.accounting.pld.discretization import GridMeasure
from deniable.accounting.pld.outward import TINY, Beyond, Floats, Integers, U
from deniable.accounting.pld.pair import Pair

_RUNGS = np.concatenate([[0.0], 1.2 ** np.arange(0, 250)])
_FAINTEST = 1e-290


@dataclass(frozen=True, slots=True)
class Sketch:
    """Rough masses of one pair's loss under P, and the profiles of both halves on the way there."""

    loss: Floats
    mass: Floats
    above: Floats
    above_profile: Floats
    below: Floats
    below_profile: Floats

    def top(self, level: float) -> float:
        """A loss beyond which the profile is below `level`."""
        return float(self.above[min(int(np.sum(self.above_profile > level)), len(self.above) - 1)])

    def bottom(self, level: float) -> float:
        """A loss below which P has less mass than about `level`."""
        weight = self.below_profile * np.exp(-self.below)
        return -float(self.below[min(int(np.sum(weight > level)), len(self.below) - 1)])


@dataclass(frozen=True, slots=True)
class Focus:
    """Where to look closely: around a loss, finely enough for a tilt up to a top; profiles below `faint` do not matter."""

    around: float = 0.0
    spread: float = 0.0
    tilt: float = 0.0
    top: float = 0.0
    faint: float = _FAINTEST


def sketch(pair: Pair, focus: Focus) -> Sketch:
    """Look at a pair on a ladder of losses around 0, and closely where asked."""
    typical = float(pair.upper(np.zeros(1))[0])  # the total variation is about the typical loss, or about 1
    base = 1e-3 * max(typical, 1e-30) * _RUNGS
    above, forward = _half(pair, _closer(base, focus, 1.0), focus.faint)
    below, backward = _half(pair.swapped, _closer(base, focus, -1.0), _FAINTEST)
    up, up_slope = _masses(forward, above)
    down, down_slope = _masses(backward, below)
    origin = max(0.0, 1 - forward[0] - up_slope - down_slope)
    loss = np.concatenate([-below[:0:-1], above])
    mass = np.concatenate([(down * np.exp(-below[1:]))[::-1], [origin], up])
    kept = mass > 0
    return Sketch(loss[kept], mass[kept] / float(mass.sum()), above, forward, below, backward)


def _closer(knots: Floats, focus: Focus, sign: float) -> Floats:
    """More rungs where the focus is; `sign` says which half of the losses this ladder climbs."""
    if focus.spread > 0:
        fan = focus.spread * 1.15 ** np.arange(-12, 100)
        close = sign * np.concatenate([focus.around - fan, [focus.around], focus.around + fan])
        knots = np.unique(np.concatenate([knots, close[close > 0]]))
        apart = np.diff(knots, prepend=-1.0) > 0.01 * np.minimum(knots, focus.spread)
        knots = knots[apart | (knots == 0)]
    if sign > 0 and focus.tilt > 0:
        even = max(0.5 / focus.tilt, focus.top / 2000)
        spaced = np.arange(4 * even, focus.top, even)
        knots = np.concatenate([knots[knots < 4 * even], spaced, knots[knots >= max(focus.top, 4 * even)]])
    return knots


def _half(pair: Pair, ladder: Floats, faint: float) -> tuple[Floats, Floats]:
    ceiling = pair.ceiling
    if ceiling < ladder[-1]:
        ladder = np.append(ladder[(ladder < ceiling) | (ladder == 0)], max(ceiling, float(ladder[1])))
    profile = np.minimum.accumulate(pair.upper(ladder))
    enough = min(max(int(np.sum(profile > faint)) + 1, 3), len(ladder))
    return ladder[:enough], profile[:enough]


def _masses(profile: Floats, ladder: Floats) -> tuple[Floats, float]:
    drop, width = profile[:-1] - profile[1:], np.diff(ladder)
    left, right = drop / -np.expm1(-width), drop / np.expm1(width)
    return np.maximum(left - np.append(right[1:], 0.0), 0.0), float(right[0])


@dataclass(frozen=True, slots=True)
class Cumulants:
    """ln E e^(s L) of a sum of independent losses, with its first two derivatives; the same and the weights for each summand."""

    value: float
    mean: float
    variance: float
    values: Floats
    means: Floats
    variances: Floats
    weights: Floats


class PairSurvey:
    """Sketches of all pairs of a composition, side by side."""

    def __init__(self, sketches: Sequence[Sketch], times: Sequence[int]) -> None:
        self.sketches = tuple(sketches)
        self.times = np.array(times, dtype=np.float64)
        width = max(len(each.loss) for each in sketches)
        self._loss = np.zeros((len(sketches), width))
        self._mass = np.zeros((len(sketches), width))
        for row, each in enumerate(sketches):
            self._loss[row, : len(each.loss)] = each.loss
            self._mass[row, : len(each.mass)] = each.mass

    def cumulants(self, tilt: float) -> Cumulants:
        """At a tilt."""
        exponent = np.where(self._mass > 0, tilt * self._loss, -np.inf)
        highest = exponent.max(axis=1)
        weight = self._mass * np.exp(exponent - highest[:, None])
        total = weight.sum(axis=1)
        means = (weight * self._loss).sum(axis=1) / total
        variances = (weight * (self._loss - means[:, None]) ** 2).sum(axis=1) / total
        values = np.log(total) + highest
        value = float(self.times @ values)
        mean, variance = float(self.times @ means), float(self.times @ variances)
        if not math.isfinite(value + mean + variance):
            raise Beyond("the losses are beyond floats")
        return Cumulants(value, mean, variance, values, means, variances, weight / total[:, None])

    def bulk(self, at: Cumulants, row: int) -> tuple[float, float]:
        """The median of one summand, and the half-width of the interval around it that holds most of its mass."""
        loss, weight = self._loss[row], at.weights[row]
        median = float(loss[np.searchsorted(np.cumsum(weight), 0.5)])
        order = np.argsort(np.abs(loss - median), kind="stable")
        half = order[np.searchsorted(np.cumsum(weight[order]), 0.75)]
        return median, abs(float(loss[half]) - median)

    def edge(self, row: int) -> float:
        """How wide the lower end of one summand is, without any tilt: between small quantiles."""
        each = self.sketches[row]
        reached = np.cumsum(each.mass)
        return float(each.loss[np.searchsorted(reached, 0.3)] - each.loss[np.searchsorted(reached, 0.02)])

    def tilt(self, *, epsilon: float | None, log_delta: float | None) -> float:
        """The tilt whose saddle point is at this epsilon, or else has this delta (and an epsilon of at least 0)."""
        goal = log_delta or 0.0
        spread = math.sqrt(self.cumulants(0.0).variance) or 1e-9
        low, high = math.log(1e-2 / (1 + spread)), math.log(1e4 / min(spread, 1.0))
        while high - low > 0.01:
            middle = (low + high) / 2
            tilt = math.exp(middle)
            here, depth = estimate(self.cumulants(tilt), tilt)
            short = here < epsilon if epsilon is not None else here < 0 or depth > goal
            low, high = (middle, high) if short else (low, middle)
        return math.exp((low + high) / 2)

    def window(self, tilt: float, log_mass: float) -> tuple[float, float, float, float]:
        """Losses below and above which the tilted sum has about this mass, and the further tilts that show it (Chernoff)."""
        at = self.cumulants(tilt)
        steps = 1.3 ** np.arange(-8, 16) / math.sqrt(at.variance + (0.1 / tilt) ** 2)
        tops = [(self.cumulants(tilt + step).value - at.value - log_mass) / step for step in steps]
        bottoms = [(at.value - self.cumulants(tilt - step).value + log_mass) / step for step in steps]
        high, low = int(np.argmin(tops)), int(np.argmax(bottoms))
        return bottoms[low], tops[high], float(steps[low]), float(steps[high])


def estimate(at: Cumulants, tilt: float) -> tuple[float, float]:
    """About which epsilon a tilt is best for, and about the logarithm of delta there (saddle point)."""
    epsilon = at.mean - 1 / tilt - 1 / (1 + tilt)
    curvature = at.variance + 1 / tilt**2 + 1 / (1 + tilt) ** 2
    log_delta = at.value - tilt * epsilon - math.log(tilt * (1 + tilt)) - 0.5 * math.log(2 * math.pi * curvature)
    return epsilon, log_delta


@dataclass(frozen=True, slots=True)
class TiltedPart:
    """A measure, composed with itself `times` times."""

    measure: GridMeasure
    times: int


@dataclass(frozen=True, slots=True)
class Tilted:
    """A tilted part: masses that sum to about one, at places counted from `center`; `rounding` bounds their relative error."""

    place: Integers
    mass: Floats
    times: int
    log_total: float
    center: int
    rounding: float


def tilt_measure(part: TiltedPart, tilt: float) -> Tilted:
    """Multiply by e^(tilt loss) and scale."""
    index, exponent = part.measure.index, tilt * part.measure.loss
    highest = float(exponent.max())
    weight = part.measure.mass * np.exp(exponent - highest)
    total = float(weight.sum()) or 1.0
    if not math.isfinite(highest + total):
        raise Beyond("the tilt is beyond floats")
    weight /= total
    center = round(float(weight @ index))
    rounding = U * (40 + 4 * float(np.abs(exponent).max()) + 10 * abs(math.log(total)))
    return Tilted(index - center, weight, part.times, math.log(total) + highest, center, rounding)


def log_moment(parts: Sequence[TiltedPart], tilt: float) -> float:
    """At least ln of the total of e^(tilt loss) over the composition."""
    value = 0.0
    for part in parts:
        exponent = tilt * part.measure.loss
        highest = float(exponent.max())
        total = float((part.measure.mass * np.exp(exponent - highest)).sum()) + TINY
        error = U * (40 + 4 * float(np.abs(exponent).max()) + math.log2(len(exponent)))
        value += part.times * (math.log(total) + highest + error)
    return value + 8 * U * abs(value)


def log_kernel(tilt: float) -> float:
    """ln of the largest value of e^(-tilt u) (1 - e^-u): what a unit of tilted mass can add at most."""
    return tilt * math.log(tilt) - (1 + tilt) * math.log1p(tilt) + 1e-12
