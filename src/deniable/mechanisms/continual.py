"""A running total of a stream, released after every piece, by a binary tree of noisy partial sums.

Every piece enters one partial sum per level of the tree; every total is read from at most that many. So both the cost and the
error grow with the logarithm of the number of pieces.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NoReturn, assert_never

from deniable.core.distance import Distance, plain
from deniable.core.domain import Lattice
from deniable.core.mechanism import Utility
from deniable.core.transformation import Transformation
from deniable.cost import Cost
from deniable.errors import InvalidArgument, Retired
from deniable.exact import exp, ln, sqrt
from deniable.exact.guards import Real, integer, positive
from deniable.mechanisms.additive import draw
from deniable.mechanisms.gaussian_noise import discrete_gaussian_cost, gaussian_cost
from deniable.mechanisms.laplace_noise import laplace_cost
from deniable.mechanisms.laws import Law
from deniable.mechanisms.norms import Norms
from deniable.mechanisms.streams import StreamMechanism, one_number
from deniable.noise import Entropy

_MOST_CHANGES = 256


class RunningTotal:
    """Takes a number per piece and answers with the noisy total so far; retires after `horizon` pieces.

    State: for each level of the tree the exact and the noisy sum of its last finished block.
    """

    __slots__ = ("_entropy", "_exact", "_horizon", "_lattice", "_noise", "_noisy", "_piece", "_seen")

    def __init__(
        self, piece: Transformation, lattice: Lattice, horizon: int, noise: Callable[[Entropy], int], entropy: Entropy
    ) -> None:
        self._piece, self._lattice, self._horizon, self._noise = piece, lattice, horizon, noise
        self._entropy, self._seen = entropy, 0
        self._exact = [0] * horizon.bit_length()
        self._noisy = [0] * horizon.bit_length()

    def feed(self, piece: Any) -> int | float:
        """Take the next piece; the noisy total of all so far."""
        if self._seen == self._horizon:
            raise Retired(f"this total was made for {self._horizon} pieces and has seen them all")
        self._seen += 1
        level = (self._seen & -self._seen).bit_length() - 1  # the block that ends here
        self._exact[level] = sum(self._exact[:level]) + int(self._piece.function(piece, self._entropy))
        self._noisy[level] = self._exact[level] + self._noise(self._entropy)
        for finer in range(level):
            self._exact[finer] = self._noisy[finer] = 0
        used = (self._noisy[place] for place in range(len(self._noisy)) if self._seen >> place & 1)
        return self._lattice.read(sum(used))

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a running total holds private sums: it cannot be copied or pickled")


def running_total(piece: Transformation, *, horizon: int, scale: Real, law: Law = Law.LAPLACE) -> StreamMechanism:
    """The total of the pieces' numbers after every piece, for at most `horizon` pieces.

    `d_in` is how far two neighbouring streams may differ in *all* pieces together (one purchase: one row in one piece).

    Guarantee: that of the noise on a vector in which a change of s (the piece's stability at d_in) appears once per level of the
    tree: L1 sensitivity s·levels, squared L2 sensitivity s²·levels, levels = the number of binary digits of `horizon`.
    """
    lattice, count = one_number(piece, "running_total"), integer(horizon=horizon, least=1)
    steps, levels = positive(scale=scale) / lattice.step, count.bit_length()

    def cost(d_in: Distance) -> Cost:
        rows = integer(d_in=plain(d_in), least=0)
        moved = int(_spread_out(piece, rows) / lattice.step)
        apart = Norms(levels * min(rows, count) if moved else 0, levels * moved, levels * moved * moved, moved)
        match law:
            case Law.LAPLACE:
                return laplace_cost(steps, apart)
            case Law.GAUSSIAN:
                return gaussian_cost(steps, apart)
            case Law.DISCRETE_GAUSSIAN:
                return discrete_gaussian_cost(steps, apart)
            case _:
                assert_never(law)

    return StreamMechanism(
        piece,
        lambda entropy: RunningTotal(piece, lattice, count, lambda source: draw(law, steps, source), entropy),
        cost,
        Utility(
            "value of each total", lambda beta: sum_error(law, scale=steps, count=levels, beta=beta) * lattice.step
        ),
    )


def _spread_out(piece: Transformation, rows: int) -> Fraction:
    """The most all numbers together move when `rows` changes are spread over the pieces in the worst way."""
    if not rows <= _MOST_CHANGES:
        raise InvalidArgument(f"running_total is priced for at most {_MOST_CHANGES} changes, got d_in = {rows}")
    alone = [plain(piece.stability_map(Fraction(k))) for k in range(rows + 1)]
    worst = [Fraction(0)] * (rows + 1)
    for k in range(1, rows + 1):
        worst[k] = max(alone[first] + worst[k - first] for first in range(1, k + 1))
    return worst[rows]


def sum_error(law: Law, *, scale: Fraction, count: int, beta: Fraction) -> Fraction:
    """A bound, rounded up, that the sum of up to `count` independent draws exceeds with probability at most `beta`.

    Gaussian laws: the discrete one is subgaussian, the rounded one is a normal plus at most half a step per draw. Laplace:
    Chernoff's bound, valid at every tilt below 1/scale, taken near the best one.
    """
    rarity = ln(2 / beta).upper
    match law:
        case Law.LAPLACE:
            tilt = _tilt(scale, count, float(rarity))
            q, up, down = exp(-1 / scale, 96), exp(tilt, 96), exp(-tilt, 96)
            moment = (1 - q) ** 2 / ((1 - q * up) * (1 - q * down))
            return (rarity + count * ln(moment).upper) / tilt
        case Law.GAUSSIAN:
            return sqrt(2 * count * rarity).upper * scale + Fraction(count, 2)
        case Law.DISCRETE_GAUSSIAN:
            return sqrt(2 * count * rarity).upper * scale
        case _:
            assert_never(law)


def _tilt(scale: Fraction, count: int, rarity: float) -> Fraction:
    """Close to the tilt that makes the bound smallest; any value in (0, 1/scale) is sound."""
    width = float(scale)
    q = math.exp(-1 / width)

    def bound(share: float) -> float:
        tilt = share / width
        moment = (1 - q) ** 2 / ((1 - q * math.exp(tilt)) * (1 - q * math.exp(-tilt)))
        return (rarity + count * math.log(moment)) / tilt

    shares = [k / 64 for k in range(1, 64)]
    return Fraction(min(shares, key=bound)) / scale
