"""Truncated discrete Laplace noise as atoms, without a list of its outcomes.

The loss of the outcome k, |k - shift| - |k| in units of 1/scale, is constant left of 0 and right of the shift, and falls by two
with every step between. Masses of ranges of outcomes are geometric sums, so the work depends on neither the radius nor the scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from deniable.accounting.pld.atoms import Atoms, AtomsPair
from deniable.accounting.pld.floats import TINY, Floats, U, float_above

_BLOCKS = 1 << 13
"""Between 0 and the shift, outcomes are taken one by one up to so many, and in so many equal blocks beyond."""


@dataclass(frozen=True, slots=True)
class _Masses:
    """Sums of e^(-a m) over ranges of m >= 0, as shares of e^(-a|k|) over -radius..radius; `blur` bounds their relative error."""

    a: float
    radius: int

    @property
    def blur(self) -> float:
        return U * (100 + 8 * min(self.a * self.radius, 2000.0))

    def share(self, first: Floats, count: Floats) -> Floats:
        """The share of m = first, ..., first + count - 1."""
        unit = -np.expm1(-self.a)
        total = 2 * -np.expm1(-self.a * (self.radius + 1)) / unit - 1
        found: Floats = np.exp(-self.a * first) * -np.expm1(-self.a * np.maximum(count, 0.0)) / unit / total
        return found

    def one(self, first: int, last: int) -> float:
        """The share of m = first, ..., last; nothing if there is none."""
        if last < first:
            return 0.0
        return float(self.share(np.array([float(first)]), np.array([float(last - first + 1)]))[0])


def truncated_laplace(scale: Fraction, radius: int, shift: int) -> AtomsPair:
    """Noise e^(-|k|/scale) on -radius..radius, shifted: what only one of the two can answer has infinite loss.

    A block of outcomes between 0 and the shift counts with the largest loss in it from above, with the smallest from below.
    """
    a = float_above(1 / scale)
    masses = _Masses(a, radius)
    alone = masses.one(max(radius - shift + 1, 1), radius) + masses.one(0, min(shift - radius - 1, radius))
    first, last = (
        max(1, shift - radius),
        min(shift - 1, radius),
    )  # the outcomes between 0 and the shift that both can give
    length = max(1, -(-(last - first + 1) // _BLOCKS))
    starts = [*range(first, last + 1, length)][::-1]
    counts = [min(length, last + 1 - start) for start in starts]
    middle = masses.share(np.array(starts, dtype=np.float64), np.array(counts, dtype=np.float64))
    both = masses.one(0, radius - shift)  # left of 0, and right of the shift times e^(-a shift)
    mass = np.concatenate([[both * math.exp(-a * shift)], middle, [both]])
    steps = [
        [-shift, *(shift - 2 * (start + extra) for start, extra in _ends(starts, counts, side)), shift]
        for side in (0, 1)
    ]
    low, high = (np.array([float(each) for each in side]) * a for side in steps)
    blur = masses.blur
    below = Atoms(low - 6 * U * np.abs(low), mass * (1 - blur), alone * (1 - blur))
    above = Atoms(high + 6 * U * np.abs(high), mass * (1 + blur) + TINY, alone * (1 + blur))
    even = a * (1 if shift % 2 else 2) * (1 - 8 * U) if length == 1 else 0.0
    return AtomsPair(below, above, lattice=even)


def _ends(starts: list[int], counts: list[int], side: int) -> list[tuple[int, int]]:
    """Each block's last outcome, which has the smallest loss, or (from above) its first."""
    return [(start, 0 if side else count - 1) for start, count in zip(starts, counts, strict=True)]
