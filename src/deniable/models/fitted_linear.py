"""A fitted linear regression: coefficients in the columns' own units, with intervals that include the noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.exact.guards import Real
from deniable.models.encoding import GRID, Encoding, Whole
from deniable.models.fitted import FittedModel, named, normal_factor
from deniable.models.inference import number_expression

Floats = NDArray[np.float64]

PREDICTION_GRID = 1 << 12
"""Steps of a weight to 1, where private rows are predicted."""


def row_predictions(matrix: Whole, weights: Floats) -> Whole:
    """Predictions in steps of 1/GRID, cut to the target's range: weights are put on a grid, so each row's is its own."""
    on_grid = np.rint(np.clip(weights, -256, 256) * PREDICTION_GRID)
    scores = np.trunc(matrix.astype(np.float64) @ on_grid / PREDICTION_GRID)
    return np.clip(scores, -GRID, GRID).astype(np.int64)[:, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedLinear(FittedModel):
    """A fitted linear regression. `coefficients` are in the columns' own units.

    `interval` covers sampling (rows taken as independent) and the noise: it is that of least squares without a ridge, and reaches
    to the coefficient that is shown. Where noise hides a direction that a coefficient has a part in, it is all numbers.
    """

    weights: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    bias: tuple[float, ...]
    ridge: float
    count: float
    residual: float
    unshrunk: tuple[float, ...] = ()
    """The weights without the ridge, along the directions that are seen; `covariance` is theirs. None where there is no ridge."""
    hidden: tuple[int, ...] = ()
    """The places of weights that have a part in a direction which noise hides."""

    @property
    def encoding(self) -> Encoding:
        """The features as columns."""
        return Encoding(self.features)

    @property
    def coefficients(self) -> dict[str, float]:
        """The intercept and the change of the target for one more of each feature."""
        return named(self.encoding.labels, self._natural() @ np.array(self.weights) + self._offset())

    @property
    def errors(self) -> dict[str, float]:
        """The standard error of each coefficient before any shrinking, the noise included; infinite where noise hides it."""
        turned = self._natural()
        spread = turned @ np.array(self.covariance) @ turned.T
        lost = (turned[:, list(self.hidden)] != 0).any(axis=1)
        return named(self.encoding.labels, np.where(lost, np.inf, np.sqrt(np.maximum(np.diag(spread), 0))))

    def results(self) -> Mapping[str, float]:
        return self.coefficients

    def interval(self, confidence: Real = 0.95) -> Mapping[str, tuple[float, float]]:
        factor, errors = normal_factor(confidence), self.errors
        shrunk = np.abs(self._natural()) @ np.array(self.bias)
        reach = {name: factor * errors[name] + float(add) for name, add in zip(errors, shrunk, strict=True)}
        middles = self._natural() @ np.array(self.unshrunk or self.weights) + self._offset()
        return {
            name: (min(value, float(middle) - reach[name]), max(value, float(middle) + reach[name]))
            for (name, value), middle in zip(self.coefficients.items(), middles, strict=True)
        }

    def outputs(self, codes: Mapping[str, Whole], count: int) -> Whole:
        return row_predictions(self.encoding.matrix(codes, count), np.array(self.weights))

    def expression(self, *, of: Any = None) -> Any:
        assert self.target is not None
        return number_expression(self.features, self.weights, self.target)

    def predict(self, frame: Any) -> Floats:
        """The predicted target of each row of a public frame, in its own unit, within its bounds."""
        assert self.target is not None
        scaled = self.encoding.public_matrix(frame).astype(np.float64) / GRID @ np.array(self.weights)
        return np.asarray(self.target.middle + self.target.half_width * np.clip(scaled, -1, 1), dtype=np.float64)

    def _natural(self) -> Floats:
        """From weights on the scale of -1 to 1 to the columns' own units."""
        assert self.target is not None
        size = len(self.weights)
        turned = np.zeros((size, size))
        turned[0, 0] = 1
        place = 1
        for each in self.features:
            for _ in range(each.width):
                if each.is_number:
                    turned[place, place] = 1 / each.half_width
                    turned[0, place] = -each.middle / each.half_width
                else:
                    turned[place, place] = 1
                place += 1
        return turned * self.target.half_width

    def _offset(self) -> Floats:
        assert self.target is not None
        offset = np.zeros(len(self.weights))
        offset[0] = self.target.middle
        return offset
