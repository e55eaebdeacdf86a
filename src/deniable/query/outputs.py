"""From noisy integers to the columns people asked for: pure post-processing, with an interval for every cell.

An interval covers the noise with at least the stated confidence, whatever the data: where several noisy numbers meet in one
cell the error probability is split among them. Sampling error and the effect of clipping are not in it; a release says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.kernels import Noise

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Plain:
    """A noisy count or sum as it is."""

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)


@dataclass(frozen=True, slots=True)
class MeanOf:
    """`centre` plus a sum of distances from it over a count; always within the bounds."""

    total: str
    count: str
    centre: Fraction
    lower: Fraction
    upper: Fraction

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.total, self.count)


@dataclass(frozen=True, slots=True)
class MomentOf:
    """E[xy] - E[x]E[y] around public centres: a variance when both are one column, else a covariance.

    `shift` was subtracted from every product before adding up (it halves the sensitivity) and is put back here;
    the result lies in [lower, upper]. `root` takes the square root.
    """

    products: str
    left: str
    right: str
    count: str
    shift: Fraction
    lower: Fraction
    upper: Fraction
    root: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.products, self.left, self.right, self.count)))


@dataclass(frozen=True, slots=True)
class QuantileOf:
    """The chosen candidate: the middle of a bin of `width`, the first at `start`, never beyond `upper`.

    With `ends`, the lower and the upper bound are candidates of their own, before and after the `bins` between them.
    """

    choice: str
    start: Fraction
    width: Fraction
    lower: Fraction
    upper: Fraction
    bins: int
    ends: bool

    def value(self, index: int) -> Fraction:
        """What the candidate stands for."""
        if self.ends and index == 0:
            return self.lower
        place = index - 1 if self.ends else index
        return self.upper if place >= self.bins else min(self.start + self.width * place, self.upper)

    @property
    def columns(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class HistogramOf:
    """Noisy rows in each bin."""

    column: str
    edges: tuple[Fraction, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)


@dataclass(frozen=True, slots=True)
class TopKOf:
    """The chosen values, most frequent first."""

    choice: str
    values: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return ()


Output: TypeAlias = Plain | MeanOf | MomentOf | QuantileOf | HistogramOf | TopKOf


def shown_error(half: int, step: Fraction, grain: Fraction) -> Fraction:
    """How far a noisy number is off once it is shown in whole `grain`s: rounding it adds half of one, rounded up to whole ones."""
    return half * step if step == grain else ceil(half * step / grain + Fraction(1, 2)) * grain


@dataclass(frozen=True, slots=True, eq=False)
class Noisy:
    """One noisy column: integers on a grid of `step`, and the noise they carry."""

    steps: NDArray[np.int64]
    step: Fraction
    noise: Noise

    def shown(self, grain: Fraction) -> NDArray[np.int64]:
        """The nearest whole numbers of `grain`s, halves upwards; a grain is a whole number of steps."""
        size = int(grain / self.step)
        return self.steps if size == 1 else self.steps // size + (2 * (self.steps % size) >= size)

    @property
    def values(self) -> Floats:
        """The numbers people read."""
        return self.steps.astype(np.float64) * float(self.step)

    def around(self, beta: Fraction) -> Band:
        """The values with the interval that fails with probability at most beta."""
        half = self.noise.error(beta) * float(self.step)
        return Band(self.values, self.values - half, self.values + half)


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """Estimates with lower and upper ends, one of each per group."""

    value: Floats
    lower: Floats
    upper: Floats

    def clipped(self, lower: float, upper: float) -> Band:
        """The same, within public bounds."""
        return Band(*(np.clip(part, lower, upper) for part in (self.value, self.lower, self.upper)))


class Column(Protocol):
    """A released column, as measured or fitted: its numbers, and how far they can be trusted."""

    @property
    def values(self) -> Floats:
        """The numbers people read."""
        ...

    def around(self, beta: Fraction) -> Band:
        """The values with an interval that fails with probability at most beta."""
        ...


def mean(output: MeanOf, noisy: Mapping[str, Column], beta: Fraction) -> Band:
    """A mean; where the count's interval reaches below one, the interval is the whole public range."""
    ratio = _ratio(noisy[output.total].around(beta / 2), noisy[output.count].around(beta / 2))
    centre = float(output.centre)
    moved = Band(ratio.value + centre, ratio.lower + centre, ratio.upper + centre)
    return moved.clipped(float(output.lower), float(output.upper))


def moment(output: MomentOf, noisy: Mapping[str, Column], beta: Fraction) -> Band:
    """A variance, standard deviation or covariance."""
    part = beta / len(output.columns)
    count = noisy[output.count].around(part)
    products = _ratio(noisy[output.products].around(part), count)
    left, right = (_ratio(noisy[name].around(part), count) for name in (output.left, output.right))
    shift = float(output.shift)
    squared = _square(left) if output.left == output.right else _product(left, right)
    band = Band(
        products.value + shift - left.value * right.value,
        products.lower + shift - squared.upper,
        products.upper + shift - squared.lower,
    ).clipped(float(output.lower), float(output.upper))
    return Band(np.sqrt(band.value), np.sqrt(band.lower), np.sqrt(band.upper)) if output.root else band


def _ratio(top: Band, bottom: Band) -> Band:
    """top / bottom where bottom is a count of at least one; unbounded where its interval reaches below one."""
    least, most = np.maximum(bottom.lower, 1.0), np.maximum(bottom.upper, 1.0)
    unsure = bottom.lower < 1.0
    low = np.where(top.lower < 0, top.lower / least, top.lower / most)
    high = np.where(top.upper > 0, top.upper / least, top.upper / most)
    return Band(
        top.value / np.maximum(bottom.value, 1.0), np.where(unsure, -np.inf, low), np.where(unsure, np.inf, high)
    )


def _square(band: Band) -> Band:
    ends = np.stack([band.lower**2, band.upper**2])
    least = np.where((band.lower <= 0) & (band.upper >= 0), 0.0, ends.min(axis=0))
    return Band(band.value**2, least, ends.max(axis=0))


def _product(left: Band, right: Band) -> Band:
    with np.errstate(invalid="ignore"):
        ends = np.stack([a * b for a in (left.lower, left.upper) for b in (right.lower, right.upper)])
    unsure = np.isnan(ends).any(axis=0)
    low, high = np.nan_to_num(ends).min(axis=0), np.nan_to_num(ends).max(axis=0)
    return Band(left.value * right.value, np.where(unsure, -np.inf, low), np.where(unsure, np.inf, high))
