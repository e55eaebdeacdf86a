"""Bounded range: the privacy losses of any two outputs differ by at most eta (Durfee and Rogers 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, assert_never

from deniable.accounting.measures.measure import Adaptivity, NumberMeasure, Single
from deniable.accounting.measures.pure import Pure
from deniable.accounting.spend import round_up
from deniable.cost import (
    Allocated,
    Bounded,
    Concentrated,
    Cost,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    Neighbours,
    RandomizedResponse,
    Renyi,
    Sampled,
    Sampling,
    Selected,
    Shuffled,
    TruncatedLaplace,
)

_PURE = Pure()


@dataclass(frozen=True, slots=True)
class BoundedRange(NumberMeasure):
    """Reads a cost as one number eta; whatever is epsilon-private has a range of at most 2 epsilon."""

    name: ClassVar[str] = "bounded range"
    theorem: ClassVar[str] = "ranges add, whoever chooses them when (Dong, Durfee and Rogers 2020)"
    adaptivity: ClassVar[Adaptivity] = Adaptivity.LOSSES

    def single(self, cost: Single) -> Fraction:
        match cost:
            case Exponential(eta):
                return round_up(eta)
            case Sampled():
                return self._sampled(cost)
            case Allocated(inner):
                return self.read(inner)  # a mixture of runs is never worse than one of them
            case Laplace() | DiscreteLaplace() | RandomizedResponse() | Bounded() | Shuffled() | Selected():
                return 2 * _PURE.single(cost)
            case Gaussian() | DiscreteGaussian() | TruncatedLaplace() | Concentrated() | Renyi():
                return 2 * _PURE.single(cost)
            case _:
                assert_never(cost)

    def _sampled(self, cost: Sampled) -> Fraction:
        """Mixing with the neighbour's law shrinks the range, and never beyond twice the amplified pure loss."""
        amplified = 2 * _PURE.single(cost)
        if cost.how is Sampling.POISSON and cost.neighbours is not Neighbours.REPLACE:
            return min(amplified, self.read(cost.cost))
        return amplified

    def mixed(self, parts: Sequence[tuple[Fraction, Fraction]]) -> Fraction:
        """Each part's losses lie within eta on either side of zero."""
        return self.worst(loss for _, loss in parts) * (2 if len(parts) > 1 else 1)

    def group(self, loss: Fraction, size: int) -> Fraction:
        return loss * size

    def promise(self, loss: Fraction) -> Cost:
        return Exponential(eta=loss)
