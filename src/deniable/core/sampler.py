"""Secret samples: how one is drawn, the space it lives in, and what seeing it costs, in one object.

Because the object that draws is the object that prices, a loss cannot describe another sample than the one that was used.
The sample never leaves the mechanism it was drawn for, and every release draws a new one. Units are sampled, not rows: people of
a frame with an identifier, rows otherwise (docs/theory/sampling.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from deniable.core.cells import cells, countable, row_total, table
from deniable.core.distance import Distance, plain
from deniable.core.domain import Frame, Rows
from deniable.core.metric import (
    ChangeOne,
    Hamming,
    IdentifierDistance,
    InsertDelete,
    Metric,
    SymmetricDistance,
)
from deniable.core.space import Space
from deniable.cost import FREE, Cost, Mixed, Neighbours, Sampled, Sampling
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact import binomial_tail
from deniable.exact.guards import Real, integer, positive, probability
from deniable.noise import Entropy, bernoullis, sample_without_replacement

PrivacyMap: TypeAlias = Callable[[Distance], Cost]

_ONE, _TWO = Fraction(1), Fraction(2)


@dataclass(frozen=True, slots=True)
class Sampler:
    """`draw` takes a secret sample of data in `source`; it lives in `target`, and `price` says what a mechanism on it costs.

    Guarantee: a mechanism with this privacy map, run once on a fresh sample that nobody sees, costs `price(map)` between data
    sets one unit apart; `neighbours` is what one unit apart means, as the metric of `source` has it.
    """

    source: Space
    target: Space
    neighbours: Neighbours
    draw: Callable[[Any, Entropy], Any]
    price: Callable[[PrivacyMap], Cost]

    def cost(self, inner: PrivacyMap, d_in: Distance) -> Cost:
        """What one answer about a fresh sample costs."""
        apart = plain(d_in)
        if not apart <= 1:
            raise InvalidArgument(
                f"a sample amplifies for one unit at a time, got d_in = {d_in}: rows of a unit with several are not drawn "
                "together; sample whole units (a frame with an identifier), or ask for .cost(d_in=1).group(...)"
            )
        return self.price(inner) if apart == 1 else FREE  # whole units change: a distance below one is none


def sampler(space: Space, *, rate: Real | None = None, size: int | None = None, cap: int | None = None) -> Sampler:
    """Each unit independently with chance `rate`, at most `cap` of them where that is given; or exactly `size` rows."""
    if (rate is None) == (size is None):
        raise InvalidArgument(
            "give a rate (each unit independently) or a size (so many rows), not both and not neither"
        )
    if size is not None:
        if cap is not None:
            raise InvalidArgument(f"a sample of a fixed size needs no cap, got cap={cap!r}")
        return _fixed_size(space, size)
    chance = positive(rate=probability(rate=rate))
    return _poisson(space, chance) if cap is None else _truncated(space, chance, integer(cap=cap, least=1))


def _poisson(space: Space, rate: Fraction) -> Sampler:
    """Every unit's coin is its own, so one unit more or less, or another one, changes no other coin."""
    neighbours = _neighbours(space)

    def draw(data: Any, entropy: Entropy) -> Any:
        return _taken(data, space, _heads(data, space, rate, entropy))

    def price(inner: PrivacyMap) -> Cost:
        return Sampled(inner(_ONE), rate=rate, how=Sampling.POISSON, neighbours=neighbours)

    return Sampler(space, _unsized(space), neighbours, draw, price)


def _fixed_size(space: Space, size: int) -> Sampler:
    """Exactly `size` of a public number of rows, all subsets equally likely; kept in the order of the data."""
    wanted, whole = integer(size=size, least=1), _public_size(space)
    if not wanted <= whole:
        raise InvalidArgument(f"size must be at most the number of rows, {whole}, got {size!r}")

    def draw(data: Any, entropy: Entropy) -> Any:
        chosen = sorted(int(at) for at in sample_without_replacement(whole, wanted, entropy))
        return _rows_at(data, space, chosen)

    def price(inner: PrivacyMap) -> Cost:
        rate = Fraction(wanted, whole)
        return Sampled(inner(_ONE), rate=rate, how=Sampling.WITHOUT_REPLACEMENT, neighbours=Neighbours.REPLACE)

    return Sampler(space, Space(_sized(space, wanted), space.metric), Neighbours.REPLACE, draw, price)


