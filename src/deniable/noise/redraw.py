"""Filling an array from proposals, some of which are refused.

How many proposals it takes says nothing about the values kept: in rejection sampling the two are independent. Work is cut
into chunks that stay in the processor's cache, which also bounds the memory beside the output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from deniable.noise.entropy import Entropy

Proposals: TypeAlias = tuple[NDArray[np.int64], NDArray[np.bool_] | None]

CHUNK = 1 << 16
BATCH = 128
"""How many values a vector draw prepares for scalar draws."""
WIDE_BATCH = 16
NARROW_BITS = 50
"""Lower digits, or a block, of at most this many bits: everything a vector draw handles stays within int64."""


class Vector(Protocol):
    """Draws integers one by one and as arrays."""

    def draw(self, entropy: Entropy) -> int: ...

    def draws(self, count: int, entropy: Entropy) -> NDArray[np.int64]: ...


def chunks(count: int) -> list[tuple[int, int]]:
    """The borders of consecutive pieces of at most CHUNK."""
    return [(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK)]


def batch_of(sampler: Vector, entropy: Entropy, *, narrow: bool) -> list[int]:
    """A batch of values as Python integers; what could leave int64 is drawn one by one."""
    if not narrow:
        return [sampler.draw(entropy) for _ in range(WIDE_BATCH)]
    values: list[int] = sampler.draws(BATCH, entropy).tolist()
    return values


def drawn(count: int, draw: Callable[[int], NDArray[np.int64]]) -> NDArray[np.int64]:
    """`count` values, drawn chunk by chunk."""
    return redrawn(count, lambda size: (draw(size), None))


def redrawn(count: int, propose: Callable[[int], Proposals]) -> NDArray[np.int64]:
    """`count` accepted values; `propose(n)` gives n values and which of them are refused, or None where none can be."""
    out = np.empty(count, dtype=np.int64)
    todo = [np.empty(0, dtype=np.int64)]
    for start, stop in chunks(count):
        out[start:stop], refused = propose(stop - start)
        if refused is not None:
            todo.append(np.flatnonzero(refused) + start)
    left = np.concatenate(todo)
    while left.size:
        again = []
        for start, stop in chunks(left.size):
            places = left[start:stop]
            out[places], refused = propose(stop - start)
            again.append(places[refused])
        left = np.concatenate(again)
    return out
