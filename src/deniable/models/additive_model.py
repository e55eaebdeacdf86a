"""A boosted additive model: every feature has a table of steps, learnt in turns from noisy sums of residuals in its bins.

Bins come from public facts. In each turn a row adds its residual, at most 1, to one bin of one feature, so a turn is one normal
release of length 1; how many rows each bin has is released once at the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.core.compositor import Compositor
from deniable.core.mechanism import Mechanism
from deniable.errors import InvalidArgument
from deniable.exact import number_of
from deniable.exact import sqrt as exact_root
from deniable.exact.guards import Real, integer, positive
from deniable.models.descent import LARGEST_WEIGHT, WEIGHT_GRID
from deniable.models.encoding import GRID, Feature, Whole
from deniable.models.estimator import Estimator, RowsReading
from deniable.models.fitted import FittedModel
from deniable.models.inference import FeatureCurve, curves_number, curves_odds, odds_chance
from deniable.models.links import IDENTITY, LINK_GRID, LOGISTIC, LossLink, sigmoid
from deniable.models.task import TotalNoise, planned_task
from deniable.models.trees import candidates
from deniable.models.unit_totals import PrivateRows, check_cut, norm_square, root_up, weighted

Floats = NDArray[np.float64]

COUNT_SHARE = Fraction(1, 10)
"""The part of the budget that the counts of all bins get."""


@dataclass(frozen=True, slots=True)
class AdditiveModel(Estimator):
    """A number, or the chance of the second of two classes, as a sum of one table for each feature.

    `turns` is how often each feature is visited; `rate` how far a turn goes; `thresholds` how many evenly spread cuts a number has.

    Guarantee: one charge for the counts of all bins and every turn; one unit moves each by at most the declared length.
    """

    turns: int = field(default=5, kw_only=True)
    rate: Real = field(default=Fraction(1, 2), kw_only=True)
    thresholds: int = field(default=15, kw_only=True)

    title: ClassVar[str] = "additive model"

    def check(self) -> None:
        integer(turns=self.turns, least=1, greatest=10_000)
        integer(thresholds=self.thresholds, least=1, greatest=255)
        if not positive(rate=self.rate) <= 1:
            raise InvalidArgument(f"rate must be above 0 and at most 1, got {self.rate!r}")

    def step_count(self, reading: RowsReading) -> int:
        return 1 + self.turns * len(reading.features)

    def forecast(self, reading: RowsReading, multiplier: float) -> str:
        off = multiplier * sqrt(self.turns * len(reading.features) / 0.9 * reading.per_unit)
        return f"each sum of residuals in a bin is off by about {off:.4g} rows"

    def at(self, reading: RowsReading, multiplier: Real) -> Mechanism:
        assert reading.target is not None
        if not reading.target.is_number and len(reading.target_classes()) != 2:
            raise InvalidArgument(
                "an additive model is for a number or two classes; use LogisticRegression or NaiveBayes"
            )
        link = IDENTITY if reading.target.is_number else LOGISTIC
        tables = tuple(BinTable.of(each, self.thresholds) for each in reading.features)
        count, push = self.noises(reading, multiplier)

        def prepare(rows: PrivateRows) -> None:
            _prepare(rows, reading, tables)

        def run(compositor: Compositor) -> FittedAdditive:
            return _boosted(self, compositor, reading, link, tables, count, push)

        costs = [count.cost] + [push.cost] * (self.turns * len(tables))
        return planned_task(reading.space, costs=costs, run=run, recipe=self.recipe(), prepare=prepare)

    def noises(self, reading: RowsReading, multiplier: Real) -> tuple[TotalNoise, TotalNoise]:
        """The noise of the counts and of each turn, such that all together cost as one answer with this multiplier."""
        rows, visits = reading.per_unit, self.turns * len(reading.features)
        counts, pushes = norm_square(len(reading.features), rows), norm_square(LINK_GRID**2, rows)
        if rows > 1:
            check_cut(entry=rows, square=counts * rows, norm=root_up(counts))
            check_cut(entry=rows * LINK_GRID, square=pushes * rows, norm=root_up(pushes))
        whole = positive(multiplier=multiplier)
        return (
            TotalNoise.of(counts, whole * exact_root(1 / COUNT_SHARE, 40).upper),
            TotalNoise.of(pushes, whole * exact_root(visits / (1 - COUNT_SHARE), 40).upper),
        )


@dataclass(frozen=True, slots=True)
class BinTable:
    """The bins of one feature, from public facts: its categories, or the stretches between cuts; then one for unseen values."""

    feature: Feature
    edges: tuple[int, ...]

    @classmethod
    def of(cls, known: Feature, thresholds: int) -> BinTable:
        """The bins of a feature."""
        cuts = candidates((known,), thresholds)
        return cls(known, tuple(cut.place for cut in cuts) if known.is_number else ())

    @property
    def size(self) -> int:
        """How many bins there are, the one for unseen values not counted."""
        return len(self.edges) + 1 if self.feature.is_number else len(self.feature.values)

    def bins(self, codes: Whole) -> Whole:
        """The bin of every row; `size` where the value is unseen."""
        if self.feature.is_number:
            return np.searchsorted(np.array(self.edges, dtype=np.int64), codes, side="left").astype(np.int64)
        return np.where((codes >= 0) & (codes < self.size), codes, self.size)


def _prepare(rows: PrivateRows, reading: RowsReading, tables: tuple[BinTable, ...]) -> None:
    assert reading.target is not None
    codes = rows.codes[reading.target.name]
    is_number = reading.target.is_number
    rows.kept["truth"] = (reading.target.columns(codes) if is_number else (codes == 1)[:, None]).astype(np.float64)
    for place, table in enumerate(tables):
        rows.kept[f"bins {place}"] = table.bins(rows.codes[table.feature.name]).astype(np.float64)


def _in_bins(rows: PrivateRows, place: int, size: int) -> Floats:
    return np.asarray(
        (rows.kept[f"bins {place}"][:, None] == np.arange(size)[None, :]).astype(np.float64), dtype=np.float64
    )


def bin_counts(rows: PrivateRows, tables: tuple[BinTable, ...], *, norm: int) -> Whole:
    """How many rows each bin of each feature has, one feature after another."""
    whole = np.concatenate([_in_bins(rows, place, table.size) for place, table in enumerate(tables)], axis=1)
    return weighted(rows, whole, np.ones((rows.count, 1)), norm=norm)[:, 0]


def residual_sums(
    rows: PrivateRows, tables: tuple[BinTable, ...], steps: list[Whole], link: LossLink, place: int, *, norm: int
) -> Whole:
    """The sum of residuals in every bin of one feature, given the tables so far (in whole steps of a weight)."""
    scores = np.zeros((rows.count, 1))
    for each in range(len(tables)):
        scores[:, 0] += np.append(steps[each], 0)[rows.kept[f"bins {each}"].astype(np.int64)]
    residuals = link.residuals(scores * GRID, rows.kept["truth"])
    return weighted(rows, _in_bins(rows, place, tables[place].size), residuals, norm=norm)[:, 0]


def _boosted(
    model: AdditiveModel,
    compositor: Compositor,
    reading: RowsReading,
    link: LossLink,
    tables: tuple[BinTable, ...],
    count: TotalNoise,
    push: TotalNoise,
) -> FittedAdditive:
    norm = root_up(count.square)
    counted = compositor.release(count.total(reading.space, lambda rows: bin_counts(rows, tables, norm=norm)))
    ends = np.cumsum([table.size for table in tables])[:-1]
    counts = [np.maximum(part.astype(np.float64), 0) for part in np.split(counted, ends)]
    heights = [np.zeros(table.size) for table in tables]
    reach, noise = root_up(push.square), float(push.scale) / LINK_GRID
    for _ in range(model.turns):
        for place in range(len(tables)):
            steps = [whole_steps(each) for each in heights]
            asked = push.total(
                reading.space, partial(residual_sums, tables=tables, steps=steps, link=link, place=place, norm=reach)
            )
            sums = compositor.release(asked).astype(np.float64) / LINK_GRID
            heights[place] = heights[place] + float(model.rate) * sums / (counts[place] * link.curvature + 2 * noise)
    return FittedAdditive(
        estimator=model.title,
        features=reading.features,
        target=reading.target,
        settings=model.settings(),
        noise=(
            f"rounded normal noise of scale {float(count.scale):.6g} rows on the counts of bins and of scale {noise:.6g} on "
            f"each of {number_of(model.turns * len(tables), 'table')} of residuals"
        ),
        tables=tables,
        heights=tuple(tuple(float(height) for height in each) for each in heights),
    )


def whole_steps(heights: Floats) -> Whole:
    """Heights in whole steps of a weight, below the largest."""
    return np.clip(np.rint(heights * WEIGHT_GRID), -LARGEST_WEIGHT, LARGEST_WEIGHT).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedAdditive(FittedModel):
    """A fitted additive model: `heights` are the steps of every feature, on the scale of log odds or of the target's half width."""

    tables: tuple[BinTable, ...]
    heights: tuple[tuple[float, ...], ...]

    def results(self) -> Mapping[str, float]:
        """How much each feature matters: the spread of its steps."""
        found = zip(self.features, self.heights, strict=True)
        return {each.name: float(np.max(heights) - np.min(heights)) for each, heights in found}

    def outputs(self, codes: Mapping[str, Whole], count: int) -> Whole:
        scores = np.zeros(count)
        for table, heights in zip(self.tables, self.heights, strict=True):
            scores += np.append(whole_steps(np.array(heights)), 0)[table.bins(np.asarray(codes[table.feature.name]))]
        if not self.classes:
            return np.clip(np.trunc(scores * GRID / WEIGHT_GRID), -GRID, GRID).astype(np.int64)[:, None]
        second = sigmoid(scores * GRID).astype(np.int64) * GRID // LINK_GRID
        return np.stack([GRID - second, second], axis=1)

    def expression(self, *, of: Any = None) -> Any:
        if not self.classes:
            assert self.target is not None
            return curves_number(self.features, self._curves(1), self.target)
        sign = 1 if self.class_place(of) == 1 else -1
        return odds_chance(self.features, curves_odds([(0.0, self._curves(sign))]))

    def _curves(self, sign: int) -> list[FeatureCurve]:
        parts = zip(self.tables, self.heights, strict=True)
        return [
            FeatureCurve(table.feature, tuple(sign * height for height in heights), table.edges)
            for table, heights in parts
        ]

    def shape(self, name: str) -> list[tuple[Any, float]]:
        """The steps of one feature: its category, or the upper end of the stretch, with the height."""
        for table, heights in zip(self.tables, self.heights, strict=True):
            if table.feature.name == name:
                ends = [float(edge * table.feature.step) for edge in (*table.edges, table.feature.upper)]
                return list(zip(ends if table.feature.is_number else table.feature.values, heights, strict=True))
        raise InvalidArgument(f"this model has no feature {name!r}")
