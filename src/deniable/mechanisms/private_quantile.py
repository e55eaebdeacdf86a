"""Private quantiles of rows over a public grid, by a noisy contest of every grid point at once.

Between two neighbouring values all grid points have the same score, so the contest runs over pieces: exact, and only the pieces
near the wanted rank are ever looked at. Those are the few hundred values next to the rank: a small sample brackets them, one
pass counts what lies below, and only the values in the bracket are sorted. The counts are exact whatever the sample says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.core.distance import Distance
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import step
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, positive
from deniable.kernels.exponential_choice import exponential_score_error
from deniable.kernels.rank_scores import crowded_scores, rank_spread, share
from deniable.mechanisms.grid import Grid, public_grid, values_of
from deniable.mechanisms.lattice_norms import added_or_removed, rows_of
from deniable.mechanisms.noisy_max import MaxNoise, contest_cost
from deniable.noise import Entropy
from deniable.noise.flip_choice import flip_choice, windowed_flip
from deniable.noise.weighted_choice import weighted_choice
from deniable.noise.windowed_choice import Rest, windowed_choice

Ints: TypeAlias = NDArray[np.int64]

_SAMPLE = 1 << 12
_SLACK = 1 << 7
"""Four standard deviations of a sample's rank."""
_FINE = 1 << 40
"""Up to here a float tells neighbouring points of a grid apart."""
_CROWD = 4
"""A crowded cell counts at its lower point for the price of so many scales: see `quantile.crowded_scores`."""
_DEAREST = 2**62
"""The price is public; this one no score can be worth, and int64 still holds a score less it."""


@dataclass(frozen=True, slots=True)
class SortedRows:
    """Sorted places of the rows that lie next to each other in rank; `before` rows lie lower, out of `size` in all.

    Places are doubled points: even on a point, odd between two. `whole()` gives the sorted places of all rows.
    """

    places: Ints
    before: int
    size: int
    whole: Callable[[], Ints]


def ranked(values: NDArray[Any], grid: Grid, *, first: int, last: int) -> SortedRows:
    """All rows whose grid cell lies between those of the rows ranked `first` and `last` (counted from zero), and maybe more."""

    def whole() -> Ints:
        return np.sort(grid.places(values))

    size = int(values.size)
    if size < 4 * _SAMPLE or grid.count > _FINE or (first <= 0 and last >= size - 1):
        return SortedRows(whole(), 0, size, whole)
    low, high = _order_statistics(values, max(first, 0), min(last, size - 1))
    lowest, highest = _beyond(low, -2 * grid.step, values), _beyond(high, 2 * grid.step, values)
    near = values[(values >= lowest) & (values <= highest)]
    return SortedRows(np.sort(grid.places(near)), int(np.count_nonzero(values < lowest)), size, whole)


def _beyond(value: Any, margin: Any, values: NDArray[Any]) -> Any:
    """`value + margin`, away from it, in the kind of number the values are."""
    if values.dtype.kind == "f":
        return float(value) + float(margin)
    return int(value) + (math.floor(margin) if margin < 0 else math.ceil(margin))


def _order_statistics(values: NDArray[Any], first: int, last: int) -> tuple[Any, Any]:
    """The values ranked `first` and `last`: looked for in the bracket that a sample suggests, in all values if it fails."""
    stride = values.size // _SAMPLE
    sample = np.sort(values[::stride])
    at_least, at_most = first // stride - _SLACK, last // stride + _SLACK
    below, inside = 0, values
    if at_least >= 0 and at_most < sample.size:
        inside = values[(values >= sample[at_least]) & (values <= sample[at_most])]
        below = int(np.count_nonzero(values < sample[at_least]))
        if not below <= first <= last < below + inside.size:
            below, inside = 0, values
    split = np.partition(inside, (first - below, last - below))
    return split[first - below], split[last - below]


