"""Columns on their way from noisy integers to an answer: measured numbers, numbers with intervals, and the column people read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.kernels import ColumnNoise

Floats: TypeAlias = NDArray[np.float64]
Truths: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, order=True)
class SliceColumn:
    """Something measured (or chosen) in one slice: the plan's name for it, the place of its level, and whether of other rows."""

    column: str
    place: int = 0
    other: bool = False

    def __str__(self) -> str:
        level = f"@{self.place}" if self.place or self.other else ""
        return f"{self.column}{level}{'+' if self.other else ''}"


@dataclass(frozen=True, slots=True, eq=False)
class Adjustment:
    """Where a column was moved so that it adds up: its numbers, and the least-squares estimate they came from.

    `deviation` is the standard deviation of the estimate (None when only the measured interval is known to hold), `reach` the
    sum of absolute weights of the measured cells in it, which bounds what rounding to the grid adds.
    """

    values: Floats
    estimate: Floats
    deviation: float | None = None
    reach: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Noisy:
    """One noisy column: integers on a grid of `step`, the noise they carry, and what it is shown in whole multiples of.

    A column that is measured in parts of its own step is shown in whole ones (`grain`); others as they are. What was moved so
    that it adds up keeps what was measured beside its adjustment.
    """

    steps: NDArray[np.int64]
    step: Fraction
    noise: ColumnNoise
    grain: Fraction | None = None
    adjustment: Adjustment | None = None

    @property
    def is_measured(self) -> bool:
        """Whether its numbers are as they were measured, so that their noises are independent."""
        return self.adjustment is None

    @property
    def shown_in(self) -> Fraction:
        """What it is shown in whole multiples of."""
        return self.step if self.grain is None else self.grain

    def shown(self) -> NDArray[np.int64]:
        """The nearest whole multiples of what it is shown in, halves upwards, as measured."""
        size = int(self.shown_in / self.step)
        return self.steps if size == 1 else self.steps // size + (2 * (self.steps % size) >= size)

    def shown_error(self, beta: Fraction) -> Fraction:
        """How far a shown number is off, but for probability beta."""
        return shown_error(self.noise.error(beta), self.step, self.shown_in)

    @property
    def measured_values(self) -> Floats:
        """The numbers as they were measured."""
        return self.steps.astype(np.float64) * float(self.step)

    @property
    def values(self) -> Floats:
        """The numbers people read."""
        return self.measured_values if self.adjustment is None else self.adjustment.values

    def around(self, beta: Fraction) -> Intervals:
        """The values with an interval that fails with probability at most beta, about the estimate or what was measured.

        Which of the two is decided from public facts: the narrower. It is widened where an adjusted number lies outside it.
        """
        half, centre = self.noise.error(beta) * float(self.step), self.measured_values
        if self.adjustment is None:
            return Intervals(centre, centre - half, centre + half)
        fitted = self._fitted_error(self.adjustment, beta)
        if fitted is not None and fitted < half:
            half, centre = fitted, self.adjustment.estimate
        return Intervals(self.values, np.minimum(centre - half, self.values), np.maximum(centre + half, self.values))

    def _fitted_error(self, adjustment: Adjustment, beta: Fraction) -> float | None:
        if adjustment.deviation is None:
            return None
        deviation, reach = Fraction(adjustment.deviation), Fraction(adjustment.reach)
        within = self.noise.weighted_error(deviation=deviation, reach=reach, beta=beta)
        return None if within is None else float(within) * float(self.step) * (1 + 1e-9)


def shown_error(half: int, step: Fraction, grain: Fraction) -> Fraction:
    """How far a noisy number is off once it is shown in whole `grain`s: rounding it adds half of one, rounded up to whole ones."""
    return half * step if step == grain else ceil(half * step / grain + Fraction(1, 2)) * grain


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Estimates with lower and upper ends, one of each per group."""

    value: Floats
    lower: Floats
    upper: Floats

    def clipped(self, lower: float, upper: float) -> Intervals:
        """The same, within public bounds."""
        return Intervals(*(np.clip(part, lower, upper) for part in (self.value, self.lower, self.upper)))


@dataclass(frozen=True, slots=True)
class ShiftedValues(Sequence[Any]):
    """Numbers, each moved by the same amount; computed when looked at, for most of a large release never is."""

    values: tuple[Any, ...]
    by: int | float

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        return ShiftedValues(self.values[index], self.by) if isinstance(index, slice) else self.values[index] + self.by


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """One output column: plain values, interval ends where there are any, and its error in words.

    `within` is there when every interval is its value give or take the same number. `measured` holds the values before they
    were made to add up; None when they were not. A cell that says nothing at its price has the value None. Of a private choice
    `off` says for each group how far it may be from the best one, in `unit` (ranks or rows). `bins` are the names of a
    histogram's bins, or of several quantiles; `edges` where a histogram's bins begin, and the last one's end.
    """

    name: str
    kind: str
    values: tuple[Any, ...]
    lower: Sequence[Any] | None
    upper: Sequence[Any] | None
    error: str
    within: int | float | None = None
    measured: tuple[Any, ...] | None = None
    off: tuple[float | None, ...] | None = None
    unit: str = ""
    bins: tuple[str, ...] | None = None
    edges: tuple[int | float, ...] | None = None


def even_column(name: str, kind: str, values: Sequence[Any], within: int | float, error: str) -> AnswerColumn:
    """A column whose intervals are all as wide."""
    cells = tuple(values)
    return AnswerColumn(name, kind, cells, ShiftedValues(cells, -within), ShiftedValues(cells, within), error, within)


def interval_column(
    name: str, kind: str, intervals: Intervals, error: str, *, within: tuple[float, float] | None = None
) -> AnswerColumn:
    """A column with an interval of its own for every cell; one whose interval is all of `within` says nothing."""
    value, lower, upper = (tuple(part.tolist()) for part in (intervals.value, intervals.lower, intervals.upper))
    if within is None:
        return AnswerColumn(name, kind, value, lower, upper, error)
    least, most = within
    told = tuple(
        None if low <= least and high >= most and least < most else each
        for each, low, high in zip(value, lower, upper, strict=True)
    )
    return AnswerColumn(name, kind, told, lower, upper, error)
