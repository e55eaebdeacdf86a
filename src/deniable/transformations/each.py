"""The same thing in every part of a partition, or in every piece of a stream: a transformation, or a mechanism.

A unit's rows sit in few parts, so what the parts cost is not added up over all of them (parallel composition,
docs/theory/parallel.md).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeAlias, get_args, overload

from deniable.core import (
    AbsoluteDistance,
    Distance,
    Frame,
    Keyed,
    Linear,
    Mechanism,
    PartitionDistance,
    PerPiece,
    Pieces,
    Space,
    Step,
    Transformation,
    Triple,
    Utility,
    plain,
    triple,
)
from deniable.core.cells import entry, names_of
from deniable.core.guard import Run
from deniable.core.mechanism import Utilities
from deniable.core.metric import GroupMetric
from deniable.core.stream import Pipe, StreamMechanism, pipe
from deniable.core.transformation import meet
from deniable.cost import FREE, Cost, Parallel, composed
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.noise import Entropy

_MOST_WAYS = 8
"""Changes up to this many are priced by every way to spread them over parts."""
_MOST_CHANGES = 256
"""And numbers up to this many are bounded by the worst way."""

Part: TypeAlias = Step[Mechanism] | Mechanism


@overload
def in_each(inner: Step[Transformation] | Transformation) -> Step[Transformation]: ...
@overload
def in_each(inner: Part | Mapping[Hashable, Part]) -> Step[Mechanism]: ...
def in_each(inner: Any) -> Step[Any]:
    """The same transformation or mechanism in every part of a partition, or in every piece of a stream.

    `in_each(clamp(lower=0, upper=1) >> total())` gives a number for each part; `in_each(private_median(...))` a private answer
    for each. A mapping from the public keys gives every part a mechanism of its own. On a stream, a mechanism's release is a run
    that answers each piece it is fed.

    Guarantee: of a transformation, parts that differ stay the same, and each moves by at most the inner map of the largest
    distance; the sum grows by c where that map is d -> c·d, else by the worst way to spread the changes over parts. Of a
    mechanism, parallel composition: parts that did not change cost nothing, those that did cost what the worst spread does.
    """
    return Step(f"in_each({inner!r})", lambda space: _built(space, inner))


def _built(space: Space, inner: Any) -> Transformation | Mechanism:
    domain, metric = space.domain, space.metric
    if not isinstance(domain, Keyed | Pieces) or not isinstance(metric, PartitionDistance | PerPiece):
        raise SpaceMismatch(f"in_each works on a partition or a stream, got {space!r}")
    part = Space(domain.element, metric.inner)
    if isinstance(inner, Mapping):
        return _mechanism_per_key(space, {key: _one(part, each) for key, each in inner.items()})
    built = _one(part, inner)
    if isinstance(built, Transformation):
        return _transformation(space, built)
    if isinstance(domain, Pieces):
        return _mechanism_per_piece(space, built)
    return _mechanism_per_key(space, dict.fromkeys(_public_keys(space), built))


def _one(part: Space, inner: Any) -> Transformation | Mechanism:
    built = inner.build(part) if isinstance(inner, Step) else inner
    if not isinstance(built, Transformation | Mechanism):
        raise InvalidArgument(f"in_each takes a transformation, a mechanism or a step of one, got {inner!r}")
    meet(part, built.source, "what is done in each part")
    return built


# Transformations


def _transformation(space: Space, built: Transformation) -> Transformation:
    metric, domain = built.target.metric, space.domain
    if not isinstance(metric, get_args(GroupMetric)):
        raise SpaceMismatch(
            f"each part's result must be a number or rows, compared by a plain distance, got {metric!r}"
        )
    if plain(built.stability_map(Fraction(0))):
        raise SpaceMismatch("in_each needs a map that is zero at zero: parts that did not change must not move")
    if isinstance(domain, Keyed):
        keyed = Space(Keyed(built.target.domain, domain.keys), PartitionDistance(metric))
        return Transformation(space, keyed, _each_group(space, built), _each_map(space, built), built.claims)
    apart = PerPiece if isinstance(space.metric, PerPiece) else PartitionDistance
    pieces = Space(Pieces(built.target.domain), apart(metric))
    return Transformation(space, pieces, _each_piece(built), _each_map(space, built), built.claims)


def _each_group(space: Space, built: Transformation) -> Callable[[Any, Entropy], Any]:
    nothing, public = _nothing(space), space.domain.keys if isinstance(space.domain, Keyed) else None

    def each(data: Any, entropy: Entropy) -> dict[Hashable, Any]:
        keys = names_of(data) if public is None else public
        return {key: built.function(entry(data, key, nothing), entropy) for key in keys}

    return each


def _each_piece(built: Transformation) -> Callable[[Any, Entropy], Any]:
    def each(data: Any, entropy: Entropy) -> Any:
        if isinstance(data, Pipe) or not len(data):
            return pipe(data).then(built.function)
        return [built.function(piece, entropy) for piece in data]

    return each


def _each_map(space: Space, built: Transformation) -> Callable[[Distance], Distance]:
    inner = built.stability_map
    if isinstance(space.metric, PerPiece):
        return inner

    def stability(d_in: Distance) -> Distance:
        apart = apart_in(space, d_in)
        largest = plain(inner(apart.linf))
        total = plain(inner(apart.l1)) if isinstance(inner, Linear) else apart.l0 * largest
        if not isinstance(inner, Linear) and _by_rows(space) and apart.l1 <= _MOST_CHANGES:
            total = min(total, _worst_spread(inner, int(apart.l1), int(apart.linf)))
        return Triple(apart.l0, min(total, apart.l0 * largest), largest)

    return stability


def apart_in(space: Space, d_in: Distance) -> Triple:
    """How far two partitions or streams are apart; of a stream of rows, d rows in all pieces together."""
    if isinstance(d_in, Fraction) and isinstance(space.domain, Pieces) and _by_rows(space):
        return Triple(d_in, d_in, d_in)
    return triple(d_in).tightened()


def _by_rows(space: Space) -> bool:
    """Whether a part's distance is a whole number of rows."""
    metric = space.metric
    return isinstance(metric, PartitionDistance) and not isinstance(metric.inner, AbsoluteDistance)


