"""Logistic regression: noisy gradient descent by default, objective perturbation by name; several classes by joint softmax."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.core.mechanism import Mechanism
from deniable.errors import InvalidArgument
from deniable.exact import number_of
from deniable.exact.guards import Real, nonnegative
from deniable.models.descent import STEPS_SHARE, Descent, descent_task
from deniable.models.encoding import NumberScale
from deniable.models.estimator import Estimator, RowsReading
from deniable.models.fitted_logistic import FittedLogistic, fitted_logistic
from deniable.models.linear import check_steps
from deniable.models.links import LOGISTIC, MULTINOMIAL
from deniable.models.objective import objective_fit
from deniable.models.unit_totals import PrivateRows

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LogisticRegression(Estimator):
    """The chance of each class of a declared category, from the other columns.

    Methods: "descent" (the default; nothing to tune) or "objective" (objective perturbation with approximate minima, two classes).
    `ridge` adds that many times the number of rows times half of each weight's square (not the intercept's) to the loss, on top
    of the ridge that the noise asks for.

    Guarantee: one charge for sums and products of the columns and all gradients, or for the perturbed minimum and its rounding.
    """

    method: str = field(default="descent", kw_only=True)
    ridge: Real = field(default=0, kw_only=True)
    steps: int = field(default=20, kw_only=True)

    title: ClassVar[str] = "logistic regression"
    scale: ClassVar[NumberScale] = NumberScale.BOTH

    def check(self) -> None:
        if self.method not in ("descent", "objective"):
            raise InvalidArgument(f"method must be descent or objective, got {self.method!r}")
        nonnegative(ridge=self.ridge)
        check_steps(self.steps)

    def step_count(self, reading: RowsReading) -> int:
        return self.steps + 2 if self.method == "descent" else 2

    def forecast(self, reading: RowsReading, multiplier: float) -> str:
        off = multiplier * sqrt(self.steps / float(STEPS_SHARE) * reading.per_unit)
        mean = off / sqrt(self.steps)
        steps = number_of(self.steps, "gradient")
        return f"each of {steps} is off by about {off:.4g} times a usual row, all together by about {mean:.3g}"

    def at(self, reading: RowsReading, multiplier: Real) -> Mechanism:
        classes = reading.target_classes()
        if self.method == "objective":
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
            return fitted_logistic(
                self, reading, found.weights, found.reach, found.count, said, unshrunk=found.unshrunk
            )

        return descent_task(
            reading, link, model=self, multiplier=multiplier, outputs=outputs, truth=truth, finish=finish
        )
