"""Noisy gradient descent over all rows, in whole numbers (docs/theory/whole-number-training.md).

First the products of the features with each other are released once, with a tenth of the budget; they give the number of rows
and the shape of the problem, so that steps can be long where the data is wide. Then every step releases one noisy gradient.

Guarantee: features, weights, scores and residuals are whole numbers on public grids; one unit moves a gradient by at most the
declared length; nothing depends on the order or the number of other rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import sqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deniable.core.compositor import Compositor
from deniable.core.mechanism import Mechanism
from deniable.exact import sqrt as exact_root
from deniable.exact.guards import Real, positive
from deniable.models.encoding import GRID, Whole
from deniable.models.estimator import RowsReading
from deniable.models.links import LINK_GRID, LossLink
from deniable.models.task import TotalNoise, planned_task
from deniable.models.unit_totals import PrivateRows, check_cut, check_exact, gram, norm_square, root_up, weighted

Floats = NDArray[np.float64]

WEIGHT_GRID = 1 << 12
"""Steps of a weight to 1."""
LARGEST_WEIGHT = 1 << 20
"""Weights are kept below this many steps, 256."""
SHAPE_SHARE = Fraction(1, 10)
"""The part of the budget that the products of the features get."""
MOMENTUM = 0.5


class Descending(Protocol):
    """The settings of an estimator that descends."""

    @property
    def steps(self) -> int:
        """How many gradients are released."""
        ...

    @property
    def ridge(self) -> Real:
        """How much weights are shrunk."""
        ...

    def recipe(self) -> str:
        """The settings as one text."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """What a run found: weights (features by outputs), their rough covariance diagonal, and the noisy number of rows."""

    weights: Floats
    errors: Floats
    count: float


@dataclass(frozen=True, slots=True)
class DescentPlan:
    """The two kinds of answers of one run, and their noise."""

    shape: TotalNoise
    gradient: TotalNoise

    @classmethod
    def of(cls, reading: RowsReading, link: LossLink, steps: int, multiplier: Real) -> DescentPlan:
        """Noise such that all answers together cost as much as one with this multiplier."""
        whole = positive(multiplier=multiplier)
        most, rows = reading.encoding.most, reading.per_unit
        products = norm_square(GRID**4 * most * (most + 1) // 2, rows)
        pushes = norm_square(GRID**2 * most * link.square, rows)
        check_exact("a score", GRID * most * LARGEST_WEIGHT)
        if rows > 1:
            check_cut(entry=GRID**2 * rows, square=products * rows, norm=root_up(products))
            check_cut(entry=GRID * LINK_GRID * rows, square=pushes * rows, norm=root_up(pushes))
        return cls(
            TotalNoise.of(products, whole * _up(1 / SHAPE_SHARE)),
            TotalNoise.of(pushes, whole * _up(steps / (1 - SHAPE_SHARE))),
        )


def _up(square: Fraction) -> Fraction:
    return exact_root(square, 40).upper


def descent_task(
    reading: RowsReading,
    link: LossLink,
    *,
    model: Descending,
    multiplier: Real,
    outputs: int,
    truth: Callable[[PrivateRows], Floats],
    finish: Callable[[Descent, str], Any],
) -> Mechanism:
    """The whole run as one mechanism: products of features, then `steps` gradients, each charged to one plan."""
    plan = DescentPlan.of(reading, link, model.steps, multiplier)

    def prepare(rows: PrivateRows) -> None:
        rows.kept["features"] = reading.encoding.matrix(rows.codes, rows.count).astype(np.float64)
        rows.kept["truth"] = truth(rows)

    def products(rows: PrivateRows) -> Whole:
        return gram(rows, rows.kept["features"].astype(np.int64), norm=root_up(plan.shape.square))

    def run(compositor: Compositor) -> Any:
        answered = compositor.release(plan.shape.total(reading.space, products))
        said = (
            f"rounded normal noise of scale {float(plan.shape.scale) / GRID**2:.6g} rows on sums of products and of scale "
            f"{float(plan.gradient.scale) / (GRID * LINK_GRID):.6g} on each of {model.steps} gradients"
        )
        return finish(_descended(compositor, reading, link, model, plan, answered, outputs), said)

    costs = [plan.shape.cost] + [plan.gradient.cost] * model.steps
    return planned_task(reading.space, costs=costs, run=run, recipe=model.recipe(), prepare=prepare)


def _descended(
    compositor: Compositor,
    reading: RowsReading,
    link: LossLink,
    model: Descending,
    plan: DescentPlan,
    triangle: Whole,
    outputs: int,
) -> Descent:
    size = reading.encoding.width
    spread = float(plan.shape.scale) / GRID**2
    shape = np.zeros((size, size))
    shape[np.triu_indices(size)] = triangle.astype(np.float64) / GRID**2
    shape = np.triu(shape) + np.triu(shape, 1).T
    count = max(float(shape[0, 0]), 1.0)
    values, vectors = np.linalg.eigh(shape)
    damped = np.maximum(values, 0) + 4 * spread * sqrt(size) + 1e-4 * count
    inverse = (vectors / damped) @ vectors.T / link.curvature
    norm, ridge = root_up(plan.gradient.square), float(model.ridge)
    weights, speed, kept = np.zeros((size, outputs)), np.zeros((size, outputs)), []
    for step in range(model.steps):
        on_grid = whole_weights(weights)
        asked = plan.gradient.total(reading.space, partial(gradient, weights=on_grid, link=link, norm=norm))
        push = compositor.release(asked).astype(np.float64) / (GRID * LINK_GRID) - ridge * count * on_grid / WEIGHT_GRID
        speed = MOMENTUM * speed + inverse @ push
        weights = np.clip(weights + speed, -LARGEST_WEIGHT / WEIGHT_GRID, LARGEST_WEIGHT / WEIGHT_GRID)
        if 2 * step >= model.steps:
            kept.append(whole_weights(weights) / WEIGHT_GRID)
    noise = float(plan.gradient.scale) / (GRID * LINK_GRID) / sqrt(max(len(kept), 1))
    middle = (vectors * np.maximum(values, 0)) @ vectors.T * link.curvature
    covariance = inverse @ (middle + noise**2 * np.eye(size)) @ inverse
    return Descent(np.mean(kept, axis=0), np.sqrt(np.maximum(np.diag(covariance), 0)), count)


def whole_weights(weights: Floats) -> Floats:
    """Weights in whole steps of their grid, below the largest."""
    return np.clip(np.rint(weights * WEIGHT_GRID), -LARGEST_WEIGHT, LARGEST_WEIGHT)


def gradient(rows: PrivateRows, weights: Floats, link: LossLink, *, norm: int) -> Whole:
    """The sum over units of features times residuals, in whole steps; the direction in which the fit gets better."""
    residuals = np.empty_like(rows.kept["truth"])
    for block, _ in rows.blocks():
        scores = rows.kept["features"][block] @ weights
        residuals[block] = link.residuals(scores, rows.kept["truth"][block])
    return weighted(rows, rows.kept["features"], residuals, norm=norm)
