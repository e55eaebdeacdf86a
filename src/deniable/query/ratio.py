"""Means, variances and covariances from noisy sums and a noisy count: their intervals, and their errors before anything is drawn.

An interval covers the noise with at least the stated confidence, whatever the data: where several noisy numbers meet in one
cell the error probability is split among them. Sampling error and the effect of clipping are not in it; a release says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from deniable.query.columns import Intervals, Noisy, NumberColumn

if TYPE_CHECKING:
    from deniable.query.aggregates.aggregate import Forecast
    from deniable.query.aggregates.mean import MeanOf
    from deniable.query.aggregates.spread import MomentOf


def mean_intervals(output: MeanOf, noisy: Mapping[str, NumberColumn], beta: Fraction) -> Intervals:
    """A mean; where the count's interval reaches below one, the interval is the whole public range."""
    ratio = _ratio(noisy[output.total].around(beta / 2), noisy[output.count].around(beta / 2))
    centre = float(output.centre)
    moved = Intervals(ratio.value + centre, ratio.lower + centre, ratio.upper + centre)
    return moved.clipped(float(output.lower), float(output.upper))


def moment_intervals(output: MomentOf, noisy: Mapping[str, NumberColumn], beta: Fraction) -> Intervals:
    """A variance, standard deviation or covariance."""
    part = beta / len(output.columns)
    count = noisy[output.count].around(part)
    products = _ratio(noisy[output.products].around(part), count)
    left, right = (_ratio(noisy[name].around(part), count) for name in (output.left, output.right))
    shift = float(output.shift)
    squared = _square(left) if output.left == output.right else _product(left, right)
    band = Intervals(
        products.value + shift - left.value * right.value,
        products.lower + shift - squared.upper,
        products.upper + shift - squared.lower,
    ).clipped(float(output.lower), float(output.upper))
    return Intervals(np.sqrt(band.value), np.sqrt(band.lower), np.sqrt(band.upper)) if output.root else band


def mean_error(output: MeanOf, forecast: Forecast) -> float:
    """The error of a mean of a group of the stated size."""
    return _reach(mean_intervals(output, _typical(output, forecast), forecast.beta))


def moment_error(output: MomentOf, forecast: Forecast) -> float:
    """The error of a variance, standard deviation or covariance of a group of the stated size."""
    return _reach(moment_intervals(output, _typical(output, forecast), forecast.beta))


def _typical(output: MeanOf | MomentOf, forecast: Forecast) -> dict[str, Noisy]:
    sizes = {name: forecast.group_size if name == output.count else 0 for name in output.columns}
    return {
        name: Noisy(np.array([size], dtype=np.int64), forecast.step(name), forecast.noise(name))
        for name, size in sizes.items()
    }


def _reach(band: Intervals) -> float:
    return max(float(band.upper[0] - band.value[0]), float(band.value[0] - band.lower[0]))


def _ratio(top: Intervals, bottom: Intervals) -> Intervals:
    """top / bottom where bottom is a count of at least one; unbounded where its interval reaches below one."""
    least, most = np.maximum(bottom.lower, 1.0), np.maximum(bottom.upper, 1.0)
    unsure = bottom.lower < 1.0
    low = np.where(top.lower < 0, top.lower / least, top.lower / most)
    high = np.where(top.upper > 0, top.upper / least, top.upper / most)
    return Intervals(
        top.value / np.maximum(bottom.value, 1.0), np.where(unsure, -np.inf, low), np.where(unsure, np.inf, high)
    )


def _square(band: Intervals) -> Intervals:
    ends = np.stack([band.lower**2, band.upper**2])
    least = np.where((band.lower <= 0) & (band.upper >= 0), 0.0, ends.min(axis=0))
    return Intervals(band.value**2, least, ends.max(axis=0))


def _product(left: Intervals, right: Intervals) -> Intervals:
    with np.errstate(invalid="ignore"):
        ends = np.stack([a * b for a in (left.lower, left.upper) for b in (right.lower, right.upper)])
    unsure = np.isnan(ends).any(axis=0)
    low, high = np.nan_to_num(ends).min(axis=0), np.nan_to_num(ends).max(axis=0)
    return Intervals(left.value * right.value, np.where(unsure, -np.inf, low), np.where(unsure, np.inf, high))
