"""Entropy stand-ins for tests: scripted words, a seeded stream, and silence. Nothing in the product imports this.

All are `Entropy` with `is_testing` true, so a session with a durable ledger can refuse them. `Silent` needs no switch in
any sampler: it is the source whose every bit is zero, and samplers are laid out so that zero bits draw zero noise.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from deniable.audit.words import Exhausted, WordPath
from deniable.noise import Entropy
from deniable.noise.entropy import IntegerSampler

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Exhausted", "Scripted", "Seeded", "Silent"]


class _StandIn(Entropy):
    """Draws one by one: what a test scripts is what one draw reads."""

    __slots__ = ()

    def next_of(self, sampler: IntegerSampler) -> int:
        return sampler.draw(self)


class Scripted(WordPath):
    """Exactly the given words, in order; raises `Exhausted` when they run out. `read` counts the words handed out."""

    __slots__ = ()


class Seeded(_StandIn):
    """An endless stream fixed by a seed: the same seed gives the same draws, on every machine."""

    __slots__ = ("_block", "_buffer", "_seed", "_word_bits")

    def __init__(self, seed: int, *, word_bits: int = 64) -> None:
        self._seed, self._block, self._word_bits = seed, 0, word_bits
        self._buffer = np.empty(0, dtype=np.uint64)

    @property
    def word_bits(self) -> int:
        return self._word_bits

    def word(self) -> int:
        return int(self.words(1)[0])

    def words(self, count: int) -> NDArray[np.uint64]:
        while self._buffer.size < count:
            label = f"deniable testing {self._seed} {self._block}".encode()
            fresh = np.frombuffer(hashlib.shake_256(label).digest(1 << 16), dtype="<u8").astype(np.uint64)
            self._buffer = np.concatenate([self._buffer, fresh >> np.uint64(64 - self.word_bits)])
            self._block += 1
        out, self._buffer = self._buffer[:count], self._buffer[count:]
        return out.copy()


class Silent(_StandIn):
    """Every bit is zero: additive samplers return zero noise, coins of positive probability come up true."""

    __slots__ = ()

    def __init__(self) -> None:
        """Needs no key."""

    def word(self) -> int:
        return 0

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.zeros(count, dtype=np.uint64)