@step
def private_quantile(
    space: Space,
    *,
    q: Real,
    lower: Real,
    upper: Real,
    grid: Real,
    scale: Real,
    noise: MaxNoise = MaxNoise.EXPONENTIAL,
) -> Mechanism:
    """A number on the public grid near the q-quantile of the rows: the best by rank distance after noise of `scale` ranks.

    Exponential noise (permute-and-flip) has the least error, Gumbel noise (the exponential mechanism) composes better. Missing
    values are left out, values beyond the bounds count at the bounds.

    Guarantee: epsilon = 2·max(q, 1 - q)·rows/scale when rows are added or removed, at most 2·rows/scale when rows change; with
    Gumbel noise this is a bounded range. Accuracy is in ranks: how many more values than at the best grid point lie on the
    wrong side of the answer.
    """
    element, fraction, width = rows_of(space, "private_quantile").element, share(q), positive(scale=scale)
    points, contest = public_grid(lower, upper, grid), check_noise(noise, "private_quantile")

    def answer(data: Any, entropy: Entropy) -> int | float:
        values = values_of(data, element)
        first, last = rank_window(values.size, points.count, fraction, width)
        near = ranked(values, points, first=first, last=last)
        return points.read(quantile_point(near, points.count, q=fraction, scale=width, noise=contest, entropy=entropy))

    return Mechanism(
        space,
        answer,
        lambda d_in: contest_cost(_eta(space, d_in, fraction), width, contest),
        Utility("rank", lambda beta: exponential_score_error(beta, count=points.count, scale=width)),
    )


def check_noise(noise: MaxNoise, who: str) -> MaxNoise:
    """Exponential or Gumbel noise; Laplace noise has no law over whole pieces."""
    if noise is MaxNoise.LAPLACE:
        raise InvalidArgument(f"{who} takes MaxNoise.EXPONENTIAL or MaxNoise.GUMBEL, got {noise!r}")
    return noise


@step
def private_median(
    space: Space, *, lower: Real, upper: Real, grid: Real, scale: Real, noise: MaxNoise = MaxNoise.EXPONENTIAL
) -> Mechanism:
    """A number on the public grid near the median of the rows.

    Guarantee: that of `private_quantile` at one half: epsilon = rows/scale when rows are added or removed.
    """
    return private_quantile(q=Fraction(1, 2), lower=lower, upper=upper, grid=grid, scale=scale, noise=noise).build(
        space
    )


@step
def private_minimum(
    space: Space,
    *,
    lower: Real,
    upper: Real,
    grid: Real,
    scale: Real,
    q: Real = Fraction(1, 100),
    noise: MaxNoise = MaxNoise.EXPONENTIAL,
) -> Mechanism:
    """A number near the bottom of the rows: the quantile at `q`, since no private answer can follow a single lowest row.

    Guarantee: that of `private_quantile`.
    """
    return private_quantile(q=q, lower=lower, upper=upper, grid=grid, scale=scale, noise=noise).build(space)


@step
def private_maximum(
    space: Space,
    *,
    lower: Real,
    upper: Real,
    grid: Real,
    scale: Real,
    q: Real = Fraction(99, 100),
    noise: MaxNoise = MaxNoise.EXPONENTIAL,
) -> Mechanism:
    """A number near the top of the rows: the quantile at `q`, since no private answer can follow a single highest row.

    Guarantee: that of `private_quantile`.
    """
    return private_quantile(q=q, lower=lower, upper=upper, grid=grid, scale=scale, noise=noise).build(space)


def rank_window(size: int, count: int, q: Fraction, scale: Fraction) -> tuple[int, int]:
    """The ranks beyond which `count` points together weigh almost nothing."""
    reach = math.ceil(scale * (64 + count.bit_length()))
    return int(q * size) - reach, int(q * size) + reach


def quantile_point(
    near: SortedRows, count: int, *, q: Fraction, scale: Fraction, noise: MaxNoise, entropy: Entropy
) -> int:
    """A grid point below `count` near the q-quantile of ranked places, `scale` in ranks.

    Ranks far from the target weigh almost nothing, so only a window of them is scored; the exact choice looks at the rest if
    the draw falls there.
    """
    first, last = rank_window(near.size, count, q, scale)
    low = int(near.places[first - near.before]) >> 1 if first > 0 else 0
    high = (int(near.places[last - near.before]) >> 1) + 1 if last < near.size else count
    if (low, high) != (0, count):
        window = Window(near, count, q, scale, low, high)
        windowed = windowed_flip if noise is MaxNoise.EXPONENTIAL else windowed_choice
        pick = windowed(window.near(), window.rest(), scale=scale * q.denominator, entropy=entropy)
        if pick is not None:
            return _point(window.far_edges() if pick.outside else window.near_edges(), pick.index, entropy)
    edges, scores = scored(near.whole(), count, q=q, scale=scale)
    chosen = flip_choice if noise is MaxNoise.EXPONENTIAL else weighted_choice
    return _point(edges, chosen(scores, counts=np.diff(edges), scale=scale * q.denominator, entropy=entropy), entropy)


