"""Private quantiles of many groups at once, from the bins that hold rows: empty stretches between them count as one piece.

All candidates of an empty stretch have the same score, so the exponential mechanism first picks a piece, weighted by how many
candidates it holds, then one of its candidates with equal chance. The law is that of a choice among all candidates one by one
(`docs/theory/choice.md`), and the work follows the occupied bins, not the number of candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.kernels.rank_scores import lower_end_scores, rank_scores, upper_end_scores
from deniable.noise import Entropy
from deniable.noise.uniform import uniforms_within
from deniable.noise.weighted_choice import weighted_choices

Integers: TypeAlias = NDArray[np.int64]

_PIECES = 1 << 22
"""Choices are made for so many pieces at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Occupied:
    """The bins that hold rows in each of `groups` groups: entry i says that bin `bin[i]` of group `group[i]` holds `count[i]` rows.

    Entries are sorted by group, then bin, each pair once.
    """

    groups: int
    group: Integers
    bin: Integers
    count: Integers

    @classmethod
    def added(cls, groups: int, group: Integers, bins: Integers, counts: Integers) -> Occupied:
        """From entries in any order; what lies in the same bin of the same group is added up."""
        order = np.lexsort((bins, group))
        group, bins, counts = group[order], bins[order], counts[order]
        first = np.flatnonzero(np.diff(group, prepend=-1) | np.diff(bins, prepend=-1))
        totals = np.add.reduceat(counts, first) if first.size else counts
        return cls(groups, group[first], bins[first], totals)

    def with_ends(self, bins: int) -> Occupied:
        """The same with the first and the last of `bins` bins among the entries of every group, also where they hold nothing."""
        everyone, nothing = np.arange(self.groups), np.zeros(2 * self.groups, dtype=np.int64)
        places = np.repeat(np.array([0, bins - 1], dtype=np.int64), self.groups)
        entries = [(self.group, np.tile(everyone, 2)), (self.bin, places), (self.count, nothing)]
        return Occupied.added(self.groups, *(np.concatenate(pair) for pair in entries))


def ranked_choices(occupied: Occupied, *, q: Fraction, bins: int, temperature: Fraction, entropy: Entropy) -> Integers:
    """One bin for each group, near the quantile `q` of its rows.

    Guarantee: group by group and independently, P(bin) is proportional to exp(score / temperature), exactly, where the score
    is minus the rank distance: bounded range with eta = 2·max(q, 1 - q)·(rows added or removed) / temperature.
    """
    return _chosen(
        occupied,
        lambda pieces: rank_scores(pieces.below, pieces.above, pieces.total, q),
        bins=bins,
        scale=temperature * q.denominator,
        entropy=entropy,
    )


def ranked_ends(
    occupied: Occupied, *, q: Fraction, bins: int, reach: int, temperature: Fraction, entropy: Entropy
) -> tuple[Integers, Integers]:
    """Two bins for each group, `reach` (in units of 1/denominator(q) of what is counted) below and above the quantile `q`.

    Guarantee: two choices, independent of each other, each with the law and the bounded range of `ranked_choices`.
    """
    bounded = occupied.with_ends(bins)
    scale = temperature * q.denominator

    def lower(pieces: _Pieces) -> Integers:
        first = pieces.edges[:, :-1] == 0
        return lower_end_scores(pieces.below, pieces.above, pieces.total, q, reach=reach, first=first)

    def upper(pieces: _Pieces) -> Integers:
        last = pieces.edges[:, :-1] == bins - 1
        return upper_end_scores(pieces.below, pieces.above, pieces.total, q, reach=reach, last=last)

    low = _chosen(bounded, lower, bins=bins, scale=scale, entropy=entropy)
    return low, _chosen(bounded, upper, bins=bins, scale=scale, entropy=entropy)


@dataclass(frozen=True, slots=True, eq=False)
class _Pieces:
    """The pieces of some groups, one group a row: between which edges each lies, and the rows below, above and in all."""

    edges: Integers
    below: Integers
    above: Integers
    total: Integers


def _chosen(
    occupied: Occupied, scores: Callable[[_Pieces], Integers], *, bins: int, scale: Fraction, entropy: Entropy
) -> Integers:
    """One bin for each group: a piece by its score and size, then one of its bins with equal chance."""
    answer = np.empty(occupied.groups, dtype=np.int64)
    for groups in _blocks(np.bincount(occupied.group, minlength=occupied.groups)):
        pieces = _pieces(occupied, groups, candidates=bins)
        sizes = np.diff(pieces.edges, axis=1)
        picked = weighted_choices(scores(pieces), scale=scale, entropy=entropy, counts=sizes)
        here = np.arange(len(groups))
        answer[groups] = pieces.edges[here, picked] + uniforms_within(sizes[here, picked], entropy)
    return answer


def _blocks(sizes: Integers) -> Iterator[Integers]:
    """Groups with about as many occupied bins together, so that little is padded; each block holds a limited number of pieces."""
    order, start = np.argsort(sizes, kind="stable"), 0
    while start < len(order):
        widths = 2 * sizes[order[start:]] + 1  # a block is as wide as its last group
        fits = int(np.searchsorted(widths * np.arange(1, len(widths) + 1), _PIECES, side="right"))
        yield order[start : start + max(1, fits)]
        start += max(1, fits)


def _pieces(occupied: Occupied, groups: Integers, *, candidates: int) -> _Pieces:
    """The pieces of some groups: a stretch, a bin, a stretch, ..., padded with nothing."""
    first, last = (np.searchsorted(occupied.group, groups, side=side) for side in ("left", "right"))
    sizes = last - first
    place = np.arange(int(sizes.max(initial=0)))[None, :]
    real = place < sizes[:, None]
    entries = np.where(real, first[:, None] + place, 0)
    at = np.where(real, occupied.count[entries], 0) if place.size else np.zeros((len(groups), 0), dtype=np.int64)
    bins = np.where(real, occupied.bin[entries], candidates) if place.size else at
    edges = np.empty((len(groups), 2 * place.size + 2), dtype=np.int64)
    edges[:, 0], edges[:, -1] = 0, candidates
    edges[:, 1:-1:2], edges[:, 2:-1:2] = bins, np.minimum(bins + 1, candidates)
    held = np.zeros((len(groups), 2 * place.size + 1), dtype=np.int64)
    held[:, 1::2] = at
    up_to = np.cumsum(held, axis=1)  # numbers of rows: no engine holds 2**62 of them
    total = up_to[:, -1:]
    return _Pieces(edges, up_to - held, total - up_to, total)
