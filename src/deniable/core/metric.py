"""Distances between two data sets or two results. A metric refuses a domain it does not fit when a space is built.

Every `distance` is exact. Lattice values are compared in the numbers people read, not in steps.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from deniable.core.cells import countable
from deniable.core.distance import Distance, Root, Triple
from deniable.core.domain import (
    Anything,
    Booleans,
    Categories,
    Domain,
    Frame,
    Frames,
    Keyed,
    Lattice,
    Numbers,
    Pieces,
    Rows,
    Tables,
    Texts,
    Vectors,
)
from deniable.core.graph_data import EdgeDistance, NodeDistance
from deniable.errors import InvalidArgument, SpaceMismatch


def records(data: Any) -> list[Any]:
    """The rows of a list, an array or a frame (mapping of columns), each in countable form."""
    if isinstance(data, dict) or hasattr(data, "columns"):
        names = sorted(data.keys(), key=str)
        return [tuple(countable(cell) for cell in row) for row in zip(*(data[name] for name in names), strict=True)]
    return [countable(row) for row in data]


def _difference(left: Any, right: Any, domain: Domain) -> Fraction:
    step = domain.step if isinstance(domain, Lattice) else Fraction(1)
    return abs(_exact(left) - _exact(right)) * step


def _exact(value: Any) -> Fraction:
    """The value as Python's own numbers: a Fraction made of NumPy integers would go on in 64 bits."""
    return Fraction(operator.index(value)) if hasattr(value, "__index__") else Fraction(value)


def _gaps(left: Any, right: Any, domain: Domain) -> list[Fraction]:
    if isinstance(domain, Vectors):
        return [_difference(a, b, domain.element) for a, b in zip(left, right, strict=True)]
    if isinstance(domain, Keyed):
        return [_difference(left.get(k, 0), right.get(k, 0), domain.element) for k in {*left, *right}]
    return [_difference(left, right, domain)]


def _numeric(domain: Domain) -> bool:
    return isinstance(domain, Numbers | Lattice | Anything)


def _numeric_vector(domain: Domain) -> bool:
    return isinstance(domain, Anything) or (isinstance(domain, Vectors | Keyed) and _numeric(domain.element))


def _data_set(domain: Domain) -> bool:
    return isinstance(domain, Rows | Frame | Anything)


@dataclass(frozen=True, slots=True)
class SymmetricDistance:
    """Rows to add plus rows to remove, order ignored."""

    def fits(self, domain: Domain) -> bool:
        return _data_set(domain)

    def distance(self, left: Any, right: Any, domain: Domain) -> Distance:
        a, b = Counter(records(left)), Counter(records(right))
        return Fraction(((a - b) + (b - a)).total())


@dataclass(frozen=True, slots=True)
class InsertDelete:
    """The fewest insertions and deletions that turn one sequence into the other, order kept."""

    def fits(self, domain: Domain) -> bool:
        return _data_set(domain)

    def distance(self, left: Any, right: Any, domain: Domain) -> Distance:
        a, b = records(left), records(right)
        common = [0] * (len(b) + 1)
        for row in a:
            diagonal = 0
            for j, other in enumerate(b):
                above = common[j + 1]
                common[j + 1] = diagonal + 1 if row == other else max(above, common[j])
                diagonal = above
        return Fraction(len(a) + len(b) - 2 * common[-1])


def _known_size(domain: Domain) -> bool:
    return isinstance(domain, Anything) or (isinstance(domain, Rows | Frame) and domain.size is not None)


@dataclass(frozen=True, slots=True)
class ChangeOne:
    """Rows to replace, order ignored; both data sets have one public size."""

    def fits(self, domain: Domain) -> bool:
        return _known_size(domain)

    def distance(self, left: Any, right: Any, domain: Domain) -> Distance:
        a, b = Counter(records(left)), Counter(records(right))
        return Fraction(max((a - b).total(), (b - a).total()))


