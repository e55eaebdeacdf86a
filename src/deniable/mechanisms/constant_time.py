"""Discrete Laplace noise between public bounds, drawn with the same work whatever the data and whatever the noise.

One uniform number is compared with every entry of one table: no loop, no redraw and no memory access depends on a secret.
A table of finite precision rounds the law, so the loss is computed from the rounded table, exactly, and rounded up.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.cells import whole
from deniable.core.distance import Distance, plain
from deniable.core.domain import Lattice
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.metric import AbsoluteDistance
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import Bounded, Cost
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact import exp, ln
from deniable.exact.guards import Real, positive
from deniable.kernels.laws import least
from deniable.noise import Entropy

_WIDEST = 1 << 16
_STEEPEST = 1000
_GUARD = 128
"""Bits beyond those the least likely answer needs: the loss exceeds that of the unrounded law by about 2**-120."""


@step
def bounded_geometric(space: Space, *, scale: Real) -> Mechanism:
    """Discrete Laplace noise kept between the public bounds of the number, in constant time.

    Guarantee: pure; epsilon is the exact loss of the table that is drawn from, rounded up: sensitivity / scale and no more than
    about 10**-30 of it above.
    Edge cases: values beyond the bounds count as the bounds; ranges above 65 535 steps or 1000 scales are refused.
    """
    low, high, width = _bounds(space)
    table = _table(positive(scale=scale) / width, high - low)
    lattice = Lattice(width)

    def answer(data: Any, entropy: Entropy) -> Any:
        inside = min(max(whole(data) or 0, low), high)
        return lattice.read(min(max(inside + table.draw(entropy), low), high))

    def cost(d_in: Distance) -> Cost:
        return Bounded(epsilon=table.loss * min(math.floor(plain(d_in) / width), high - low))

    return Mechanism(space, answer, cost, Utility("value", lambda beta: table.error(beta) * width))


def _bounds(space: Space) -> tuple[int, int, Fraction]:
    domain = space.domain
    if not (
        isinstance(domain, Lattice) and domain.lower is not None and domain.upper is not None and not domain.missing
    ):
        raise SpaceMismatch(f"bounded_geometric needs a number with public lower and upper bounds, got {domain!r}")
    if not isinstance(space.metric, AbsoluteDistance):
        raise SpaceMismatch(f"bounded_geometric compares numbers by AbsoluteDistance, got {space.metric!r}")
    return domain.lower, domain.upper, domain.step


class GeometricTable:
    """P[noise <= z] for z = -reach, ..., reach - 1 as whole numbers of `bits` bits; the ends hold the whole tails."""

    __slots__ = ("bits", "cumulative", "edges", "loss", "reach")

    def __init__(self, scale: Fraction, reach: int) -> None:
        self.reach, self.bits = reach, -(-(_GUARD + math.ceil(reach / scale * 3 / 2)) // 64) * 64
        below = self._lower_tails(scale)
        whole = 1 << self.bits
        self.cumulative = [*below, *(whole - tail for tail in reversed(below))]
        self.edges = np.array([_words(edge, self.bits) for edge in self.cumulative], dtype=np.uint64).reshape(
            2 * reach, self.bits // 64
        )
        self.loss = self._loss()

    def _lower_tails(self, scale: Fraction) -> list[int]:
        """q**k / (1 + q) for k = reach, ..., 1, q = exp(-1/scale), rounded down."""
        q = int(exp(-1 / scale, self.bits + 8).lower * (1 << self.bits))
        tail, tails = (q << self.bits) // ((1 << self.bits) + q), []
        for _ in range(self.reach):
            tails.append(tail)
            tail = tail * q >> self.bits
        return tails[::-1]

    def masses(self) -> list[int]:
        """P[noise = z] for z = -reach, ..., reach, in units of 2**-bits."""
        sums = [0, *self.cumulative, 1 << self.bits]
        return [after - before for before, after in pairwise(sums)]

    def _loss(self) -> Fraction:
        """ln of the largest ratio between the chances of one answer from two numbers one step apart, rounded up.

        An inner answer has the chance of one noise value other than the two ends, an answer at a bound that of a whole
        tail; the table is symmetric, so one bound is enough.
        """
        inner = self.masses()[1:-1]
        tails = self.cumulative[: self.reach + 1]
        pairs = [*pairwise(inner), *pairwise(tails)]
        worst = max((Fraction(max(a, b), min(a, b)) for a, b in pairs), default=Fraction(1))
        return ln(worst, 160).upper

    def error(self, beta: Fraction) -> Fraction:
        """The smallest error that is exceeded with chance at most `beta`; keeping to the bounds only brings answers closer."""
        whole = 1 << self.bits
        rare = least(lambda t: t >= self.reach or Fraction(2 * self.cumulative[self.reach - t - 1], whole) <= beta)
        return Fraction(rare)

    def draw(self, entropy: Entropy) -> int:
        """Noise: how many edges lie at or below a uniform number, every edge compared every time.

        The number is turned so that zero bits draw zero noise.
        """
        start = self.cumulative[self.reach - 1] if self.reach else 0
        point = _words((entropy.bits(self.bits) + start) & ((1 << self.bits) - 1), self.bits)
        above: NDArray[np.bool_] = np.zeros(2 * self.reach, dtype=np.bool_)
        for place in reversed(range(len(point))):
            column, word = self.edges[:, place], np.uint64(point[place])
            above = (column > word) | ((column == word) & above)
        return self.reach - int(np.count_nonzero(above))


def _words(value: int, bits: int) -> list[int]:
    """The value's 64-bit digits, highest first."""
    return [value >> shift & (1 << 64) - 1 for shift in range(bits - 64, -1, -64)]


@lru_cache(maxsize=64)
def _table(scale: Fraction, reach: int) -> GeometricTable:
    if not (reach < _WIDEST and reach <= _STEEPEST * scale):
        raise InvalidArgument(
            f"bounded_geometric keeps a table of the whole range: {reach} steps at a scale of {float(scale):g} steps are too "
            f"many (below {_WIDEST} and {_STEEPEST} scales); use a coarser grid, a larger scale, or laplace"
        )
    return GeometricTable(scale, reach)
