"""The exact choice when almost all weight lies in a small window: the rest is looked at only if the draw falls there.

The rest is given one whole-numbered weight that certainly covers it. A draw that falls into it (less than once in a million)
loads the rest and goes on as if it had been there from the start, so the law is that of the full choice, exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.exact import exp
from deniable.mechanisms.choice import DRAWN, MARGIN, Proposal, accepted, proposal, uniform_bits, upper_weights
from deniable.noise import Entropy
from deniable.noise.series import LARGEST

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


@dataclass(frozen=True, slots=True)
class Pick:
    """Where a choice fell: an index into the window, or into the rest."""

    index: int
    outside: bool


def windowed_choice(window: Table, rest: Rest, *, scale: Fraction, entropy: Entropy) -> Pick | None:
    """One entry of window and rest together, P proportional to count · exp(score/scale); None if the rest is not negligible."""
    scores, counts = window
    best = int(scores[counts > 0].max())
    offer = proposal(scores[None, :], scale=scale, counts=counts[None, :])
    cover = _cover(offer, rest, best, scale)
    if cover is None:
        return None
    edges, heaviest = np.cumsum(offer.weights[0]), int(offer.weights[0].argmax())
    inside, start = int(edges[-1]), int(edges[heaviest] - offer.weights[0, heaviest])
    while True:
        point = int(uniform_bits(entropy, 1, DRAWN)[0])
        if point < inside:
            index = int(np.searchsorted(edges, (point + start) % inside, side="right"))
            if accepted(offer, np.array([0]), np.array([index]), entropy)[0]:
                return Pick(index, outside=False)
        elif point < inside + cover:
            index_outside = _outside(offer, rest, best, point - inside, entropy)
            if index_outside is not None:
                return Pick(index_outside, outside=True)


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


def _outside(offer: Proposal, rest: Rest, best: int, place: int, entropy: Entropy) -> int | None:
    """The entry of the rest that this place falls into, kept with probability true weight / proposed weight."""
    scores, counts = rest.load()
    gaps = np.where(counts > 0, best - scores, 0).astype(np.uint64)
    unit = offer.unit
    weights = upper_weights(gaps[None, :], counts[None, :], unit, offer.scale)
    edges = np.cumsum(weights[0])
    if not place < edges[-1]:
        return None
    far = Proposal(gaps[None, :], counts[None, :], weights, unit, offer.scale)
    index = int(np.searchsorted(edges, place, side="right"))
    return index if accepted(far, np.array([0]), np.array([index]), entropy)[0] else None
