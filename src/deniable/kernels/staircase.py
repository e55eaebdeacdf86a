"""Staircase noise on whole numbers: flat stairs as wide as what one unit can do, each exp(-rate) times as likely as the one before.

For one number of a known sensitivity no other noise of the same epsilon has a smaller mean error (Geng and Viswanath 2014). All of
it is exact: draw, mass, tail, loss. Proof and cost: `docs/theory/staircase.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.cost import Bounded, Cost
from deniable.exact import Interval, exp
from deniable.exact.guards import integer, positive
from deniable.kernels.integer_noise import Apart
from deniable.kernels.laws import least
from deniable.noise import Entropy
from deniable.noise.weighted_choice import weighted_choice

_BITS = 128


@dataclass(frozen=True, slots=True)
class Staircase:
    """P(k) is proportional to exp(-rate · stair(|k|)), the middle stair reaching to `tread` - 1 and every other one `width` wide.

    Guarantee: `cost`, `tail`, `mass`, `loss` and `error` are those of exactly the law that `one` follows.
    """

    width: int
    tread: int
    rate: Fraction

    def __post_init__(self) -> None:
        integer(width=self.width, least=1)
        integer(tread=self.tread, least=1, greatest=self.width)
        positive(rate=self.rate)

    @classmethod
    def best(cls, *, width: int, rate: Fraction) -> Staircase:
        """The tread of the smallest mean error where steps are small: width / (1 + exp(rate / 2)), rounded up."""
        share = width / (1 + exp(rate / 2, _BITS))
        return cls(width, min(width, max(1, -int(-share.upper // 1))), rate)

    def stair(self, at: int) -> int:
        """On which stair a value lies, the middle one being 0."""
        return (abs(at) + self.width - self.tread) // self.width

    def cost(self, apart: Apart) -> Cost:
        """What adding this to whole numbers costs when one unit moves them by at most `apart`: rate for each stair crossed."""
        each = -(-apart.linf // self.width)
        stairs = min(apart.l0 * each, (apart.l1 + apart.l0 * (self.width - 1)) // self.width) if apart.linf else 0
        return Bounded(epsilon=self.rate * stairs)

    def one(self, entropy: Entropy) -> int:
        """One draw."""
        return staircase_draw(self, entropy)

    def draw(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """That many independent draws."""
        return np.array([self.one(entropy) for _ in range(count)], dtype=np.int64)

    def mass(self, at: int) -> Interval:
        """P[noise = at]."""
        return exp(-self.rate * self.stair(at), _BITS) / self._total

    def tail(self, at_least: int) -> Interval:
        """P[noise >= at_least]."""
        if at_least <= 0:
            return 1 - self.tail(1 - at_least)
        stair = self.stair(at_least)
        left = self.tread + stair * self.width - at_least  # on this stair, its first place and those further out
        ratio = exp(-self.rate, _BITS)
        return exp(-self.rate * stair, _BITS) * (left + self.width * ratio / (1 - ratio)) / self._total

    def loss(self, *, near: int, far: int) -> Interval:
        """ln P[noise = near] / P[noise = far], exactly."""
        return Interval.point(self.rate * (self.stair(far) - self.stair(near)))

    def error(self, beta: Fraction, *, count: int = 1) -> int:
        """The least t with P[some of `count` draws is beyond t] certainly at most beta."""
        return least(
            lambda t: (1 - 2 * self.tail(t + 1).upper) ** count >= 1 - beta, near=int(2 / self.rate * self.width)
        )

    @property
    def _total(self) -> Interval:
        """What all whole numbers weigh, in weights of zero: 2·tread - 1 in the middle, and a geometric series on each side."""
        ratio = exp(-self.rate, _BITS)
        return 2 * self.tread - 1 + 2 * self.width * ratio / (1 - ratio)


def staircase_draw(kind: Staircase, entropy: Entropy) -> int:
    """One whole number of this law; drawn again, at most every other time, where zero came out with a minus sign."""
    while (value := attempt(kind, entropy)) is None:
        pass
    return value


def attempt(kind: Staircase, entropy: Entropy) -> int | None:
    """How many pairs of parts out, which part of a pair, where in it, and a side; None for zero on the negative side."""
    parts = np.array([kind.tread, kind.width - kind.tread], dtype=np.int64)
    out = noise.geometric(1 / kind.rate, entropy)
    part = weighted_choice(np.array([0, -1]), counts=parts, scale=1 / kind.rate, entropy=entropy)
    within = noise.uniform_below(int(parts[part]), entropy)
    is_negative = noise.bernoulli(Fraction(1, 2), entropy)
    size = out * kind.width + (kind.tread if part else 0) + within
    return (-size if is_negative else size) if size or not is_negative else None
