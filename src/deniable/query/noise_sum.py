"""How large a weighted sum of independent noises can be: what the intervals of means, variances and covariances invert.

`docs/theory/ratio-intervals.md` has the proofs. Coefficients are arrays, one entry for each cell of a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import tanh
from typing import TypeAlias, assert_never

import numpy as np

from deniable.exact import ln, sqrt
from deniable.exact.normal import normal_quantile
from deniable.kernels import ColumnNoise, HalvesNoise, Law, Noise
from deniable.query.columns import Floats, Truths

_Mix: TypeAlias = tuple[int, int | None, int]
"""In which column a draw is; and in which other one, with which sign."""

_APART = (1.001, 1.001, 1.001, 1.001, 1.004, 1.01)
"""Scales of so many Laplace noises are moved apart to this ratio, upwards: the closed form of their sum stays exact enough."""
_SLACK = 1 + 1e-6
"""Rounding of floats, against us."""
HALVINGS = 44
"""How often a stretch is halved until its ends are taken for one."""


@dataclass(frozen=True, slots=True)
class NoiseSum:
    """The noises of some columns, each with the grid its whole steps stand for.

    Columns that were measured in halves are taken apart into the two draws they carry (`_draws`, each with its `_mixes`): of their
    sum `a` times and of their difference `b` times are `a + b` of one draw and `a - b` of the other.
    """

    noises: tuple[ColumnNoise, ...]
    steps: tuple[Fraction, ...]
    _sizes: tuple[float, ...] = field(init=False, repr=False, compare=False)
    _draws: tuple[Noise, ...] = field(init=False, repr=False, compare=False)
    _mixes: tuple[_Mix, ...] = field(init=False, repr=False, compare=False)
    _scales: tuple[float, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Ends of intervals are halved into place: what stays the same meanwhile is made a float once."""
        drawn = list(_drawn(self.noises))
        object.__setattr__(self, "_sizes", tuple(map(float, self.steps)))
        object.__setattr__(self, "_draws", tuple(noise for noise, _ in drawn))
        object.__setattr__(self, "_mixes", tuple(mix for _, mix in drawn))
        object.__setattr__(self, "_scales", tuple(_tail_scale(noise) for noise, _ in drawn))

    def _parts(self, coefficients: Sequence[Floats]) -> list[Floats]:
        """How often each independent draw is in the sum; its sign decides nothing."""
        sizes = [np.abs(c) * step for c, step in zip(coefficients, self._sizes, strict=True)]
        return [sizes[i] if other is None else np.abs(sizes[i] + sign * sizes[other]) for i, other, sign in self._mixes]

    def exceeds(self, distance: Floats, coefficients: Sequence[Floats], beta: Fraction) -> Truths:
        """Where the sum of coefficient times noise surpasses `distance` with probability at most beta, certainly.

        Guarantee: True only where that holds; for fixed coefficients it is True from some distance on.
        """
        sizes = self._parts(coefficients)
        laws = {noise.law for noise in self._draws}
        if len(laws) > 1:
            beyond: Truths = distance > self._apart(sizes, beta) * _SLACK
            return beyond
        (law,) = laws
        scales = [size * scale for size, scale in zip(sizes, self._scales, strict=True)]
        reach = np.sum(sizes, axis=0)
        match law:
            case Law.LAPLACE:
                beyond = _laplace_tail(distance - reach / 2 * _SLACK, scales) * _SLACK <= float(beta)
            case Law.GAUSSIAN:
                beyond = distance > (normal_width(beta) * _root_sum(scales) + reach / 2) * _SLACK
            case Law.STAIRCASE:
                beyond = distance > self._apart(sizes, beta) * _SLACK
            case Law.DISCRETE_GAUSSIAN:
                beyond = distance > subgaussian_width(beta) * _root_sum(scales) * _SLACK
            case _:
                assert_never(law)
        return beyond

    def quantile(self, coefficients: Sequence[Floats], beta: Fraction) -> Floats:
        """A distance that the sum of coefficient times noise surpasses with probability at most beta."""
        sizes = self._parts(coefficients)
        within: Floats = np.zeros_like(sizes[0])
        beyond: Floats = (self._apart(sizes, beta) + np.sum(sizes, axis=0)) * 2
        for _ in range(HALVINGS):
            middle = (within + beyond) / 2
            passed = self.exceeds(middle, coefficients, beta)
            within, beyond = np.where(passed, within, middle), np.where(passed, middle, beyond)
        return beyond

    def _apart(self, sizes: Sequence[Floats], beta: Fraction) -> Floats:
        """Each noise within its own error: the probability is shared among them."""
        part = beta / len(self._draws)
        total: Floats = np.sum(
            [size * noise.error(part) for size, noise in zip(sizes, self._draws, strict=True)], axis=0
        )
        return total


