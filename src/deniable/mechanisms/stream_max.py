"""Which piece of a stream has the largest number: a noisy maximum that sees every number once and keeps only the best."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from deniable import noise
from deniable.core.guard import Run
from deniable.core.mechanism import Utility
from deniable.core.space import Space
from deniable.core.step import step
from deniable.core.stream import Pipe, StreamMechanism, pipe
from deniable.cost import Bounded
from deniable.exact import ln
from deniable.exact.guards import Real, integer, positive
from deniable.mechanisms.streams import largest_change, next_number, numbers_of
from deniable.noise import Entropy


@dataclass(frozen=True, slots=True)
class _Best:
    """After `seen` pieces: the place of the noisy best and its noisy number."""

    seen: int = 0
    place: int | None = None
    number: int = 0

    def after(self, noisy: int) -> _Best:
        """With one more noisy number; equal ones go to the earlier piece."""
        better = self.place is None or noisy > self.number
        return _Best(self.seen + 1, self.seen, noisy) if better else _Best(self.seen + 1, self.place, self.number)


class StreamMaximum(Run):
    """Takes pieces and keeps the noisy best. It answers once, by `finish`, and retires.

    State: how many pieces were seen, the place and the noisy number of the best.
    """

    __slots__ = ("_entropy", "_pipe", "_scale", "_state")

    what = "this maximum"

    def __init__(self, source: Pipe, scale: Fraction, entropy: Entropy) -> None:
        super().__init__()
        self._pipe, self._scale, self._entropy, self._state = source, scale, entropy, _Best()

    def feed(self, piece: Any) -> int:
        """Take the next piece; its place in the stream, which says nothing about it."""
        number = next_number(self._pipe, piece, self._entropy)
        with self._turn():
            place = self._state.seen
            self._state = self._state.after(number + noise.geometric(self._scale, self._entropy))
            return place

    def finish(self) -> int | None:
        """The place of the piece with the largest noisy number, None when there was no piece; nothing can be fed afterwards."""
        with self._turn():
            self._over = "this maximum has been told; start (and pay for) another run"
            return self._state.place


@step
def stream_maximum(space: Space, *, scale: Real, monotonic: bool = False, pieces: int | None = None) -> StreamMechanism:
    """On a stream of numbers, a run that tells at its end which piece has the largest number after noise.

    Each number gets its own one-sided noise, P(k steps) proportional to exp(-k·step/scale), once, when it arrives.
    `monotonic`: between neighbours all numbers move the same way; it is the caller's to know. `pieces` says for how many pieces
    the accuracy is stated.

    Guarantee: pure; with s the most that one piece's number moves: 2s/scale, or s/scale when monotonic, for any number of pieces.
    """
    lattice, width = numbers_of(space, "stream_maximum"), positive(scale=scale)
    steps, ways = width / lattice.step, 1 if monotonic else 2

    def error(beta: Fraction) -> Fraction:
        count = integer(pieces=pieces, least=1)
        return max(math.ceil(steps * ln(count / beta).upper) - 1, 0) * lattice.step

    return StreamMechanism(
        space,
        lambda data, entropy: StreamMaximum(pipe(data), steps, entropy),
        lambda d_in: Bounded(epsilon=ways * largest_change(space, d_in, lattice) / steps),
        None if pieces is None else Utility("number below the largest", error),
    )
