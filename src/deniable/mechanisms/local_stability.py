"""Local stability: how far one unit can move an answer *here*, and how many units must change before it could be further.

The worst case over all data sets prices noise that every data set needs; most data sets are calmer. What is computed here is
a fact about private data, to be studied on data you make up and tested with noise on data you hold: `release_if_stable`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias

from deniable.core.cells import cells, countable, whole
from deniable.core.domain import Booleans, Categories, Domain, Lattice, Rows
from deniable.core.metric import AbsoluteDistance, ChangeOne, SymmetricDistance
from deniable.core.space import Space
from deniable.core.transformation import Transformation
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact import number_of
from deniable.exact.guards import Real, integer, nonnegative
from deniable.noise import Entropy

if TYPE_CHECKING:
    from deniable.plots import Figure

Counts: TypeAlias = tuple[int, ...]
"""A data set as the number of its rows of each kind."""

_MOST_DATA_SETS = 100_000


class Stability(Protocol):
    """What is known of a query's local stability: computed from data, so private."""

    @property
    def source(self) -> Space: ...

    @property
    def lattice(self) -> Lattice: ...

    def answer(self, data: Any) -> int:
        """The query's answer in whole steps."""
        ...

    def meter(self, bound: Real) -> Callable[[Any], int]:
        """The function of data that says how many units must change before one more could move the answer by more than `bound`."""
        ...

    def curve(self, data: Any) -> list[Fraction]:
        """The local sensitivity at distance 0, 1, 2, ...: the furthest one unit can move the answer once so many have changed."""
        ...


def stability_plot(stability: Stability, data: Any, *, bound: Real | None = None) -> Figure:
    """The local sensitivity at every distance from this data set, with a proposed bound and how far off it is.

    Guarantee: none: the picture shows private data. It is for data sets you make up.
    """
    from deniable.plots import local_sensitivity_curve

    seen = stability.curve(data)
    said = f"{float(seen[0]):g} at this data set"
    if bound is not None:
        said = f"{said}; {stability.meter(bound)(data)} changed units away from more than the proposal"
    proposed = None if bound is None else float(nonnegative(bound=bound))
    return local_sensitivity_curve([float(each) for each in seen], proposed=proposed, said=said)


# Any query over few data sets ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LocalStability:
    """A query tried on every data set there is: `answers` in steps, and `local`, the furthest that one unit moves each of them."""

    query: Transformation
    members: tuple[Any, ...]
    most_rows: int
    answers: Mapping[Counts, int] = field(repr=False)
    local: Mapping[Counts, int] = field(repr=False)

    @property
    def source(self) -> Space:
        return self.query.source

    @property
    def lattice(self) -> Lattice:
        assert isinstance(self.query.target.domain, Lattice)
        return self.query.target.domain

    def answer(self, data: Any) -> int:
        return self.answers.get(self._counts(data), 0)

    def distance(self, data: Any, *, bound: Real) -> int:
        """How many units must change before one more could move the answer by more than `bound`; 0 when one can already."""
        return self.meter(bound)(data)

    def meter(self, bound: Real) -> Callable[[Any], int]:
        """`distance` of any data set, found outwards from the unstable ones; data sets of more than `most_rows` are unstable."""
        limit = nonnegative(bound=bound) / self.lattice.step
        unstable = [counts for counts in self.answers if self.local.get(counts, limit + 1) > limit]
        far = dict.fromkeys(self.answers, self.most_rows + 1) | dict(self._outwards(unstable))
        return lambda data: far.get(self._counts(data), 0)

    def curve(self, data: Any) -> list[Fraction]:
        start, seen, most = self._counts(data), list[Fraction](), 0
        if start not in self.local:
            raise InvalidArgument(
                f"the study covers data sets of at most {number_of(self.most_rows, 'row')}, and this one has more"
            )
        for counts, distance in self._outwards([start]):
            if counts not in self.local:  # beyond what was tried: further out nothing is known
                return seen[:distance]
            most = max(most, self.local[counts])
            seen[distance:] = [most * self.lattice.step]
        return seen

    def _outwards(self, starts: Sequence[Counts]) -> Iterator[tuple[Counts, int]]:
        """Every data set with its distance from the nearest of some, near ones first."""
        near = dict.fromkeys(starts, 0)
        waiting = list(starts)
        for counts in waiting:
            yield counts, near[counts]
            for other in _next_to(counts, self._is_sized):
                if other in self.answers and other not in near:
                    near[other] = near[counts] + 1
                    waiting.append(other)

    @property
    def _is_sized(self) -> bool:
        return isinstance(self.source.metric, ChangeOne)

    def _counts(self, data: Any) -> Counts:
        """A data set as counts; a row that is no member counts as the first of them."""
        places = {countable(member): place for place, member in enumerate(self.members)}
        found = [0] * len(self.members)
        for cell in cells(data):
            found[places.get(countable(cell), 0)] += 1
        return tuple(found)


def local_stability(query: Transformation, *, most_rows: int | None = None) -> LocalStability:
    """The local stability of any query that gives one number, by trying it on every data set of few rows of few kinds.

    Rows have a public size under `ChangeOne`, or at most `most_rows` under `SymmetricDistance`. Refused where there are more than
    100,000 data sets to try.

    Guarantee: none of its own; it looks at no private data until it is asked about some.
    """
    members, most, is_sized = _members(query.source), _most(query.source, most_rows), _sized(query.source)
    if not isinstance(query.target.domain, Lattice) or not isinstance(query.target.metric, AbsoluteDistance):
        raise SpaceMismatch(f"local stability is that of one number on a grid, got {query.target!r}")
    sizes = [most] if is_sized else list(range(most + 2))
    number = sum(comb(size + len(members) - 1, size) for size in sizes)
    if not number <= _MOST_DATA_SETS:
        raise InvalidArgument(
            f"there are more than {_MOST_DATA_SETS:,} data sets to try; declare fewer rows or fewer kinds"
        )
    answers = {
        _tally(rows, len(members)): int(query.function([members[place] for place in rows], _NoDraws()))
        for size in sizes
        for rows in combinations_with_replacement(range(len(members)), size)
    }
    inside = (counts for counts in answers if sum(counts) <= most)
    local = {counts: _furthest(counts, answers, is_sized) for counts in inside}
    return LocalStability(query, members, most, answers, local)


