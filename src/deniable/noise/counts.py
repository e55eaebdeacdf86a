"""How often to try: truncated negative binomial and Poisson counts, exact for all rational parameters.

Neighbouring masses of both laws have a rational ratio, so a ladder of whole numbers gives lower bounds of all of them, up to one
common factor, and no power, logarithm or gamma function is ever needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from deniable.errors import InvalidArgument
from deniable.exact.guards import open_probability, positive, rational, shown
from deniable.noise.laplace import Digits
from deniable.noise.table import CACHED, AliasTable
from deniable.noise.table_laws import normalised

if TYPE_CHECKING:
    from deniable.noise.entropy import Entropy

_GUARD = 40
_RAREST = Fraction(1, 10_000)
_MOST = Fraction(10_000)


def truncated_negative_binomial(shape: int | Fraction, gamma: int | Fraction, entropy: Entropy) -> int:
    """One integer k >= 1 with P(k) proportional to (1 - gamma)**k times the product of (i + shape)/(i + 1) for i from 1 to k - 1.

    Shape 1 is the geometric law, shape 0 the logarithmic one; any shape above -1 will do.
    Guarantee: the law is exact; the work does not depend on what is drawn.
    """
    return entropy.next_of(_negative_binomial(rational(shape=shape), open_probability(gamma=gamma), entropy.word_bits))


def poisson(mean: int | Fraction, entropy: Entropy) -> int:
    """One integer k >= 0 with P(k) = exp(-mean) mean**k / k!.

    Guarantee: the law is exact; the work does not depend on what is drawn.
    """
    return entropy.next_of(_poisson(positive(mean=mean), entropy.word_bits))


class Ratios(Protocol):
    """A law on 0, 1, 2, ... given by the ratios of neighbouring masses."""

    def ratio(self, i: int) -> Fraction:
        """P(i + 1)/P(i)."""

    def most(self, i: int) -> Fraction:
        """No ratio from i on is larger."""


@dataclass(frozen=True, slots=True)
class NegativeBinomial:
    """Outcome i stands for i + 1 tries."""

    shape: Fraction
    gamma: Fraction

    def ratio(self, i: int) -> Fraction:
        return (1 - self.gamma) * (i + 1 + self.shape) / (i + 2)

    def most(self, i: int) -> Fraction:
        return max(self.ratio(i), 1 - self.gamma)

    def bounds(self, bits: int) -> list[int]:
        return ladder(self, bits)


@dataclass(frozen=True, slots=True)
class Poisson:
    """Outcome i stands for i tries."""

    mean: Fraction

    def ratio(self, i: int) -> Fraction:
        return self.mean / (i + 1)

    def most(self, i: int) -> Fraction:
        return self.ratio(i)

    def bounds(self, bits: int) -> list[int]:
        return ladder(self, bits)


def ladder(law: Ratios, bits: int) -> list[int]:
    """Integers at most 2**bits * P(i); outcomes beyond the last together have less than one unit.

    Rung by rung the mass is rounded down, and `loss` bounds what it may lack; both grow or shrink by the same ratio.
    """
    mass, loss, most_lost, total, masses = 1 << (bits + _GUARD), 0, 0, 0, list[int]()
    while True:
        i, ratio = len(masses), law.ratio(len(masses))
        masses.append(mass)
        total += mass
        most_lost = max(most_lost, loss)
        mass = mass * ratio.numerator // ratio.denominator
        loss = -(-loss * ratio.numerator // ratio.denominator) + 1
        steepest = law.most(i + 1)
        if steepest < 1:
            rest = -(-(mass + loss) * steepest.denominator // (steepest.denominator - steepest.numerator))
            if rest << bits <= total:
                return normalised(masses, loss=most_lost, rest=rest, bits=bits)


@lru_cache(maxsize=CACHED)
def _negative_binomial(shape: Fraction, gamma: Fraction, word_bits: int) -> Digits:
    if not shape > -1:
        raise InvalidArgument(f"shape must be above -1, got {shown(shape)}")
    if not gamma >= _RAREST:
        raise InvalidArgument(f"gamma must be at least 1/10000 (more tries than anyone waits for), got {shown(gamma)}")
    return Digits(AliasTable(NegativeBinomial(shape, gamma), word_bits=word_bits, label=lambda i: i + 1), [], bits=0)


@lru_cache(maxsize=CACHED)
def _poisson(mean: Fraction, word_bits: int) -> Digits:
    if not mean <= _MOST:
        raise InvalidArgument(f"mean must be at most 10000 (more tries than anyone waits for), got {shown(mean)}")
    return Digits(AliasTable(Poisson(mean), word_bits=word_bits), [], bits=0)
