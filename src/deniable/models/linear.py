"""Linear regression from one noisy matrix of products (docs/theory/private-regression.md).

Every row's products of features and target are added up in whole numbers, once, and get normal noise once. Everything else,
the projection to a sensible matrix, the ridge, the coefficients and their standard errors, is computed from that answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.core.compositor import Compositor, grouped
from deniable.core.mechanism import Mechanism
from deniable.cost import DiscreteLaplace
from deniable.engines.engine import RowTable
from deniable.engines.table_space import RemoteRows
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer, nonnegative
from deniable.kernels import DiscreteLaplaceNoise
from deniable.models.descent import Descent, descent_task
from deniable.models.encoding import GRID, Whole
from deniable.models.estimator import MOST_STEPS, Estimator, RowsReading
from deniable.models.fitted_linear import FittedLinear
from deniable.models.links import IDENTITY
from deniable.models.task import TotalNoise, planned_task
from deniable.models.theil_sen import theil_sen_fit
from deniable.models.unit_totals import PrivateRows, check_cut, check_exact, gram, norm_square, root_up
from deniable.plan.expression import Expression
from deniable.plan.nodes import triangle

Floats = NDArray[np.float64]

_HIDDEN = 0.1
"""A weight is hidden if more than this part of it lies in directions that noise hides."""
METHODS = ("statistics", "functional", "descent", "theil-sen")


@dataclass(frozen=True, slots=True)
class LinearRegression(Estimator):
    """A number explained by the other columns, by least squares.

    Methods: "statistics" (the default: noisy products, a ridge as large as the noise asks for), "functional" (the functional
    mechanism: the same products with Laplace noise, an epsilon without delta), "descent" (noisy gradient descent), "theil-sen"
    (one predictor; the private median of slopes of random pairs).

    Guarantee: one release of all products, of which one unit moves at most the declared length; see `fit`.
    """

    method: str = field(default="statistics", kw_only=True)
    ridge: Real = field(default=0, kw_only=True)
    steps: int = field(default=30, kw_only=True)
    matchings: int = field(default=1, kw_only=True)

    title: ClassVar[str] = "linear regression"
    reference: ClassVar[bool] = True

    def check(self) -> None:
        if self.method not in METHODS:
            raise InvalidArgument(f"method must be one of {', '.join(METHODS)}, got {self.method!r}")
        nonnegative(ridge=self.ridge)
        check_steps(self.steps)
        check_steps(self.matchings, "matchings")

    def step_count(self, reading: RowsReading) -> int:
        return self.steps + 2 if self.method == "descent" else 2 if self.method == "theil-sen" else 1

    def at(self, reading: RowsReading, multiplier: Real) -> Mechanism:
        reading.target_number()
        match self.method:
            case "functional":
                return _functional(self, reading, multiplier)
            case "descent":
                return _descent(self, reading, multiplier)
            case "theil-sen":
                return theil_sen_fit(self, reading, multiplier)
            case _:
                return _statistics(self, reading, multiplier)

    def forecast(self, reading: RowsReading, multiplier: float) -> str:
        off = multiplier * sqrt(products_moved(reading) * reading.per_unit)
        return f"each sum of products is off by about {off:.4g} rows, each mean of n rows by {off:.3g} / n"


def check_steps(steps: Any, name: str = "steps") -> None:
    integer(least=1, greatest=MOST_STEPS, **{name: steps})


def product_pairs(reading: RowsReading) -> tuple[tuple[int, int], ...]:
    """Which products of two columns, the target's last, say anything: each once, and none that is public.

    A column of a category is 0 or 1: its square is its product with the intercept, and a row has one category of each feature.
    """
    feature_of = category_columns(reading)
    return tuple(
        (left, right)
        for left, right in triangle(reading.encoding.width + 1)
        if feature_of[left] == 0 or feature_of[left] != feature_of[right]
    )


def category_columns(reading: RowsReading) -> Whole:
    """For every column, the target's last: which category it belongs to, counted from 1; 0 for numbers and the intercept."""
    found = [
        0,
        *(0 if each.is_number else at for at, each in enumerate(reading.features, 1) for _ in range(each.width)),
    ]
    return np.array([*found, 0], dtype=np.int64)


def products_moved(reading: RowsReading) -> int:
    """How many of these products can differ from zero in one row."""
    most = reading.encoding.most + 1
    return most * (most + 1) // 2 - sum(each.most for each in reading.features if not each.is_number)


