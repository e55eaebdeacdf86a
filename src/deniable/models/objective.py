"""Objective perturbation with approximate minima (docs/theory/objective-perturbation.md).

The loss gets a ridge and a random linear term; its minimum, found to a certified distance, is released with a little noise on a
grid. The proof needs the exact minimum for continuous noise: how far ours can be from that, because the search stopped and
because the noise was rounded, is bounded by public numbers and paid for.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.compositor import Compositor
from deniable.core.mechanism import Mechanism
from deniable.cost import Cost, Renyi
from deniable.errors import InvalidArgument
from deniable.exact import ln
from deniable.exact.guards import Real, positive
from deniable.models.encoding import GRID
from deniable.models.estimator import RowsReading
from deniable.models.fitted_logistic import fitted_logistic
from deniable.models.task import planned_task
from deniable.models.unit_totals import PrivateRows
from deniable.noise import Entropy, rounded_gaussians

Floats = NDArray[np.float64]

ORDERS = tuple(Fraction(n) for n in (2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 64, 96, 128, 256))
"""Orders at which the Rényi loss is stated."""

NOISE_GRID = 1 << 10
"""Steps of the linear term's noise to 1."""
ANSWER_GRID = 1 << 20
"""Steps of a released weight to 1."""
SLACK = Fraction(1, 100)
"""The search stops where the gradient is this long: a hundredth of what a row with one feature can add to it."""


@dataclass(frozen=True, slots=True)
class Perturbation:
    """All numbers of one objective perturbation, exact.

    A row's gradient is at most `length` long and its second derivative at most length²/4. The linear term's noise has scale
    `noise`, the ridge is `ridge`; the minimum is found to within `off`, and released with noise of scale `blur`.
    """

    width: int
    length_square: int
    noise: Fraction
    ridge: Fraction
    blur: Fraction

    @classmethod
    def of(cls, reading: RowsReading, multiplier: Real, least_ridge: Real) -> Perturbation:
        """The perturbation with this noise multiplier; the ridge grows with it, so that its share of the cost falls as well."""
        times = positive(multiplier=multiplier)
        most = reading.encoding.most
        ridge = max(Fraction(most, 2) * times, positive(ridge=least_ridge) if least_ridge else Fraction(0))
        plain = cls(reading.encoding.width, most, times * _root_up(most), ridge, Fraction(1))
        return cls(plain.width, most, plain.noise, ridge, 20 * times * plain.off)

    @property
    def slack(self) -> Fraction:
        """How long the gradient of the exact problem can be at our answer: the search's, and the rounded noise's."""
        return SLACK + Fraction(_root_up(self.width)) / (2 * NOISE_GRID)

    @property
    def off(self) -> Fraction:
        """How far two answers for one exact minimum can be apart: a strongly convex loss has its minimum near a short gradient.

        Each answer is then rounded to its grid, which moves it by at most half a step in every weight.
        """
        return 2 * self.slack / self.ridge + Fraction(_root_up(self.width)) / ANSWER_GRID

    @property
    def cost(self) -> Cost:
        """The Rényi loss: of the minimum a volume term and a normal term whose sign is unknown, and of its approximation."""
        volume = ln(1 + Fraction(self.length_square, 4) / self.ridge).upper
        rho = Fraction(self.length_square) / (2 * self.noise**2) + self.off**2 / (2 * self.blur**2)
        double = ln(2).upper
        return Renyi((order, _short(volume + order * rho + double / (order - 1))) for order in ORDERS)


def _short(loss: Fraction) -> Fraction:
    """A loss rounded up to forty binary places."""
    return Fraction(ceil(loss * (1 << 40)), 1 << 40)


def _root_up(square: int) -> Fraction:
    root = Fraction(int(sqrt(square) * 1024) + 1, 1024)
    assert root * root >= square
    return root


def objective_fit(model: Any, reading: RowsReading, multiplier: Real) -> Mechanism:
    """Logistic regression by objective perturbation, the intercept penalised like every weight.

    Guarantee: for units of one row that are added or removed; everything else is refused.
    """
    if reading.per_unit > 1 or reading.replaces:
        raise InvalidArgument(
            "objective perturbation is proved for units of one row, added or removed; use method='descent'"
        )
    if len(reading.target_classes()) != 2:
        raise InvalidArgument("objective perturbation is for two classes; use method='descent'")
    perturbed = Perturbation.of(reading, multiplier, model.ridge)

    def function(rows: PrivateRows, entropy: Entropy) -> Floats:
        push = rounded_gaussians(perturbed.noise * NOISE_GRID, perturbed.width, entropy) / NOISE_GRID
        found = minimum(_matrix(rows, reading), _labels(rows, reading), push, float(perturbed.ridge))
        steps = np.rint(found * ANSWER_GRID).astype(np.int64)
        return (steps + rounded_gaussians(_blur_steps(perturbed), perturbed.width, entropy)) / ANSWER_GRID

    asked = Mechanism(reading.space, function, lambda _: perturbed.cost)

    def run(compositor: Compositor) -> Any:
        weights = compositor.release(asked)
        spread = float(perturbed.noise) / float(perturbed.ridge)
        said = (
            f"normal noise of scale {float(perturbed.noise):.6g} on the gradient, a ridge of {float(perturbed.ridge):.6g}, "
            f"and normal noise of scale {float(perturbed.blur):.3g} on the minimum found"
        )
        errors = np.full(perturbed.width, spread)
        return fitted_logistic(model, reading, weights[:, None], errors, None, said)

    return planned_task(reading.space, costs=[perturbed.cost], run=run, recipe=model.recipe())