@dataclass(frozen=True, slots=True)
class Hamming:
    """Positions that differ; both data sets have one public size."""

    def fits(self, domain: Domain) -> bool:
        return _known_size(domain)

    def distance(self, left: Any, right: Any, domain: Domain) -> Distance:
        return Fraction(sum(a != b for a, b in zip(records(left), records(right), strict=True)))


@dataclass(frozen=True, slots=True)
class IdentifierDistance:
    """People to add plus people to remove, each with all their rows; whose rows changed was removed and added: 2.

    Of several frames a person's rows are those in all of them.
    """

    identifier: str

    def fits(self, domain: Domain) -> bool:
        return all(self.identifier in table.columns for table in _tables(domain).values()) and bool(_tables(domain))

    def distance(self, left: Any, right: Any, domain: Domain) -> Distance:
        a, b = self._by_identifier(left, domain), self._by_identifier(right, domain)
        return Fraction(sum((who in a) + (who in b) for who in {*a, *b} if a.get(who) != b.get(who)))

    def _by_identifier(self, data: Any, domain: Domain) -> dict[Any, Counter[Any]]:
        people: dict[Any, Counter[Any]] = {}
        for name, table in data.items() if isinstance(domain, Frames) else (("", data),):
            for who, row in zip((countable(cell) for cell in table[self.identifier]), records(table), strict=True):
                people.setdefault(who, Counter())[name, row] += 1
        return people


def _tables(domain: Domain) -> Mapping[str, Frame]:
    return domain.tables if isinstance(domain, Frames) else {"": domain} if isinstance(domain, Frame) else {}


@dataclass(frozen=True, slots=True)
class AbsoluteDistance:
    """|x - y|."""

    def fits(self, domain: Domain) -> bool:
        return _numeric(domain)

    def distance(self, left: Any, right: Any, domain: Domain) -> Distance:
        return _difference(left, right, domain)


@dataclass(frozen=True, slots=True)
class L1:
    """The sum of the absolute differences of a vector's entries."""

    def fits(self, domain: Domain) -> bool:
        return _numeric_vector(domain)

    def distance(self, left: Any, right: Any, domain: Domain) -> Distance:
        return sum(_gaps(left, right, domain), Fraction(0))


@dataclass(frozen=True, slots=True)
class L2:
    """Euclidean distance, kept exact as the root of a rational."""

    def fits(self, domain: Domain) -> bool:
        return _numeric_vector(domain)

    def distance(self, left: Any, right: Any, domain: Domain) -> Distance:
        return Root(sum((gap * gap for gap in _gaps(left, right, domain)), Fraction(0)))


@dataclass(frozen=True, slots=True)
class LInfinity:
    """The largest absolute difference of a vector's entries.

    `monotonic`: between neighbours all entries move the same way, which halves what a selection costs.
    """

    monotonic: bool = False

    def fits(self, domain: Domain) -> bool:
        return _numeric_vector(domain)

    def distance(self, left: Any, right: Any, domain: Domain) -> Distance:
        return max(_gaps(left, right, domain), default=Fraction(0))


@dataclass(frozen=True, slots=True)
class Lp:
    """The L_p distance for whole p, given as its exact p-th power (L1 and L2 have their own metrics)."""

    p: int

    def __post_init__(self) -> None:
        if not self.p >= 3:
            raise InvalidArgument(f"Lp is for p >= 3 (use L1, L2 or LInfinity), got {self.p!r}")

    def fits(self, domain: Domain) -> bool:
        return _numeric_vector(domain)

    def distance(self, left: Any, right: Any, domain: Domain) -> Distance:
        return sum((gap**self.p for gap in _gaps(left, right, domain)), Fraction(0))


