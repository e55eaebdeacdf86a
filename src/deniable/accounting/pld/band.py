"""Which frequencies of a composition matter. After many steps almost none do: powers of numbers below one vanish.

Promise: every frequency left out is bounded by the number returned with the choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from deniable.accounting.pld.limits import MOST_PLACES, MOST_TERMS, Beyond
from deniable.accounting.pld.tilt import Tilted

_NEGLIGIBLE = -36.0
_NOTHING = -45.0


class TooFine(Beyond):
    """This grid would take too many frequencies."""


class _Decay:
    """Upper bounds for |x(w)| of one tilted part, over ranges of frequencies w (in turns per step).

    Two bounds, the smaller counts. Low frequencies: 1 - |x(w)|^2 = 2 E sin^2(w D/2) >= (2 w^2/pi^2) E[D^2; |D| <= pi/w], D the
    difference of two independent draws; pairs in one block of places count. High ones: |x| at the points of a short
    transform, plus what it can grow between them, for |x'| <= E |place|.
    """

    def __init__(self, part: Tilted) -> None:
        self.part = part
        spread = float(part.mass @ np.abs(part.place)) * (1 + 1e-9)
        self.size = 1 << min(max(4, math.ceil(math.log2(12 * spread + 1))), 16)
        folded = np.bincount(part.place % self.size, weights=part.mass, minlength=self.size)
        self.sizes = np.abs(np.fft.rfft(folded))
        self.growth = spread * math.pi / self.size + 1e-9

    def log_bound(self, low: float, high: float) -> float:
        """A bound for ln |x| over low <= turns <= high <= 1/2, times the part's count."""
        first, last = math.floor(low * self.size), math.ceil(high * self.size)
        sampled = float(self.sizes[first : last + 1].max()) + self.growth
        square = 1 - 8 * low * low * self._spread(max(math.floor(0.5 / high), 1))
        bound = min(sampled, math.sqrt(max(square, 0.0) + 1e-12), 1.0)
        return self.part.times * math.log(bound)

    def _spread(self, length: int) -> float:
        """At most E[D^2; |D| <= length]."""
        part = self.part
        block = part.place // (length + 1)
        starts = np.flatnonzero(np.diff(block, prepend=block[0] - 1))
        inside = (part.place - block * (length + 1)).astype(np.float64)
        mass = np.add.reduceat(part.mass, starts)
        first = np.add.reduceat(part.mass * inside, starts)
        second = np.add.reduceat(part.mass * inside * inside, starts)
        return 2 * float(np.maximum(mass * second * (1 - 1e-12) - first**2 * (1 + 1e-12), 0).sum()) * (1 - 1e-9)


def band(parts: Sequence[Tilted], size: int) -> tuple[int, float]:
    """How many frequencies of a transform of length `size` to keep, and a bound for the size of each of the others."""
    everything, left_out = size // 2 + 1, 0.0
    decays = [_Decay(part) for part in parts]
    edges = [2.0**-power for power in range(1, max(2, math.floor(math.log2(size)) - 3))]
    worst, count = -math.inf, everything
    for high, low in pairwise(edges):
        worst = max(worst, _log_bound(decays, low, high, _NOTHING - math.log(size)))
        if worst > _NEGLIGIBLE - math.log(size):
            break
        count, left_out = math.ceil(low * size), math.exp(worst)
    work = count * sum(len(part.place) + 300 for part in parts)
    if count < everything and work < min(MOST_TERMS, 200 * size * len(parts)):
        return count, left_out
    if size > MOST_PLACES:
        raise TooFine("the grid is too fine")
    return everything, 0.0


def _log_bound(decays: Sequence[_Decay], low: float, high: float, enough: float) -> float:
    """A bound for ln of the product of all; no part makes it larger, so that the first few do once they reach `enough`."""
    total = 0.0
    for decay in decays:
        total += decay.log_bound(low, high)
        if total < enough:
            break
    return total * (1 - 1e-12)


def fast_size(least: int) -> int:
    """The least power of two that is at least this: for such lengths the error of a transform is a theorem."""
    return 1 << max(6, (least - 1).bit_length())