def _blur_steps(perturbed: Perturbation) -> Fraction:
    """The released noise in steps of the answer's grid."""
    return perturbed.blur * ANSWER_GRID


def _matrix(rows: PrivateRows, reading: RowsReading) -> Floats:
    return reading.encoding.matrix(rows.codes, rows.count).astype(np.float64) / GRID


def _labels(rows: PrivateRows, reading: RowsReading) -> Floats:
    assert reading.target is not None
    return np.asarray((rows.codes[reading.target.name] == 1).astype(np.float64), dtype=np.float64)


NEWTON_STEPS = 200
"""After so many steps of Newton's method the search goes on by gradients, whose number of steps is bounded by a theorem."""


def minimum(features: Floats, labels: Floats, push: Floats, ridge: float) -> Floats:
    """The weights at which the perturbed loss is least; the gradient there is shorter than half the slack, for all data."""
    weights = np.zeros(features.shape[1])
    for _ in range(NEWTON_STEPS):
        slope, curve = _derivatives(features, labels, push, ridge, weights)
        if _settled(slope):
            return weights
        weights = _shorter(
            features, labels, push, ridge, weights, np.asarray(np.linalg.solve(curve, slope), np.float64)
        )
    return _by_gradients(features, labels, push, ridge)


def _by_gradients(features: Floats, labels: Floats, push: Floats, ridge: float) -> Floats:
    """The same minimum by Nesterov's accelerated gradients, in at most as many steps as the theorem needs."""
    weights = before = np.zeros(features.shape[1])
    smooth = ridge + float(np.square(features).sum()) / 4
    pace, first = sqrt(ridge / smooth), _slope(features, labels, push, ridge, weights)
    for _ in range(gradient_steps(float(first @ first), ridge, smooth)):
        ahead = weights + (1 - pace) / (1 + pace) * (weights - before)
        weights, before = ahead - _slope(features, labels, push, ridge, ahead) / smooth, weights
        if _settled(_slope(features, labels, push, ridge, weights)):
            return weights
    return weights


def gradient_steps(square: float, ridge: float, smooth: float) -> int:
    """How many accelerated steps make the gradient shorter than half the slack, from one whose squared length is `square`."""
    gap = 2 * smooth * max(square, 1.0) / (ridge * (float(SLACK) / 2) ** 2)
    return ceil(log(gap) * sqrt(smooth / ridge)) + 1


def _settled(slope: Floats) -> bool:
    return float(np.linalg.norm(slope)) <= float(SLACK) / 2


def _slope(features: Floats, labels: Floats, push: Floats, ridge: float, weights: Floats) -> Floats:
    chances = 1 / (1 + np.exp(-np.clip(features @ weights, -700, 700)))
    return np.asarray(features.T @ (chances - labels) + ridge * weights + push, np.float64)


def _derivatives(
    features: Floats, labels: Floats, push: Floats, ridge: float, weights: Floats
) -> tuple[Floats, Floats]:
    chances = 1 / (1 + np.exp(-np.clip(features @ weights, -700, 700)))
    slope = features.T @ (chances - labels) + ridge * weights + push
    curve = (features * (chances * (1 - chances))[:, None]).T @ features + ridge * np.eye(len(weights))
    return slope, curve


def _loss(features: Floats, labels: Floats, push: Floats, ridge: float, weights: Floats) -> float:
    scores = features @ weights
    return float(np.logaddexp(0, scores).sum() - labels @ scores + ridge / 2 * weights @ weights + push @ weights)


def _shorter(features: Floats, labels: Floats, push: Floats, ridge: float, weights: Floats, step: Floats) -> Floats:
    """The Newton step, halved until the loss does not grow."""
    before, share = _loss(features, labels, push, ridge, weights), 1.0
    while _loss(features, labels, push, ridge, weights - share * step) > before + 1e-9 * abs(before) and share > 1e-9:
        share /= 2
    return weights - share * step
