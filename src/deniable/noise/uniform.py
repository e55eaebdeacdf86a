"""Uniform integers, permutations and samples, exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deniable.errors import InvalidArgument
from deniable.exact.guards import integer, shown
from deniable.noise.redraw import redrawn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable.noise.entropy import Entropy


def uniform_below(n: int, entropy: Entropy) -> int:
    """An integer uniform on 0, ..., n - 1: the whole part of n * U, with U read until it is decided.

    Guarantee: the law is exact; the work does not depend on what is drawn.
    """
    integer(n=n, least=1)
    scaled, bits = 0, 0
    while True:
        scaled, bits = (scaled << entropy.word_bits) + n * entropy.word(), bits + entropy.word_bits
        value = scaled >> bits
        if (scaled + n - 1) >> bits == value:
            return value


def uniforms_below(n: int, count: int, entropy: Entropy) -> NDArray[np.int64]:
    """`count` independent draws of `uniform_below`."""
    bits = (integer(n=n, least=1) - 1).bit_length()
    if not bits < 64 or not bits <= entropy.word_bits:
        raise InvalidArgument(f"n must be at most 2**63 for vector draws, got {shown(n)}; draw one at a time")
    if not bits:
        return np.zeros(count, dtype=np.int64)

    def propose(size: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        values = (entropy.words(size) >> np.uint64(entropy.word_bits - bits)).view(np.int64)
        return values, values >= n

    return redrawn(count, propose)


def uniforms_within(sizes: NDArray[np.int64], entropy: Entropy) -> NDArray[np.int64]:
    """For each of several sizes (from 1 to 2**52) an integer uniform below it.

    Guarantee: each law is exact, and the draws are independent.
    """
    bits = np.frexp((sizes - 1).astype(np.float64))[1].astype(np.int64)
    most = int(bits.max(initial=0))
    answer, left = np.zeros(len(sizes), dtype=np.int64), np.flatnonzero(bits)
    while left.size:
        values = uniform_bits(entropy, left.size, most) >> (most - bits[left])
        inside = values < sizes[left]
        answer[left[inside]] = values[inside]
        left = left[~inside]
    return answer


def uniform_bits(entropy: Entropy, count: int, bits: int) -> NDArray[np.int64]:
    """`count` uniform whole numbers below 2**bits, for at most 63 bits."""
    if entropy.word_bits >= bits:
        return (entropy.words(count) >> np.uint64(entropy.word_bits - bits)).astype(np.int64)
    return np.array([entropy.bits(bits) for _ in range(count)], dtype=np.int64)


def permutation(n: int, entropy: Entropy) -> NDArray[np.int64]:
    """A uniform order of 0, ..., n - 1.

    Guarantee: exactly uniform. Distinct random keys sort into a uniform order; should two keys be equal, the order is
    drawn afresh by exchanges, which is uniform as well.
    """
    keys = entropy.words(integer(n=n, least=0))
    order = np.argsort(keys, kind="stable")
    if n > 1 and not np.all(np.diff(keys[order]) > 0):
        order = _exchanged(n, n, entropy)
    return order.astype(np.int64, copy=False)


def sample_without_replacement(n: int, k: int, entropy: Entropy) -> NDArray[np.int64]:
    """k different integers below n, in uniform order; every ordered choice is equally likely.

    Guarantee: exactly uniform; the number of redraws is independent of what is kept.
    """
    integer(n=n, least=0)
    if not integer(k=k, least=0) <= n:
        raise InvalidArgument(f"k must be at most n = {n}, got {shown(k)}")
    return _exchanged(n, k, entropy)


def _exchanged(n: int, k: int, entropy: Entropy) -> NDArray[np.int64]:
    """The first k places after Fisher-Yates exchanges; only places that moved are stored."""
    moved: dict[int, int] = {}
    out = np.empty(k, dtype=np.int64)
    for i in range(k):
        j = i + uniform_below(n - i, entropy)
        out[i] = moved.get(j, j)
        moved[j] = moved.get(i, i)
    return out
