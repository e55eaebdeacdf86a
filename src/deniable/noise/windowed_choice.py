"""The exact choice when almost all weight lies in a small window: the rest is looked at only if the draw falls there.

The rest is given one whole-numbered weight that certainly covers it. A draw that falls into it (less than once in a million)
loads the rest and goes on as if it had been there from the start, so the law is that of the full choice, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.exact import exp
from deniable.noise.entropy import Entropy
from deniable.noise.series import LARGEST
from deniable.noise.uniform import uniform_bits
from deniable.noise.weighted_choice import DRAWN, MARGIN, Proposal, accepted, proposal, upper_weights

Ints: TypeAlias = NDArray[np.int64]
Table: TypeAlias = tuple[Ints, Ints]
"""Scores and counts of some entries."""


@dataclass(frozen=True, slots=True)
class Rest:
    """Entries outside the window: how many, their counts' sum, a bound on their scores, and how to load them when needed."""

    entries: int
    count: int
    best_score: int
    load: Callable[[], Table]


NOTHING = Rest(0, 0, 0, lambda: (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)))
"""The rest when the window holds every entry."""


@dataclass(frozen=True, slots=True)
class Pick:
    """Where a choice fell: an index into the window, or into the rest; how far its score lies below the best, in scales."""

    index: int
    outside: bool
    lack: Fraction
    count: int


def windowed_choice(window: Table, rest: Rest, *, scale: Fraction, entropy: Entropy) -> Pick | None:
    """One entry of window and rest together, P proportional to count · exp(score/scale); None if the rest is not negligible."""
    stream = Arrivals.of(window, rest, scale=scale)
    if stream is None:
        return None
    return next(pick for pick in stream.picks(entropy) if pick is not None)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """A stream of independent picks: each of its rounds picks entry i with probability count · exp(-lack) · 2**(unit - DRAWN)."""

    offer: Proposal
    rest: Rest
    best: int
    cover: int

    @classmethod
    def of(cls, window: Table, rest: Rest, *, scale: Fraction) -> Arrivals | None:
        """The stream over window and rest; None if the rest is not negligible or may hold the best entry."""
        scores, counts = window
        best = int(scores[counts > 0].max())
        offer = proposal(scores[None, :], scale=scale, counts=counts[None, :])
        cover = _cover(offer, rest, best, scale)
        return None if cover is None else cls(offer, rest, best, cover)

    @property
    def rounds_per_weight(self) -> Fraction:
        """How many rounds there are, on average, to one pick of an entry with count one and the best score."""
        return Fraction(2) ** (DRAWN - int(self.offer.unit[0]))

    def picks(self, entropy: Entropy) -> Iterator[Pick | None]:
        """For every round what it picked, None for nothing. Rounds are independent."""
        # window and cover together stay below 2**DRAWN and a millionth of it
        edges, heaviest = np.cumsum(self.offer.weights[0]), int(self.offer.weights[0].argmax())
        inside, start = int(edges[-1]), int(edges[heaviest] - self.offer.weights[0, heaviest])
        while True:
            point = int(uniform_bits(entropy, 1, DRAWN)[0])
            if point < inside:
                index = int(np.searchsorted(edges, (point + start) % inside, side="right"))
                yield _kept(self.offer, index, entropy, outside=False)
            elif point < inside + self.cover:
                yield self._outside(point - inside, entropy)
            else:
                yield None

    def _outside(self, place: int, entropy: Entropy) -> Pick | None:
        """The entry of the rest that this place falls into, kept with probability true weight / proposed weight."""
        scores, counts = self.rest.load()
        gaps = np.where(counts > 0, self.best - scores, 0).astype(np.uint64)[None, :]
        weights = upper_weights(gaps, counts[None, :], self.offer.unit, self.offer.scale)
        edges = np.cumsum(weights[0])  # at most the cover
        if not place < edges[-1]:
            return None
        far = Proposal(gaps, counts[None, :], weights, self.offer.unit, self.offer.scale)
        return _kept(far, int(np.searchsorted(edges, place, side="right")), entropy, outside=True)


def _kept(offer: Proposal, index: int, entropy: Entropy, *, outside: bool) -> Pick | None:
    if not accepted(offer, np.array([0]), np.array([index]), entropy)[0]:
        return None
    count = 1 if offer.counts is None else int(offer.counts[0, index])
    return Pick(index, outside, int(offer.gaps[0, index]) / offer.scale, count)


def _cover(offer: Proposal, rest: Rest, best: int, scale: Fraction) -> int | None:
    """A whole number of units at least as large as all proposed weights of the rest, if below a millionth of the window's."""
    if not rest.entries:
        return 0
    gap = best - rest.best_score
    if not gap > 0:
        return None
    nearest = min(gap / scale, Fraction(LARGEST))  # beyond that `upper_weights` falls no further
    weight = rest.count * exp(-nearest).upper * (1 + Fraction(4 * MARGIN)) * Fraction(2) ** int(offer.unit[0])
    cover = int(weight) + 1 + rest.entries
    return cover if cover << 20 <= int(offer.weights.sum()) else None
