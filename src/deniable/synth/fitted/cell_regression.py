"""A small logistic regression on cells, trained on synthetic rows: what tests whether a twin teaches what the data would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from deniable.synth.fitted.record_model import Codes, Floats

_STEPS = 12
_RIDGE = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class CellRegression:
    """One weight for every group of every feature column; the score of a row is their sum."""

    places: tuple[int, ...]
    weights: tuple[Floats, ...]
    intercept: float

    def scores(self, columns: Sequence[Codes]) -> Floats:
        """The log odds of every row; columns are groups, in the order of the table."""
        total = np.full(columns[self.places[0]].size, self.intercept)
        for place, weights in zip(self.places, self.weights, strict=True):
            total = total + weights[columns[place]]
        return total


def train(
    columns: Sequence[Codes], sizes: Sequence[int], target: NDArray[np.bool_], places: Sequence[int]
) -> CellRegression:
    """Newton's method with a small ridge, on one indicator for every group but each column's first."""
    starts = np.cumsum([0, *(sizes[place] for place in places)])
    width = int(starts[-1])
    design = np.zeros((target.size, width + 1))
    design[:, width] = 1.0
    for start, place in zip(starts, places, strict=False):
        design[np.arange(target.size), start + columns[place]] = 1.0
    weights = np.zeros(width + 1)
    ridge = np.full(width + 1, _RIDGE)
    ridge[width] = 1e-6
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        slope = design.T @ (target - chance) - ridge * weights
        curve = (design * (chance * (1 - chance))[:, None]).T @ design + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        weights = weights + step
        if float(np.abs(step).max()) < 1e-6:
            break
    parts = tuple(weights[start:stop] for start, stop in pairwise(starts))
    return CellRegression(tuple(places), parts, float(weights[width]))


def area_under_curve(positive: Floats, negative: Floats) -> float:
    """The chance that a positive row scores above a negative one, from counts by rising score; ties count half."""
    above = np.concatenate([np.cumsum(positive[::-1])[::-1][1:], [0.0]])
    total = float(positive.sum() * negative.sum())
    return float((negative * (above + positive / 2)).sum()) / total if total > 0 else 0.5