def products_square(reading: RowsReading) -> int:
    """The squared length of what one unit adds to all products: so many of a row are not zero, each at most GRID squared."""
    one = GRID**4 * products_moved(reading)
    square = norm_square(one, reading.per_unit)
    check_exact("a sum of products", GRID**2 << 31)
    if reading.per_unit > 1:
        check_cut(entry=GRID**2 * reading.per_unit, square=one * reading.per_unit**2, norm=root_up(square))
    return square


def held_rows(data: RowTable | RemoteRows, reading: RowsReading) -> PrivateRows | RemoteRows:
    """The rows, or rows left where they are, if their products can be added up there."""
    if isinstance(data, RemoteRows) and data.adds_up(*_written(reading), norm=root_up(products_square(reading))):
        return data
    return PrivateRows.of(data)


def _written(reading: RowsReading) -> tuple[tuple[Expression, ...], tuple[tuple[int, ...], ...]]:
    """Features and target as expressions, and the places of the products."""
    return (*reading.encoding.expressions(), *reading.target_number().expressions()), product_pairs(reading)


def products(rows: PrivateRows | RemoteRows, reading: RowsReading, *, norm: int) -> Whole:
    """The sums of products of features and target, the target last."""
    if isinstance(rows, RemoteRows):
        return rows.vector(*_written(reading), norm=norm)
    target = reading.target_number()
    features = reading.encoding.matrix(rows.codes, rows.count)
    whole = np.concatenate([features, target.columns(rows.codes[target.name])], axis=1)
    return gram(rows, whole, norm=norm, pairs=product_pairs(reading))


def _statistics(model: LinearRegression, reading: RowsReading, multiplier: Real) -> Mechanism:
    noise = TotalNoise.of(products_square(reading), multiplier)
    asked = noise.total(reading.space, lambda rows: products(rows, reading, norm=root_up(noise.square)))

    def run(compositor: Compositor) -> FittedLinear:
        said = f"rounded normal noise of scale {float(noise.scale) / GRID**2:.6g} rows on every sum of products"
        return solved(model, reading, compositor.release(asked), float(noise.scale) / GRID**2, said)

    return planned_task(
        reading.space, costs=[noise.cost], run=run, recipe=model.recipe(), read=partial(held_rows, reading=reading)
    )


def _functional(model: LinearRegression, reading: RowsReading, multiplier: Real) -> Mechanism:
    """The functional mechanism: Laplace noise on the coefficients of the squared error as a polynomial."""
    if reading.per_unit > 1:
        raise InvalidArgument("the functional mechanism is for one row per unit; use method='statistics'")
    moved = products_moved(reading)
    noise = DiscreteLaplaceNoise(TotalNoise.of(1, multiplier).scale * GRID**2 * moved)
    cost = DiscreteLaplace(scale=noise.scale, sensitivity=GRID**2 * moved, coordinates=moved)

    def function(rows: PrivateRows | RemoteRows, entropy: Any) -> Whole:
        exact = products(rows, reading, norm=root_up(products_square(reading)))
        return exact + noise.draw(exact.size, entropy)

    asked = Mechanism(reading.space, function, lambda d_in: grouped(cost, d_in))

    def run(compositor: Compositor) -> FittedLinear:
        spread = sqrt(2) * float(noise.scale) / GRID**2
        said = (
            f"Laplace noise of scale {float(noise.scale) / GRID**2:.6g} rows on every coefficient of the squared error"
        )
        return solved(model, reading, compositor.release(asked), spread, said)

    return planned_task(
        reading.space, costs=[cost], run=run, recipe=model.recipe(), read=partial(held_rows, reading=reading)
    )


def _descent(model: Any, reading: RowsReading, multiplier: Real) -> Mechanism:
    """Linear regression by gradient descent: residuals are cut to half of the target's range."""
    target = reading.target_number()

    def truth(rows: PrivateRows) -> Floats:
        return target.columns(rows.codes[target.name]).astype(np.float64)

    def finish(found: Descent, said: str) -> FittedLinear:
        size = reading.encoding.width
        covariance = np.diag(found.errors**2)
        return FittedLinear(
            estimator=model.title,
            features=reading.features,
            target=target,
            settings=model.settings(),
            noise=said,
            weights=tuple(float(weight) for weight in found.weights[:, 0]),
            covariance=tuple(tuple(float(entry) for entry in row) for row in covariance),
            bias=(0.0,) * size,
            ridge=float(model.ridge),
            count=found.count,
            residual=1.0,
        )

    return descent_task(reading, IDENTITY, model=model, multiplier=multiplier, outputs=1, truth=truth, finish=finish)


