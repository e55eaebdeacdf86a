"""Cross-validation under one charge: folds are made by a keyed hash of the unit alone (docs/theory/cross-validation.md).

Guarantee: nobody else's rows move a unit to another fold. A unit is in the rows of all fits but one and in the scored rows of one
fold, so that is what is charged: one fit fewer than there are folds, and one score. How many units a fold has is never used.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.core.compositor import grouped
from deniable.core.distance import Distance, plain
from deniable.core.mechanism import Mechanism
from deniable.core.step import MechanismFamily
from deniable.cost import Cost
from deniable.engines.engine import RowTable
from deniable.engines.table_space import RemoteRows
from deniable.errors import InvalidArgument
from deniable.exact.figures import value_figures
from deniable.exact.guards import Real, integer, open_probability, positive
from deniable.models.best_model import scored_rule
from deniable.models.encoding import Whole
from deniable.models.estimator import RowsReader, RowsReading
from deniable.models.private_scores import METRICS, NoisyScore, Score, score_cost, score_on
from deniable.models.task import condensed
from deniable.models.trees import part_of_row
from deniable.models.unit_totals import PrivateRows
from deniable.noise import Entropy
from deniable.plan.codebook import Codebook

MOST_FOLDS = 100
_MANY = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldScores(NoisyScore):
    """The mean score over folds, each fold's by a model fitted without it.

    The interval is for the noise of the scores, given the models; `spread` says how far folds differ from one another.
    """

    folds: tuple[Score, ...]

    kind: ClassVar[str] = "score"

    @property
    def spread(self) -> float:
        """The standard deviation of the folds' scores: their noise, that of the fits, and the chance of who is in which fold."""
        off = [each.value - self.value for each in self.folds]
        return sqrt(sum(gap * gap for gap in off) / (len(off) - 1))

    def __str__(self) -> str:
        within = f"{value_figures(self.value, self.lower, self.upper)} with probability {self.confidence:g} (noise of scores)"
        each = ", ".join(value_figures(fold.value, fold.lower, fold.upper) for fold in self.folds)
        said = f"{self.metric} of a {self.estimator}, mean over {len(self.folds)} folds: {within}\nby fold: {each}"
        return f"{said}\n{self.guarantee}".rstrip()


def folds_family(
    codebook: Codebook, model: Any, *, score: str, folds: int, floor: Real = 1, confidence: Real = 0.95
) -> MechanismFamily:
    """The mean score over folds for every noise multiplier: each fit and the score of a fold get the same."""
    if not isinstance(model, RowsReader):
        raise InvalidArgument(f"cross_validate takes an estimator of dp.models, got a {type(model).__name__}")
    if score not in METRICS:
        raise InvalidArgument(f"score must be one of {', '.join(METRICS)}, got {score!r}")
    integer(folds=folds, least=2, greatest=MOST_FOLDS)
    reading = model.reading(codebook)
    asked = folds_on(reading, model, score=score, folds=folds, floor=floor, confidence=confidence)
    asked.at(4)  # a model that cannot be fitted to a part is refused here, not while the noise is solved for
    return asked.after(reading.rows)


def folds_on(
    reading: RowsReading, model: RowsReader, *, score: str, folds: int, floor: Real = 1, confidence: Real = 0.95
) -> MechanismFamily:
    """The same on the rows of a reading."""
    if reading.target is None:
        raise InvalidArgument(f"cross_validate needs a model with a target, got {model.title}")
    rule = scored_rule(model, reading, score)
    least, chance = positive(floor=floor), float(open_probability(confidence=confidence))
    recipe = f"cross_validate({model.recipe()}, score={score}, folds={folds}, floor={least}, confidence={chance})"

    def at(multiplier: Real) -> Mechanism:
        fit = model.whole(reading, multiplier)
        price = score_cost(reading.per_unit, rule, multiplier)

        def function(data: Any, entropy: Entropy) -> FoldScores:
            table = data.table() if isinstance(data, RemoteRows) else data
            place = fold_of_row(PrivateRows.of(table), folds)
            found = []
            for fold in range(folds):
                fitted = fit.function(rows_of(table, place != fold), entropy)
                asked = score_on(reading, fitted, metric=score, floor=least, confidence=chance)
                found.append(asked.at(multiplier).function(rows_of(table, place == fold), entropy))
            return mean_score(found)

        def privacy_map(d_in: Distance) -> Cost:
            return folds_cost(fit, price, folds, d_in)

        return Mechanism(reading.space, function, privacy_map, recipe=recipe)

    return MechanismFamily(reading.space, at)


def folds_cost(fit: Mechanism, price: Cost, folds: int, d_in: Distance) -> Cost:
    """What units that come or go cost: one is in the rows of all fits but one, and in one score.

    Several (a replaced unit is two) may be in several folds: then all fits change, and as many scores as there are units.
    """
    units = plain(d_in)
    if units <= 1:
        return condensed([*[fit.privacy_map(d_in)] * (folds - 1), price])
    scores = min(ceil(units), folds)
    return condensed([*[fit.privacy_map(d_in)] * folds, *[grouped(price, d_in)] * scores])


def fold_of_row(rows: PrivateRows, folds: int) -> Whole:
    """The fold of each row's unit: its part among very many, hashed once more, so that parts within a fit are not the folds.

    Guarantee: nobody else's rows change a unit's fold; rows that are units and alike are in one fold.
    """
    mixed = part_of_row(rows, _MANY).astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return (mixed % np.uint64(folds)).astype(np.int64)


def rows_of(table: RowTable, inside: NDArray[np.bool_]) -> RowTable:
    """Some rows of a table, whole units of it."""
    units = None if table.units is None else table.units[inside]
    columns = {name: column[inside] for name, column in table.columns.items()}
    return RowTable(units, columns, {name: absent[inside] for name, absent in table.missing.items()})


def mean_score(found: list[Score]) -> FoldScores:
    """The mean over folds; their noise is independent, so reaches add as squares, as they do within one score."""
    first, count = found[0], len(found)
    value = sum(each.value for each in found) / count
    reach = sqrt(sum((each.upper - each.value) ** 2 for each in found)) / count
    return FoldScores(
        metric=first.metric,
        value=value,
        lower=value - reach,
        upper=value + reach,
        confidence=first.confidence,
        estimator=first.estimator,
        folds=tuple(found),
    )
