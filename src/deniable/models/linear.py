"""Linear regression from one noisy matrix of products (docs/theory/private-regression.md).

Every row's products of features and target are added up in whole numbers, once, and get normal noise once. Everything else,
the projection to a sensible matrix, the ridge, the coefficients and their standard errors, is computed from that answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.core.compositor import Compositor
from deniable.core.mechanism import Mechanism
from deniable.cost import DiscreteLaplace
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, nonnegative
from deniable.kernels import Law
from deniable.kernels.integer_noise import Noise
from deniable.models.encoding import GRID, Encoding, Whole
from deniable.models.estimator import Estimator, Reading
from deniable.models.fitted import FittedModel, named, normal_factor
from deniable.models.task import Noisy, planned_task
from deniable.models.unit_totals import PrivateRows, check_cut, check_exact, gram, norm_square, root_up

Floats = NDArray[np.float64]

PREDICTION_GRID = 1 << 12
"""Steps of a weight to 1, where private rows are predicted."""

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
        return self.steps + 1 if self.method == "descent" else 2 if self.method == "theil-sen" else 1

    def at(self, reading: Reading, multiplier: Real) -> Mechanism:
        reading.target_number()
        match self.method:
            case "functional":
                return _functional(self, reading, multiplier)
            case "descent":
                from deniable.models.descent import descent_fit

                return descent_fit(self, reading, multiplier)
            case "theil-sen":
                from deniable.models.theil_sen import theil_sen_fit

                return theil_sen_fit(self, reading, multiplier)
            case _:
                return _statistics(self, reading, multiplier)

    def forecast(self, reading: Reading, multiplier: float) -> str:
        most = reading.encoding.most + 1
        off = multiplier * sqrt(most * (most + 1) / 2 * reading.per_unit)
        return f"each sum of products is off by about {off:.4g} rows, each mean of n rows by {off:.3g} / n"


def check_steps(steps: Any, name: str = "steps") -> None:
    if not (isinstance(steps, int) and not isinstance(steps, bool) and steps >= 1):
        raise InvalidArgument(f"{name} must be a whole number of at least 1, got {steps!r}")


def products_square(reading: Reading) -> int:
    """The squared length of what one unit adds to all products: at most k entries of a row are not zero, each at most GRID."""
    most = reading.encoding.most + 1
    one = GRID**4 * most * (most + 1) // 2
    square = norm_square(one, reading.per_unit)
    check_exact("a sum of products", GRID**2 << 31)
    if reading.per_unit > 1:
        check_cut(entry=GRID**2 * reading.per_unit, square=one * reading.per_unit**2, norm=root_up(square))
    return square


def products(rows: PrivateRows, reading: Reading, *, norm: int) -> Whole:
    """The triangle of products of features and target, the target last."""
    assert reading.target is not None
    features = reading.encoding.matrix(rows.codes, rows.count)
    target = reading.target.columns(rows.codes[reading.target.name])
    return gram(rows, np.concatenate([features, target], axis=1), norm=norm)


def _statistics(model: LinearRegression, reading: Reading, multiplier: Real) -> Mechanism:
    noise = Noisy.of(products_square(reading), multiplier)
    asked = noise.total(reading.space, lambda rows: products(rows, reading, norm=root_up(noise.square)))

    def run(compositor: Compositor) -> FittedLinear:
        said = f"rounded normal noise of scale {float(noise.scale) / GRID**2:.6g} rows on every sum of products"
        return solved(model, reading, compositor.release(asked), float(noise.scale) / GRID**2, said)

    return planned_task(reading.space, costs=[noise.cost], run=run, recipe=model.recipe())


def _functional(model: LinearRegression, reading: Reading, multiplier: Real) -> Mechanism:
    """The functional mechanism: Laplace noise on the coefficients of the squared error as a polynomial."""
    if reading.per_unit > 1:
        raise InvalidArgument("the functional mechanism is for one row per unit; use method='statistics'")
    most = reading.encoding.most + 1
    apart = GRID**2 * most * (most + 1) // 2
    noise = Noise(Law.LAPLACE, Noisy.of(1, multiplier).scale * apart)
    cost = DiscreteLaplace(scale=noise.scale, sensitivity=apart, coordinates=most * (most + 1) // 2)

    def function(rows: PrivateRows, entropy: Any) -> Whole:
        exact = products(rows, reading, norm=0)
        return exact + noise.draw(exact.size, entropy)

    asked = Mechanism(reading.space, function, lambda d_in: cost if d_in <= 1 else cost.group(int(d_in)))  # type: ignore[operator, arg-type]

    def run(compositor: Compositor) -> FittedLinear:
        spread = sqrt(2) * float(noise.scale) / GRID**2
        said = (
            f"Laplace noise of scale {float(noise.scale) / GRID**2:.6g} rows on every coefficient of the squared error"
        )
        return solved(model, reading, compositor.release(asked), spread, said)

    return planned_task(reading.space, costs=[cost], run=run, recipe=model.recipe())


def solved(model: LinearRegression, reading: Reading, triangle: Whole, spread: float, said: str) -> FittedLinear:
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


def row_predictions(matrix: Whole, weights: Floats) -> Whole:
    """Predictions in steps of 1/GRID, cut to the target's range: weights are put on a grid, so each row's is its own."""
    on_grid = np.rint(np.clip(weights, -256, 256) * PREDICTION_GRID)
    scores = np.trunc(matrix.astype(np.float64) @ on_grid / PREDICTION_GRID)
    return np.clip(scores, -GRID, GRID).astype(np.int64)[:, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedLinear(FittedModel):
    """A fitted linear regression. `coefficients` are in the columns' own units.

    `interval` covers sampling (rows taken as independent), the noise, and what the ridge may shrink.
    """

    weights: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    bias: tuple[float, ...]
    ridge: float
    count: float
    residual: float

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
        """The standard error of each coefficient, the noise included."""
        turned = self._natural()
        spread = turned @ np.array(self.covariance) @ turned.T
        return named(self.encoding.labels, np.sqrt(np.maximum(np.diag(spread), 0)))

    def results(self) -> Mapping[str, float]:
        return self.coefficients

    def interval(self, confidence: Real = 0.95) -> Mapping[str, tuple[float, float]]:
        factor, errors = normal_factor(confidence), self.errors
        shrunk = np.abs(self._natural()) @ np.array(self.bias)
        reach = {name: factor * errors[name] + float(add) for name, add in zip(errors, shrunk, strict=True)}
        return {name: (value - reach[name], value + reach[name]) for name, value in self.coefficients.items()}

    def outputs(self, codes: Mapping[str, Whole], count: int) -> Whole:
        return row_predictions(self.encoding.matrix(codes, count), np.array(self.weights))

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
