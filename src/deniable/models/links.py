"""From scores to residuals by public tables: what a gradient needs of a loss, in whole numbers.

A score is a whole number of steps of GRID times WEIGHT_GRID; it is cut to a coarser public grid and looked up. Residuals are
whole numbers of 1/LINK_GRID.

Guarantee: a row's residuals depend on that row's score and truth alone, and their squares add up to at most `square`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deniable.models.encoding import GRID

Floats = NDArray[np.float64]

LINK_GRID = 1 << 10
"""Steps of a residual to 1."""

_SCORE = GRID << 12
"""Steps of a score to 1."""
_FINE = 1 << 8
"""Table entries to a score of 1."""
_FAR = 16
"""Beyond this score the table does not change."""


@dataclass(frozen=True, slots=True)
class LossLink:
    """A loss: residuals from scores and truth, the most their squares add up to, and the most its second derivative is."""

    name: str
    residuals: Callable[[Floats, Floats], Floats]
    square: int
    curvature: float

    def curvatures(self, weights: Floats, output: int, shape: Floats, first: float, count: float) -> Floats:
        """About the second derivatives of the loss in one output's weights, as they would be if scores were normal.

        `shape` is the sum of products of columns around the middle of `count` rows, where the first column is `first` in every row.
        """
        if self.curvature >= 1:
            return self.curvature * shape
        middles, turned = weights[0] * first, weights[:, output]
        mean = float(middles[output])
        if weights.shape[1] > 1:
            others = np.delete(middles, output)
            shares = np.exp(others - others.max())
            mean -= float(others.max() + np.log(shares.sum()))
            turned = turned - np.delete(weights, output, axis=1) @ (shares / shares.sum())
        along = shape[1:, 1:] @ turned[1:] / count
        deviation = math.sqrt(max(float(turned[1:] @ along), 0.0))
        z = np.linspace(-8, 8, 321)
        chance = 1 / (1 + np.exp(-np.clip(mean + deviation * z, -30, 30)))
        density = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
        bend = chance * (1 - chance)
        tilt = bend * (1 - 2 * chance)
        level, slope, arch = (float(each @ density) for each in (bend, tilt, bend * (1 - 6 * bend)))
        found = level * shape
        found[1:, 1:] += count * arch * np.outer(along, along)
        found[0, 1:] = found[1:, 0] = found[0, 1:] + count * first * slope * along
        return np.asarray(found, dtype=np.float64)


def _places(scores: Floats) -> NDArray[np.int64]:
    """Scores as places in a table; exact, for dividing by a power of two is."""
    return (np.clip(np.floor(scores / (_SCORE // _FINE)), -_FAR * _FINE, _FAR * _FINE - 1) + _FAR * _FINE).astype(
        np.int64
    )


_SIGMOID = np.array(
    [round(LINK_GRID / (1 + math.exp(-(place + 0.5) / _FINE))) for place in range(-_FAR * _FINE, _FAR * _FINE)],
    dtype=np.float64,
)
_EXPONENTIAL = np.array(
    [round((1 << 20) * math.exp((place + 0.5) / _FINE)) for place in range(-2 * _FAR * _FINE, 1)], dtype=np.int64
)
_EXPONENTIAL[-1] = 1 << 20


def sigmoid(scores: Floats) -> Floats:
    """The chance of the second class, in whole steps of 1/LINK_GRID."""
    return _SIGMOID[_places(scores)]


def softmax(scores: Floats) -> Floats:
    """The chance of each class, in whole steps of 1/LINK_GRID cut downwards, so that they add up to at most 1."""
    places = _places(scores)
    weights = _EXPONENTIAL[places - places.max(axis=1, keepdims=True) - 1]
    return np.asarray((weights * LINK_GRID // weights.sum(axis=1, keepdims=True)).astype(np.float64), dtype=np.float64)


def _logistic(scores: Floats, truth: Floats) -> Floats:
    return truth * LINK_GRID - sigmoid(scores)


def _multinomial(scores: Floats, truth: Floats) -> Floats:
    return truth * LINK_GRID - softmax(scores)


def _difference(scores: Floats, truth: Floats) -> Floats:
    """The truth less the score, both on the scale of -1 to 1, cut to 1."""
    return np.clip(truth - np.trunc(scores / (_SCORE // LINK_GRID)), -LINK_GRID, LINK_GRID)


LOGISTIC = LossLink("logistic", _logistic, LINK_GRID**2, 0.25)
MULTINOMIAL = LossLink("multinomial", _multinomial, 2 * LINK_GRID**2, 0.5)
IDENTITY = LossLink("squared", _difference, LINK_GRID**2, 1.0)
