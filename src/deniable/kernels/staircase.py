"""Staircase noise on whole numbers: flat stairs as wide as what one unit can do, each exp(-rate) times as likely as the one before.

For one number of a known sensitivity no other noise of the same epsilon has a smaller mean error (Geng and Viswanath 2014). All of
it is exact: draw, mass, tail, loss. Proof and cost: `docs/theory/staircase.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.cost import Bounded, Cost
from deniable.exact import Interval, exp
from deniable.exact.guards import integer, positive
from deniable.kernels.laws import Law, SymmetricNoise
from deniable.kernels.unit_sensitivity import Sensitivity
from deniable.noise import Entropy
from deniable.noise.redraw import Proposals, redrawn
from deniable.noise.table import VECTOR_LIMIT, vector_scale
from deniable.noise.uniform import uniforms_within
from deniable.noise.weighted_choice import weighted_choice, weighted_choices

_BITS = 128
_FLAT = 64
"""A rate beyond which the best middle stair is one step wide, whatever the width."""


@dataclass(frozen=True, slots=True)
class Staircase(SymmetricNoise):
    """P(k) is proportional to exp(-rate · stair(|k|)), the middle stair reaching to `tread` - 1 and every other one `width` wide.

    Guarantee: `cost`, `tail`, `mass`, `loss` and `error` are those of exactly the law that `one` follows.
    """

    width: int
    tread: int
    rate: Fraction

    law = Law.STAIRCASE
    log_concave = False

    def __post_init__(self) -> None:
        integer(width=self.width, least=1)
        integer(tread=self.tread, least=1, greatest=self.width)
        positive(rate=self.rate)

    @classmethod
    def best(cls, *, width: int, rate: Fraction) -> Staircase:
        """The tread of the smallest mean error where steps are small: width / (1 + exp(rate / 2)), rounded up."""
        share = width / (1 + exp(min(rate / 2, Fraction(_FLAT)), _BITS))
        return cls(width, min(width, max(1, -int(-share.upper // 1))), rate)

    @property
    def scale(self) -> Fraction:
        """The scale of the Laplace noise that costs as much."""
        return self.width / self.rate

    @property
    def fits_vectors(self) -> bool:
        return self.width <= VECTOR_LIMIT and self.scale <= VECTOR_LIMIT

    def stair(self, at: int) -> int:
        """On which stair a value lies, the middle one being 0."""
        return (abs(at) + self.width - self.tread) // self.width

    def cost(self, apart: Sensitivity) -> Cost:
        """The rate for each stair crossed."""
        return Bounded(epsilon=self.rate * stairs_crossed(apart, self.width))

    def one(self, entropy: Entropy) -> int:
        return staircase_draw(self, entropy)

    def draw(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        return staircase_draws(self, count, entropy)

    def mass(self, at: int) -> Interval:
        return exp(-self.rate * self.stair(at), _BITS) / self._total

    def right_tail(self, at_least: int) -> Interval:
        stair = self.stair(at_least)
        left = self.tread + stair * self.width - at_least  # on this stair, its first place and those further out
        ratio = exp(-self.rate, _BITS)
        return exp(-self.rate * stair, _BITS) * (left + self.width * ratio / (1 - ratio)) / self._total

    def loss(self, *, near: int, far: int) -> Interval:
        return Interval.point(self.rate * (self.stair(far) - self.stair(near)))

    @property
    def variance(self) -> Fraction:
        """Rounded up. Each pair of parts further out is a copy of the first, shifted by `width` and `ratio` times as likely."""
        ratio, first, last = exp(-self.rate, _BITS), range(self.tread), range(self.tread, self.width)
        many, ones, squares = (_powers(first, power) + ratio * _powers(last, power) for power in (0, 1, 2))
        far = self.width**2 * many * ratio * (1 + ratio) / (1 - ratio) ** 3
        near = 2 * self.width * ones * ratio / (1 - ratio) ** 2 + squares / (1 - ratio)
        return (2 * (far + near) / self._total).rounded(_BITS).upper

    def mean_size(self, shift: float) -> float:
        """Right at a shift of nought and far out, by an exponential fall in between."""
        ratio, first, last = exp(-self.rate, _BITS), range(self.tread), range(self.tread, self.width)
        many, ones = (_powers(first, power) + ratio * _powers(last, power) for power in (0, 1))
        mean = 2 * (self.width * many * ratio / (1 - ratio) ** 2 + ones / (1 - ratio)) / self._total
        size, own = abs(shift), float(mean.upper)
        return size + own * math.exp(-size / own)

    def sum_error(self, *, count: int, beta: Fraction) -> Fraction:
        """Each draw within its own error: the probability is shared among them."""
        return Fraction(count * self.error(beta / count))

    def weighted_error(self, *, deviation: Fraction, reach: Fraction, beta: Fraction) -> Fraction | None:
        return None

    def near_error(self, beta: float) -> int:
        return int(float(self.scale) * -math.log(beta))

    @property
    def _total(self) -> Interval:
        """What all whole numbers weigh, in weights of zero: 2·tread - 1 in the middle, and a geometric series on each side."""
        ratio = exp(-self.rate, _BITS)
        return 2 * self.tread - 1 + 2 * self.width * ratio / (1 - ratio)


def stairs_crossed(apart: Sensitivity, width: int) -> int:
    """How many stairs of this width all numbers together cross at most when they move by `apart`."""
    each = -(-apart.linf // width)
    return min(apart.l0 * each, (apart.l1 + apart.l0 * (width - 1)) // width) if apart.linf else 0


def _powers(places: range, power: int) -> Fraction:
    """The sum of the places, each to a power of 0, 1 or 2."""

    def below(n: int) -> int:
        return (n, n * (n - 1) // 2, (n - 1) * n * (2 * n - 1) // 6)[power]

    return Fraction(below(places.stop) - below(places.start))


def staircase_draws(kind: Staircase, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """Many independent draws; noise that could leave 64 bits is refused."""
    vector_scale(max(kind.scale, Fraction(kind.width)))
    return redrawn(count, lambda size: attempts(kind, size, entropy))


def attempts(kind: Staircase, size: int, entropy: Entropy) -> Proposals:
    """As `attempt`, many at once; zeros on the negative side are refused."""
    parts = np.array([kind.tread, kind.width - kind.tread], dtype=np.int64)
    out = noise.geometrics(1 / kind.rate, size, entropy)
    scores, counts = np.tile(np.array([0, -1]), (size, 1)), np.tile(parts, (size, 1))
    part = weighted_choices(scores, counts=counts, scale=1 / kind.rate, entropy=entropy)
    within = uniforms_within(parts[part], entropy)
    is_negative = ~noise.bernoullis(Fraction(1, 2), size, entropy)
    sizes = out * kind.width + part * kind.tread + within
    return np.where(is_negative, -sizes, sizes), is_negative & (sizes == 0)


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
    is_negative = not noise.bernoulli(Fraction(1, 2), entropy)
    size = out * kind.width + (kind.tread if part else 0) + within
    return (-size if is_negative else size) if size or not is_negative else None
