"""How large the noise of released tables can be: of one cell, of a weighted sum of cells, of all absolute values together.

`docs/theory/twin-intervals.md` has the proofs. Laws are those of the noise that was added, not normal approximations of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import inf, log, sqrt, tanh
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from deniable.synth.fitted.stored import Marginal

Floats = NDArray[np.float64]
_FINE = 0.05
_FREQUENCIES = np.arange(1, 4_001) * _FINE
"""Where a characteristic function is read, for a sum of deviation one."""
_RARE = 1e-5
"""Rarer than this a bound by moments is taken, which no rounding of an integral can spoil."""
_TILTS = np.geomspace(1e-3, 30.0, 400)


def quantile(table: Marginal, chance: float, cells: int = 1) -> float:
    """What the noise of a cell, or of so many cells added up, exceeds in absolute value with probability at most `chance`."""
    return sum_quantile([(table, np.ones(cells))], chance)


def sum_quantile(parts: Sequence[tuple[Marginal, Floats]], chance: float) -> float:
    """What the weighted sum of the noises of some tables' cells exceeds in absolute value with probability at most `chance`."""
    used = [(table, np.abs(weights[weights != 0]).ravel()) for table, weights in parts if np.any(weights)]
    if not used:
        return 0.0
    step = max(float(weights.max()) for _, weights in used) / 2
    laplace = [(table, weights) for table, weights in used if table.law == "laplace"]
    gaussian = [(table, weights) for table, weights in used if table.law != "laplace"]
    if laplace and gaussian:  # each with half of the chance
        return sum_quantile(laplace, chance / 2) + sum_quantile(gaussian, chance / 2)
    return step + (_laplace_quantile(laplace, chance) if laplace else _normal_quantile(gaussian, chance))


def _normal_quantile(parts: Sequence[tuple[Marginal, Floats]], chance: float) -> float:
    """Of normal numbers that were rounded: each has a twelfth of a step more variance, or at most half a step more."""
    square = sum(table.variance * float((weights**2).sum()) for table, weights in parts)
    rounding = sum(table.draws * float((weights**2).sum()) / 12 for table, weights in parts)
    if min(float(table.scale) for table, _ in parts) >= 1:
        return NormalDist().inv_cdf(1 - chance / 2) * sqrt(square + rounding)
    most = sum(table.draws * float(weights.sum()) / 2 for table, weights in parts)
    return NormalDist().inv_cdf(1 - chance / 2) * sqrt(square) + most


def _laplace_quantile(parts: Sequence[tuple[Marginal, Floats]], chance: float) -> float:
    """Of Laplace noises: the characteristic function of their sum, inverted; one alone and rare ends in closed form."""
    scales = np.concatenate([weights * _smooth(float(table.scale)) for table, weights in parts])
    draws = np.concatenate([np.full(weights.size, table.draws) for table, weights in parts])
    if draws.sum() == 1:
        return float(scales[0]) * log(1 / chance)
    deviation = sqrt(2 * float((draws * scales**2).sum()))
    shares, first = np.unique(np.round(scales / deviation, 12), return_inverse=True)
    times = np.bincount(first.ravel(), weights=draws)
    if chance < _RARE:
        return deviation * _rare(lambda tilt: -float((times * np.log1p(-((tilt * shares) ** 2))).sum()), chance, shares)
    return deviation * _inverted(tuple(shares.tolist()), tuple(times.tolist()), chance)


def _smooth(scale: float) -> float:
    """The scale of a continuous Laplace noise that is spread at least as far as the discrete one."""
    return 1 / (2 * tanh(1 / (2 * scale)))


@lru_cache(maxsize=1024)
def _inverted(shares: tuple[float, ...], times: tuple[float, ...], chance: float) -> float:
    """The distance beyond which a sum of Laplace noises of these scales, of deviation one, is with this probability."""
    log_phi = np.zeros_like(_FREQUENCIES)
    for share, count in zip(shares, times, strict=True):
        log_phi -= count * np.log1p((share * _FREQUENCIES) ** 2)
    weights = np.exp(log_phi) / _FREQUENCIES * _FINE

    def beyond(distance: float) -> float:
        return 1 - 2 / np.pi * (float((weights * np.sin(_FREQUENCIES * distance)).sum()) + _FINE / 2 * distance)

    low, high = 0.0, 40.0
    for _ in range(26):
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(middle) > chance else (low, middle)
    return high


def _rare(log_moment: Callable[[float], float], chance: float, shares: Floats) -> float:
    largest = 1 / float(shares.max())
    tilts: list[float] = (_TILTS / (_TILTS + 1) * largest).tolist()
    return min((log_moment(each) + log(2 / chance)) / each for each in tilts)


def absolute_quantile(table: Marginal, chance: float) -> float:
    """What the absolute noises of all cells add up to; exceeded with probability at most `chance`.

    The better of two bounds: each cell within its own part of the chance, or Chernoff's for the sum.
    """
    count = table.counts.size
    apart = count * quantile(table, chance / count)
    deviation = sqrt(table.variance + table.draws / 12)
    best = inf
    for tilt in _TILTS.tolist():
        best = min(best, (count * _log_moment(table, tilt) + log(1 / chance)) / tilt)
    return min(apart, deviation * best + count / 2 * (float(table.scale) < 1))


def _log_moment(table: Marginal, tilt: float) -> float:
    """The logarithm of the mean of exp(tilt·|noise|) for noise of deviation one, or a bound of it."""
    if table.law != "laplace":
        return log(2) + tilt**2 / 2 + log(NormalDist().cdf(tilt))
    share = tilt / sqrt(2 * table.draws)
    if share >= 1:
        return inf
    return -log(1 - share) if table.draws == 1 else log(2) - table.draws * log(1 - share**2)
