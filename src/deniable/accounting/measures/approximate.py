"""Approximate differential privacy in its plainest form: fixed (epsilon, delta) pairs that add.

Only costs that carry one natural pair are read here. A Gaussian has a whole curve of pairs: read it by
`deniable.epsilon(cost, delta=...)`, or as zero-concentrated privacy in a filter.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, assert_never

from deniable.accounting.group_privacy import group_cost
from deniable.accounting.measures.measure import Adaptivity, PairMeasure, Single
from deniable.accounting.measures.pure import Pure, amplify
from deniable.accounting.spend import Spend, exp, round_up
from deniable.cost import (
    Allocated,
    Bounded,
    Calibrated,
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


def truncation_delta(cost: TruncatedLaplace) -> Fraction:
    """The probability, rounded up, of an output that the neighbour cannot give: Pr[noise <= sensitivity - radius - 1].

    Inside the common support the loss is at most sensitivity/scale, so this is delta at that epsilon, exactly.
    """
    radius, steps = cost.radius, cost.sensitivity
    if steps == 0:
        return Fraction(0)
    if steps > 2 * radius:
        return Fraction(1)
    q, edge = exp(-1 / cost.scale), exp(-(radius + 1) / cost.scale)
    if steps <= radius + 1:  # only the far left tail
        tail = exp(-(radius - steps + 1) / cost.scale).upper - edge.lower
        return min(Fraction(1), round_up(tail / (1 + q.lower - 2 * edge.upper)))
    tail = exp(-(steps - radius) / cost.scale).lower - edge.upper  # everything but the far right tail
    return min(Fraction(1), round_up(1 - tail / (1 + q.upper - 2 * edge.lower)))


@dataclass(frozen=True, slots=True)
class Approximate(PairMeasure):
    """Reads a cost as one pair (epsilon, delta) (Dwork, Kenthapadi, McSherry, Mironov and Naor 2006)."""

    name: ClassVar[str] = "(epsilon, delta)"
    theorem: ClassVar[str] = "epsilons and deltas add, whoever chooses them when (Rogers, Roth, Ullman and Vadhan 2016)"
    adaptivity: ClassVar[Adaptivity] = Adaptivity.LOSSES

    def single(self, cost: Single) -> Spend:
        match cost:
            case Bounded(epsilon, delta):
                return Spend(round_up(epsilon), round_up(delta))
            case TruncatedLaplace(scale, _, sensitivity):
                return Spend(round_up(sensitivity / scale), truncation_delta(cost))
            case Concentrated(rho, delta) if rho == 0:
                return Spend(Fraction(0), round_up(delta))
            case Sampled():
                return self._sampled(cost)
            case Allocated(inner):
                return self.read(inner)  # a mixture of runs is never worse than one of them
            case Gaussian() | DiscreteGaussian() if cost.squared_sensitivity == 0:
                return Spend(Fraction(0))
            case Gaussian() | DiscreteGaussian() | Concentrated() | Renyi():
                kept = "Rényi privacy" if isinstance(cost, Renyi) else "zero-concentrated privacy"
                raise self.refuse(cost, instead=f"{kept}, or give a delta: deniable.epsilon(cost, delta=...)")
            case Laplace() | DiscreteLaplace() | Exponential() | RandomizedResponse() | Shuffled() | Selected():
                return Spend(_PURE.single(cost))
            case _:
                assert_never(cost)

    def _sampled(self, cost: Sampled) -> Spend:
        """Balle, Barthe and Gaboardi 2018; a unit replaced under Poisson sampling counts as two steps."""
        inner, rate = self.read(cost.cost), cost.rate
        if cost.how is Sampling.POISSON and cost.neighbours is Neighbours.REPLACE:
            if inner.delta == 0:
                return Spend(_PURE.single(cost))
            step = Spend(amplify(inner.loss, rate), round_up(rate * inner.delta))
            return self.group(step, 2)
        return Spend(amplify(inner.loss, rate), round_up(rate * inner.delta))

    def calibrated(self, cost: Calibrated) -> Spend:
        return Spend(round_up(cost.epsilon), round_up(cost.delta))

    def group(self, loss: Spend, size: int) -> Spend:
        return self.read(group_cost(Bounded(epsilon=loss.loss, delta=min(Fraction(1), loss.delta)), size))

    def promise(self, loss: Spend) -> Cost:
        return Bounded(epsilon=loss.loss, delta=min(Fraction(1), loss.delta))