def _furthest(counts: Counts, answers: Mapping[Counts, int], is_sized: bool) -> int:
    here = answers[counts]
    return max((abs(answers[other] - here) for other in _next_to(counts, is_sized)), default=0)


def _next_to(counts: Counts, is_sized: bool) -> Iterator[Counts]:
    """All data sets one unit away: a row replaced, or a row added or removed."""
    for place, many in enumerate(counts):
        fewer = (*counts[:place], many - 1, *counts[place + 1 :])
        if is_sized and many:
            yield from ((*fewer[:to], fewer[to] + 1, *fewer[to + 1 :]) for to in range(len(counts)) if to != place)
        elif not is_sized:
            yield (*counts[:place], many + 1, *counts[place + 1 :])
            if many:
                yield fewer


def _tally(places: Iterable[int], kinds: int) -> Counts:
    found = [0] * kinds
    for place in places:
        found[place] += 1
    return tuple(found)


def _sized(space: Space) -> bool:
    if not isinstance(space.domain, Rows) or not isinstance(space.metric, ChangeOne | SymmetricDistance):
        raise SpaceMismatch(f"local stability is studied on rows under ChangeOne or SymmetricDistance, got {space!r}")
    return isinstance(space.metric, ChangeOne)


def _most(space: Space, most_rows: int | None) -> int:
    if _sized(space):
        assert isinstance(space.domain, Rows)
        return space.domain.size or 0
    if most_rows is None:
        raise InvalidArgument("any number of rows may come here: say how many are studied with most_rows=")
    return integer(most_rows=most_rows, least=0)


def _members(space: Space) -> tuple[Any, ...]:
    element: Domain | None = space.domain.element if isinstance(space.domain, Rows) else None
    match element:
        case Categories(values):
            return values
        case Booleans(missing=False):
            return (False, True)
        case Lattice(lower=int() as low, upper=int() as high, missing=False):
            return tuple(range(low, high + 1))
        case _:
            raise SpaceMismatch(f"local stability needs rows of finitely many kinds, got {space.domain!r}")


class _NoDraws(Entropy):
    """Entropy for a query that must not draw."""

    __slots__ = ()

    def word(self) -> NoReturn:
        raise InvalidArgument("this query draws at random: local stability is that of a function of the data")

    def words(self, count: int) -> NoReturn:
        self.word()


# The median ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MedianStability:
    """The local stability of the lower median of a public number of whole numbers between bounds, in closed form."""

    source: Space
    lattice: Lattice
    size: int

    def answer(self, data: Any) -> int:
        return self._sorted(data)[self._middle]

    def distance(self, data: Any, *, bound: Real) -> int:
        """How many rows must change before one more could move the median by more than `bound`; 0 when one can already."""
        return self.meter(bound)(data)

    def meter(self, bound: Real) -> Callable[[Any], int]:
        """`distance` of any data set: the narrowest window of sorted values around the median that spans more, less one."""
        limit = nonnegative(bound=bound) / self.lattice.step
        return lambda data: self._window(self._sorted(data), limit)

    def _window(self, values: list[int], limit: Fraction) -> int:
        low, high = self._ends
        nearest = self.size + 1
        for left in range(-1, self._middle + 1):
            start = low if left < 0 else values[left]
            right = bisect_right(values, start + limit, lo=self._middle)
            if right < self.size or high > start + limit:
                nearest = min(nearest, right - left - 1)
        return nearest

    def curve(self, data: Any) -> list[Fraction]:
        low, high = self._ends
        values, widest = [low] * (self.size + 1) + self._sorted(data) + [high] * (self.size + 1), list[Fraction]()
        middle = self._middle + self.size + 1
        for width in range(1, self.size + 2):
            spans = (values[middle + k] - values[middle + k - width] for k in range(width + 1))
            widest.append(max(spans) * self.lattice.step)
        return widest

    @property
    def _middle(self) -> int:
        return (self.size - 1) // 2

    @property
    def _ends(self) -> tuple[int, int]:
        assert self.lattice.lower is not None
        assert self.lattice.upper is not None
        return self.lattice.lower, self.lattice.upper

    def _sorted(self, data: Any) -> list[int]:
        low, high = self._ends
        found = [
            low if (steps := whole(cell)) is None else min(max(steps, low), high) for cell in cells(data)[: self.size]
        ]
        return sorted([*found, *[low] * (self.size - len(found))])


def median_stability(space: Space) -> MedianStability:
    """The local stability of the (lower) median of rows of a public size, whole numbers between public bounds, under `ChangeOne`.

    Guarantee: none of its own; it looks at no private data until it is asked about some.
    """
    domain = space.domain
    element = domain.element if isinstance(domain, Rows) else None
    if not isinstance(element, Lattice) or element.lower is None or element.upper is None or element.missing:
        raise SpaceMismatch(f"median_stability is for whole numbers between public bounds, got {domain!r}")
    if not _sized(space) or not isinstance(domain, Rows) or not domain.size:
        raise SpaceMismatch(
            f"median_stability needs a public number of rows under ChangeOne, at least one, got {space!r}"
        )
    return MedianStability(space, element, domain.size)