@dataclass(frozen=True, slots=True)
class RangeDistance:
    """How much the differences of a vector's entries differ among themselves: max(x-y) - min(x-y)."""

    def fits(self, domain: Domain) -> bool:
        return _numeric_vector(domain)

    def distance(self, left: Any, right: Any, domain: Domain) -> Distance:
        element = domain.element if isinstance(domain, Vectors | Keyed) else domain
        step = element.step if isinstance(element, Lattice) else Fraction(1)
        pairs = ((left[k], right[k]) for k in left) if isinstance(left, dict) else zip(left, right, strict=True)
        gaps = [(Fraction(a) - Fraction(b)) * step for a, b in pairs]
        return max(gaps) - min(gaps) if gaps else Fraction(0)


@dataclass(frozen=True, slots=True)
class DiscreteDistance:
    """0 when equal, 1 when not."""

    def fits(self, domain: Domain) -> bool:
        return isinstance(domain, Numbers | Lattice | Booleans | Texts | Categories | Anything)

    def distance(self, left: Any, right: Any, domain: Domain) -> Distance:
        return Fraction(int(countable(left) != countable(right)))


@dataclass(frozen=True, slots=True)
class PartitionDistance:
    """Groups (entries, pieces of a stream) that differ, the sum of their distances, and the largest, under `inner` in each.

    `monotonic`: a unit added or removed moves all entries the same way, so that entries drift apart by at most the largest.
    """

    inner: GroupMetric
    monotonic: bool = False

    def fits(self, domain: Domain) -> bool:
        return isinstance(domain, Anything) or (
            isinstance(domain, Keyed | Vectors | Pieces) and self.inner.fits(domain.element)
        )

    def distance(self, left: Any, right: Any, domain: Domain) -> Distance:
        apart = [gap for gap in _part_by_part(self.inner, left, right, domain) if gap]
        return Triple(Fraction(len(apart)), sum(apart, Fraction(0)), max(apart, default=Fraction(0)))


@dataclass(frozen=True, slots=True)
class UnitDistance:
    """How many privacy units come or go (or, where the unit is a changed row, are replaced) between two states of the tables."""

    def fits(self, domain: Domain) -> bool:
        return isinstance(domain, Tables)

    def distance(self, left: Any, right: Any, domain: Domain) -> Distance:
        raise InvalidArgument(
            "tables are held by an engine, which compares no two of them; compare rows in memory instead"
        )


@dataclass(frozen=True, slots=True)
class PerPiece:
    """The largest distance of any piece of a stream under `inner`, however many pieces differ: someone who comes every day."""

    inner: GroupMetric

    def fits(self, domain: Domain) -> bool:
        return isinstance(domain, Pieces) and self.inner.fits(domain.element)

    def distance(self, left: Any, right: Any, domain: Domain) -> Distance:
        return max(_part_by_part(self.inner, left, right, domain), default=Fraction(0))


def _part_by_part(inner: GroupMetric, left: Any, right: Any, domain: Domain) -> list[Fraction]:
    """The distance of every group, entry or piece; one that is not there is empty, or zero."""
    if not isinstance(domain, Keyed | Vectors | Pieces):
        raise SpaceMismatch(f"a partition distance needs a keyed domain, a vector or a stream, got {domain!r}")
    if not isinstance(domain, Keyed):
        left, right = dict(enumerate(left)), dict(enumerate(right))
    nothing: Any = 0 if isinstance(inner, AbsoluteDistance) else []
    apart: list[Fraction] = []
    for key in {*left, *right}:
        gap = inner.distance(left.get(key, nothing), right.get(key, nothing), domain.element)
        if not isinstance(gap, Fraction):
            raise SpaceMismatch(f"a group's distance must be a plain number, got {gap!r}")
        apart.append(gap)
    return apart


GroupMetric: TypeAlias = SymmetricDistance | InsertDelete | ChangeOne | Hamming | AbsoluteDistance

Metric: TypeAlias = (
    SymmetricDistance
    | InsertDelete
    | ChangeOne
    | Hamming
    | IdentifierDistance
    | AbsoluteDistance
    | L1
    | L2
    | LInfinity
    | Lp
    | RangeDistance
    | DiscreteDistance
    | PartitionDistance
    | UnitDistance
    | PerPiece
    | NodeDistance
    | EdgeDistance
)
