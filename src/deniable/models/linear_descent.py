"""Linear regression by noisy gradient descent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.mechanism import Mechanism
from deniable.exact.guards import Real
from deniable.models.descent import Descent, descent_task
from deniable.models.estimator import RowsReading
from deniable.models.fitted_linear import FittedLinear
from deniable.models.links import IDENTITY
from deniable.models.unit_totals import PrivateRows

Floats = NDArray[np.float64]


def linear_descent(model: Any, reading: RowsReading, multiplier: Real) -> Mechanism:
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
