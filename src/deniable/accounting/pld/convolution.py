"""A composition of pairs in one direction: certified bounds on its profile, and on where it reaches a given delta.

One attempt: look around, choose tilt, grid and window, discretise every pair from above and from below, compose, evaluate.
If the two answers lie too far apart, try again on a finer grid; the gap shrinks with the square of the step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from deniable.accounting.pld.discretization import (
    GridMeasure,
    Knots,
    Layout,
    LossGrid,
    coarsen,
    dots_above,
    dots_below,
    grid_for,
    place,
)
from deniable.accounting.pld.outward import Beyond, Meter
from deniable.accounting.pld.pair import Pair
from deniable.accounting.pld.saddle_point import Cumulants, Focus, PairSurvey, TiltedPart, estimate, sketch
from deniable.accounting.pld.spectrum import LossWindow, Spectrum, TooFine, fast_size

Steps = tuple[tuple[Pair, int], ...]
Dots = Callable[[Pair, Knots], GridMeasure]


@dataclass(frozen=True, slots=True)
class View:
    """A survey of the steps around the losses that matter, the tilt that makes them typical, and the delta expected there.

    `log_weight` is about that delta over what a unit of tilted mass can add to it, `spread` the deviation of the whole sum.
    """

    survey: PairSurvey
    at: Cumulants
    tilt: float
    epsilon: float
    log_delta: float
    log_weight: float
    spread: float
    times: tuple[int, ...]


class ComposedLoss:
    """Two compositions: `above` bounds the profile from above, `below`, made when first asked for, from below."""

    def __init__(self, compose: Callable[[Dots], Spectrum], view: View) -> None:
        self.above, self.view = compose(dots_above), view
        self._compose = compose

    @cached_property
    def below(self) -> Spectrum:
        return self._compose(dots_below)

    def upper(self, epsilon: float) -> float:
        """At least delta(epsilon)."""
        return min(1.0, (self.above.delta(epsilon)[1] + max(self.above.infinite, 0.0)) * (1 + 1e-12))

    def lower(self, epsilon: float) -> float:
        """At most delta(epsilon)."""
        return max(0.0, (self.below.delta(epsilon)[0] + self.below.infinite) * (1 - 1e-12))

    def losses(self, target: tuple[float, float]) -> tuple[float, float]:
        """Where the profile falls to a target between these two: at most the one, at least the other."""
        guess, slope = self.view.epsilon, self.view.tilt
        low, _ = crossing(self.lower, target[1], guess=guess, slope=slope)
        _, high = crossing(self.upper, target[0], guess=guess, slope=slope)
        return low, high


@dataclass(frozen=True, slots=True)
class Single:
    """The profile of one pair, once: no grid is needed."""

    pair: Pair

    def upper(self, epsilon: float) -> float:
        """At least delta(epsilon)."""
        return min(float(self.pair.upper(np.array([epsilon]))[0]), 1.0)

    def lower(self, epsilon: float) -> float:
        """At most delta(epsilon)."""
        at = np.array([epsilon])
        return max(float(self.pair.line(at, at)[0]), self.pair.infinite, 0.0)

    def losses(self, target: tuple[float, float]) -> tuple[float, float]:
        """Where the profile falls to a target between these two: at most the one, at least the other."""
        typical = self.upper(0.0)
        ladder = np.append(0.0, 1e-6 * typical * 1.1 ** np.arange(600))
        reached = int(np.sum(self.pair.upper(ladder) > target[0]))
        if reached == 0:
            return 0.0, 0.0
        guess, width = float(ladder[reached - 1]), float(ladder[min(reached, 600)] - ladder[min(reached, 600) - 1])
        slope = (abs(math.log(self.upper(guess) / max(target[0], 1e-300))) + 1e-3) / width
        low, _ = crossing(self.lower, target[1], guess=guess, slope=slope)
        _, high = crossing(self.upper, target[0], guess=guess, slope=slope)
        return low, high


def look(steps: Steps, *, epsilon: float | None = None, log_delta: float | None = None) -> View:
    """Find the tilt for an epsilon, or for a delta.

    Losses so rare that they cannot matter must be left out first: under a tilt they would seem to.
    """
    pairs, times = [pair for pair, _ in steps], [count for _, count in steps]
    faint = math.exp(max(log_delta, -600.0)) if log_delta is not None else 1.0
    level = 1e-9 * faint / sum(times)
    survey = PairSurvey([sketch(pair, Focus(faint=level)) for pair in pairs], times)
    tilt = survey.tilt(epsilon=epsilon, log_delta=log_delta)
    for _ in range(4):
        at = survey.cumulants(tilt)
        if log_delta is None:
            level = 1e-9 * math.exp(max(estimate(at, tilt)[1], -600.0)) / sum(times)
        focuses = [
            Focus(*survey.bulk(at, row), tilt=tilt, top=each.top(level), faint=level)
            for row, each in enumerate(survey.sketches)
        ]
        survey = PairSurvey([sketch(pair, focus) for pair, focus in zip(pairs, focuses, strict=True)], times)
        before, tilt = tilt, survey.tilt(epsilon=epsilon, log_delta=log_delta)
        if 0.8 < tilt / before < 1.25 and survey.cumulants(tilt).variance > 0.7 * at.variance:
            break
    at = survey.cumulants(tilt)
    near, depth = estimate(at, tilt)
    if not np.isfinite([tilt, near, depth]).all():
        raise Beyond("the losses are beyond floats")
    weight = depth - at.value + tilt * near + 1 + math.log1p(tilt)
    return View(survey, at, tilt, near, depth, min(weight, 0.0), math.sqrt(at.variance), tuple(times))


_MOST = (1 << 20) - 64


def _wanted(view: View, share: float) -> float:
    """The step that the losses ask for: for their variance, and so that no bulk that matters is narrower than some steps."""
    at, times = view.at, view.survey.times
    total = view.spread
    wanted = share * total / math.sqrt(float(sum(view.times)))
    for row, count in enumerate(times):
        for width in (view.survey.bulk(at, row)[1], 2 * view.survey.edge(row)):
            if count * width > share**2 * total:
                wanted = min(wanted, share * width)
    return max(wanted, 1e-9 * total)


def read(steps: Steps, view: View, share: float, meter: Meter | None = None) -> ComposedLoss:
    """Compose on a grid whose spacing is `share` of the widths of the losses."""
    low, high, below, above = view.survey.window(view.tilt, view.log_weight + math.log(1e-3 * share**2))
    largest = max(abs(low), abs(high), *(each.above[-1] for each in view.survey.sketches))
    fine, meter = _wanted(view, share), meter or Meter()

    @cache
    def laid(wanted: float) -> tuple[LossGrid, list[Knots], LossWindow]:
        grid = grid_for([pair for pair, _ in steps], wanted, largest)
        knots = [place(pair, grid, _layout(view, row, share)) for row, (pair, _) in enumerate(steps)]
        grid, knots = coarsen(grid, knots)
        size = fast_size(math.ceil((high - low) / grid.step) + 4)
        shift = sum(times * each.offset for (_, times), each in zip(steps, knots, strict=True))
        middle = math.floor((low + high) / 2 / grid.quantum) - shift
        return grid, knots, LossWindow(middle // grid.stride - size // 2, size, above, below, view.epsilon)

    def spectrum(dots: Dots, wanted: float) -> Spectrum:
        grid, knots, window = laid(wanted)
        parts = [TiltedPart(dots(pair, each), times) for (pair, times), each in zip(steps, knots, strict=True)]
        return Spectrum(parts, grid=grid, tilt=view.tilt, window=window, meter=meter)

    def compose(dots: Dots) -> Spectrum:
        try:
            return spectrum(dots, fine)
        except TooFine:
            return spectrum(dots, max(fine, (high - low) / _MOST))

    return ComposedLoss(compose, view)


def _layout(view: View, row: int, share: float) -> Layout:
    survey, count = view.survey, float(view.survey.times.sum())
    center, width = survey.bulk(view.at, row)
    each = survey.sketches[row]
    return Layout(
        center=center,
        width=width,
        share=share,
        bottom=each.bottom(1e-14 / count),
        cutoff=(float(view.at.values[row]) - math.log(count) - 36) / view.tilt,
        top=each.top(math.exp(max(view.log_delta, -650.0)) * 1e-4 * share**2 / count),
        widest=3 * share / math.sqrt(view.tilt * (1 + view.tilt)),
        edge=survey.edge(row),
    )


def crossing(profile: Callable[[float], float], target: float, *, guess: float, slope: float) -> tuple[float, float]:
    """Losses a < b, close together, with profile(a) > target >= profile(b): -inf or inf for an end that was not found."""
    low, high, at = -math.inf, math.inf, max(guess, 0.0)
    goal, width = math.log(max(target, 1e-300)), 1 / slope
    for turn in range(100):
        here = profile(at)
        low, high = (at, high) if here > target else (low, at)
        if high == 0 or (math.isfinite(high) and high - low <= 1e-9 * high):
            break
        jump = (math.log(here) - goal) / slope if here > 0 else -width
        following = max(at + min(max(jump, -4 * width), 4 * width) + math.copysign(2e-10 * at, jump), 0.0)
        at = (
            following if low < following < high and turn % 4 != 3 else _elsewhere(low, high, width * 2.0 ** (turn // 4))
        )
    return low, high


def _elsewhere(low: float, high: float, width: float) -> float:
    if math.isinf(low):
        return max(high - width, 0.0)
    return low + width if math.isinf(high) else (low + high) / 2
