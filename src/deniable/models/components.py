"""Principal components from one noisy matrix of products."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.core.compositor import Compositor
from deniable.core.mechanism import Mechanism
from deniable.exact.guards import Real, integer
from deniable.models.encoding import GRID, Encoding, Whole
from deniable.models.estimator import RowsReader, RowsReading
from deniable.models.fitted import FittedModel
from deniable.models.task import TotalNoise, planned_task
from deniable.models.unit_totals import PrivateRows, check_cut, gram, norm_square, root_up

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PCA(RowsReader):
    """The `components` directions in which the rows differ most, from a covariance matrix with normal noise.

    Guarantee: one release of all products of columns, of which one unit moves at most the declared length.
    """

    components: int = 2

    title: ClassVar[str] = "principal components"

    def check(self) -> None:
        integer(components=self.components, least=1)

    def at(self, reading: RowsReading, multiplier: Real) -> Mechanism:
        encoding = reading.encoding
        integer(components=self.components, least=1, greatest=encoding.width - 1)
        one = GRID**4 * encoding.most * (encoding.most + 1) // 2
        noise = TotalNoise.of(norm_square(one, reading.per_unit), multiplier)
        norm = root_up(noise.square)
        if reading.per_unit > 1:
            check_cut(entry=GRID**2 * reading.per_unit, square=noise.square * reading.per_unit, norm=norm)

        def products(rows: PrivateRows) -> Whole:
            return gram(rows, encoding.matrix(rows.codes, rows.count), norm=norm)

        def run(compositor: Compositor) -> FittedComponents:
            answered = compositor.release(noise.total(reading.space, products))
            return _fitted(self, reading, answered.astype(np.float64) / GRID**2, float(noise.scale) / GRID**2)

        return planned_task(reading.space, costs=[noise.cost], run=run, recipe=self.recipe())


def _fitted(model: PCA, reading: RowsReading, triangle: Floats, spread: float) -> FittedComponents:
    size = reading.encoding.width
    moments = np.zeros((size, size))
    moments[np.triu_indices(size)] = triangle
    moments = np.triu(moments) + np.triu(moments, 1).T
    count = max(float(moments[0, 0]), 1.0)
    mean = moments[0, 1:] / count
    covariance = moments[1:, 1:] / count - np.outer(mean, mean)
    values, vectors = np.linalg.eigh(covariance)
    order = np.argsort(values)[::-1][: model.components]
    signs = np.where(vectors[:, order].sum(axis=0) < 0, -1, 1)
    return FittedComponents(
        estimator=model.title,
        features=reading.features,
        target=None,
        settings=model.settings(),
        noise=f"rounded normal noise of scale {spread:.6g} rows on every sum of products",
        mean=tuple(float(entry) for entry in mean),
        directions=tuple(tuple(float(entry) for entry in row) for row in (vectors[:, order] * signs).T),
        variances=tuple(max(float(value), 0.0) for value in values[order]),
        count=float(moments[0, 0]),
        spread=spread,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedComponents(FittedModel):
    """Directions over the columns (on the scale of -1 to 1), their variances, the noisy number of rows and the noise's scale."""

    mean: tuple[float, ...]
    directions: tuple[tuple[float, ...], ...]
    variances: tuple[float, ...]
    count: float
    spread: float

    def results(self) -> Mapping[str, float]:
        return {f"variance of component {place + 1}": value for place, value in enumerate(self.variances)}

    def interval(self, confidence: Real = 0.95) -> Mapping[str, tuple[float, float]]:
        """Intervals of the variances, for the noise alone, that hold together (`docs/theory/private-regression.md`)."""
        FittedModel.interval(self, confidence)
        columns = len(self.mean)
        widest, length = float(columns), sum(entry * entry for entry in self.mean)
        norm = 2 * self.spread * (sqrt(columns + 1) + sqrt(log(2 / (1 - float(confidence))))) + (columns + 1) / (
            2 * GRID**2
        )
        if self.count - norm <= 1:
            return {name: (0.0, max(widest, value)) for name, value in self.results().items()}
        true = min(widest, ((sqrt(length) * self.count + norm) / (self.count - norm)) ** 2)
        return {
            name: (
                min(value, max(0.0, (value * self.count - norm * (1 + true)) / (self.count + norm))),
                max(value, min(widest, (value * self.count + norm * (1 + length)) / (self.count - norm))),
            )
            for name, value in self.results().items()
        }

    def loadings(self, component: int = 0) -> dict[str, float]:
        """The weight of each column in a component."""
        return dict(zip(Encoding(self.features).labels[1:], self.directions[component], strict=True))

    def transform(self, frame: Any) -> Floats:
        """The components of each row of a public frame."""
        columns = Encoding(self.features).public_matrix(frame)[:, 1:].astype(np.float64) / GRID
        return np.asarray((columns - np.array(self.mean)) @ np.array(self.directions).T, dtype=np.float64)

    def predict(self, frame: Any) -> Floats:
        """The same as `transform`."""
        return self.transform(frame)
