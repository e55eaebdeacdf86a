"""Filling an array from proposals, some of which are refused.

How many proposals it takes says nothing about the values kept: in rejection sampling the two are independent. Work is cut
into chunks that stay in the processor's cache, which also bounds the memory beside the output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHUNK = 1 << 16


def chunks(count: int) -> list[tuple[int, int]]:
    """The borders of consecutive pieces of at most CHUNK."""
    return [(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK)]


def drawn(count: int, draw: Callable[[int], NDArray[np.int64]]) -> NDArray[np.int64]:
    """`count` values, drawn chunk by chunk."""
    out = np.empty(count, dtype=np.int64)
    for start, stop in chunks(count):
        out[start:stop] = draw(stop - start)
    return out


def redrawn(count: int, propose: Callable[[int], tuple[NDArray[np.int64], NDArray[np.bool_]]]) -> NDArray[np.int64]:
    """`count` accepted values; `propose(n)` gives n values and which of them are refused."""
    out = np.empty(count, dtype=np.int64)
    refused = []
    for start, stop in chunks(count):
        out[start:stop], refuse = propose(stop - start)
        refused.append(np.flatnonzero(refuse) + start)
    todo = np.concatenate(refused) if refused else np.empty(0, dtype=np.intp)
    while todo.size:
        again = []
        for start, stop in chunks(todo.size):
            places = todo[start:stop]
            out[places], refuse = propose(stop - start)
            again.append(places[refuse])
        todo = np.concatenate(again)
    return out