def moments_of(reading: RowsReading, answered: Whole) -> Floats:
    """All sums of products as a matrix, those that are public or released elsewhere filled in."""
    size, categories = reading.encoding.width + 1, np.flatnonzero(category_columns(reading))
    moments = np.zeros((size, size))
    moments[tuple(np.array(product_pairs(reading)).T)] = answered.astype(np.float64) / GRID**2
    moments[categories, categories] = moments[0, categories]
    return np.triu(moments) + np.triu(moments, 1).T


def solved(model: LinearRegression, reading: RowsReading, answered: Whole, spread: float, said: str) -> FittedLinear:
    """Coefficients and their covariance from noisy products whose every entry is off by `spread`."""
    encoding, target = reading.encoding, reading.target_number()
    size, moments = encoding.width + 1, moments_of(reading, answered)
    left, right, square = moments[:-1, :-1], moments[:-1, -1], float(moments[-1, -1])
    values, vectors = np.linalg.eigh(left)
    # the spectral norm of a symmetric matrix of independent noise stays below about spread * 2 sqrt(size)
    need = spread * sqrt(size) * 2 + float(model.ridge) * max(moments[0, 0], 0)
    ridge = max(need - max(float(values[0]), 0.0), float(model.ridge) * max(moments[0, 0], 0), 1e-9)
    inverse = (vectors / (np.maximum(values, 0) + ridge)) @ vectors.T
    weights = inverse @ right
    count = max(float(moments[0, 0]), 1.0)
    fit = float(square - 2 * weights @ right + weights @ left @ weights)
    residual = min(max(fit / count, 1e-12), 4.0)
    unshrunk, covariance, hidden = without_ridge(
        values, vectors, right, residual=residual, spread=spread, feature_of=category_columns(reading)[:-1]
    )
    return FittedLinear(
        estimator=model.title,
        features=reading.features,
        target=target,
        settings=model.settings(),
        noise=said,
        weights=tuple(float(weight) for weight in weights),
        covariance=tuple(tuple(float(entry) for entry in row) for row in covariance),
        bias=(0.0,) * encoding.width,
        ridge=float(ridge),
        count=float(moments[0, 0]),
        residual=residual,
        unshrunk=tuple(float(weight) for weight in unshrunk),
        hidden=hidden,
    )


def without_ridge(
    values: Floats, vectors: Floats, right: Floats, *, residual: float, spread: float, feature_of: Whole
) -> tuple[Floats, Floats, tuple[int, ...]]:
    """The solution of the noisy normal equations along directions that are seen, its covariance, and which weights are hidden.

    A direction (an eigenvector of the noisy matrix) is seen if its eigenvalue is above the standard deviation of the noise in it;
    errors are divided by what is left of the eigenvalue when that is taken off.
    """
    noise_in = [direction @ noise_covariance(direction, feature_of) @ direction - 1 for direction in vectors.T]
    left = values - spread * np.sqrt(noise_in)
    seen = left > 0
    known = vectors[:, seen]
    unshrunk = (known / values[seen]) @ known.T @ right
    errors = residual * (known * values[seen]) @ known.T + spread**2 * noise_covariance(unshrunk, feature_of)
    divided = (known / left[seen]) @ known.T
    parts = np.sqrt((vectors[:, ~seen] ** 2).sum(axis=1))
    unknown = np.diag((parts * max(1.0, float(np.abs(unshrunk).max(initial=0)))) ** 2)
    return (
        unshrunk,
        divided @ errors @ divided + unknown,
        tuple(int(place) for place in np.flatnonzero(parts > _HIDDEN)),
    )


def noise_covariance(weights: Floats, feature_of: Whole) -> Floats:
    """The covariance of the errors that noise of scale 1 on every released product makes in the normal equations.

    The product of columns i and j is off by the same number in equations i and j, by the weights of j and of i. That of the
    intercept and a category is its square as well.
    """
    known = (feature_of[:, None] == 0) | (feature_of[:, None] != feature_of[None, :])
    found = known * np.outer(weights, weights)
    np.fill_diagonal(found, 1 + known @ weights**2)
    for column in np.flatnonzero(feature_of):
        both = weights[0] + weights[column]
        found[column, column] += both**2 - weights[0] ** 2
        found[0, column] = found[column, 0] = both * weights[column]
    return np.asarray(found, dtype=np.float64)
