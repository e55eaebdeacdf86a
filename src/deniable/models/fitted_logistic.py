"""A fitted logistic regression: weights on the scale of -1 to 1, chances by public tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.exact.guards import Real
from deniable.models.descent import whole_weights
from deniable.models.encoding import GRID, Encoding, Whole
from deniable.models.estimator import RowsReader, RowsReading
from deniable.models.fitted import FittedModel, named, normal_factor
from deniable.models.inference import MOST_CLASSES, chance_expression, odds_chance, odds_columns, softmax_odds
from deniable.models.links import LINK_GRID, sigmoid, softmax

Floats = NDArray[np.float64]


HIDDEN = -1.0
"""Stands for an error without bound, which JSON has no number for."""


def fitted_logistic(
    model: RowsReader,
    reading: RowsReading,
    weights: Floats,
    errors: Floats,
    count: float | None,
    said: str,
    *,
    unshrunk: Floats | None = None,
) -> FittedLogistic:
    """The record of what was found."""
    return FittedLogistic(
        estimator=model.title,
        features=reading.features,
        target=reading.target,
        settings=model.settings(),
        noise=said,
        weights=tuple(tuple(float(weight) for weight in column) for column in weights.T),
        errors=tuple(float(error) for error in np.where(np.isfinite(errors), errors, HIDDEN).T.ravel()),
        count=count,
        unshrunk=() if unshrunk is None else tuple(tuple(float(weight) for weight in column) for column in unshrunk.T),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedLogistic(FittedModel):
    """A fitted logistic regression; one row of `weights` for two classes (the chance of the second), else one for each class.

    Weights are on the scale on which every column runs from -1 to 1. Intervals of a descent are approximate: they
    lie around weights one step further without the ridge, for sampling and noise, stretched to the weight that is shown
    (docs/theory/whole-number-training.md). Those of objective perturbation are for its noise alone.
    """

    weights: tuple[tuple[float, ...], ...]
    errors: tuple[float, ...]
    """Standard errors, row after row of the weights (of models stored by 0.1 one for each column); HIDDEN where noise hides it."""
    count: float | None
    """The noisy number of rows, where it was measured."""
    unshrunk: tuple[tuple[float, ...], ...] = ()
    """The weights one step further without the ridge, around which intervals lie; none where the fit has no such step."""

    @property
    def encoding(self) -> Encoding:
        """The features as columns."""
        return Encoding(self.features)

    @property
    def coefficients(self) -> dict[str, float]:
        """The weight of each column in the log odds of the second class; of several classes, of each of them."""
        if len(self.weights) == 1:
            return named(self.encoding.labels, self.weights[0])
        return {
            f"{value}: {label}": weight
            for value, weights in zip(self.classes, self.weights, strict=True)
            for label, weight in named(self.encoding.labels, weights).items()
        }

    def results(self) -> Mapping[str, float]:
        return self.coefficients

    def interval(self, confidence: Real = 0.95) -> Mapping[str, tuple[float, float]]:
        factor = normal_factor(confidence)
        errors = self.errors if len(self.errors) == len(self.coefficients) else self.errors * len(self.weights)
        middles = [weight for row in self.unshrunk or self.weights for weight in row]
        reach = [inf if error == HIDDEN else factor * error for error in errors]
        found = zip(self.coefficients.items(), middles, reach, strict=True)
        return {name: (min(value, middle - off), max(value, middle + off)) for (name, value), middle, off in found}

    def chances(self, matrix: Floats) -> Floats:
        """The same from rows of whole numbers, exact on the public grid."""
        scores = matrix @ whole_weights(np.array(self.weights).T)
        if len(self.weights) == 1:
            second = sigmoid(scores[:, 0]) / LINK_GRID
            return np.stack([1 - second, second], axis=1)
        shares = softmax(scores)
        return np.asarray(shares / np.maximum(shares.sum(axis=1, keepdims=True), 1), dtype=np.float64)

    def expression(self, *, of: Any = None) -> Any:
        if len(self.weights) > 1:
            return odds_chance(self.features, self._odds(of))
        return chance_expression(self.features, self.weights[0], sign=1 if self.class_place(of) == 1 else -1)

    def odds(self, *, of: Any = None) -> Mapping[str, Any]:
        return odds_columns(self.features, self._odds(of))

    def _odds(self, of: Any) -> list[Any]:
        if len(self.classes) > MOST_CLASSES:
            FittedModel.expression(self, of=of)
        rows = self.weights if len(self.weights) > 1 else ((0.0,) * len(self.weights[0]), self.weights[0])
        return softmax_odds(self.features, rows, wanted=self.class_place(of))

    def outputs(self, codes: Mapping[str, Whole], count: int) -> Whole:
        chances = self.chances(self.encoding.floats(codes, count))
        return np.rint(chances * GRID).astype(np.int64)
