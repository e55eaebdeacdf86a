"""Distances, kept exact: a rational, the square root of a rational, or the triple of the partition distance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import total_ordering
from typing import TypeAlias

from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, nonnegative


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Root:
    """The number whose exact square is `square`: how an L2 distance is written without rounding it."""

    square: Fraction

    def __post_init__(self) -> None:
        nonnegative(square=self.square)

    def __eq__(self, other: object) -> bool:
        return self.square == other.square if isinstance(other, Root) else NotImplemented

    def __lt__(self, other: Root) -> bool:
        return self.square < other.square

    def __hash__(self) -> int:
        return hash((Root, self.square))

    def __mul__(self, factor: Fraction | int) -> Root:
        return Root(self.square * factor * factor)

    __rmul__ = __mul__


@dataclass(frozen=True, slots=True)
class Triple:
    """How far apart two partitioned data sets are.

    `l0` groups differ, their distances add up to at most `l1`, and none differs by more than `linf`.
    """

    l0: Fraction
    l1: Fraction
    linf: Fraction

    def __post_init__(self) -> None:
        for name in ("l0", "l1", "linf"):
            nonnegative(**{name: getattr(self, name)})

    def tightened(self) -> Triple:
        """The same triple with what each bound implies for the others: l1 <= l0·linf and linf <= l1."""
        l1 = min(self.l1, self.l0 * self.linf)
        return Triple(self.l0, l1, min(self.linf, l1))

    @property
    def total(self) -> Fraction:
        """The most the groups differ in total (an L1 sensitivity)."""
        return min(self.l1, self.l0 * self.linf)

    @property
    def root(self) -> Root:
        """The most the groups differ in L2, exactly: the square is min(l0·linf², l1·linf)."""
        return Root(min(self.l0 * self.linf * self.linf, self.l1 * self.linf))

    def __le__(self, other: Triple) -> bool:
        return self.l0 <= other.l0 and self.l1 <= other.l1 and self.linf <= other.linf


Distance: TypeAlias = Fraction | Root | Triple


def distance(d_in: Distance | Real | tuple[Real, Real, Real]) -> Distance:
    """What a person writes for a distance, made exact; negative and non-finite values are refused."""
    if isinstance(d_in, Root | Triple):
        return d_in
    if isinstance(d_in, tuple):
        if len(d_in) != 3:
            raise InvalidArgument(f"a partition distance is a triple (l0, l1, linf), got {d_in!r}")
        l0, l1, linf = d_in
        return Triple(nonnegative(l0=l0), nonnegative(l1=l1), nonnegative(linf=linf))
    return nonnegative(d_in=d_in)


def plain(d_in: Distance) -> Fraction:
    """A distance that must be one rational number."""
    if isinstance(d_in, Root | Triple | tuple):
        raise InvalidArgument(f"this map takes a plain number as its distance, got {d_in!r}")
    return nonnegative(d_in=d_in)


def squared(d_in: Distance) -> Fraction:
    """The exact square of a distance that is a number or a root."""
    if isinstance(d_in, Root):
        return d_in.square
    return plain(d_in) ** 2


@dataclass(frozen=True, slots=True)
class Linear:
    """The stability map d -> factor·d. A map that is one says so by its type, so that what follows may rely on it."""

    factor: Fraction

    def __post_init__(self) -> None:
        nonnegative(factor=self.factor)

    def __call__(self, d_in: Distance) -> Distance:
        return self.factor * plain(d_in)


StabilityMap: TypeAlias = Callable[[Distance], Distance]


def then(first: StabilityMap, second: StabilityMap) -> StabilityMap:
    """One map after another; two linear ones make a linear one."""
    if isinstance(first, Linear) and isinstance(second, Linear):
        return Linear(first.factor * second.factor)
    return lambda d_in: second(first(d_in))


def triple(d_in: Distance) -> Triple:
    """A distance that must be a partition triple."""
    if not isinstance(d_in, Triple):
        raise InvalidArgument(f"this map takes a triple (l0, l1, linf) as its distance, got {d_in!r}")
    return d_in
