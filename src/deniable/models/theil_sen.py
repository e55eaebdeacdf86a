"""Theil–Sen regression on one predictor: private medians over lines through random pairs of rows.

Rows are shuffled, paired, and a left-over row is dropped, so one row more or less breaks one pair and makes one. Each pair is a
line; its heights at one quarter and three quarters of the predictor's range are clamped, and the private medians of the two heights
give slope and intercept. A pair with equal predictors is the level line through its mean: a declared value, not an error.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from deniable.core.compositor import Compositor
from deniable.core.distance import Distance, plain
from deniable.core.domain import Lattice, Rows
from deniable.core.mechanism import Mechanism
from deniable.core.metric import SymmetricDistance
from deniable.core.space import Space
from deniable.cost import Cost
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, positive
from deniable.mechanisms.private_quantile import private_median
from deniable.models.encoding import GRID, Whole
from deniable.models.estimator import RowsReading
from deniable.models.fitted_linear import FittedLinear
from deniable.models.task import planned_task
from deniable.models.unit_totals import PrivateRows
from deniable.noise import Entropy
from deniable.transformations.pairing import pair_randomly

HEIGHTS = (-GRID // 2, GRID // 2)
"""Where on the predictor's scale of -GRID to GRID the heights are taken."""
_REACH = 2 * GRID


def theil_sen_fit(model: Any, reading: RowsReading, multiplier: Real) -> Mechanism:
    """Linear regression by two private medians; an epsilon without delta.

    Guarantee: with k matchings one row moves at most 2k pairs (docs/errata.md, E8), so a median costs 2k rows over its scale.
    """
    if len(reading.features) != 1 or not reading.features[0].is_number:
        raise InvalidArgument("theil-sen takes one number as its only feature; use method='statistics' for more")
    moved = 2 * model.matchings * reading.per_unit
    scale = 2 * moved * positive(multiplier=multiplier)
    heights = Space(Rows(Lattice(Fraction(1, GRID), -_REACH, _REACH)), SymmetricDistance())
    median = heights >> private_median(lower=-2, upper=2, grid=Fraction(1, 128), scale=scale)

    def asked(which: int) -> Mechanism:
        def function(rows: PrivateRows, entropy: Entropy) -> Any:
            return median.function(_heights(rows, reading, model.matchings, entropy)[:, which], entropy)

        def privacy_map(d_in: Distance) -> Cost:
            return median.privacy_map(moved * plain(d_in))

        return Mechanism(reading.space, function, privacy_map)

    questions = [asked(0), asked(1)]

    def run(compositor: Compositor) -> Any:
        low, high = (float(compositor.release(each)) for each in questions)
        return _fitted(model, reading, low, high, float(scale))

    return planned_task(reading.space, costs=[each.cost(d_in=1) for each in questions], run=run, recipe=model.recipe())


def _heights(rows: PrivateRows, reading: RowsReading, matchings: int, entropy: Entropy) -> Whole:
    """The two heights of the line through each random pair, clamped; pairs by heights."""
    assert reading.target is not None
    feature = reading.features[0]
    x, y = (
        feature.columns(rows.codes[feature.name])[:, 0],
        reading.target.columns(rows.codes[reading.target.name])[:, 0],
    )
    places = Space(Rows(Lattice()), SymmetricDistance()) >> pair_randomly(matchings=matchings)
    pairs = places.function(np.arange(rows.count), entropy).reshape(-1, 2).astype(np.int64)
    return line_heights(x[pairs], y[pairs])


def line_heights(x: Whole, y: Whole) -> Whole:
    """Heights of the line through two points (columns of x and y), at the two places, in whole steps; level where x is equal."""
    run, rise = x[:, 1] - x[:, 0], y[:, 1] - y[:, 0]
    level = (y[:, 0] + y[:, 1]) // 2
    safe = np.where(run == 0, 1, run)
    found = [np.where(run == 0, level, y[:, 0] + rise * (at - x[:, 0]) // safe) for at in HEIGHTS]
    return np.asarray(np.clip(np.stack(found, axis=1), -_REACH, _REACH), dtype=np.int64)


def _fitted(model: Any, reading: RowsReading, low: float, high: float, scale: float) -> Any:
    slope, middle = high - low, (high + low) / 2
    return FittedLinear(
        estimator=f"{model.title} (Theil–Sen)",
        features=reading.features,
        target=reading.target,
        settings=model.settings(),
        noise=f"two private medians over random pairs, each off by about {scale:.4g} pairs in rank",
        weights=(middle, slope),
        covariance=((0.0, 0.0), (0.0, 0.0)),
        bias=(2.0, 4.0),
        ridge=0.0,
        count=0.0,
        residual=1.0,
    )
