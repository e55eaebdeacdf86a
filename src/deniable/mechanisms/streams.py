"""Data that arrives piece by piece: alerts, and a running total.

A stream mechanism is built from a transformation of one piece to one number. Applied piece by piece, a stable transformation is
a stable stream transformation, so its stability map says how far each score moves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, NoReturn, Protocol

from deniable.accounting import Bracket, epsilon
from deniable.core.distance import Distance, distance, plain
from deniable.core.domain import Lattice
from deniable.core.mechanism import Accuracy, Utility
from deniable.core.metric import AbsoluteDistance
from deniable.core.transformation import Transformation
from deniable.cost import Bounded, Cost
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, integer, open_probability, probability
from deniable.mechanisms.sparse import SparseRun, sparse_terms
from deniable.noise import Entropy, system_entropy


class Stream(Protocol):
    """Something that takes private pieces and says something public about each."""

    def feed(self, piece: Any) -> Any:
        """Take the next piece and answer."""
        ...


@dataclass(frozen=True, slots=True)
class StreamMechanism:
    """A mechanism for pieces of data still to come.

    `privacy_map(d_in)` prices the whole run, however long; what `d_in` measures is said by its constructor.
    """

    piece: Transformation
    begin: Callable[[Entropy], Stream]
    privacy_map: Callable[[Distance], Cost]
    utility: Utility | None = None
    parameter: Any = None

    def start(self, *, entropy: Entropy | None = None) -> Any:
        """One run, unmetered: charge `cost` to a gate first when the data is real."""
        return self.begin(entropy or system_entropy())

    def cost(self, *, d_in: Distance | Real = 1) -> Cost:
        """What one whole run costs."""
        return self.privacy_map(distance(d_in))

    def loss(self, *, d_in: Distance | Real = 1, delta: Real = 0) -> Bracket:
        """The cost read as epsilon at `delta`."""
        return epsilon(self.cost(d_in=d_in), delta=probability(delta=delta))

    def accuracy(self, *, confidence: Real = Fraction(19, 20)) -> Accuracy:
        """How close each answer is to the truth."""
        if self.utility is None:
            raise InvalidArgument("this stream states no accuracy; say for how many pieces it should hold")
        chance = open_probability(confidence=confidence)
        return Accuracy(self.utility.error(1 - chance), chance, self.utility.measure)


def one_number(piece: Transformation, who: str) -> Lattice:
    """The lattice a piece's number lies on; anything else is refused."""
    domain = piece.target.domain
    if not (isinstance(domain, Lattice) and not domain.missing and isinstance(piece.target.metric, AbsoluteDistance)):
        raise SpaceMismatch(
            f"{who} needs a transformation of one piece to one number on a lattice, got {piece.target!r}"
        )
    return domain


class Side(Enum):
    """Which side of the threshold raises the alert."""

    ABOVE = 1
    BELOW = -1


class Alerts:
    """Feeds pieces to a sparse-vector run: True when a piece's number noisily passes the threshold. Retires after the last."""

    __slots__ = ("_entropy", "_piece", "_run", "_side")

    def __init__(self, piece: Transformation, run: SparseRun, side: Side, entropy: Entropy) -> None:
        self._piece, self._run, self._side, self._entropy = piece, run, side, entropy

    @property
    def hits_left(self) -> int:
        """How many more alerts may be raised."""
        return self._run.hits_left

    def feed(self, piece: Any) -> bool:
        """Take the next piece; True raises an alert."""
        return self._run.excess(self._side.value * int(self._piece.function(piece, self._entropy))) is not None

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a running alert holds a noisy threshold: it cannot be copied or pickled")


def alerts(
    piece: Transformation,
    *,
    threshold: Real,
    scale: Real,
    query_scale: Real | None = None,
    hits: int = 1,
    side: Side = Side.ABOVE,
    pieces: int | None = None,
    monotonic: bool = False,
) -> StreamMechanism:
    """Raise an alert the first time (or the first `hits` times) a piece's number noisily passes `threshold`.

    `d_in` is the most that *each* piece of two neighbouring streams may differ: someone who buys once a day differs by one row in
    every piece. `pieces` says for how many pieces the accuracy is stated. `monotonic`: between neighbours all numbers move the
    same way (one stream has the other's rows and more, and more rows never lower the number); it is the caller's to know.

    Guarantee: pure; with s = the piece's stability at d_in: s/scale + hits·2s/query_scale, or s/scale + hits·s/query_scale when
    monotonic. However many pieces raise no alert, they cost nothing.
    """
    lattice = one_number(piece, "alerts")
    terms = sparse_terms(
        threshold=side.value * threshold,
        scale=scale,
        query_scale=query_scale,
        hits=hits,
        step=lattice.step,
        monotonic=monotonic,
    )

    def cost(d_in: Distance) -> Cost:
        most = int(plain(piece.stability_map(d_in)) / lattice.step)
        return Bounded(epsilon=terms.loss(least=0 if monotonic else -most, most=most))

    def error(beta: Fraction) -> Fraction:
        return terms.error(beta, queries=integer(pieces=pieces, least=1)) * lattice.step

    return StreamMechanism(
        piece,
        lambda entropy: Alerts(piece, terms.start(entropy), side, entropy),
        cost,
        None if pieces is None else Utility("number: alerts are right for numbers this far from the threshold", error),
    )