def _point(edges: Ints, piece: int, entropy: Entropy) -> int:
    return int(edges[piece]) + noise.uniform_below(int(edges[piece + 1] - edges[piece]), entropy)


def scored(
    places: Ints, count: int, *, q: Fraction, scale: Fraction, before: int = 0, size: int | None = None
) -> tuple[Ints, Ints]:
    """Edges and scores of the pieces of `count` points, when `before` of `size` rows lie below all of these places."""
    total = int(places.size) if size is None else size
    edges, below, above, crowd = pieces(places, count)
    below, above = below + before, above + (total - before - places.size)
    most = min(math.ceil(_CROWD * scale * q.denominator), _DEAREST)
    return edges, crowded_scores(below, above, crowd, total=total, q=q, most=most)


class Window:
    """The pieces from grid point `low` up to `high`, and those outside."""

    def __init__(self, rows: SortedRows, count: int, q: Fraction, scale: Fraction, low: int, high: int) -> None:
        self._rows, self._count, self._q, self._scale, self._low, self._high = rows, count, q, scale, low, high
        start, stop = (int(np.searchsorted(rows.places, 2 * edge, side="left")) for edge in (low, high))
        self._before, self._until = rows.before + start, rows.before + stop
        inner = rows.places[start:stop] - 2 * low
        self._edges, self._scores = scored(inner, high - low, q=q, scale=scale, before=self._before, size=rows.size)

    def near_edges(self) -> Ints:
        return self._edges + self._low

    def near(self) -> tuple[Ints, Ints]:
        return self._scores, np.diff(self._edges)

    def rest(self) -> Rest:
        """Below the window at least n - before values lie above; above it at least `until` lie below."""
        size, top, bottom = self._rows.size, self._q.numerator, self._q.denominator
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

    def far_edges(self) -> Ints:
        return pieces(self._rows.whole(), self._count)[0]

    def _far(self) -> tuple[Ints, Ints]:
        """All pieces of the grid; those of the window, which ends where pieces end, count nothing."""
        edges, scores = scored(self._rows.whole(), self._count, q=self._q, scale=self._scale)
        within = (edges[:-1] >= self._low) & (edges[1:] <= self._high)
        return scores, np.where(within, 0, np.diff(edges))


def pieces(places: Ints, count: int) -> tuple[Ints, Ints, Ints, Ints]:
    """The grid cut at sorted places: edges, and for each piece how many values lie below it, above it, and in its crowd.

    Every point with values on it or just above it is a piece of its own, and the values just above it are its crowd. The
    pieces between may be empty.
    """
    cells = places >> 1
    last = np.flatnonzero(np.diff(cells, append=count))  # the last of each run of equal cells
    distinct, at_most = cells[last], last + 1
    on = np.searchsorted(places, 2 * distinct, side="right")
    edges = np.empty(2 * distinct.size + 2, dtype=np.int64)
    edges[0], edges[-1], edges[1:-1:2], edges[2:-1:2] = 0, count, distinct, distinct + 1
    below = np.zeros(2 * distinct.size + 1, dtype=np.int64)
    below[2::2], below[3::2] = at_most, at_most[:-1]
    above = np.full(2 * distinct.size + 1, places.size, dtype=np.int64)
    above[1::2], above[2::2] = places.size - on, places.size - at_most
    crowd = np.zeros(2 * distinct.size + 1, dtype=np.int64)
    crowd[1::2] = at_most - on
    return edges, below, above, crowd


def _eta(space: Space, d_in: Distance, q: Fraction) -> Fraction:
    """A changed row moves every rank by at most one; two rows added and removed may move it by more for extreme q."""
    rows = added_or_removed(space.metric, d_in)
    changed = rows // 2 if added_or_removed(space.metric, 1) == 2 else None
    spread = rank_spread(q) * rows
    return spread if changed is None else min(spread, Fraction(2 * changed))
