"""Discrete Laplace, truncated Laplace and geometric noise, exact for every rational scale.

A geometric variable written in blocks has independent digits: G = top * width + low, where top is geometric, low is a
geometric law cut at the block's width, and both are drawn from tables. The two-sided law is the same with a sign: a
variable X >= 0 is G, a variable X < 0 is -1 - G, and P(X < 0) = q / (1 + q). In two's complement -1 - G is the bitwise
complement of G, so a draw is a few table look-ups and shifts, the same for every outcome.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from deniable.exact.guards import integer
from deniable.noise.redraw import NARROW_BITS, batch_of, redrawn
from deniable.noise.table import CACHED, AliasTable, TableLaw, hashable, table_scale, vector_scale
from deniable.noise.table_laws import Blocks, Geometric, signed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable.noise.entropy import Entropy

TOP_SCALE = 23
"""The top digit's table has about 90 outcomes per unit of scale; more than 2,000 leave the fast cache."""
DIGIT_BITS = 11


def discrete_laplace(scale: int | Fraction, entropy: Entropy) -> int:
    """One integer k with P(k) = (1 - q)/(1 + q) * q**|k|, q = exp(-1/scale).

    Guarantee: the law is exact; the work does not depend on what is drawn.
    """
    return entropy.next_of(_laplace(hashable(scale), None, entropy.word_bits))


def discrete_laplaces(scale: int | Fraction, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """`count` independent draws of `discrete_laplace`."""
    return _laplace(vector_scale(scale), None, entropy.word_bits).draws(integer(count=count, least=0), entropy)


def truncated_laplace(scale: int | Fraction, radius: int, entropy: Entropy) -> int:
    """One integer k with |k| <= radius and P(k) proportional to exp(-|k|/scale).

    Guarantee: the law is exact; the number of redraws is independent of what is kept.
    """
    return entropy.next_of(_laplace(hashable(scale), integer(radius=radius, least=0), entropy.word_bits))


def truncated_laplaces(scale: int | Fraction, radius: int, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """`count` independent draws of `truncated_laplace`."""
    sampler = _laplace(vector_scale(scale), integer(radius=radius, least=0), entropy.word_bits)
    return sampler.draws(integer(count=count, least=0), entropy)


def geometric(scale: int | Fraction, entropy: Entropy) -> int:
    """One integer g >= 0 with P(g) = (1 - q) * q**g, q = exp(-1/scale).

    Guarantee: the law is exact; the work does not depend on what is drawn.
    """
    return entropy.next_of(_geometric(hashable(scale), entropy.word_bits))


def geometrics(scale: int | Fraction, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """`count` independent draws of `geometric`."""
    return _geometric(vector_scale(scale), entropy.word_bits).draws(integer(count=count, least=0), entropy)


class Digits:
    """A top digit (signed or not) and equal lower digits; values beyond `radius` are drawn again."""

    __slots__ = ("_bits", "_lower", "_radius", "_top")

    def __init__(self, top: AliasTable, lower: list[AliasTable], *, bits: int, radius: int | None = None) -> None:
        self._top, self._lower, self._bits, self._radius = top, lower, bits, radius

    def draw(self, entropy: Entropy) -> int:
        """One integer."""
        value = None
        while value is None:
            value = self.proposal(entropy)
        return value

    def proposal(self, entropy: Entropy) -> int | None:
        """One integer, or None where it lies outside the range."""
        value = self._top.draw(entropy)
        mask = ((1 << self._bits) - 1) if value < 0 else 0
        for table in self._lower:
            value = value << self._bits | (table.draw(entropy) ^ mask)
        return value if self._radius is None or abs(value) <= self._radius else None

    def batch(self, entropy: Entropy) -> list[int]:
        """Integers for scalar draws."""
        return batch_of(self, entropy, narrow=self._bits * len(self._lower) <= NARROW_BITS)

    def draws(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """`count` integers."""
        return redrawn(count, lambda size: self.proposals(size, entropy))

    def proposals(self, size: int, entropy: Entropy) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
        """Values and which of them are refused; None where none can be."""
        values = self._top.draws(size, entropy)
        if self._lower:
            mask = values >> 63
            mask &= (1 << self._bits) - 1
        for table in self._lower:
            values <<= self._bits
            digit = table.draws(size, entropy)
            digit ^= mask
            values |= digit
        return values, None if self._radius is None else np.abs(values) > self._radius


def layout(reach: Fraction) -> tuple[int, int]:
    """How many lower digits, of how many bits, bring a top digit of this reach down to TOP_SCALE."""
    bits = max(0, math.ceil(reach / TOP_SCALE) - 1).bit_length()
    digits = -(-bits // DIGIT_BITS)
    return digits, -(-bits // digits) if digits else 0


def lower_tables(scale: Fraction, *, digits: int, bits: int, word_bits: int) -> list[AliasTable]:
    """The lower digits' tables, highest first."""
    laws: list[TableLaw] = [Geometric((1 << (bits * j)) / scale, size=1 << bits) for j in reversed(range(digits))]
    return [AliasTable(law, word_bits=word_bits) for law in laws]


@lru_cache(maxsize=CACHED)
def _laplace(given: int | Fraction, radius: int | None, word_bits: int) -> Digits:
    scale = table_scale(given)
    digits, bits = layout(scale if radius is None else min(scale, Fraction(radius, 40)))
    width = 1 << (digits * bits)
    sides = None if radius is None else (radius // width + 1, (radius - 1) // width + 1)
    top = AliasTable(Blocks(scale, width, sides=sides), word_bits=word_bits, label=signed)
    lower = lower_tables(scale, digits=digits, bits=bits, word_bits=word_bits)
    return Digits(top, lower, bits=bits, radius=radius if lower else None)  # a single table knows its range


@lru_cache(maxsize=CACHED)
def _geometric(given: int | Fraction, word_bits: int) -> Digits:
    scale = table_scale(given)
    digits, bits = layout(scale / 2)
    top = AliasTable(Geometric((1 << (digits * bits)) / scale), word_bits=word_bits)
    return Digits(top, lower_tables(scale, digits=digits, bits=bits, word_bits=word_bits), bits=bits)
