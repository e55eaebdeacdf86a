"""Private scores of a model on private rows: every row falls into one cell of a public table, and the noisy table gives the score.

Guarantee: the table is one release; one row changes one cell by one (sums: a few cells by at most one), a unit as often as it has
rows. The score and its interval are computed from the noisy table alone. Intervals are for the noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.core.compositor import Compositor, grouped
from deniable.core.mechanism import Mechanism
from deniable.core.step import MechanismFamily
from deniable.cost import DiscreteLaplace
from deniable.errors import InvalidArgument
from deniable.exact.figures import value_figures
from deniable.exact.guards import Real, open_probability, positive
from deniable.models.encoding import GRID, Feature, Whole
from deniable.models.estimator import Estimator, RowsReading
from deniable.models.fitted import NO_PREDICTIONS, FittedModel, ModelAnswer, model_digest
from deniable.models.task import planned_task
from deniable.models.unit_totals import PrivateRows
from deniable.noise import Entropy, discrete_laplaces
from deniable.plan.codebook import Codebook

Floats = NDArray[np.float64]

_FAR = float(1 << 40)
"""Beyond this size, in steps, a share of it is none: errors are at most twice GRID."""
BINS = 32
"""Into how many equal parts predicted chances are put for an AUC or a calibration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyScore(ModelAnswer):
    """What every private score has: its metric, its value, an interval for the noise, and its release."""

    metric: str
    value: float
    lower: float
    upper: float
    confidence: float
    estimator: str

    kind: ClassVar[str] = "score"

    def release_table(self) -> Any:
        """The table a reader needs to judge this release."""
        if self.release is None:
            raise InvalidArgument("this score was not released by a session, so there is no table about it")
        return self.release.release_table()

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Score(NoisyScore):
    """A private score of one model, with the noisy totals it came from."""

    totals: tuple[float, ...]

    def __str__(self) -> str:
        within = (
            f"{value_figures(self.value, self.lower, self.upper)} with probability {self.confidence:g} (noise alone)"
        )
        return f"{self.metric} of a {self.estimator}: {within}\n{self.guarantee}".rstrip()


@dataclass(frozen=True, slots=True)
class ScoreRule:
    """One metric: what each row adds to which totals, the most one row moves in all, and the score from the totals.

    `estimate` gives the value and its derivative with respect to every total.
    """

    classes: int | None
    totals: Callable[[Whole, Whole, Sizes], Whole]
    moved: int
    estimate: Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Public facts about a number's scale, in steps of 1/GRID: where its middle lies, and the least size that is divided by."""

    middle: int = 0
    floor: int = 1

    @classmethod
    def of(cls, target: Feature, floor: float) -> Sizes:
        """Those of a target; classes have none."""
        if not target.is_number:
            return cls()
        middle = target.middle / target.half_width * GRID
        least = max(floor / target.half_width * GRID, 1.0)
        return cls(round(min(max(middle, -_FAR), _FAR)), int(min(least, _FAR)))


def _one_cell(cells: Whole, size: int) -> Whole:
    return np.asarray((cells[:, None] == np.arange(size)[None, :]).astype(np.int64) * GRID, dtype=np.int64)


def _hits(found: Whole, truth: Whole, _: Sizes) -> Whole:
    return _one_cell((found.argmax(axis=1) == truth).astype(np.int64), 2)


def _confusion(found: Whole, truth: Whole, _: Sizes) -> Whole:
    return _one_cell(2 * (truth == 1) + (found.argmax(axis=1) == 1), 4)


