"""How a measure reads a cost: one walk for all of them, so that a count can be neither forgotten nor applied twice.

A measure says what a single release costs and how losses add up, repeat and compete; `Measure.read` does the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from enum import Enum
from fractions import Fraction
from typing import ClassVar, Generic, TypeAlias, TypeVar

from deniable.accounting.adjacency import neighbours_of
from deniable.accounting.group_privacy import group_cost, sampled_group
from deniable.accounting.spend import Spend
from deniable.cost import (
    Allocated,
    Bounded,
    Calibrated,
    Composed,
    Concentrated,
    Cost,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Grouped,
    Laplace,
    Mixed,
    Parallel,
    RandomizedResponse,
    Renyi,
    Repeated,
    Sampled,
    Selected,
    Shuffled,
    TruncatedLaplace,
)
from deniable.errors import Unaccountable

Single: TypeAlias = (
    Laplace
    | DiscreteLaplace
    | Gaussian
    | DiscreteGaussian
    | TruncatedLaplace
    | Exponential
    | RandomizedResponse
    | Bounded
    | Concentrated
    | Renyi
    | Sampled
    | Allocated
    | Shuffled
    | Selected
)
"""What a measure has to read itself; the other records only say how these are put together."""

Loss = TypeVar("Loss")


class Adaptivity(Enum):
    """What may be chosen in the light of earlier answers, by the theorem behind a measure."""

    QUERIES = "queries may be chosen along the way, their losses are fixed beforehand"
    LOSSES = "queries and their losses may be chosen along the way"


class Measure(ABC, Generic[Loss]):
    """A way to read a cost as a loss.

    Guarantee: `read` is never below what the cost's theorem allows; exact numbers round up.
    """

    name: ClassVar[str]
    theorem: ClassVar[str]
    adaptivity: ClassVar[Adaptivity]

    def read(self, cost: Cost) -> Loss:
        """The loss of a cost; `Unaccountable` when no theorem reads it under this measure, or it compares unlike neighbours."""
        neighbours_of(cost)
        return self._read(cost)

    def _read(self, cost: Cost) -> Loss:
        match cost:
            case Composed(costs):
                return self.compose(self._read(each) for each in costs)
            case Repeated(each, times):
                return self.repeat(self._read(each), times) if times else self.compose(())
            case Parallel(costs):
                return self.worst(self._read(each) for each in costs)
            case Mixed(parts):
                return self.mixed([(chance, self._read(each)) for chance, each in parts if chance])
            case Grouped(each, size):
                inner = group_cost(each, size)
                if not isinstance(inner, Grouped):
                    return self._read(inner)
                if isinstance(inner.cost, Sampled):
                    return self._read(sampled_group(inner.cost, inner.size))
                return self.group(self._read(inner.cost), inner.size)
            case Calibrated():
                return self.calibrated(cost)
            case _:
                return self.single(cost)

    def calibrated(self, cost: Calibrated) -> Loss:
        """The loss of noise that was calibrated to a pair: that of the cost itself, unless pairs are what is read."""
        return self._read(cost.cost)

    @abstractmethod
    def single(self, cost: Single) -> Loss:
        """The loss of one release."""

    @abstractmethod
    def compose(self, losses: Iterable[Loss]) -> Loss:
        """The loss of all of these, one after another; of nothing, no loss."""

    @abstractmethod
    def repeat(self, loss: Loss, times: int) -> Loss:
        """The loss of the same, `times` times; equal to composing that many."""

    @abstractmethod
    def worst(self, losses: Iterable[Loss]) -> Loss:
        """A loss at least as large as each of these."""

    @abstractmethod
    def mixed(self, parts: Sequence[tuple[Fraction, Loss]]) -> Loss:
        """A loss at least that of one of these, drawn with these chances."""

    @abstractmethod
    def group(self, loss: Loss, size: int) -> Loss:
        """The loss between data sets `size` steps apart, from the loss of one step alone."""

    @abstractmethod
    def at_most(self, loss: Loss, limit: Loss) -> bool:
        """Whether a loss is within a limit."""

    @abstractmethod
    def promise(self, loss: Loss) -> Cost:
        """The cost of anything with exactly this loss: reading it under another measure converts the loss."""

    def refuse(self, cost: Cost, *, instead: str) -> Unaccountable:
        """The error for a cost that this measure cannot read, naming one that can."""
        return Unaccountable(f"no theorem reads {type(cost).__name__} as {self.name}; read it as {instead}")


class NumberMeasure(Measure[Fraction]):
    """A measure whose losses are numbers that add."""

    __slots__ = ()

    def compose(self, losses: Iterable[Fraction]) -> Fraction:
        return sum(losses, Fraction(0))

    def repeat(self, loss: Fraction, times: int) -> Fraction:
        return loss * times

    def worst(self, losses: Iterable[Fraction]) -> Fraction:
        return max(losses, default=Fraction(0))

    def mixed(self, parts: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
        return self.worst(loss for _, loss in parts)

    def at_most(self, loss: Fraction, limit: Fraction) -> bool:
        return loss <= limit


class PairMeasure(Measure[Spend]):
    """A measure whose losses are pairs that add, a loss and a delta."""

    __slots__ = ()

    def compose(self, losses: Iterable[Spend]) -> Spend:
        return Spend.total(losses)

    def repeat(self, loss: Spend, times: int) -> Spend:
        return loss.times(times)

    def worst(self, losses: Iterable[Spend]) -> Spend:
        return Spend.worst(losses)

    def mixed(self, parts: Sequence[tuple[Fraction, Spend]]) -> Spend:
        return Spend.mixed(parts)

    def at_most(self, loss: Spend, limit: Spend) -> bool:
        return loss <= limit
