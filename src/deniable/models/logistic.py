"""Logistic regression: noisy gradient descent by default, objective perturbation by name; several classes by joint softmax."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.core.mechanism import Mechanism
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, nonnegative
from deniable.models.descent import Descent, descent_task, whole_weights
from deniable.models.encoding import GRID, Encoding, Scale, Whole
from deniable.models.estimator import Estimator, Reading
from deniable.models.fitted import FittedModel, named, normal_factor
from deniable.models.linear import check_steps
from deniable.models.links import LINK_GRID, LOGISTIC, MULTINOMIAL, sigmoid, softmax
from deniable.models.unit_totals import PrivateRows

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LogisticRegression(Estimator):
    """The chance of each class of a declared category, from the other columns.

    Methods: "descent" (the default; nothing to tune) or "objective" (objective perturbation with approximate minima, two classes).
    `ridge` adds that many times the number of rows times half of each weight's square to the loss.

    Guarantee: one charge for the products of the features and all gradients, or for the perturbed minimum and its rounding.
    """

    method: str = field(default="descent", kw_only=True)
    ridge: Real = field(default=0, kw_only=True)
    steps: int = field(default=40, kw_only=True)

    title: ClassVar[str] = "logistic regression"
    scale: ClassVar[Scale] = Scale.BOTH

    def check(self) -> None:
        if self.method not in ("descent", "objective"):
            raise InvalidArgument(f"method must be descent or objective, got {self.method!r}")
        nonnegative(ridge=self.ridge)
        check_steps(self.steps)

    def step_count(self) -> int:
        return self.steps + 1 if self.method == "descent" else 2

    def forecast(self, reading: Reading, multiplier: float) -> str:
        off = multiplier * sqrt(self.steps / 0.9 * reading.encoding.most * reading.per_unit)
        mean = off / sqrt(self.steps / 2)
        return f"each of {self.steps} gradients is off by about {off:.4g} rows, their mean by about {mean:.3g}"

    def at(self, reading: Reading, multiplier: Real) -> Mechanism:
        classes = reading.target_classes()
        if self.method == "objective":
            from deniable.models.objective import objective_fit

            return objective_fit(self, reading, multiplier)
        link, outputs = (LOGISTIC, 1) if len(classes) == 2 else (MULTINOMIAL, len(classes))
        assert reading.target is not None
        target = reading.target

        def truth(rows: PrivateRows) -> Floats:
            wanted = np.arange(len(classes) - outputs, len(classes))
            return np.asarray(
                (rows.codes[target.name][:, None] == wanted[None, :]).astype(np.float64), dtype=np.float64
            )

        def finish(found: Descent, said: str) -> FittedLogistic:
            return fitted_logistic(self, reading, found.weights, found.errors, found.count, said)

        return descent_task(
            reading, link, model=self, multiplier=multiplier, outputs=outputs, truth=truth, finish=finish
        )


def fitted_logistic(
    model: LogisticRegression, reading: Reading, weights: Floats, errors: Floats, count: float | None, said: str
) -> FittedLogistic:
    """The record of what was found."""
    return FittedLogistic(
        estimator=model.title,
        features=reading.features,
        target=reading.target,
        settings=model.settings(),
        noise=said,
        weights=tuple(tuple(float(weight) for weight in column) for column in weights.T),
        errors=tuple(float(error) for error in errors),
        count=count,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedLogistic(FittedModel):
    """A fitted logistic regression; one row of `weights` for two classes (the chance of the second), else one for each class.

    Weights are on the scale on which every column runs from -1 to 1. Intervals are approximate: sampling and noise in the
    curvature that was measured; what damping and stopping early shrink is not included.
    """

    weights: tuple[tuple[float, ...], ...]
    errors: tuple[float, ...]
    count: float | None
    """The noisy number of rows, where it was measured."""

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
        reach = [factor * error for _ in self.weights for error in self.errors]
        found = zip(self.coefficients.items(), reach, strict=True)
        return {name: (value - off, value + off) for (name, value), off in found}

    def chances(self, matrix: Floats) -> Floats:
        """The same from rows of whole numbers, exact on the public grid."""
        scores = matrix @ whole_weights(np.array(self.weights).T)
        if len(self.weights) == 1:
            second = sigmoid(scores[:, 0]) / LINK_GRID
            return np.stack([1 - second, second], axis=1)
        shares = softmax(scores)
        return np.asarray(shares / np.maximum(shares.sum(axis=1, keepdims=True), 1), dtype=np.float64)

    def outputs(self, codes: Mapping[str, Whole], count: int) -> Whole:
        chances = self.chances(self.encoding.matrix(codes, count).astype(np.float64))
        return np.rint(chances * GRID).astype(np.int64)