def _truncated(space: Space, rate: Fraction, cap: int) -> Sampler:
    """Poisson, then a uniformly random subset of `cap` units where there are more: a unit can push another one out, two steps.

    How often that happens depends on how many others there are. Where their number is public the two cases are mixed with its
    chance, rounded up; where it is private the worse case is charged always.
    """
    neighbours = _neighbours(space)

    def draw(data: Any, entropy: Entropy) -> Any:
        heads = _heads(data, space, rate, entropy)
        if len(heads) > cap:
            heads = [heads[int(at)] for at in sample_without_replacement(len(heads), cap, entropy)]
        return _taken(data, space, heads)

    def price(inner: PrivacyMap) -> Cost:
        if neighbours is Neighbours.ADD_REMOVE:
            return Sampled(inner(_TWO), rate=rate)
        overflow = min(Fraction(1), binomial_tail(_public_size(space) - 1, rate, cap))
        roomy = Sampled(inner(_ONE), rate=rate, neighbours=Neighbours.REPLACE)
        full = Sampled(inner(_TWO), rate=rate, how=Sampling.WITHOUT_REPLACEMENT, neighbours=Neighbours.REPLACE)
        return Mixed([(1 - overflow, roomy), (overflow, full)])

    return Sampler(space, _unsized(space), neighbours, draw, price)


# Spaces -------------------------------------------------------------------------------------------------------------------


def _neighbours(space: Space) -> Neighbours:
    """What one step of the space's metric does to its units; spaces without units are refused."""
    if isinstance(space.domain, Rows | Frame):
        match space.metric:
            case SymmetricDistance() | InsertDelete() | IdentifierDistance():
                return Neighbours.ADD_REMOVE
            case ChangeOne() | Hamming():
                return Neighbours.REPLACE
            case _:
                pass
    raise SpaceMismatch(f"a sample is drawn from rows or from a frame's people under a data-set metric, got {space!r}")


def _public_size(space: Space) -> int:
    size = space.domain.size if isinstance(space.domain, Rows | Frame) else None
    if size is None or not isinstance(space.metric, ChangeOne | Hamming) or size == 0:
        raise SpaceMismatch(
            "a sample of a fixed size needs a public number of rows, which the rate depends on; resize() first, or give a "
            f"rate instead; got {space!r}"
        )
    return size


def _sized(space: Space, size: int | None) -> Rows | Frame:
    domain = space.domain
    return Frame(domain.columns, size) if isinstance(domain, Frame) else Rows(domain.element, size)  # type: ignore[union-attr]


def _unsized(space: Space) -> Space:
    """Where a sample of random size lives: units present or not."""
    metric: Metric
    match space.metric:
        case ChangeOne():
            metric = SymmetricDistance()
        case Hamming():
            metric = InsertDelete()
        case _:
            metric = space.metric
    return Space(_sized(space, None), metric)


# Units --------------------------------------------------------------------------------------------------------------------


def units(data: Any, space: Space) -> list[list[int]]:
    """For each unit the places of its rows: a person's rows where the space has an identifier, else one row each."""
    if not isinstance(space.metric, IdentifierDistance):
        return [[place] for place in range(row_count(data, space))]
    people: dict[Any, list[int]] = {}
    for place, person in enumerate(cells(_columns(data, space)[space.metric.identifier])):
        people.setdefault(countable(person), []).append(place)
    return list(people.values())


def row_count(data: Any, space: Space) -> int:
    """How many rows there are: a private number."""
    return row_total(next(iter(_columns(data, space).values()), ()) if isinstance(space.domain, Frame) else data)


def _columns(data: Any, space: Space) -> dict[str, Any]:
    assert isinstance(space.domain, Frame)
    return table(data, space.domain.columns)


def _heads(data: Any, space: Space, rate: Fraction, entropy: Entropy) -> list[list[int]]:
    """The units whose coin comes up; a coin is thrown for each."""
    if not isinstance(space.metric, IdentifierDistance):
        return [[place] for place in bernoullis(rate, row_count(data, space), entropy).nonzero()[0].tolist()]
    owned = units(data, space)
    return [owned[at] for at in bernoullis(rate, len(owned), entropy).nonzero()[0].tolist()]


def _taken(data: Any, space: Space, chosen: list[list[int]]) -> Any:
    """The rows of these units, in the order of the data."""
    return _rows_at(data, space, sorted(place for unit in chosen for place in unit))


def _rows_at(data: Any, space: Space, places: list[int]) -> Any:
    if isinstance(space.domain, Frame):
        return {name: _pick(column, places) for name, column in _columns(data, space).items()}
    return _pick(data, places)


def _pick(rows: Any, places: list[int]) -> Any:
    if type(rows).__name__ == "ndarray":
        return rows.take(places, axis=0) if places else rows[:0]
    values = cells(rows)
    return [values[at] for at in places]