def _worst_spread(inner: Callable[[Distance], Distance], changes: int, largest: int) -> Fraction:
    """The most all parts together move when `changes` rows, at most `largest` in a part, are spread in the worst way."""
    alone = [plain(inner(Fraction(k))) for k in range(min(changes, largest) + 1)]
    worst = [Fraction(0)] * (changes + 1)
    for k in range(1, changes + 1) if largest else ():
        worst[k] = max(alone[first] + worst[k - first] for first in range(1, min(k, largest) + 1))
    return worst[changes]


# Mechanisms


def _public_keys(space: Space) -> tuple[Hashable, ...]:
    keys = space.domain.keys if isinstance(space.domain, Keyed) else None
    if keys is None:
        raise SpaceMismatch("a mechanism in each part would show which keys there are: declare them with keys=[...]")
    return keys


def _mechanism_per_key(space: Space, parts: Mapping[Hashable, Any]) -> Mechanism:
    keys = _public_keys(space)
    if set(parts) != set(keys):
        raise InvalidArgument(f"give one mechanism for each of the keys {list(keys)}, got {list(parts)}")
    if not all(isinstance(each, Mechanism) for each in parts.values()):
        raise InvalidArgument("a mapping gives every part its own mechanism; a transformation must be the same for all")
    nothing = _nothing(space)

    def answer(data: Mapping[Hashable, Any], entropy: Entropy) -> dict[Hashable, Any]:
        return {key: parts[key].function(entry(data, key, nothing), entropy) for key in keys}

    built = tuple(dict.fromkeys(parts.values()))
    claims = tuple(dict.fromkeys(claim for each in built for claim in each.claims))
    return Mechanism(
        space, answer, lambda d_in: _price(space, built, d_in, len(keys)), _utility(built, len(keys)), claims
    )


def _nothing(space: Space) -> Any:
    """An empty part."""
    element = space.domain.element if isinstance(space.domain, Keyed) else None
    if isinstance(element, Frame):
        return {}
    return [] if _by_rows(space) else 0


def _utility(built: tuple[Mechanism, ...], parts: int | None) -> Utility | Utilities | None:
    """Of each part by itself; of all parts at once by a union bound, where it is known how many there are."""
    utility = built[0].utility if len(built) == 1 else None
    return utility and utility.reworded(lambda inner: _in_each_part(inner, parts))


def _in_each_part(inner: Utility, parts: int | None) -> Utility:
    one = inner.everywhere or inner.error

    def everywhere(beta: Fraction) -> Fraction:
        if parts is None:
            raise InvalidArgument("how many pieces will come is not known: ask for the error of each piece by itself")
        return one(beta / parts)

    return Utility(f"{inner.measure}, in each part", inner.error, everywhere)


class EachPiece(Run):
    """Answers every piece it is fed by a fresh run of one mechanism. State: none but that it lives in one process."""

    __slots__ = ("_entropy", "_mechanism", "_pipe")

    what = "this stream of answers"

    def __init__(self, mechanism: Mechanism, source: Pipe, entropy: Entropy) -> None:
        super().__init__()
        self._mechanism, self._pipe, self._entropy = mechanism, source, entropy

    def feed(self, piece: Any) -> Any:
        """The mechanism's answer about the next piece."""
        with self._turn():
            return self._mechanism.function(self._pipe.through(piece, self._entropy), self._entropy)


def _mechanism_per_piece(space: Space, built: Mechanism) -> StreamMechanism:
    if not isinstance(space.metric, PartitionDistance):
        raise SpaceMismatch(
            f"an answer for every piece costs one for every piece that differs: {space.metric!r} does not bound how many do"
        )
    return StreamMechanism(
        space,
        lambda data, entropy: EachPiece(built, pipe(data), entropy),
        lambda d_in: _price(space, (built,), d_in, None),
        _utility((built,), None),
        built.claims,
    )


def _price(space: Space, built: tuple[Mechanism, ...], d_in: Distance, parts: int | None) -> Cost:
    """The worst way to spread the changes over the parts: independent answers about few parts, so their costs compose."""
    apart = apart_in(space, d_in)
    most = int(apart.l0) if parts is None else min(int(apart.l0), parts)
    if not most or not apart.linf:
        return FREE
    if _by_rows(space) and (total := min(int(apart.l1), most * int(apart.linf))) <= _MOST_WAYS:
        ways = [tuple(map(Fraction, way)) for way in _ways(total, most, int(apart.linf))]
    else:
        ways = [(apart.linf,) * most]
    return _worst(composed(_worst(each.privacy_map(far) for each in built) for far in way) for way in ways)


def _worst(costs: Iterable[Cost]) -> Cost:
    found = tuple(dict.fromkeys(costs))
    return found[0] if len(found) == 1 else Parallel(found)


def _ways(total: int, parts: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Every way to write `total` as at most `parts` whole numbers up to `largest`, in falling order."""
    if not total:
        yield ()
    elif parts:
        for first in range(min(total, largest), 0, -1):
            for rest in _ways(total - first, parts - 1, first):
                yield (first, *rest)
