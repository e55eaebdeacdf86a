"""Random numbers for post-processing: fixed by what was released, so that a stored twin is one model; or fresh, for sampling.

Guarantee: nothing private is hidden by these numbers; noise on data never comes from here.
"""

from __future__ import annotations

import hashlib
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 20


class WordSource(Protocol):
    """Anything that hands out uniform 64-bit words."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """That many words."""
        ...


class ReleasedWords:
    """A stream of words fixed by a public text: the same release gives the same model, everywhere."""

    def __init__(self, text: str) -> None:
        self._label, self._block = hashlib.sha256(text.encode()).digest(), 0
        self._buffer = np.empty(0, dtype=np.uint64)

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next words."""
        while self._buffer.size < count:
            digest = hashlib.shake_128(self._label + self._block.to_bytes(8, "big")).digest(_BLOCK)
            self._buffer = np.concatenate([self._buffer, np.frombuffer(digest, dtype="<u8").astype(np.uint64)])
            self._block += 1
        out, self._buffer = self._buffer[:count], self._buffer[count:]
        return out


def uniforms(count: int, source: WordSource) -> NDArray[np.float64]:
    """Numbers in [0, 1)."""
    return (source.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def normals(count: int, source: WordSource) -> NDArray[np.float64]:
    """Standard normal numbers, by Box and Muller."""
    half = -(-count // 2)
    radius = np.sqrt(-2 * np.log1p(-uniforms(half, source)))
    angle = 2 * np.pi * uniforms(half, source)
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]


def shuffled(count: int, source: WordSource, first: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """The numbers below `count` in random order; with `first` in the order of these whole numbers, at random among equals.

    One sort of whole words: `first` in front, then random bits, then the number itself, which a tie of random bits falls back on.
    """
    low, high = max(count.bit_length(), 1), 0 if first is None or not count else int(first.max()).bit_length()
    packed = source.words(count) >> np.uint64(low + high) << np.uint64(low) | np.arange(count, dtype=np.uint64)
    if high and first is not None:
        packed |= first.astype(np.uint64) << np.uint64(64 - high)
    packed.sort()
    return (packed & np.uint64((1 << low) - 1)).astype(np.int64)


def rounded(amounts: NDArray[np.float64], total: int, source: WordSource) -> NDArray[np.int64]:
    """Whole numbers with this total, each within one of its share of it: systematic rounding with one random start."""
    whole = amounts.sum()
    shares = amounts * (total / whole) if whole > 0 else np.full(amounts.size, total / max(amounts.size, 1))
    steps = np.floor(np.cumsum(shares) + uniforms(1, source)[0])
    steps[-1] = total
    return np.asarray(np.diff(np.minimum(steps, total), prepend=0), dtype=np.int64)
