"""A Gaussian of large scale, drawn under a step function.

The line is cut into blocks of 2**t lattice steps, at least 64 blocks to one scale. A proposal is a block, drawn from a
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
from typing import TYPE_CHECKING

import numpy as np

from deniable.exact import exp
from deniable.noise.laws import Steps, signed
from deniable.noise.redraw import redrawn
from deniable.noise.series import Number, exp_series, horner
from deniable.noise.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable.noise.entropy import Entropy

_BLOCKS_PER_SCALE = 64
_VECTOR_BITS = 52
"""Block number and position together stay below 62 bits, so that int64 holds them."""
_FLOAT_ERROR = 2.0**-40
"""More than the rounding errors of `_share`, which stay below 2**-43."""


def cells(scale: Fraction, *, word_bits: int) -> StepSampler:
    """The rounded Gaussian: positions are real, an integer owns the cell around it."""
    bits = _block_bits(scale)
    fine = min(32, word_bits - bits, _VECTOR_BITS - bits)
    return StepSampler(scale, block_bits=bits, fine_bits=max(fine, 8), inset=Fraction(1, 2), word_bits=word_bits)


def points(scale: Fraction, *, word_bits: int) -> StepSampler:
    """The discrete Gaussian: positions are integers."""
    return StepSampler(scale, block_bits=_block_bits(scale), fine_bits=0, inset=Fraction(0), word_bits=word_bits)


def _block_bits(scale: Fraction) -> int:
    return max(math.floor(scale / _BLOCKS_PER_SCALE).bit_length() - 1, 0)


class StepSampler:
    """`fine_bits` binary places of a position are read with each proposal; positions are points where `inset` is zero."""

    __slots__ = (
        "_block_bits",
        "_coefficients",
        "_doubt",
        "_fine_bits",
        "_inset",
        "_law",
        "_lift",
        "_lifts",
        "_shift",
        "_table",
        "_unit",
        "_word_bits",
    )

    def __init__(self, scale: Fraction, *, block_bits: int, fine_bits: int, inset: Fraction, word_bits: int) -> None:
        self._law = Steps(scale, 1 << block_bits, inset)
        self._table = Table(self._law, word_bits=word_bits, label=signed)
        self._block_bits, self._fine_bits, self._word_bits = block_bits, fine_bits, word_bits
        blocks = sorted(set(self._table.cells.tolist()))
        self._lift = {block: float((self._law.near(block) / scale) ** 2 / 2) for block in blocks}
        self._lifts = np.array([self._lift[block] for block in self._table.cells.tolist()])
        # Floats see at most 52 bits of a position: the rest of a very wide block is left to exact arithmetic.
        self._shift = max(block_bits + fine_bits - _VECTOR_BITS, 0)
        self._unit = float(Fraction(1 << self._shift, 1 << fine_bits) / scale)
        self._inset = float(inset / scale)
        farthest = max(-blocks[0], blocks[-1] + 1) * (1 << block_bits) / scale
        steepest = float((farthest * (1 << block_bits)) / scale)
        self._coefficients = exp_series(steepest)
        unread = 0.0 if self._exact_positions else float(farthest) * self._unit
        self._doubt = _FLOAT_ERROR + 2.0 ** -min(word_bits, 53) + 2 * unread

    @property
    def _exact_positions(self) -> bool:
        return not self._law.inset and not self._shift

    def draw(self, entropy: Entropy) -> int:
        """One integer."""
        position_bits = self._block_bits + self._fine_bits
        while True:
            block, position = self._table.draw(entropy), entropy.bits(position_bits)
            if self._keeps(block, position, entropy.word(), entropy):
                return (block << self._block_bits) + (position >> self._fine_bits)

    def draws(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """`count` integers."""
        return redrawn(count, lambda size: self._proposals(size, entropy))

    def _proposals(self, size: int, entropy: Entropy) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        position_bits = self._block_bits + self._fine_bits
        block_words, position_words, chances = entropy.words(3 * size).reshape(3, size)
        pick = self._table.pick(block_words)
        blocks = self._table.cells.take(pick, mode="clip")
        undecided = self._table.undecided(block_words)
        for i, rank in undecided:
            blocks[i] = self._table.refined(rank, entropy)
        values = blocks << position_bits
        values += (position_words >> np.uint64(self._word_bits - position_bits)).view(np.int64)
        excess = (chances >> np.uint64(max(self._word_bits - 53, 0))).view(np.int64) * 2.0 ** -min(self._word_bits, 53)
        excess -= self._share(np.multiply(values, self._unit, dtype=np.float64), self._lifts.take(pick, mode="clip"))
        refused = excess > 0
        doubtful = {i for i, _ in undecided} | set(np.flatnonzero(np.abs(excess) <= self._doubt).tolist())
        for i in doubtful:
            position = int(values[i]) & ((1 << position_bits) - 1)
            refused[i] = not self._settled(int(blocks[i]), position, int(chances[i]), entropy)
        values >>= self._fine_bits
        return values, refused

    def _keeps(self, block: int, position: int, chance: int, entropy: Entropy) -> bool:
        """Whether this proposal is kept: by floats where they are sure, else exactly."""
        lift = self._lift.get(block)
        if lift is not None:
            seen = ((block << (self._block_bits + self._fine_bits)) + position) >> self._shift
            excess = math.ldexp(chance, -self._word_bits) - self._share(seen * self._unit, lift)
            if abs(excess) > self._doubt:
                return excess < 0
        return self._settled(block, position, chance, entropy)

    def _share(self, place: Number, lift: Number) -> Number:
        """exp(-(x**2 - near**2)/2) for x in units of the scale, by its Taylor series; correct to `_FLOAT_ERROR`."""
        place -= self._inset
        place *= place
        place *= 0.5
        place -= lift
        return horner(self._coefficients, place)

    def _settled(self, block: int, position: int, chance: int, entropy: Entropy) -> bool:
        """The exact decision: position and chance are read further until no doubt is left."""
        position_bits, chance_bits = self._block_bits + self._fine_bits, self._word_bits
        while True:
            least, most = self._exponents(block, position, position_bits)
            if chance + 1 <= exp(-most, chance_bits + 8).lower * (1 << chance_bits):
                return True
            if chance >= exp(-least, chance_bits + 8).upper * (1 << chance_bits):
                return False
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
