"""Private quantiles of rows over a public grid, by the exponential mechanism on every grid point at once.

Between two neighbouring values all grid points have the same score, so the mechanism runs over pieces: exact, and as fast as
sorting the rows.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.core.distance import Distance
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import Exponential
from deniable.exact.guards import Real, positive
from deniable.mechanisms.grid import public_grid, values_of
from deniable.mechanisms.interval_choice import interval_choice
from deniable.mechanisms.quantile import rank_scores, rank_spread, share
from deniable.mechanisms.rows import added_or_removed, rows_of
from deniable.mechanisms.scores import exponential_score_error
from deniable.mechanisms.windowed_choice import Rest, windowed_choice
from deniable.noise import Entropy


@step
def private_quantile(space: Space, *, q: Real, lower: Real, upper: Real, grid: Real, scale: Real) -> Mechanism:
    """A number on the public grid near the q-quantile of the rows.

    Each grid point has probability proportional to exp(-rank distance / scale). Missing values are left out, values beyond
    the bounds count at the bounds.

    Guarantee: bounded range with eta = 2·max(q, 1 - q)·rows/scale when rows are added or removed, 2·rows/scale when rows
    change. Accuracy is in ranks: how many values too many lie on one side of the answer.
    """
    element, fraction, width = rows_of(space, "private_quantile").element, share(q), positive(scale=scale)
    points = public_grid(lower, upper, grid)

    def answer(data: Any, entropy: Entropy) -> int | float:
        placed = np.sort(points.points(values_of(data, element)))
        return points.read(quantile_point(placed, points.count, q=fraction, scale=width, entropy=entropy))

    return Mechanism(
        space,
        answer,
        lambda d_in: Exponential(eta=_eta(space, d_in, fraction) / width),
        Utility("rank", lambda beta: exponential_score_error(beta, count=points.count, scale=width)),
    )


@step
def private_median(space: Space, *, lower: Real, upper: Real, grid: Real, scale: Real) -> Mechanism:
    """A number on the public grid near the median of the rows.

    Guarantee: that of `private_quantile` at one half: eta = rows/scale when rows are added or removed.
    """
    return private_quantile(q=Fraction(1, 2), lower=lower, upper=upper, grid=grid, scale=scale).build(space)


@step
def private_minimum(
    space: Space, *, lower: Real, upper: Real, grid: Real, scale: Real, q: Real = Fraction(1, 100)
) -> Mechanism:
    """A number near the bottom of the rows: the quantile at `q`, since no private answer can follow a single lowest row.

    Guarantee: that of `private_quantile`.
    """
    return private_quantile(q=q, lower=lower, upper=upper, grid=grid, scale=scale).build(space)


@step
def private_maximum(
    space: Space, *, lower: Real, upper: Real, grid: Real, scale: Real, q: Real = Fraction(99, 100)
) -> Mechanism:
    """A number near the top of the rows: the quantile at `q`, since no private answer can follow a single highest row.

    Guarantee: that of `private_quantile`.
    """
    return private_quantile(q=q, lower=lower, upper=upper, grid=grid, scale=scale).build(space)


def quantile_point(placed: NDArray[np.int64], count: int, *, q: Fraction, scale: Fraction, entropy: Entropy) -> int:
    """A grid point below `count` near the q-quantile of sorted grid points, `scale` in ranks.

    Ranks far from the target weigh almost nothing, so only a window of them is scored; the exact choice looks at the rest if
    the draw falls there.
    """
    reach = math.ceil(scale * (64 + count.bit_length()))
    target = int(q * placed.size)
    first, last = target - reach, target + reach
    if first <= 0 and last >= placed.size:
        return _full(placed, count, q, scale, entropy)
    low = int(placed[first]) if first > 0 else 0
    high = int(placed[last]) + 1 if last < placed.size else count
    window = _Window(placed, count, q, low, high)
    pick = windowed_choice(window.near(), window.rest(), scale=scale * q.denominator, entropy=entropy)
    if pick is None:
        return _full(placed, count, q, scale, entropy)
    edges = window.far_edges() if pick.outside else window.near_edges()
    return int(edges[pick.index]) + noise.uniform_below(int(edges[pick.index + 1] - edges[pick.index]), entropy)


def _full(placed: NDArray[np.int64], count: int, q: Fraction, scale: Fraction, entropy: Entropy) -> int:
    edges, below, above = pieces(placed, count)
    scores = rank_scores(below, above, placed.size, q)
    return interval_choice(edges, scores, scale=scale * q.denominator, entropy=entropy)


class _Window:
    """The pieces from grid point `low` up to `high`, and those outside."""

    def __init__(self, placed: NDArray[np.int64], count: int, q: Fraction, low: int, high: int) -> None:
        self._placed, self._count, self._q, self._low, self._high = placed, count, q, low, high
        self._before, self._until = (int(np.searchsorted(placed, edge, side="left")) for edge in (low, high))
        inner = placed[self._before : self._until] - low
        self._edges, below, above = pieces(inner, high - low)
        after = placed.size - self._until
        self._scores = rank_scores(below + self._before, above + after, placed.size, q)

    def near_edges(self) -> NDArray[np.int64]:
        return self._edges + self._low

    def near(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self._scores, np.diff(self._edges)

    def rest(self) -> Rest:
        """Below the window at least n - before values lie above; above it at least `until` lie below."""
        size, top, bottom = self._placed.size, self._q.numerator, self._q.denominator
        sides = []
        if self._low > 0:
            sides.append(size * top - self._before * bottom)
        if self._high < self._count:
            sides.append(self._until * bottom - size * top)
        outside = self._before + size - self._until
        return Rest(
            entries=2 * outside + 2 if sides else 0,
            count=self._count - (self._high - self._low),
            best_score=-max(0, min(sides, default=0)),
            load=self._far,
        )

    def far_edges(self) -> NDArray[np.int64]:
        return pieces(self._placed, self._count)[0]

    def _far(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All pieces of the grid; those of the window, which ends where pieces end, count nothing."""
        edges, below, above = pieces(self._placed, self._count)
        within = (edges[:-1] >= self._low) & (edges[1:] <= self._high)
        return rank_scores(below, above, self._placed.size, self._q), np.where(within, 0, np.diff(edges))


def pieces(placed: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The grid cut at the values: edges, and for each piece how many values lie below and above it.

    Every distinct value is a piece of its own; the pieces between may be empty.
    """
    last = np.flatnonzero(np.diff(placed, append=count))  # the last of each run of equal values
    distinct, at_most = placed[last], last + 1
    edges = np.empty(2 * distinct.size + 2, dtype=np.int64)
    edges[0], edges[-1], edges[1:-1:2], edges[2:-1:2] = 0, count, distinct, distinct + 1
    below = np.zeros(2 * distinct.size + 1, dtype=np.int64)
    below[2::2], below[3::2] = at_most, at_most[:-1]
    above = np.full(2 * distinct.size + 1, placed.size, dtype=np.int64)
    above[1::2] = above[2::2] = placed.size - at_most
    return edges, below, above


def _eta(space: Space, d_in: Distance, q: Fraction) -> Fraction:
    """A changed row moves every rank by at most one; two rows added and removed may move it by more for extreme q."""
    rows = added_or_removed(space.metric, d_in)
    changed = rows // 2 if added_or_removed(space.metric, 1) == 2 else None
    spread = rank_spread(q) * rows
    return spread if changed is None else min(spread, Fraction(2 * changed))
