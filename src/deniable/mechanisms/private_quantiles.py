"""Several quantiles at once: the middle one first, then each half on its own rows, so a layer of quantiles costs as much as one.

One added or removed row sits in one part of every layer. With m quantiles there are as many layers as m has binary digits, and
every layer is charged (Kaplan, Schnapp and Stemmer 2022).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.core.distance import Distance
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import Cost, Exponential, composed
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer, positive
from deniable.kernels.exponential_choice import exponential_score_error
from deniable.kernels.rank_scores import rank_spread, share
from deniable.mechanisms.grid import MOST_POINTS, Grid, public_grid, values_of
from deniable.mechanisms.lattice_norms import added_or_removed, rows_of
from deniable.mechanisms.noisy_max import MaxNoise
from deniable.mechanisms.private_quantile import SortedRows, quantile_point
from deniable.noise import Entropy

_FINEST = 10**6
_QUARTER = Fraction(1, 4)


@step
def private_quantiles(
    space: Space, *, qs: Sequence[Real], lower: Real, upper: Real, grid: Real, scale: Real, ties: int = 16
) -> Mechanism:
    """Numbers on the public grid near the quantiles `qs` of the rows, in the order of `qs`, never decreasing.

    Equal values go to one side of a split, which would push the quantiles next to a heavy value aside; so each grid point is
    split into `ties` places, of which every row on it takes one at random. Rows between two points keep their place.

    Guarantee: per layer, bounded range with eta = 2·max(q, 1 - q)·rows/scale, q the largest relative share in that layer; a
    changed row counts as one removed and one added. Every layer is charged.
    """
    element, width = rows_of(space, "private_quantiles").element, positive(scale=scale)
    shares, places = _shares(qs), integer(ties=ties, least=1)
    coarse = public_grid(lower, upper, grid)
    if not coarse.count * places <= MOST_POINTS:
        raise InvalidArgument(
            f"the grid would have {coarse.count} points of {places} places, more than 2**60 together; use a wider grid"
        )
    layers = relative_shares(shares)

    def answer(data: Any, entropy: Entropy) -> list[int | float]:
        values = values_of(data, element)
        turns = noise.uniforms_below(places, values.size, entropy)
        placed = _sorted(coarse.spots(values, turns, places), coarse.count * places)
        found = recursive_points(placed, coarse.count * places, shares, scale=width, entropy=entropy)
        return [coarse.read(point // places) for point in found]

    return Mechanism(
        space,
        answer,
        lambda d_in: _cost(space, layers, d_in, width),
        Utility("rank, for every quantile", lambda beta: _error(beta, coarse, places, shares, width)),
    )


@step
def private_iqr(space: Space, *, lower: Real, upper: Real, grid: Real, scale: Real, ties: int = 16) -> Mechanism:
    """The interquartile range: the difference of the private quartiles.

    Guarantee: that of `private_quantiles` at one quarter and three quarters.
    """
    quartiles = private_quantiles(
        qs=(_QUARTER, 3 * _QUARTER), lower=lower, upper=upper, grid=grid, scale=scale, ties=ties
    ).build(space)
    assert isinstance(quartiles.utility, Utility)
    ranks = Utility("rank, for each quartile", quartiles.utility.error)
    return quartiles.post(lambda pair: pair[1] - pair[0], utility=ranks)


def recursive_points(
    placed: NDArray[np.int64], count: int, shares: Sequence[Fraction], *, scale: Fraction, entropy: Entropy
) -> list[int]:
    """Grid points near the quantiles of sorted grid points: the middle one, then both sides. Values equal to it stay left."""

    def within(part: _Part, wanted: Sequence[Fraction], low: Fraction, high: Fraction) -> list[int]:
        if not wanted:
            return []
        middle = len(wanted) // 2
        relative = (wanted[middle] - low) / (high - low)
        values = 2 * (placed[part.first : part.last] - part.lowest)
        rows, count_here = SortedRows(values, 0, values.size, lambda: values), part.highest - part.lowest + 1
        point = part.lowest + quantile_point(
            rows, count_here, q=relative, scale=scale, noise=MaxNoise.GUMBEL, entropy=entropy
        )
        split = part.first + int(np.searchsorted(values, 2 * (point - part.lowest), side="right"))
        left = within(_Part(part.first, split, part.lowest, point), wanted[:middle], low, wanted[middle])
        right = within(_Part(split, part.last, point, part.highest), wanted[middle + 1 :], wanted[middle], high)
        return [*left, point, *right]

    return within(_Part(0, placed.size, 0, count - 1), shares, Fraction(0), Fraction(1))


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows from `first` up to `last` of the sorted rows, candidates from `lowest` to `highest`."""

    first: int
    last: int
    lowest: int
    highest: int


def relative_shares(shares: Sequence[Fraction]) -> list[list[Fraction]]:
    """For every layer of the recursion, the shares asked of its parts, relative to the part."""
    layers: list[list[Fraction]] = []

    def descend(wanted: Sequence[Fraction], low: Fraction, high: Fraction, depth: int) -> None:
        if not wanted:
            return
        if depth == len(layers):
            layers.append([])
        middle = len(wanted) // 2
        layers[depth].append((wanted[middle] - low) / (high - low))
        descend(wanted[:middle], low, wanted[middle], depth + 1)
        descend(wanted[middle + 1 :], wanted[middle], high, depth + 1)

    descend(shares, Fraction(0), Fraction(1), 0)
    return layers


def _shares(qs: Sequence[Real]) -> list[Fraction]:
    shares = [share(q) for q in qs]
    if not shares or any(not low < high for low, high in pairwise(shares)):
        raise InvalidArgument(f"qs must be increasing shares, at least one, got {list(qs)!r}")
    if not math.lcm(*(q.denominator for q in shares)) <= _FINEST:
        raise InvalidArgument(f"qs must have a common denominator of at most {_FINEST}, got {list(qs)!r}")
    return shares


def _sorted(points: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The points in order; counted rather than compared where the grid is not much larger than the data."""
    if count > 4 * points.size:
        return np.sort(points)
    return np.repeat(np.arange(count), np.bincount(points, minlength=count))


def _cost(space: Space, layers: list[list[Fraction]], d_in: Distance, scale: Fraction) -> Cost:
    rows = added_or_removed(space.metric, d_in)
    return composed(Exponential(eta=max(rank_spread(q) for q in layer) * rows / scale) for layer in layers)


def _error(beta: Fraction, grid: Grid, places: int, shares: list[Fraction], scale: Fraction) -> Fraction:
    """Errors of the layers add up: a part that is off by some rows moves its quantiles by no more. Ties of placed rows aside."""
    one = exponential_score_error(beta / len(shares), count=grid.count * places, scale=scale)
    return len(shares).bit_length() * one
