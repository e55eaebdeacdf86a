"""Which laws of noise there are, and what follows for each of them from its tail.

Everything is counted in lattice steps. A probability is an `Interval` that holds the exact one; an error is the smallest
number of steps that is certainly enough.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, assert_never

import numpy as np
from numpy.typing import NDArray

from deniable.cost import Cost
from deniable.exact import Interval
from deniable.kernels.unit_sensitivity import Sensitivity
from deniable.noise import Entropy
from deniable.noise.table import VECTOR_LIMIT


class Law(Enum):
    """Which noise is asked for; with a scale it is one of the kinds of `deniable.kernels.Noise`."""

    LAPLACE = "discrete Laplace"
    GAUSSIAN = "rounded Gaussian"
    DISCRETE_GAUSSIAN = "discrete Gaussian"
    STAIRCASE = "staircase"

    @property
    def pure(self) -> bool:
        """Whether noise of this law gives an epsilon without a delta."""
        match self:
            case Law.LAPLACE | Law.STAIRCASE:
                return True
            case Law.GAUSSIAN | Law.DISCRETE_GAUSSIAN:
                return False
            case _:
                assert_never(self)


class SymmetricNoise(ABC):
    """What every kind of noise answers: whole steps, each as likely as its negative, the less likely the larger.

    Guarantee: `cost`, `tail`, `mass`, `loss` and `error` are those of exactly the law that `one` and `draw` follow.
    """

    __slots__ = ()

    law: ClassVar[Law]
    log_concave: ClassVar[bool]
    """Whether the logarithm of the mass is concave: what a threshold may use of contributions that are bounded together."""

    @property
    @abstractmethod
    def scale(self) -> Fraction:
        """The scale, in steps."""

    @abstractmethod
    def cost(self, apart: Sensitivity) -> Cost:
        """What adding this to whole numbers costs when one unit moves them by at most `apart`."""

    @abstractmethod
    def one(self, entropy: Entropy) -> int:
        """One draw."""

    @abstractmethod
    def draw(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """That many independent draws."""

    def tail(self, at_least: int) -> Interval:
        """P[noise >= at_least], the mass at `at_least` included."""
        return self.right_tail(at_least) if at_least > 0 else 1 - self.right_tail(1 - at_least)

    @abstractmethod
    def right_tail(self, at_least: int) -> Interval:
        """P[noise >= at_least] for at_least >= 1."""

    @abstractmethod
    def mass(self, at: int) -> Interval:
        """P[noise = at]."""

    @abstractmethod
    def loss(self, *, near: int, far: int) -> Interval:
        """ln P[noise = near] / P[noise = far]: what one answer tells about two true values."""

    @property
    @abstractmethod
    def variance(self) -> Fraction:
        """The variance, near enough for the weights of a fit."""

    @abstractmethod
    def mean_size(self, shift: float) -> float:
        """The mean of |shift + noise|: a forecast."""

    @abstractmethod
    def sum_error(self, *, count: int, beta: Fraction) -> Fraction:
        """A bound, rounded up, that the sum of up to `count` independent draws exceeds with probability at most `beta`."""

    @abstractmethod
    def weighted_error(self, *, deviation: Fraction, reach: Fraction, beta: Fraction) -> Fraction | None:
        """A bound, rounded up, that a weighted sum of such draws exceeds with probability at most beta; None if none is known.

        `deviation` is the root of the summed variances with squared weights, `reach` the sum of the absolute weights.
        """

    @abstractmethod
    def near_error(self, beta: float) -> int:
        """A guess at `error`, which saves time."""

    @property
    def fits_vectors(self) -> bool:
        """Whether many draws at once stay within 64 bits."""
        return self.scale <= VECTOR_LIMIT

    def beyond(self, error: int) -> Interval:
        """P[|noise| > error]."""
        return 2 * self.tail(error + 1)

    def error(self, beta: Fraction, *, count: int = 1) -> int:
        """The least t with P[some of `count` independent draws is beyond t] certainly at most beta."""
        return _error(self, beta, count)

    def seldom_reached(self, beta: Fraction) -> int:
        """The least whole number that noise certainly reaches with probability at most `beta`."""
        return least(lambda t: self.tail(t).upper <= beta, near=self.near_error(chance(beta)))


def chance(beta: Fraction | float) -> float:
    """A probability that floats can take the logarithm of."""
    return min(max(float(beta), 1e-300), 0.999)


@lru_cache(maxsize=4096)
def _error(kind: SymmetricNoise, beta: Fraction, count: int) -> int:
    near = kind.near_error(chance(beta / max(count, 1)))
    return least(lambda t: (1 - kind.beyond(t).upper) ** count >= 1 - beta, near=near)


def least(holds: Callable[[int], bool], *, near: int = 0) -> int:
    """The smallest whole number >= 0 from which `holds` is true on; `near` is a guess that saves time."""
    high, stride = max(near, 0), 1
    while not holds(high):
        high, stride = high + stride, stride * 2
    low, stride = high - 1, 1
    while low >= 0 and holds(low):
        high, low, stride = low, low - stride, stride * 2
    low = max(low, -1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
