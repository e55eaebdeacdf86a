"""Noisy gradient descent over all rows, in whole numbers (docs/theory/whole-number-training.md).

First the sums of all columns are released: they say how many rows there are, where their middle is and how long a row usually is.
Rows are moved and shortened accordingly. Then the products of the columns with each other give the shape of the problem, so that
steps can be long where the data is wide. Then every step releases one noisy gradient. A ridge as large as the noise keeps what the
noise would decide near zero. All shares were chosen on made-up rows and on seven
tables of other subjects, never on Adult, which the benchmark shows.

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
from deniable.cost import Cost
from deniable.exact import number_of
from deniable.exact import sqrt as exact_root
from deniable.exact.guards import Real, positive
from deniable.models.centring import UNIT, Centre, column_sums, sums_square
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
SUMS_SHARE, SHAPE_SHARE = Fraction(1, 20), Fraction(1, 10)
"""The parts of the budget that the sums of the columns and their products get."""
STEPS_SHARE = 1 - SUMS_SHARE - SHAPE_SHARE
"""The part that all gradients get together."""
_UNSURE, _FLATTER = 1.0, 2.0
"""How much of the last step counts as one more error, and how many times flatter than for normal scores the loss may be."""
_FLATTEST = 1 / 32
"""The curvature of no direction is taken to be a smaller part of the largest that it can be."""
_HIDDEN = 0.3
"""A weight is hidden if more than this part of it lies in directions that noise hides."""
MOMENTUM = 0.5
DAMPING = 3
"""Steps are as short as if the shape had so many times its noise's root of the size more; that noise is about 2 times it long."""


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
    """What a run found: weights (columns by outputs), about how far each may be off, and the noisy number of rows."""

    weights: Floats
    errors: Floats
    count: float
    unshrunk: Floats
    """One step further, without the ridge: about where noise and the ridge would not have stopped it; intervals are around it."""
    reach: Floats
    """The standard error of every entry of that, infinite where noise hides it."""


@dataclass(frozen=True, slots=True)
class DescentPlan:
    """The three kinds of answers of one run, and their noise."""

    sums: TotalNoise
    shape: TotalNoise
    gradient: TotalNoise

    @classmethod
    def of(cls, reading: RowsReading, link: LossLink, steps: int, multiplier: Real) -> DescentPlan:
        """Noise such that all answers together cost as much as one with this multiplier."""
        whole = positive(multiplier=multiplier)
        encoding, rows = reading.encoding, reading.per_unit
        sums = norm_square(sums_square(encoding), rows)
        products = norm_square(UNIT**4, rows)
        pushes = norm_square(UNIT**2 * link.square, rows)
        check_exact("a score", GRID * encoding.most * LARGEST_WEIGHT)
        if rows > 1:
            check_cut(entry=GRID * rows, square=sums * rows, norm=root_up(sums))
            check_cut(entry=UNIT**2 * rows, square=products * rows, norm=root_up(products))
            check_cut(entry=UNIT * LINK_GRID * rows, square=pushes * rows, norm=root_up(pushes))
        return cls(
            TotalNoise.of(sums, whole * _up(1 / SUMS_SHARE)),
            TotalNoise.of(products, whole * _up(1 / SHAPE_SHARE)),
            TotalNoise.of(pushes, whole * _up(steps / STEPS_SHARE)),
        )

    @property
    def costs(self) -> list[Cost]:
        """The two answers before the first step."""
        return [self.sums.cost, self.shape.cost]


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
    """The whole run as one mechanism: sums, products, then `steps` gradients, each charged to one plan."""
    plan = DescentPlan.of(reading, link, model.steps, multiplier)

    def prepare(rows: PrivateRows) -> None:
        rows.kept["features"] = reading.encoding.floats(rows.codes, rows.count)
        rows.kept["truth"] = truth(rows)

    def sums(rows: PrivateRows) -> Whole:
        return column_sums(rows, reading.encoding, norm=root_up(plan.sums.square))

    def run(compositor: Compositor) -> Any:
        centre = Centre.of(reading.encoding, compositor.release(plan.sums.total(reading.space, sums)))
        found = _descended(compositor, reading, link, model, plan, centre, outputs)
        said = (
            f"rounded normal noise of scale {float(plan.sums.scale) / GRID:.6g} rows on sums of columns, then, of rows shortened "
            f"to {centre.length:.4g}, of scale {float(plan.shape.scale) / UNIT**2:.6g} on products and of scale "
            f"{float(plan.gradient.scale) / (UNIT * LINK_GRID):.6g} on each of {number_of(model.steps, 'gradient')}"
        )
        return finish(found, said)

    costs = plan.costs + [plan.gradient.cost] * model.steps
    return planned_task(reading.space, costs=costs, run=run, recipe=model.recipe(), prepare=prepare)


