"""Axes: from data to pixels, with ticks at round numbers, linear or logarithmic."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deniable.svg import lettering

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
TINIEST, LARGEST = 1e-290, 1e290  # axes end here, so that no step of theirs can over- or underflow


class Scale(enum.Enum):
    """How an axis spreads its numbers. On a logarithmic one, numbers that are not positive are left out."""

    LINEAR = "linear"
    LOG = "log"


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: numbers from `low` to `high` mapped to pixels from `start` to `end`."""

    scale: Scale
    low: float
    high: float
    start: float
    end: float
    ticks: tuple[tuple[float, str], ...]
    minor: tuple[float, ...] = ()

    def shows(self, value: float) -> bool:
        """Whether the value has a place on this axis."""
        return math.isfinite(value) and (self.scale is Scale.LINEAR or value > 0)

    def pixel(self, value: float) -> float:
        """Where the value is drawn; beyond the axis it is beyond the frame, by at most a frame's size."""
        low, high, at = (_position(self.scale, v) for v in (self.low, self.high, value))
        share = min(max((at - low) / (high - low), -1.0), 2.0)
        return self.start + share * (self.end - self.start)

    def inside(self, value: float) -> float:
        """Where the value is drawn, held at the frame; what the scale cannot show sits at its low end."""
        if math.isnan(value) or (self.scale is Scale.LOG and not value > 0):
            return self.start
        return self.pixel(min(max(value, self.low), self.high))


def _position(scale: Scale, value: float) -> float:
    return math.log10(value) if scale is Scale.LOG else value


def axis(
    values: Iterable[float], *, scale: Scale, limits: tuple[float, float] | None, start: float, end: float, zero: bool
) -> Axis:
    """The axis for these values: limits as given, or the values with round ends; with `zero`, 0 is on it."""
    count = max(2, round(abs(end - start) / (70 if end > start else 52)))  # labels are wide, so x ticks need more room
    places = (v for v in values if math.isfinite(v) and (scale is Scale.LINEAR or v > 0))
    least = TINIEST if scale is Scale.LOG else -LARGEST
    shown = [min(max(v, least), LARGEST) for v in places]
    if scale is Scale.LOG:
        return _logarithmic(shown, limits, start, end, count)
    return _linear(shown, limits, start, end, count, zero)


def _linear(
    values: Sequence[float], limits: tuple[float, float] | None, start: float, end: float, count: int, zero: bool
) -> Axis:
    low, high = limits or _spread(values, zero)
    step = nice_step((high - low) / count)
    if limits is None:
        low, high = -_outer(-low, step, high - low), _outer(high, step, high - low)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    ticks = tuple((k * step, lettering.tick(k * step, step)) for k in range(first, last + 1))
    return Axis(Scale.LINEAR, low, high, start, end, ticks)


def _outer(value: float, step: float, span: float) -> float:
    """The end of the axis above `value`: the next tick when it is near, else a little room."""
    tick = math.ceil(value / step - 1e-9) * step
    return tick if tick - value <= 0.4 * step else value + 0.04 * span


def _spread(values: Sequence[float], zero: bool) -> tuple[float, float]:
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if zero or 0 < low < (high - low) / 2 or (high - low) / -2 < high < 0:  # starting at 0 is honest when 0 is near
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= max(1e-12 * max(abs(low), abs(high)), TINIEST):
        margin = abs(low) / 2 or 1.0
        low, high = low - margin, high + margin
    return low, high


def nice_step(rough: float) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten that is at least `rough`."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in _STEPS if step * power >= rough * (1 - 1e-9))


def _logarithmic(
    values: Sequence[float], limits: tuple[float, float] | None, start: float, end: float, count: int
) -> Axis:
    low, high = limits or ((min(values), max(values)) if values else (1.0, 10.0))
    if limits is None and low == high:
        low, high = low / 3, high * 3
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    rounds = [m * 10.0**e for e in range(first, last + 1) for m in (1, 2, 5)]
    if limits is None:
        low = max(v for v in rounds if v <= low * (1 + 1e-9))
        high = min(v for v in rounds if v >= high * (1 - 1e-9))
    inside = [v for v in rounds if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]
    if math.log10(high / low) <= min(2, count / 2):
        ticks = tuple((v, lettering.number(v, 2)) for v in inside)
        return Axis(Scale.LOG, low, high, start, end, ticks, _minor(low, high))
    every = max(1, math.ceil((last - first) / count))
    powers = [e for e in range(first, last + 1) if e % every == 0 and low * (1 - 1e-9) <= 10.0**e <= high * (1 + 1e-9)]
    ticks = tuple(zip((10.0**e for e in powers), lettering.powers_of_ten(powers), strict=True))
    return Axis(Scale.LOG, low, high, start, end, ticks, _minor(low, high) if last - first <= 8 else ())


def _minor(low: float, high: float) -> tuple[float, ...]:
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = (m * 10.0**e for e in exponents for m in range(2, 10))
    return tuple(v for v in every if low < v < high)
