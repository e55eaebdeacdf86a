"""Bounds learnt privately: where the values lie, from a histogram of their binary exponents, or by a noisy binary search."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.core.distance import Distance
from deniable.core.domain import Numbers
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import Cost, DiscreteLaplace, Repeated
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, integer, open_probability, positive
from deniable.kernels import DiscreteLaplaceNoise
from deniable.kernels.laws import least
from deniable.kernels.rank_scores import share
from deniable.mechanisms.additive import noisy_values
from deniable.mechanisms.grid import public_grid, values_of
from deniable.mechanisms.lattice_norms import added_or_removed, counts_apart, rows_of
from deniable.noise import Entropy


@dataclass(frozen=True, slots=True)
class LearntBounds:
    """Public bounds within which most values lie."""

    lower: float
    upper: float


@step
def private_bounds(
    space: Space, *, scale: Real, confidence: Real = Fraction(999, 1000), lowest: int = -20, highest: int = 40
) -> Mechanism:
    """Powers of two around the values: `LearntBounds`, or None when no power of two holds noticeably many values.

    Every value is counted by sign and binary exponent, read from its bits: magnitudes from 2**lowest up to 2**highest, smaller
    ones (zero, subnormals) in the middle, larger and infinite ones at the ends; NaN and None are left out. Bins whose noisy
    count reaches a threshold that an empty histogram passes nowhere, with the given confidence, span the bounds.

    Guarantee: pure; one row added or removed moves one count by one (loss 1/scale), a changed row two.
    """
    element = rows_of(space, "private_bounds").element
    if not isinstance(element, Numbers):
        raise SpaceMismatch(f"private_bounds learns the bounds of numbers, got {element!r}")
    width, chance = positive(scale=scale), open_probability(confidence=confidence)
    bands = Bands(integer(lowest=lowest), integer(highest=highest))
    cut = _threshold(bands, width, chance)

    def answer(data: Any, entropy: Entropy) -> LearntBounds | None:
        counts = bands.counts(values_of(data, element))
        shown = np.flatnonzero(noisy_values(counts, noise=DiscreteLaplaceNoise(width), entropy=entropy) >= cut)
        if not shown.size:
            return None
        return LearntBounds(bands.edge(int(shown[0])), bands.edge(int(shown[-1]) + 1))

    return Mechanism(
        space,
        answer,
        lambda d_in: DiscreteLaplaceNoise(width).cost(counts_apart(space.metric, d_in)),
        Utility(
            "values: a band that holds more than this many is within the bounds",
            lambda beta: _missed(width, cut, beta),
        ),
    )


@dataclass(frozen=True, slots=True)
class Bands:
    """Bands of magnitudes between powers of two, negative ones first, one band around zero in the middle."""

    lowest: int
    highest: int

    def __post_init__(self) -> None:
        if not -1000 <= self.lowest < self.highest <= 1000:
            raise InvalidArgument(f"exponents must rise within -1000 to 1000, got {self.lowest} and {self.highest}")

    @property
    def each(self) -> int:
        """How many bands lie on each side of the middle one."""
        return self.highest - self.lowest

    @property
    def size(self) -> int:
        """How many bands there are in all."""
        return 2 * self.each + 1

    def counts(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """How many values each band holds. `frexp` reads the exponent's bits: no logarithm, no rounding, no special case."""
        numbers = values.astype(np.float64)
        finite = np.where(np.isinf(numbers), np.copysign(np.finfo(np.float64).max, numbers), numbers)
        _, exponents = np.frexp(finite)  # 2**(e-1) <= |x| < 2**e
        rank = np.clip(exponents.astype(np.int64) - self.lowest, 0, self.each)  # 0: below 2**lowest
        rank[finite == 0] = 0
        return np.bincount(self.each + np.where(finite < 0, -rank, rank), minlength=self.size).astype(np.int64)

    def edge(self, place: int) -> float:
        """The lower edge of band `place`, the upper edge of the band before it."""
        away = place - self.each
        if away <= 0:
            return -(2.0 ** (self.lowest - away))
        return 2.0 ** (self.lowest + away - 1)


def _threshold(bands: Bands, scale: Fraction, confidence: Fraction) -> int:
    """The smallest threshold that no empty band reaches, all bands together, with this confidence."""
    noise = DiscreteLaplaceNoise(scale)
    return least(lambda t: (1 - noise.tail(t).upper) ** bands.size >= confidence, near=0)


def _missed(scale: Fraction, cut: int, beta: Fraction) -> Fraction:
    """A band with more values falls short of the threshold with probability at most beta."""
    low = least(lambda t: DiscreteLaplaceNoise(scale).tail(t + 1).upper <= beta, near=0)
    return Fraction(cut + low)


@step
def private_upper_bound(space: Space, *, q: Real, lower: Real, upper: Real, grid: Real, scale: Real) -> Mechanism:
    """A grid point that about a share `q` of the values do not exceed, by a binary search with noisy counts.

    Each step compares how many values lie above the middle of what is left; the number of steps is public.

    Guarantee: pure, steps·max(q, 1 - q)·rows / scale for rows added or removed: every step releases the noisy value of
    (1 - q)·(values at most the point) - q·(values above it). A changed row counts as one removed and one added.
    """
    element, fraction, width = rows_of(space, "private_upper_bound").element, share(q), positive(scale=scale)
    points = public_grid(lower, upper, grid)
    steps = max(1, (points.count - 1).bit_length())
    whole = width * fraction.denominator

    def answer(data: Any, entropy: Entropy) -> int | float:
        placed = np.sort(points.points(values_of(data, element)))
        low, high = 0, points.count - 1
        for _ in range(steps):
            middle = (low + high) // 2
            at_most = int(np.searchsorted(placed, middle, side="right"))
            balance = at_most * fraction.denominator - placed.size * fraction.numerator
            enough = balance + noise.discrete_laplace(whole, entropy) >= 0
            low, high = (low, middle) if enough else (min(middle + 1, high), high)
        return points.read(high)

    def cost(d_in: Distance) -> Cost:
        rows = added_or_removed(space.metric, d_in)
        moved = max(fraction, 1 - fraction) * fraction.denominator * rows
        return Repeated(DiscreteLaplace(scale=whole, sensitivity=int(moved)), steps)

    return Mechanism(
        space,
        answer,
        cost,
        Utility("rank", lambda beta: _search_error(whole, steps, beta) / fraction.denominator),
    )


def _search_error(scale: Fraction, steps: int, beta: Fraction) -> Fraction:
    """No comparison errs for ranks this far off, all steps together, except with probability beta."""
    noise = DiscreteLaplaceNoise(scale)
    return Fraction(least(lambda t: steps * noise.tail(t + 1).upper <= beta, near=int(scale)))