def _shape(compositor: Compositor, reading: RowsReading, plan: DescentPlan, centre: Centre) -> tuple[Floats, Floats]:
    """The eigenvalues (none below zero) and eigenvectors of the noisy products of pushes; from here on rows keep their pushes."""

    def products(rows: PrivateRows) -> Whole:
        rows.kept["pushes"] = centre.pushes(rows.kept["features"])
        return gram(rows, rows.kept["pushes"], norm=root_up(plan.shape.square))

    size = reading.encoding.width
    shape = np.zeros((size, size))
    answered = compositor.release(plan.shape.total(reading.space, products))
    shape[np.triu_indices(size)] = answered.astype(np.float64) / UNIT**2
    values, vectors = np.linalg.eigh(np.triu(shape) + np.triu(shape, 1).T)
    return np.maximum(values, 0), vectors


def _descended(
    compositor: Compositor,
    reading: RowsReading,
    link: LossLink,
    model: Descending,
    plan: DescentPlan,
    centre: Centre,
    outputs: int,
) -> Descent:
    values, vectors = _shape(compositor, reading, plan, centre)
    size, plain = reading.encoding.width, centre.plain()
    noise = float(plan.gradient.scale) / (UNIT * LINK_GRID) / sqrt(model.steps)
    ridge = noise / centre.length + float(model.ridge) * centre.count / centre.length**2
    damped = values + DAMPING * float(plan.shape.scale) / UNIT**2 * sqrt(size) + 1e-4 * centre.count
    inverse = (vectors / (damped * link.curvature + ridge)) @ vectors.T
    norm, shrunk = root_up(plan.gradient.square), ridge * (np.arange(size) > 0)[:, None]
    weights, speed, kept = np.zeros((size, outputs)), np.zeros((size, outputs)), []
    slopes: list[tuple[Floats, Floats]] = []
    for step in range(model.steps):
        on_grid = whole_weights(plain @ weights)
        asked = plan.gradient.total(reading.space, partial(gradient, weights=on_grid, link=link, norm=norm))
        slope = compositor.release(asked).astype(np.float64) / (UNIT * LINK_GRID)
        push = slope - shrunk * weights
        slopes.append((weights, slope))
        speed = MOMENTUM * speed + inverse @ push
        weights = np.clip(weights + speed, -LARGEST_WEIGHT / WEIGHT_GRID, LARGEST_WEIGHT / WEIGHT_GRID)
        if 2 * step + 1 >= model.steps:
            kept.append(weights)
    found = np.mean(kept, axis=0)
    settled = (vectors / (values * link.curvature + ridge)) @ vectors.T
    middle = (vectors * values) @ vectors.T * link.curvature
    covariance = plain @ settled @ (middle + 2 * noise**2 * np.eye(size)) @ settled @ plain.T
    bias = np.abs(plain @ settled @ (shrunk * found)).max(axis=1)
    errors = np.sqrt(np.maximum(np.diag(covariance), 0) + bias**2)
    late = slopes[len(slopes) // 2 :]
    ending = Ending(
        weights=np.mean([weights for weights, _ in late], axis=0),
        slope=np.mean([slope for _, slope in late], axis=0),
        noise=noise * sqrt(model.steps / len(late)),
        values=values,
        vectors=vectors,
        shape_noise=float(plan.shape.scale) / UNIT**2,
        centre=centre,
    )
    unshrunk, reach = without_ridge(ending, reading, link)
    return Descent(whole_weights(plain @ found) / WEIGHT_GRID, errors, centre.count, unshrunk, reach)


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """The later half of a run, on the scale of pushes: mean weights and mean noisy gradient (without the ridge), and the shape."""

    weights: Floats
    slope: Floats
    noise: float
    values: Floats
    vectors: Floats
    shape_noise: float
    centre: Centre


def without_ridge(ending: Ending, reading: RowsReading, link: LossLink) -> tuple[Floats, Floats]:
    """One step of Newton's from the mean of the later weights, on columns' own scale, and the standard error of every entry.

    Directions that are none, because the columns of one feature add up to one in every row, are public and have no error: weights
    have no part in them. Of all others those are seen whose eigenvalue is above the standard deviation of the noise in it.
    """
    centre, plain = ending.centre, ending.centre.plain()
    shape = (ending.vectors * ending.values) @ ending.vectors.T
    basis = _told_apart(reading)
    values, turned = np.linalg.eigh(basis.T @ shape @ basis)
    vectors = basis @ turned
    left = values - ending.shape_noise * np.sqrt(2 - (vectors**4).sum(axis=0))
    seen = left > 0
    known, root, worn = vectors[:, seen], np.sqrt(values[seen]), values[seen] / left[seen]
    hidden = plain @ vectors[:, ~seen]
    parts = np.sqrt((hidden**2).sum(axis=1))
    lost = parts > _HIDDEN * np.sqrt(((plain @ basis) ** 2).sum(axis=1))
    found, errors = np.zeros_like(ending.weights), np.zeros_like(ending.weights)
    for place in range(ending.weights.shape[1]):
        curved = link.curvatures(ending.weights, place, shape, 1 / centre.length, centre.count)
        bent, axes = np.linalg.eigh(known.T @ curved @ known / root[:, None] / root[None, :])
        across = axes / root[:, None]
        inverse = (across / np.clip(bent, _FLATTEST * link.curvature, link.curvature)) @ across.T
        steps = inverse @ (known.T @ ending.slope[:, place])
        found[:, place] = plain @ (basis @ (basis.T @ ending.weights[:, place]) + known @ steps)
        inverse *= _FLATTER * worn[:, None] * worn[None, :]
        turned = plain @ known
        spread = np.diag(turned @ (inverse + ending.noise**2 * inverse @ inverse) @ turned.T)
        rest = parts * max(1.0, float(np.abs(ending.weights[:, place]).max()))
        errors[:, place] = np.where(lost, np.inf, np.sqrt(spread + turned**2 @ (_UNSURE * steps) ** 2 + rest**2))
    return found, errors


def _told_apart(reading: RowsReading) -> Floats:
    """An orthonormal basis of the directions in which rows differ; they do not where all columns of a feature add up to one."""
    size, place, alike = reading.encoding.width, 1, []
    for each in reading.features:
        if not each.is_number and each.width == len(each.values):
            column = np.zeros(size)
            column[place : place + each.width] = 1
            alike.append(column)
        place += each.width
    if not alike:
        return np.eye(size)
    whole, _ = np.linalg.qr(np.concatenate([np.stack(alike, axis=1), np.eye(size)], axis=1))
    return whole[:, len(alike) :]


def whole_weights(weights: Floats) -> Floats:
    """Weights in whole steps of their grid, below the largest."""
    return np.clip(np.rint(weights * WEIGHT_GRID), -LARGEST_WEIGHT, LARGEST_WEIGHT)


def gradient(rows: PrivateRows, weights: Floats, link: LossLink, *, norm: int) -> Whole:
    """The sum over units of pushes times residuals, in whole steps; the direction in which the fit gets better."""
    residuals = np.empty_like(rows.kept["truth"])
    for block, _ in rows.blocks():
        scores = rows.kept["features"][block] @ weights
        residuals[block] = link.residuals(scores, rows.kept["truth"][block])
    return weighted(rows, rows.kept["pushes"], residuals, norm=norm)
