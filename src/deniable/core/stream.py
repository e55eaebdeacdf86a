"""Streams: spaces of data that arrives piece by piece, and what such data is before its first piece has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any, get_args

from deniable.core.distance import Distance, plain
from deniable.core.domain import Pieces
from deniable.core.mechanism import Mechanism
from deniable.core.metric import GroupMetric, Metric, PartitionDistance, PerPiece
from deniable.core.space import Space
from deniable.core.step import MechanismFamily
from deniable.cost import Cost
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.noise import Entropy


def stream(piece: Space, *, metric: Metric | None = None) -> Space:
    """Streams whose pieces lie in the space `piece`: a day's sales, an hour's visits.

    By default two streams are compared as a partition is: (pieces that differ, the sum of their distances, the largest); a
    plain d_in of rows is d rows in all pieces together. With `PerPiece(piece.metric)` only each piece's own distance counts.

    Guarantee: none of its own; it fixes whether one purchase, or someone who buys every day, is protected.
    """
    if not isinstance(piece, Space):
        raise SpaceMismatch(f"a stream is made of pieces of a space, such as rows(integers()), got {piece!r}")
    inner = piece.metric
    if not isinstance(inner, get_args(GroupMetric)):
        raise SpaceMismatch(f"a piece must be a number or rows, compared by a plain distance, got {inner!r}")
    chosen = PartitionDistance(inner) if metric is None else metric
    if not isinstance(chosen, PartitionDistance | PerPiece) or chosen.inner != inner:
        raise SpaceMismatch(f"a stream is compared by PartitionDistance or PerPiece of {inner!r}, got {chosen!r}")
    return Space(Pieces(piece.domain), chosen)


@dataclass(frozen=True, slots=True)
class RunMechanism(Mechanism):
    """A mechanism whose release goes on: a run, which lives in one process and cannot be stored."""


@dataclass(frozen=True, slots=True)
class StreamMechanism(RunMechanism):
    """A mechanism on a stream. Its release is a run, charged for as a whole, that is fed piece by piece and answers as it goes."""


def begun_beside(
    mechanism: Mechanism | MechanismFamily, space: Space, *, d_in: Distance
) -> Mechanism | MechanismFamily:
    """A mechanism on a stream as one on other data about the same units, beside which its stream begins, empty.

    Guarantee: whoever feeds the run vouches that one unit moves the stream by at most `d_in`; then one unit costs what the
    mechanism costs at `d_in`, and several cost what a group of them does.
    """
    if isinstance(mechanism, MechanismFamily):
        return MechanismFamily(space, lambda scale: _beside(mechanism.at(scale), space, d_in))
    return _beside(mechanism, space, d_in)


def _beside(mechanism: Mechanism, space: Space, d_in: Distance) -> StreamMechanism:
    if not isinstance(mechanism, StreamMechanism):
        raise InvalidArgument("only a mechanism on a stream takes its pieces from whoever feeds it; leave out d_in")
    cost = mechanism.privacy_map(d_in)

    def grouped(units: Distance) -> Cost:
        return cost if plain(units) <= 1 else cost.group(ceil(plain(units)))

    def begun(_: Any, entropy: Entropy) -> Any:
        return mechanism.function([], entropy)

    claims = (*mechanism.claims, f"whoever feeds the stream: one unit moves it by at most {d_in}")
    return StreamMechanism(space, begun, grouped, mechanism.utility, claims)


@dataclass(frozen=True, slots=True)
class Pipe:
    """A stream before its first piece: empty, and it remembers what will be done to each piece that comes."""

    maps: tuple[Callable[[Any, Entropy], Any], ...] = ()

    def then(self, function: Callable[[Any, Entropy], Any]) -> Pipe:
        """The same stream, with one more thing done to every piece."""
        return Pipe((*self.maps, function))

    def through(self, piece: Any, entropy: Entropy) -> Any:
        """What one piece becomes."""
        for function in self.maps:
            piece = function(piece, entropy)
        return piece

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[Any]:
        return iter(())


def pipe(data: Any) -> Pipe:
    """The stream that a run begins on. How many pieces there are is public, so pieces that are there already are refused."""
    if isinstance(data, Pipe):
        return data
    if len(data):
        raise InvalidArgument(
            f"a run begins before the first piece and {len(data)} are there; begin with [] and feed them to the run"
        )
    return Pipe()
