"""Naive Bayes from one noisy table: all counts and sums of every class are released at once.

Every row adds 1 to the count of its class and, for every feature, something to that class: 1 to the count of a category or a bin,
or its place between the bounds and that place's square to two sums. Places are centred, so that a row (or a moved label) counts
for at most half of a column's width.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import exp, log, pi, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.core.compositor import Compositor
from deniable.core.mechanism import Mechanism
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer
from deniable.models.encoding import GRID, UNSEEN, Feature, NumberScale, Whole
from deniable.models.estimator import Estimator, RowsReading
from deniable.models.fitted import FittedModel, normal_factor
from deniable.models.inference import (
    MOST_CLASSES,
    ClassMix,
    FeatureCurve,
    class_mixes,
    curves_odds,
    odds_chance,
    odds_columns,
)
from deniable.models.task import TotalNoise, planned_task
from deniable.models.unit_totals import PrivateRows, check_cut, norm_square, root_up, weighted

Floats = NDArray[np.float64]

LOG_GRID = 1 << 16
"""Steps of a log chance to 1, where rows are classified."""


class NumberLaw(Enum):
    """How a number is spread within a class."""

    NORMAL = "normal"
    LOGNORMAL = "lognormal"
    EXPONENTIAL = "exponential"
    BINNED = "binned"


@dataclass(frozen=True, slots=True)
class NaiveBayes(Estimator):
    """The class of a row as if its features were independent within each class.

    `law` says how numbers are spread within a class, for all of them or by name: "normal" (the default), "lognormal" (the
    logarithm of the distance from the lower bound), "exponential" (that distance), or "binned" (equal bins, `bins` of them).

    Guarantee: one release of all counts and sums, of which one unit moves at most the declared length.
    """

    law: str | Mapping[str, str] = field(default="normal", kw_only=True)
    bins: int = field(default=10, kw_only=True)

    title: ClassVar[str] = "naive Bayes"

    def check(self) -> None:
        integer(bins=self.bins, least=2, greatest=2 * GRID)  # a place has no more steps
        if not isinstance(self.law, str | Mapping):
            raise InvalidArgument(f"law must be a text, or one for each number by name, got {self.law!r}")
        wanted = [self.law] if isinstance(self.law, str) else list(self.law.values())
        known = [law.value for law in NumberLaw]
        for each in wanted:
            if each not in known:
                raise InvalidArgument(f"law must be one of {', '.join(known)}, got {each!r}")

    def parts(self, reading: RowsReading) -> tuple[BayesPart, ...]:
        """How each feature enters."""
        named = {} if isinstance(self.law, str) else dict(self.law)
        absent = [name for name in named if name not in {each.name for each in reading.features if each.is_number}]
        if absent:
            raise InvalidArgument(f"law names {absent[0]!r}, which is no number among the features")
        usual = self.law if isinstance(self.law, str) else "normal"
        return tuple(
            BayesPart(each, NumberLaw(named.get(each.name, usual)) if each.is_number else None, self.bins)
            for each in reading.features
        )

    def at(self, reading: RowsReading, multiplier: Real) -> Mechanism:
        classes, parts = reading.target_classes(), self.parts(reading)
        one = GRID**2 * (1 + sum(part.most for part in parts))
        noise = TotalNoise.of(norm_square(one, reading.per_unit), multiplier)
        norm = root_up(noise.square)
        if reading.per_unit > 1:
            check_cut(entry=GRID * reading.per_unit, square=noise.square * reading.per_unit, norm=norm)
        assert reading.target is not None
        target = reading.target

        def totals(rows: PrivateRows) -> Whole:
            chosen = (rows.codes[target.name][:, None] == np.arange(len(classes))[None, :]).astype(np.float64)
            ones = np.full((rows.count, 1), GRID, dtype=np.int64)
            columns = [ones, *(part.columns(rows.codes[part.feature.name]) for part in parts)]
            return weighted(rows, np.concatenate(columns, axis=1).astype(np.float64), chosen, norm=norm)

        def run(compositor: Compositor) -> FittedNaiveBayes:
            return _fitted(self, reading, parts, compositor.release(noise.total(reading.space, totals)) / GRID, noise)

        return planned_task(reading.space, costs=[noise.cost], run=run, recipe=self.recipe())

    def forecast(self, reading: RowsReading, multiplier: float) -> str:
        off = multiplier * sqrt((1 + sum(part.most for part in self.parts(reading))) * reading.per_unit)
        return f"each count within a class is off by about {off:.4g} rows"


@dataclass(frozen=True, slots=True)
class BayesPart:
    """One feature of a naive Bayes model: a category or a number with a law."""

    feature: Feature
    law: NumberLaw | None
    bins: int

    @property
    def width(self) -> int:
        """How many totals it has in each class."""
        match self.law:
            case None:
                return len(self.feature.values)
            case NumberLaw.BINNED:
                return self.bins
            case NumberLaw.EXPONENTIAL:
                return 1
            case _:
                return 2

    @property
    def most(self) -> int:
        """How many of them one row moves."""
        return 1 if self.law in (None, NumberLaw.BINNED, NumberLaw.EXPONENTIAL) else 2

    @property
    def counts(self) -> bool:
        """Whether its totals are counts."""
        return self.law in (None, NumberLaw.BINNED)

    def places(self, codes: Whole) -> Whole:
        """A number's place from -GRID to GRID, on the scale of its law."""
        if self.law is NumberLaw.LOGNORMAL:
            curved = Feature(
                self.feature.name, (), self.feature.step, self.feature.lower, self.feature.upper, NumberScale.BOTH
            )
            return curved.columns(codes)[:, 1]
        return self.feature.columns(codes)[:, 0]

    def cells(self, codes: Whole) -> Whole:
        """The category or bin of every row; UNSEEN where there is none."""
        if self.law is None:
            return np.where((codes >= 0) & (codes < self.width), codes, UNSEEN)
        return np.minimum((self.places(codes) + GRID) * self.bins // (2 * GRID), self.bins - 1)

    def edges(self) -> tuple[int, ...]:
        """Of bins: the largest grid step of the column in every bin but the last."""
        low, high = self.feature.lower, self.feature.upper
        found = []
        for cell in range(self.bins - 1):
            below, above = low - 1, high  # the largest step whose cell is at most this one lies in between
            while below < above:
                middle = -((-below - above) // 2)
                inside = int(self.cells(np.array([middle], dtype=np.int64))[0]) <= cell
                below, above = (middle, above) if inside else (below, middle - 1)
            found.append(below)
        return tuple(found)

    def columns(self, codes: Whole) -> Whole:
        """What every row adds to its class, each entry at most GRID in size."""
        if self.counts:
            return np.asarray(
                (self.cells(codes)[:, None] == np.arange(self.width)[None, :]).astype(np.int64) * GRID, dtype=np.int64
            )
        places = self.places(codes)
        if self.law is NumberLaw.EXPONENTIAL:
            return ((places + GRID) // 2)[:, None]
        return np.stack([places, places * places // GRID], axis=1)


@dataclass(frozen=True, slots=True)
class PartLaws:
    """What a model knows of one feature: log chances by class and cell, or two numbers by class."""

    part: BayesPart
    numbers: tuple[tuple[float, ...], ...]

    def log_chances(self, codes: Whole) -> Whole:
        """The log chance (up to what all classes share) of each row in every class, in steps of 1/LOG_GRID; 0 where unseen."""
        known = np.array(self.numbers)
        if self.part.counts:
            cells = self.part.cells(codes)
            table = np.concatenate([np.rint(known * LOG_GRID).astype(np.int64), np.zeros((len(known), 1), np.int64)], 1)
            return table.T[cells]
        places = self.part.places(codes).astype(np.float64) / GRID
        if self.part.law is NumberLaw.EXPONENTIAL:
            logs = np.log(known[:, 0])[None, :] - (places[:, None] + 1) / 2 * known[:, 0][None, :]
        else:
            logs = -((places[:, None] - known[:, 0]) ** 2) / (2 * known[:, 1]) - np.log(2 * pi * known[:, 1]) / 2
        return np.asarray(np.rint(np.clip(logs, -1e6, 1e6) * LOG_GRID).astype(np.int64), dtype=np.int64)

    def constant(self, mix: ClassMix) -> float:
        """What this feature adds to a mix of the classes' log chances whatever its value."""
        if self.part.counts:
            return 0.0
        if self.part.law is NumberLaw.EXPONENTIAL:
            return mix.of([log(rate) - rate / 2 for (rate,) in self.numbers])
        return mix.of([(-(mean**2) / spread - log(spread)) / 2 for mean, spread in self.numbers])

    def curve(self, mix: ClassMix) -> FeatureCurve:
        """What it adds by its value, without `constant`."""
        known = self.part.feature
        if self.part.counts:
            heights = tuple(mix.of(cell) for cell in zip(*self.numbers, strict=True))
            return FeatureCurve(known, heights, () if self.part.law is None else self.part.edges())
        if self.part.law is NumberLaw.EXPONENTIAL:
            return FeatureCurve(known, powers=(-mix.of([rate / 2 for (rate,) in self.numbers]), 0.0))
        powers = (
            mix.of([mean / spread for mean, spread in self.numbers]),
            -mix.of([1 / spread for _, spread in self.numbers]) / 2,
        )
        logarithmic = self.part.law is NumberLaw.LOGNORMAL
        return FeatureCurve(known, powers=powers, scale=NumberScale.BOTH if logarithmic else NumberScale.LINEAR)


def _fitted(
    model: NaiveBayes, reading: RowsReading, parts: tuple[BayesPart, ...], totals: Floats, noise: TotalNoise
) -> FittedNaiveBayes:
    spread = float(noise.scale) / GRID
    counts = _reconciled(parts, totals)
    laws, place = [], 1
    for part in parts:
        laws.append(PartLaws(part, _numbers(part, totals[place : place + part.width].T, counts)))
        place += part.width
    shares = counts / counts.sum()
    return FittedNaiveBayes(
        estimator=model.title,
        features=reading.features,
        target=reading.target,
        settings={**model.settings(), "law": str(model.law)},
        noise=f"rounded normal noise of scale {spread:.6g} rows on every count and sum",
        counts=tuple(float(count) for count in counts),
        spread=spread,
        priors=tuple(log(share) for share in shares),
        laws=tuple(laws),
    )


def _reconciled(parts: tuple[BayesPart, ...], totals: Floats) -> Floats:
    """The number of rows of each class: its own count and the sums of its tables, weighted by their inverse variances."""
    found, weight, place = totals[0].copy(), 1.0, 1
    for part in parts:
        if part.counts:
            found += totals[place : place + part.width].sum(axis=0) / part.width
            weight += 1 / part.width
        place += part.width
    return np.asarray(np.maximum(found / weight, 1.0), dtype=np.float64)


def _numbers(part: BayesPart, totals: Floats, counts: Floats) -> tuple[tuple[float, ...], ...]:
    """The law of one feature in every class, from its noisy totals (classes by totals)."""
    if part.counts:
        smooth = np.maximum(totals, 0) + 1
        return _rows(np.log(smooth / smooth.sum(axis=1, keepdims=True)))
    means = np.clip(totals[:, 0] / counts, -1, 1)
    if part.law is NumberLaw.EXPONENTIAL:
        return _rows(1 / np.clip(means, 1e-3, 1)[:, None])
    variances = np.clip(totals[:, 1] / counts - means**2, 1e-3, 1)
    return _rows(np.stack([means, variances], axis=1))


def _rows(array: Floats) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(entry) for entry in row) for row in array)


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedNaiveBayes(FittedModel):
    """A fitted naive Bayes model; `counts` are the noisy class counts, whose error `spread` is a standard deviation."""

    counts: tuple[float, ...]
    spread: float
    priors: tuple[float, ...]
    laws: tuple[PartLaws, ...]

    def results(self) -> Mapping[str, float]:
        return {f"rows with {value}": count for value, count in zip(self.classes, self.counts, strict=True)}

    def interval(self, confidence: Real = 0.95) -> Mapping[str, tuple[float, float]]:
        reach = normal_factor(confidence) * self.spread
        return {name: (count - reach, count + reach) for name, count in self.results().items()}

    def outputs(self, codes: Mapping[str, Whole], count: int) -> Whole:
        logs = np.tile(np.rint(np.array(self.priors) * LOG_GRID).astype(np.int64), (count, 1))
        for law in self.laws:
            logs += law.log_chances(np.asarray(codes[law.part.feature.name]))
        return chances_of_logs(logs)

    def expression(self, *, of: Any = None) -> Any:
        return odds_chance(self.features, self._odds(of))

    def odds(self, *, of: Any = None) -> Mapping[str, Any]:
        return odds_columns(self.features, self._odds(of))

    def _odds(self, of: Any) -> list[Any]:
        if len(self.classes) > MOST_CLASSES:
            FittedModel.expression(self, of=of)
        mixes = class_mixes(len(self.classes), self.class_place(of))
        starts = [mix.plus + mix.of(self.priors) + sum(law.constant(mix) for law in self.laws) for mix in mixes]
        curves = [[law.curve(mix) for law in self.laws] for mix in mixes]
        return curves_odds(list(zip(starts, curves, strict=True)))

    def table(self, name: str) -> Any:
        """What the model knows of one feature, class by class: chances of its cells, or the numbers of its law."""
        for law in self.laws:
            if law.part.feature.name == name:
                numbers = np.array(law.numbers)
                return np.exp(numbers) if law.part.counts else numbers
        raise InvalidArgument(f"this model has no feature {name!r}; it has {', '.join(f.name for f in self.features)}")


_FINE = 1 << 8
_WEIGHTS = np.array([round((1 << 20) * exp(-place / _FINE)) for place in range(40 * _FINE + 1)], dtype=np.int64)
"""A public table of the exponential function, so that a row's chances do not depend on how a library rounds."""


def chances_of_logs(logs: Whole) -> Whole:
    """Chances in steps of 1/GRID from log chances in steps of 1/LOG_GRID, entry by entry."""
    below = (logs.max(axis=1, keepdims=True) - logs) // (LOG_GRID // _FINE)
    weights = _WEIGHTS[np.minimum(below, len(_WEIGHTS) - 1)]
    return np.asarray(weights * GRID // weights.sum(axis=1, keepdims=True), dtype=np.int64)
