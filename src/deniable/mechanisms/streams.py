"""Data that arrives piece by piece: what its mechanisms share, alerts, and which piece has the largest number.

A stream of numbers is released as a run (`core.guard.Run`) that a compositor starts after it has charged for all of it; whoever
holds the data feeds the run piece by piece. `in_each` makes a stream of numbers from a stream of rows (docs/theory/streams.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

from deniable import noise
from deniable.core.cells import whole
from deniable.core.distance import Distance, plain, triple
from deniable.core.domain import Lattice, Pieces
from deniable.core.guard import Run
from deniable.core.mechanism import Utility
from deniable.core.metric import AbsoluteDistance, PartitionDistance, PerPiece
from deniable.core.space import Space
from deniable.core.step import step
from deniable.core.stream import Pipe, StreamMechanism, pipe
from deniable.cost import Bounded, Cost
from deniable.errors import SpaceMismatch
from deniable.exact import ln
from deniable.exact.guards import Real, integer, positive
from deniable.mechanisms.sparse import Sparse, SparseRun, sparse_terms, sparse_utility
from deniable.noise import Entropy


def numbers_of(space: Space, who: str) -> Lattice:
    """The lattice that the numbers of a stream lie on; anything but a stream of numbers is refused."""
    domain = space.domain.element if isinstance(space.domain, Pieces) else None
    metric = space.metric.inner if isinstance(space.metric, PartitionDistance | PerPiece) else None
    if not (isinstance(domain, Lattice) and not domain.missing and isinstance(metric, AbsoluteDistance)):
        raise SpaceMismatch(
            f"{who} needs a stream of numbers on a lattice, got {space!r}; "
            "stream(rows) >> in_each(clamp(...) >> total()) is one"
        )
    return domain


def next_number(source: Pipe, piece: Any, entropy: Entropy) -> int:
    """What a piece becomes, as whole steps; what is no number is zero, as no piece may raise."""
    return whole(source.through(piece, entropy)) or 0


def largest_change(space: Space, d_in: Distance, lattice: Lattice) -> int:
    """The most one piece's number moves, in steps."""
    far = plain(d_in) if isinstance(space.metric, PerPiece) else triple(d_in).tightened().linf
    return int(far / lattice.step)


class Side(Enum):
    """Which side of the threshold raises the alert."""

    ABOVE = 1
    BELOW = -1


class Alerts(SparseRun):
    """Feeds pieces to a sparse-vector run: True when a piece's number noisily passes the threshold. Retires after the last."""

    __slots__ = ("_pipe", "_side")

    what = "this alert"

    def __init__(self, source: Pipe, terms: Sparse, side: Side, entropy: Entropy) -> None:
        super().__init__(terms, entropy)
        self._pipe, self._side = source, side

    def feed(self, piece: Any) -> bool:
        """Take the next piece; True raises an alert."""
        return self.excess(self._side.value * next_number(self._pipe, piece, self._entropy)) is not None


@step
def alerts(
    space: Space,
    *,
    threshold: Real,
    scale: Real,
    query_scale: Real | None = None,
    hits: int = 1,
    side: Side = Side.ABOVE,
    pieces: int | None = None,
    monotonic: bool = False,
) -> StreamMechanism:
    """On a stream of numbers, a run that raises an alert the first `hits` times a piece's number noisily passes `threshold`.

    `pieces` says for how many pieces the accuracy is stated. `monotonic`: between neighbours all numbers move the same way (one
    stream has the other's rows and more, and more rows never lower a number); it is the caller's to know.

    Guarantee: pure; with s the most that one piece's number moves: s/scale + hits·2s/query_scale, or s/scale + hits·s/query_scale
    when monotonic. However many pieces raise no alert, and however many differ, they cost nothing more.
    """
    lattice = numbers_of(space, "alerts")
    terms = sparse_terms(
        threshold=side.value * threshold,
        scale=scale,
        query_scale=query_scale,
        hits=hits,
        step=lattice.step,
        monotonic=monotonic,
    )

    def cost(d_in: Distance) -> Cost:
        most = largest_change(space, d_in, lattice)
        return Bounded(epsilon=terms.loss(least=0 if monotonic else -most, most=most))

    return StreamMechanism(
        space,
        lambda data, entropy: Alerts(pipe(data), terms, side, entropy),
        cost,
        sparse_utility(terms, lattice.step, count=pieces, of="number", word="pieces"),
    )


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