def _drawn(noises: Sequence[ColumnNoise]) -> Iterator[tuple[Noise, _Mix]]:
    """The independent draws behind some columns, each with the columns it is in."""
    for place, noise in enumerate(noises):
        if not isinstance(noise, HalvesNoise):
            yield noise, (place, None, 0)
            continue
        others = [at for at, other in enumerate(noises) if isinstance(other, HalvesNoise) and other.pair == noise.pair]
        assert len(others) <= 2, "a pair has two columns"
        if len(others) == 1:  # both draws, as often each
            yield from ((noise.half, (place, None, 0)), (noise.half, (place, None, 0)))
        elif place == others[0]:
            yield from ((noise.half, (place, others[1], sign)) for sign in (1, -1))


@lru_cache(maxsize=256)
def normal_width(beta: Fraction) -> float:
    """In standard deviations, a distance that a normal number surpasses with probability beta."""
    return float(normal_quantile(1 - beta / 2, bits=40).upper)


@lru_cache(maxsize=256)
def subgaussian_width(beta: Fraction) -> float:
    """In scales, a distance that no subgaussian number surpasses with more than probability beta."""
    return float(sqrt(2 * ln(2 / beta).upper, 64).upper)


@lru_cache(maxsize=256)
def _smooth_scale(scale: Fraction) -> float:
    """The scale of a continuous Laplace noise that is spread more than the discrete one and an even half step to either side."""
    return _SLACK / (2 * tanh(1 / (2 * float(scale))))


def _tail_scale(noise: Noise) -> float:
    """The scale by which a bound on the tail of a sum takes this noise."""
    return _smooth_scale(noise.scale) if noise.law is Law.LAPLACE else float(noise.scale)


def _root_sum(scales: Sequence[Floats]) -> Floats:
    total: Floats = np.sqrt(np.sum([scale**2 for scale in scales], axis=0))
    return total


def _laplace_tail(distance: Floats, scales: Sequence[Floats]) -> Floats:
    """P(|sum| > distance) for continuous Laplace noises of these scales; 1 below zero."""
    apart = _moved_apart(_rising(scales))
    squares = [scale**2 for scale in apart]
    weights: list[Floats | float] = [1.0] * len(apart)
    for j, i in combinations(range(len(apart)), 2):
        gap = squares[i] - squares[j]
        weights[i], weights[j] = weights[i] * squares[i] / gap, weights[j] * squares[j] / -gap
    away = np.maximum(distance, 0.0)
    total = sum(weight * np.exp(-away / scale) for weight, scale in zip(weights, apart, strict=True))
    tail: Floats = np.where(distance < 0, 1.0, np.minimum(np.maximum(total, 0.0), 1.0))
    return tail


def _rising(scales: Sequence[Floats]) -> list[Floats]:
    """The same scales, for each cell in rising order: a few are sorted soonest by exchanging neighbours."""
    rising = list(scales)
    for end in range(len(rising) - 1, 0, -1):
        for i in range(end):
            low, high = rising[i], rising[i + 1]
            rising[i], rising[i + 1] = np.minimum(low, high), np.maximum(low, high)
    return rising


def _moved_apart(rising: Sequence[Floats]) -> list[Floats]:
    """Scales in rising order, none nought, each a little larger than the one before: more noise, never less."""
    least = np.maximum(rising[-1] * 1e-4, 1e-300)
    apart = [np.maximum(scale, least) for scale in rising]
    factor = _APART[min(len(apart), len(_APART) - 1)]
    for i in range(1, len(apart)):
        apart[i] = np.maximum(apart[i], apart[i - 1] * factor)
    return apart
