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
from deniable.exact.guards import Real, nonnegative
from deniable.kernels import DiscreteLaplaceNoise
from deniable.models.descent import Descent, descent_task
from deniable.models.encoding import GRID, Whole
from deniable.models.estimator import Estimator, RowsReading
from deniable.models.fitted_linear import FittedLinear
from deniable.models.links import IDENTITY
from deniable.models.task import TotalNoise, planned_task
from deniable.models.theil_sen import theil_sen_fit
from deniable.models.unit_totals import PrivateRows, check_cut, check_exact, gram, norm_square, root_up
from deniable.plan.expression import Expression
from deniable.plan.nodes import triangle

Floats = NDArray[np.float64]

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

    def step_count(self) -> int:
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
        most = reading.encoding.most + 1
        off = multiplier * sqrt(most * (most + 1) / 2 * reading.per_unit)
        return f"each sum of products is off by about {off:.4g} rows, each mean of n rows by {off:.3g} / n"


def check_steps(steps: Any, name: str = "steps") -> None:
    if not (isinstance(steps, int) and not isinstance(steps, bool) and steps >= 1):
        raise InvalidArgument(f"{name} must be a whole number of at least 1, got {steps!r}")


def products_square(reading: RowsReading) -> int:
    """The squared length of what one unit adds to all products: at most k entries of a row are not zero, each at most GRID."""
    most = reading.encoding.most + 1
    one = GRID**4 * most * (most + 1) // 2
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
    written = (*reading.encoding.expressions(), *reading.target_number().expressions())
    return written, triangle(len(written))


def products(rows: PrivateRows | RemoteRows, reading: RowsReading, *, norm: int) -> Whole:
    """The triangle of products of features and target, the target last."""
    if isinstance(rows, RemoteRows):
        return rows.vector(*_written(reading), norm=norm)
    target = reading.target_number()
    features = reading.encoding.matrix(rows.codes, rows.count)
    return gram(rows, np.concatenate([features, target.columns(rows.codes[target.name])], axis=1), norm=norm)


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
    most = reading.encoding.most + 1
    apart = GRID**2 * most * (most + 1) // 2
    noise = DiscreteLaplaceNoise(TotalNoise.of(1, multiplier).scale * apart)
    cost = DiscreteLaplace(scale=noise.scale, sensitivity=apart, coordinates=most * (most + 1) // 2)

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


def solved(model: LinearRegression, reading: RowsReading, triangle: Whole, spread: float, said: str) -> FittedLinear:
    """Coefficients and their covariance from noisy products whose every entry is off by `spread`."""
    encoding, target = reading.encoding, reading.target_number()
    size = encoding.width + 1
    moments = np.zeros((size, size))
    moments[np.triu_indices(size)] = triangle.astype(np.float64) / GRID**2
    moments = np.triu(moments) + np.triu(moments, 1).T
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
    covariance, bias = _uncertainty(weights, inverse, values, vectors, residual, spread, ridge)
    return FittedLinear(
        estimator=model.title,
        features=reading.features,
        target=target,
        settings=model.settings(),
        noise=said,
        weights=tuple(float(weight) for weight in weights),
        covariance=tuple(tuple(float(entry) for entry in row) for row in covariance),
        bias=tuple(float(entry) for entry in bias),
        ridge=float(ridge),
        count=float(moments[0, 0]),
        residual=residual,
    )


def _uncertainty(
    weights: Floats, inverse: Floats, values: Floats, vectors: Floats, residual: float, spread: float, ridge: float
) -> tuple[Floats, Floats]:
    """The covariance of the coefficients, from sampling and from noise in products, and how far the ridge may shrink each."""
    left = (vectors * np.maximum(values, 0)) @ vectors.T
    noise = spread**2 * ((1 + weights @ weights) * np.eye(len(weights)) + np.outer(weights, weights))
    covariance = inverse @ (residual * left + noise) @ inverse
    return covariance, np.abs(ridge * inverse @ weights)
