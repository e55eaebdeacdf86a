"""Exact sampling of a discrete law from uniform words, in constant work, and what the scale of such a law may be.

A law gives integer lower bounds of 2**bits * P(outcome) at any precision. A table hands the words of the first level to
outcomes, each at most as many as its bound, by Walker's alias layout: one shift, one look-up, one comparison, one look-up
whatever comes out. The few words left over (about one per outcome among 2**64) are *undecided*; they are split again with
one more word and bounds of twice as many bits, and so on. No outcome ever gets more than its probability and the
undecided mass falls to zero, so the law drawn is the law given, exactly (`docs/theory/exact-tables.md`).

The word zero always draws the first outcome of a law, if that outcome got a word at all. Tables are remembered by exact scale;
a scale is checked when its table is built, so a warm draw pays for no check. Scalar draws are Python integers of any size,
vector draws are int64 and so have a limit.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING, Protocol

import numpy as np

from deniable.errors import InvalidArgument
from deniable.exact.guards import positive, rational, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable.noise.entropy import Entropy


CACHED = 32
"""Tables kept per sampler, the least used go first; one scale takes from a few kilobytes up to about one megabyte."""
VECTOR_LIMIT = 1 << 50
"""Noise of a larger scale could leave int64; at this one the chance is below e**-8000, and sums saturate."""
LIMIT = 1 << 1100
"""Beyond every float, 1e308 included; a table per eleven bits of scale stays affordable."""


def hashable(scale: int | Fraction) -> int | Fraction:
    """The scale as a key: an int where it is whole, else a Fraction, never a bool or a float that only compares equal to one."""
    if type(scale) is int:
        return scale
    exact = scale if type(scale) is Fraction else rational(scale=scale)
    return exact.numerator if exact.denominator == 1 else exact  # a whole number is found far faster


def table_scale(scale: int | Fraction) -> Fraction:
    """A scale that tables can be built for: positive, and not absurd."""
    exact = positive(scale=scale)
    if not 1 <= exact * LIMIT <= LIMIT * LIMIT:
        raise InvalidArgument(f"scale must lie between 2**-1100 and 2**1100, got {shown(exact)}")
    return exact


def vector_scale(scale: int | Fraction) -> int | Fraction:
    """A scale whose noise fits int64, or a refusal that says what to do."""
    exact = hashable(scale)
    if not exact <= VECTOR_LIMIT:
        raise InvalidArgument(f"scale must be at most 2**50 for vector draws, got {shown(scale)}; draw one at a time")
    return exact


class TableLaw(Protocol):
    """A probability law on outcomes 0, 1, 2, ..., likeliest first where that is cheap."""

    def bounds(self, bits: int) -> list[int]:
        """Integers at most 2**bits * P(i); their sum nears 2**bits as bits grow; outcomes left out have bound zero."""


class AliasTable:
    """One law at one word size; outcome i is handed out as `label(i)`."""

    __slots__ = (
        "_first",
        "_label",
        "_last",
        "_lasts",
        "_law",
        "_levels",
        "_second",
        "_word_bits",
        "cells",
        "limit",
        "shift",
    )

    def __init__(self, law: TableLaw, *, word_bits: int, label: Callable[[int], int] = int) -> None:
        bounds = law.bounds(word_bits)
        self._law, self._label, self._word_bits = law, label, word_bits
        self._levels: dict[int, tuple[list[int], list[int]]] = {0: (bounds, [])}
        self.limit = sum(bounds)
        self.shift, first, second, self._last = _alias(bounds, self.limit, word_bits)
        self._first, self._second = [label(i) for i in first], [label(i) for i in second]
        self._lasts = np.array(self._last, dtype=np.uint64)
        self.cells = np.array([self._first, self._second], dtype=np.int64).T.ravel()

    def draw(self, entropy: Entropy) -> int:
        """One outcome."""
        return self.decoded(entropy.word(), entropy)

    def decoded(self, word: int, entropy: Entropy) -> int:
        """The outcome this uniform word stands for; an undecided word asks for more."""
        if word >= self.limit:
            return self.refined(word - self.limit, entropy)
        column = word >> self.shift
        return self._first[column] if word <= self._last[column] else self._second[column]

    def draws(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """`count` outcomes; the same work for each, unless a word is undecided."""
        words = entropy.words(count)
        out = self.cells.take(self.pick(words), mode="clip")
        for position, rank in self.undecided(words):
            out[position] = self.refined(rank, entropy)
        return out

    def pick(self, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The place in `cells` of each word's outcome; it means nothing for undecided words."""
        cell = (words >> np.uint64(self.shift)).view(np.int64)
        beyond = words > self._lasts.take(cell, mode="clip")
        cell += cell
        cell += beyond
        return cell

    def undecided(self, words: NDArray[np.uint64]) -> list[tuple[int, int]]:
        """Position and rank of each word the first level leaves open."""
        if self.limit >> self._word_bits or not words.size or int(words.max()) < self.limit:
            return []
        return [(int(i), int(words[i]) - self.limit) for i in np.flatnonzero(words >= np.uint64(self.limit))]

    def refined(self, rank: int, entropy: Entropy) -> int:
        """The outcome of an undecided word of this rank: read one more word per level until decided."""
        level = 0
        while True:
            level += 1
            rank = rank << self._word_bits | entropy.word()
            gains = self._gains(level)
            if gains and rank < gains[-1]:
                return self._label(bisect_right(gains, rank))
            rank -= gains[-1] if gains else 0

    def _gains(self, level: int) -> list[int]:
        """Running sums of what each outcome gains at this level; computed once, and almost never."""
        if level not in self._levels:
            self._gains(level - 1)
            before = [bound << self._word_bits for bound in self._levels[level - 1][0]]
            now = self._law.bounds(self._word_bits * (level + 1))
            pairs = list(zip_longest(now, before, fillvalue=0))
            gains = list(accumulate(max(new - old, 0) for new, old in pairs))
            self._levels[level] = ([max(pair) for pair in pairs], gains)  # two threads would store the same
        return self._levels[level][1]


def _alias(bounds: list[int], limit: int, word_bits: int) -> tuple[int, list[int], list[int], list[int]]:
    """Lay `limit` words out in equal columns of at most two outcomes: shift, first, second, last word of the first."""
    outcomes = [i for i, bound in enumerate(bounds) if bound]
    columns_log = min(len(outcomes).bit_length(), word_bits)
    while len(outcomes) > limit >> (word_bits - columns_log):
        columns_log += 1
    shift, columns = word_bits - columns_log, 1 << columns_log
    room, (full, cut) = 1 << shift, divmod(limit, 1 << shift)
    name = outcomes + [-1] * (columns - len(outcomes))
    own = [bounds[i] for i in outcomes] + [0] * (columns - len(outcomes))
    first, second, last = name[:], name[:], [((c + 1) << shift) - 1 for c in range(columns)]
    poor = [c for c in range(full) if own[c] < room] + [full] * (cut > 0)
    rich = [c for c in range(full) if own[c] > room]
    while poor:
        c, donor = poor.pop(), rich[-1]
        second[c] = name[donor]
        if own[c]:
            last[c] = (c << shift) + own[c] - 1
        else:
            first[c] = name[donor]
        own[donor] -= (cut if c == full else room) - own[c]  # a rich donor keeps a word: it had more than it can give
        if own[donor] <= room:
            rich.pop()
            if own[donor] < room:
                poor.append(donor)
    return shift, first, second, last