def _chances(found: Whole, truth: Whole, _: Sizes) -> Whole:
    places = np.minimum(found[:, 1] * BINS // GRID, BINS - 1)
    return _one_cell(places + BINS * (truth == 1), 2 * BINS)


def _absolute(found: Whole, truth: Whole, _: Sizes) -> Whole:
    """Rows and half of the error, on a scale on which the target runs from -1 to 1."""
    off = np.abs(found[:, 0] - truth) // 2
    return np.stack([np.full_like(off, GRID), np.minimum(off, GRID)], axis=1)


def _relative(found: Whole, truth: Whole, sizes: Sizes) -> Whole:
    """Rows and the error as a share of the truth's own size, at most 1; sizes below the public floor count as the floor."""
    off = np.abs(found[:, 0] - truth) * GRID // np.maximum(np.abs(truth + sizes.middle), sizes.floor)
    return np.stack([np.full_like(off, GRID), np.minimum(off, GRID)], axis=1)


def _squares(found: Whole, truth: Whole, _: Sizes) -> Whole:
    """Rows, the truth, its square, and a quarter of the squared error."""
    rows = np.full_like(truth, GRID)
    return np.stack([rows, truth, truth * truth // GRID, (found[:, 0] - truth) ** 2 // (4 * GRID)], axis=1)


def _share(top: list[int], below: list[int]) -> Callable[[Floats], tuple[float, Floats]]:
    def estimate(totals: Floats) -> tuple[float, Floats]:
        over, under = totals[top].sum(), max(totals[below].sum(), 1.0)
        value = min(max(over / under, 0.0), 1.0)
        slope = np.zeros(len(totals))
        slope[top] += 1 / under
        slope[below] -= value / under
        return value, slope

    return estimate


def _auc(totals: Floats) -> tuple[float, Floats]:
    """The chance that a row of the second class has the higher score, ties half; from noisy counts by bin."""
    low, high = totals[:BINS], totals[BINS:]
    left, right = max(low.sum(), 1.0), max(high.sum(), 1.0)
    below = np.cumsum(low) - low / 2
    above = right - np.cumsum(high) + high / 2
    value = float(min(max(high @ below / (left * right), 0.0), 1.0))
    return value, np.concatenate([(above - value * right) / (left * right), (below - value * left) / (left * right)])


def _calibration(totals: Floats) -> tuple[float, Floats]:
    """The mean distance between predicted chances and shares found, over bins."""
    low, high = np.maximum(totals[:BINS], 0), np.maximum(totals[BINS:], 0)
    rows = max(float((low + high).sum()), 1.0)
    middle = (np.arange(BINS) + 0.5) / BINS
    gaps = high - middle * (low + high)
    value = float(np.abs(gaps).sum() / rows)
    signs = np.sign(gaps)
    slope = np.concatenate([-signs * middle - value, signs * (1 - middle) - value]) / rows
    return min(value, 1.0), slope


def _mean_error(times: float) -> Callable[[Floats], tuple[float, Floats]]:
    def estimate(totals: Floats) -> tuple[float, Floats]:
        rows = max(totals[0], 1.0)
        value = min(max(times * totals[1] / rows, 0.0), times)
        return value, np.array([-value / rows, times / rows])

    return estimate


def _r_squared(totals: Floats) -> tuple[float, Floats]:
    rows, mean = max(totals[0], 1.0), totals[1] / max(totals[0], 1.0)
    spread = max(totals[2] - rows * mean**2, rows * 1e-3)
    left = max(4 * totals[3], 0.0)
    value = 1 - left / spread
    ratio = left / spread**2
    return max(min(value, 1.0), -1.0), np.array([ratio * mean**2, -2 * mean * ratio, ratio, -4 / spread])


METRICS: Mapping[str, ScoreRule] = {
    "accuracy": ScoreRule(None, _hits, 1, _share([1], [0, 1])),
    "precision": ScoreRule(2, _confusion, 1, _share([3], [1, 3])),
    "recall": ScoreRule(2, _confusion, 1, _share([3], [2, 3])),
    "auc": ScoreRule(2, _chances, 1, _auc),
    "calibration": ScoreRule(2, _chances, 1, _calibration),
    "mae": ScoreRule(0, _absolute, 2, _mean_error(2.0)),
    "mape": ScoreRule(0, _relative, 2, _mean_error(1.0)),
    "r2": ScoreRule(0, _squares, 4, _r_squared),
}
"""Metrics by name. `classes` is 0 for a number, 2 for two classes, None for any number of classes."""


def score_family(
    codebook: Codebook,
    fitted: FittedModel,
    *,
    metric: str,
    table: str | None = None,
    where: str | None = None,
    rows: int | None = None,
    floor: Real = 1,
    confidence: Real = 0.95,
) -> MechanismFamily:
    """The score of a model on a table's rows, for every scale of its noise; `floor` is the least size that MAPE divides by."""
    _checked(fitted, metric)
    reader = Estimator(
        target=fitted.target.name,  # type: ignore[union-attr]
        features=[each.name for each in fitted.features],
        table=table,
        where=where,
        rows=rows,
        bounds="private",
    )
    reading = reader.reading(codebook)
    asked = score_on(reading, fitted, metric=metric, floor=floor, confidence=confidence)
    return asked.after(reading.rows)


def score_on(
    reading: RowsReading, fitted: FittedModel, *, metric: str, floor: Real = 1, confidence: Real = 0.95
) -> MechanismFamily:
    """The score on the rows of a reading."""
    chosen = _checked(fitted, metric)
    _check_alike(fitted, reading)
    chance = float(open_probability(confidence=confidence))
    assert fitted.target is not None
    sizes = Sizes.of(fitted.target, float(positive(floor=floor)))
    model = model_digest(fitted)

    def at(multiplier: Real) -> Mechanism:
        cost = score_cost(reading.per_unit, chosen, multiplier)
        scale = cost.scale

        def function(data: PrivateRows, entropy: Entropy) -> Whole:
            exact = score_totals(data, fitted, chosen, sizes)
            return exact + discrete_laplaces(scale, exact.size, entropy)

        asked = Mechanism(reading.space, function, lambda d_in: grouped(cost, d_in))

        def run(compositor: Compositor) -> Score:
            return _score(metric, chosen, compositor.release(asked) / GRID, float(scale) / GRID, chance, fitted)

        text = f"score(metric={metric}, floor={floor}, confidence={chance}, model={model})"
        return planned_task(reading.space, costs=[cost], run=run, recipe=text)

    return MechanismFamily(reading.space, at)


def score_cost(per_unit: int, rule: ScoreRule, multiplier: Real) -> DiscreteLaplace:
    """Laplace noise of `multiplier` times what one unit moves all totals of a metric."""
    moved = rule.moved * per_unit
    return DiscreteLaplace(
        scale=positive(multiplier=multiplier) * moved * GRID, sensitivity=moved * GRID, coordinates=moved
    )


def score_totals(rows: PrivateRows, fitted: FittedModel, metric: ScoreRule, sizes: Sizes) -> Whole:
    """The exact totals of a metric, in steps of 1/GRID."""
    assert fitted.target is not None
    codes = rows.codes[fitted.target.name]
    truth = codes if fitted.classes else fitted.target.columns(codes)[:, 0]
    width = metric.totals(np.zeros((1, max(len(fitted.classes), 1)), np.int64), np.zeros(1, np.int64), sizes).shape[1]
    total = np.zeros(width, dtype=np.int64)
    for block, _ in rows.blocks():
        part = {name: column[block] for name, column in rows.codes.items()}
        found = fitted.outputs(part, block.stop - block.start)
        added = metric.totals(found, truth[block], sizes)
        total += np.clip(added, -GRID, GRID).sum(axis=0)  # whatever a model handed in from outside says of a row
    return total


def _score(
    metric: str, chosen: ScoreRule, totals: Floats, scale: float, confidence: float, fitted: FittedModel
) -> Score:
    value, slope = chosen.estimate(totals)
    if metric == "mae":
        assert fitted.target is not None
        value, slope = value * fitted.target.half_width, slope * fitted.target.half_width
    # one Laplace number is within ln(1/beta) scales, and a sum of many, which is nearly normal, within less
    reach = log(1 / (1 - confidence)) * scale * float(np.linalg.norm(slope))
    return Score(
        metric=metric,
        value=float(value),
        lower=float(value - reach),
        upper=float(value + reach),
        confidence=confidence,
        totals=tuple(float(total) for total in totals),
        estimator=fitted.estimator,
    )


def _checked(fitted: Any, metric: str) -> ScoreRule:
    if not isinstance(fitted, FittedModel) or fitted.target is None:
        raise InvalidArgument(f"score takes a fitted model with a target, got {type(fitted).__name__}")
    if not fitted.predicts:
        raise InvalidArgument(NO_PREDICTIONS)
    return rule_of(metric, fitted.target)


def rule_of(metric: str, target: Feature) -> ScoreRule:
    """A metric by name, refused where it is not for such a target."""
    if metric not in METRICS:
        raise InvalidArgument(f"metric must be one of {', '.join(METRICS)}, got {metric!r}")
    chosen, classes = METRICS[metric], len(target.values)
    if (chosen.classes == 0) != (classes == 0) or (chosen.classes == 2 and classes != 2):
        kind = {0: "a number as target", 2: "a target with two classes", None: "a target with classes"}
        raise InvalidArgument(f"{metric} needs {kind[chosen.classes]}; {target.name!r} has {classes or 'no'} classes")
    return chosen


def _check_alike(fitted: FittedModel, reading: RowsReading) -> None:
    """The rows that are scored must have the columns the model was fitted with, coded alike."""
    for known, here in zip((*fitted.features, fitted.target), (*reading.features, reading.target), strict=True):
        assert known is not None
        assert here is not None
        ends = known.name in reading.open or (known.lower, known.upper) == (here.lower, here.upper)
        if not ends or (known.values, known.step) != (here.values, here.step):
            raise InvalidArgument(f"column {known.name!r} is declared otherwise than where the model was fitted")
