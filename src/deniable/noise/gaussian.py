"""Gaussian noise on the integers, exact for every rational scale.

`rounded_gaussian` is a continuous normal variable rounded to the nearest integer: the default Gaussian, since whatever
holds for the continuous mechanism holds for it by post-processing. `discrete_gaussian` has P(k) ~ exp(-k**2/(2 scale**2)).
Small scales are one table; larger ones are drawn under a step function.

There the line is cut into blocks of 2**t lattice steps, at least 64 blocks to one scale. A proposal is a block, drawn from a
table with weight exp(-near**2/(2 scale**2)) (near: the block's least distance from zero), and a uniform position x in it;
it is kept with probability exp(-(x**2 - near**2)/(2 scale**2)), about 99 times in 100. For the rounded Gaussian x is a
real number, of which some bits are read and more only when they matter; for the discrete Gaussian x is a lattice point.
Floating point decides only where its certified error leaves no doubt (`docs/theory/step-sampler.md`); exact arithmetic
decides the rest, with as many more bits as it takes. Every proposal costs the same work, and the number of proposals is
independent of what is kept.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from deniable.exact import exp
from deniable.exact.guards import integer
from deniable.noise.redraw import NARROW_BITS, batch_of, drawn, redrawn
from deniable.noise.series import Number, exp_series, horner
from deniable.noise.table import CACHED, AliasTable, TableLaw, hashable, table_scale, vector_scale
from deniable.noise.table_laws import DiscreteGaussianLaw, RoundedGaussianLaw, Steps, signed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable.noise.entropy import Entropy


TABLE_SCALE = 200
"""One table has about 19 outcomes per unit of scale."""
_BLOCKS_PER_SCALE = 64
_FLOAT_ERROR = 2.0**-40
"""More than the rounding errors of one decision, which stay below 2**-43."""


def rounded_gaussian(scale: int | Fraction, entropy: Entropy) -> int:
    """One integer k with P(k) = Phi((k + 1/2)/scale) - Phi((k - 1/2)/scale).

    Guarantee: the law is exact; the work does not depend on what is drawn.
    """
    return entropy.next_of(_rounded(hashable(scale), entropy.word_bits))


def rounded_gaussians(scale: int | Fraction, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """`count` independent draws of `rounded_gaussian`."""
    return _rounded(vector_scale(scale), entropy.word_bits).draws(integer(count=count, least=0), entropy)


def discrete_gaussian(scale: int | Fraction, entropy: Entropy) -> int:
    """One integer k with P(k) proportional to exp(-k**2 / (2 scale**2)).

    Guarantee: the law is exact; the work does not depend on what is drawn.
    """
    return entropy.next_of(_discrete(hashable(scale), entropy.word_bits))


def discrete_gaussians(scale: int | Fraction, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """`count` independent draws of `discrete_gaussian`."""
    return _discrete(vector_scale(scale), entropy.word_bits).draws(integer(count=count, least=0), entropy)


def truncated_gaussian(scale: int | Fraction, radius: int, entropy: Entropy) -> int:
    """One integer k with |k| <= radius and P(k) proportional to Phi((k + 1/2)/scale) - Phi((k - 1/2)/scale).

    Guarantee: the law is exact; the number of redraws is independent of what is kept.
    """
    return entropy.next_of(_rounded(hashable(scale), entropy.word_bits, integer(radius=radius, least=0)))


def truncated_gaussians(scale: int | Fraction, radius: int, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """`count` independent draws of `truncated_gaussian`."""
    sampler = _rounded(vector_scale(scale), entropy.word_bits, integer(radius=radius, least=0))
    return sampler.draws(integer(count=count, least=0), entropy)


class _OneTable:
    """A law small enough for one table."""

    __slots__ = ("_table",)

    def __init__(self, law: TableLaw, word_bits: int) -> None:
        self._table = AliasTable(law, word_bits=word_bits, label=signed)

    def draw(self, entropy: Entropy) -> int:
        return self._table.draw(entropy)

    def batch(self, entropy: Entropy) -> list[int]:
        return batch_of(self, entropy, narrow=True)

    def draws(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        return drawn(count, lambda size: self._table.draws(size, entropy))


@lru_cache(maxsize=CACHED)
def _rounded(given: int | Fraction, word_bits: int, radius: int | None = None) -> _OneTable | StepSampler:
    scale = table_scale(given)
    if scale <= TABLE_SCALE:
        return _OneTable(RoundedGaussianLaw(scale, radius), word_bits)
    return cells(scale, word_bits=word_bits, radius=radius)


@lru_cache(maxsize=CACHED)
def _discrete(given: int | Fraction, word_bits: int) -> _OneTable | StepSampler:
    scale = table_scale(given)
    return (
        _OneTable(DiscreteGaussianLaw(scale), word_bits) if scale <= TABLE_SCALE else points(scale, word_bits=word_bits)
    )


def cells(scale: Fraction, *, word_bits: int, radius: int | None = None) -> StepSampler:
    """The rounded Gaussian: positions are real, an integer owns the cell around it."""
    bits = block_bits(scale if radius is None else min(scale, Fraction(4 * radius)))
    law = Steps(scale, 1 << bits, Fraction(1, 2), radius)
    return StepSampler(law, fine_bits=max(word_bits // 2 - bits, 1), word_bits=word_bits)


def points(scale: Fraction, *, word_bits: int) -> StepSampler:
    """The discrete Gaussian: positions are integers."""
    return StepSampler(Steps(scale, 1 << block_bits(scale), Fraction(0)), fine_bits=0, word_bits=word_bits)


def block_bits(scale: Fraction) -> int:
    """Blocks of 2**this many steps make at least 64 of them to one scale."""
    return max(math.floor(scale / _BLOCKS_PER_SCALE).bit_length() - 1, 0)


class StepSampler:
    """Draws blocks and positions; `fine_bits` binary places of a position are read at first, none where it is a point.

    The blocks' width is a power of two. A proposal takes two words: one for the block, one for position and chance.
    Positions of very wide blocks continue in further words; only scalar draws meet those.
    """

    __slots__ = (
        "_bases",
        "_block_bits",
        "_chance_bits",
        "_chance_unit",
        "_doubt",
        "_extra_bits",
        "_fine_bits",
        "_inset",
        "_law",
        "_lift",
        "_lifts",
        "_series",
        "_table",
        "_unit",
        "_word_bits",
    )

    def __init__(self, law: Steps, *, fine_bits: int, word_bits: int) -> None:
        self._law, self._table = law, AliasTable(law, word_bits=word_bits, label=signed)
        scale, block_bits = law.scale, law.width.bit_length() - 1
        self._block_bits, self._fine_bits, self._word_bits = block_bits, fine_bits, word_bits
        self._extra_bits = max(block_bits + fine_bits - word_bits * 3 // 4, 0)
        read = block_bits + fine_bits - self._extra_bits
        self._chance_bits = word_bits - read
        assert self._chance_bits < 64, "a chance must fit int64"
        self._chance_unit = 2.0**-self._chance_bits
        self._unit = float(Fraction(1 << block_bits, 1 << read) / scale)  # of a position as floats see it
        self._inset = float(law.inset / scale)
        blocks = sorted(set(self._table.cells.tolist()))
        self._lift = {block: away**2 / 2 for block, away in zip(blocks, law.distances(blocks), strict=True)}
        self._lifts = np.array([self._lift[block] for block in self._table.cells.tolist()])
        self._bases = self._table.cells << read
        farthest = float(max(-blocks[0], blocks[-1] + 1) * self._law.width / scale)
        unread = farthest * self._unit if law.inset or self._extra_bits else 0.0
        self._doubt = _FLOAT_ERROR + self._chance_unit + 2 * unread
        self._series = exp_series(farthest * float(self._law.width / scale), error=self._doubt / 32)
        self._doubt += self._doubt / 16

    def draw(self, entropy: Entropy) -> int:
        """One integer."""
        value = None
        while value is None:
            value = self.proposal(entropy)
        return value

    def proposal(self, entropy: Entropy) -> int | None:
        """One integer, or None where the proposal is refused."""
        block, word = self._table.draw(entropy), entropy.word()
        seen, chance = word >> self._chance_bits, word & ((1 << self._chance_bits) - 1)
        position = seen << self._extra_bits | entropy.bits(self._extra_bits) if self._extra_bits else seen
        value = (block << self._block_bits) + (position >> self._fine_bits)
        keeps = self._keeps(block, seen, position, chance, entropy)
        return value if keeps and (self._law.radius is None or abs(value) <= self._law.radius) else None

    def batch(self, entropy: Entropy) -> list[int]:
        """Integers for scalar draws."""
        return batch_of(self, entropy, narrow=self._block_bits <= NARROW_BITS and not self._extra_bits)

    def draws(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """`count` integers."""
        return redrawn(count, lambda size: self.proposals(size, entropy))

    def _keeps(self, block: int, seen: int, position: int, chance: int, entropy: Entropy) -> bool:
        """Whether this proposal is kept: by floats where they are sure, else exactly."""
        lift = self._lift.get(block)
        if lift is not None:
            place = (block << (self._word_bits - self._chance_bits)) + seen
            excess = chance * self._chance_unit - self._share(place * self._unit, lift)
            if abs(excess) > self._doubt:
                return excess < 0
        return self._settled(block, position, chance, entropy)

    def proposals(self, size: int, entropy: Entropy) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Values and which of them are refused."""
        block_words, words = entropy.words(size), entropy.words(size)
        pick = self._table.pick(block_words)
        places = self._bases.take(pick, mode="clip")
        places += (words >> np.uint64(self._chance_bits)).view(np.int64)
        words &= np.uint64((1 << self._chance_bits) - 1)
        excess = np.multiply(words.view(np.int64), self._chance_unit)
        excess -= self._share(np.multiply(places, self._unit), self._lifts.take(pick, mode="clip"))
        refused = excess > 0
        np.abs(excess, out=excess)
        for i in np.flatnonzero(excess <= self._doubt).tolist():
            block, position = divmod(int(places[i]), 1 << (self._word_bits - self._chance_bits))
            refused[i] = not self._settled(block, position, int(words[i]), entropy)
        for i, rank in self._table.undecided(block_words):
            block, position = (
                self._table.refined(rank, entropy),
                int(places[i]) % (1 << self._block_bits + self._fine_bits),
            )
            places[i] = (block << (self._word_bits - self._chance_bits)) + position
            refused[i] = not self._settled(block, position, int(words[i]), entropy)
        places >>= self._fine_bits
        if self._law.radius is not None:
            refused |= np.abs(places) > self._law.radius
        return places, refused

    def _share(self, place: Number, lift: Number) -> Number:
        """exp(-(x**2 - near**2)/2) for x in units of the scale."""
        place -= self._inset
        place *= place
        place *= 0.5
        place -= lift
        return horner(self._series, place)

    def _settled(self, block: int, position: int, chance: int, entropy: Entropy) -> bool:
        """The exact decision: position and chance are read further until no doubt is left."""
        position_bits, chance_bits = self._block_bits + self._fine_bits, self._chance_bits
        while True:
            least, most = self._exponents(block, position, position_bits)
            below = chance + 1 <= exp(-most, chance_bits + 8).lower * (1 << chance_bits)
            above = chance >= exp(-least, chance_bits + 8).upper * (1 << chance_bits)
            if below or above:
                return below
            chance, chance_bits = chance << self._word_bits | entropy.word(), chance_bits + self._word_bits
            if self._law.inset:
                position, position_bits = position << self._word_bits | entropy.word(), position_bits + self._word_bits

    def _exponents(self, block: int, position: int, position_bits: int) -> tuple[Fraction, Fraction]:
        """The least and greatest (x**2 - near**2)/(2 scale**2) over what is known of x."""
        law, step = self._law, Fraction(self._law.width, 1 << position_bits)
        start = block * law.width + position * step - law.inset
        stop = start + step if law.inset else start
        near, far = sorted((abs(start), abs(stop)))
        near = Fraction(0) if start < 0 < stop else near
        bottom, spread = law.near(block) ** 2, 2 * law.scale**2
        return (near**2 - bottom) / spread, (far**2 - bottom) / spread
