"""Probabilistic differential privacy: a loss above epsilon has probability at most delta (docs/theory/probabilistic.md).

Stronger than (epsilon, delta), whose delta is the average of 1 - e^(epsilon - loss): here all of a loss above epsilon counts
(Meiser 2018).
Processing an answer can destroy it, and a record does not say what was computed from an answer. So costs are read through
(epsilon, delta), which processing keeps: what comes out holds for every function of the answers too. `exceeding` is a number to
look at and no budget.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, assert_never

from deniable.accounting.conversion import best_place
from deniable.accounting.measures.approximate import Approximate
from deniable.accounting.measures.measure import Adaptivity, PairMeasure, Single
from deniable.accounting.spend import Spend, round_up
from deniable.accounting.theorems import delta, pure_loss
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
    RandomizedResponse,
    Renyi,
    Sampled,
    Selected,
    Shuffled,
    TruncatedLaplace,
)
from deniable.errors import Unaccountable
from deniable.exact import expm1, ln, up
from deniable.exact.guards import Real, nonnegative

_PAIRS = Approximate()
_LN_2 = round_up(ln(2).upper)


def from_pair(pair: Spend) -> Spend:
    """What (epsilon, delta) implies: (epsilon + ln 2, 2 delta)-probabilistic privacy, and nothing is lost where delta is zero.

    Guarantee: Markov's inequality, P[loss > epsilon + t] <= delta / (1 - e^-t), at t = ln 2.
    """
    return Spend(pair.loss + _LN_2, 2 * pair.delta) if pair.delta else Spend(pair.loss)


@dataclass(frozen=True, slots=True)
class Probabilistic(PairMeasure):
    """Reads a cost as one pair (epsilon, delta): a loss above epsilon has probability at most delta, both ways."""

    name: ClassVar[str] = "probabilistic differential privacy"
    theorem: ClassVar[str] = (
        "epsilons and the chances of exceeding them add (Machanavajjhala, Kifer, Abowd, Gehrke and Vilhuber 2008)"
    )
    adaptivity: ClassVar[Adaptivity] = Adaptivity.LOSSES

    def single(self, cost: Single) -> Spend:
        match cost:
            case Gaussian() | DiscreteGaussian() | Concentrated() | Renyi() | Sampled() | Allocated():
                return self._pair(cost)
            case Laplace() | DiscreteLaplace() | Exponential() | RandomizedResponse() | Shuffled() | Selected():
                return self._pair(cost)
            case Bounded() | TruncatedLaplace():
                return self._pair(cost)
            case _:
                assert_never(cost)

    def _pair(self, cost: Cost) -> Spend:
        try:
            return from_pair(_PAIRS.read(cost))
        except Unaccountable:
            curve = (
                "a curve of pairs: deniable.epsilon(cost, delta=...), or deniable.accounting.probabilistic.exceeding"
            )
            raise self.refuse(cost, instead=curve) from None

    def calibrated(self, cost: Calibrated) -> Spend:
        return from_pair(_PAIRS.read(cost))

    def mixed(self, parts: Sequence[tuple[Fraction, Spend]]) -> Spend:
        """The draw itself may be hidden, which is a processing of the answer: the way leads over (epsilon, delta)."""
        return from_pair(_PAIRS.mixed(parts)) if len(parts) > 1 else Spend.mixed(parts)

    def group(self, loss: Spend, size: int) -> Spend:
        """That of pairs: where step i is the first to exceed epsilon, the earlier ones cost a factor e^epsilon each."""
        return _PAIRS.group(loss, size)

    def promise(self, loss: Spend) -> Cost:
        return Bounded(epsilon=loss.loss, delta=min(Fraction(1), loss.delta))


_BITS = 80
_ROUGH = 1e-2


def exceeding(cost: Cost, *, epsilon: Real) -> float:
    """At most the chance, rounded up, of an outcome whose privacy loss is above epsilon, in either direction.

    Guarantee: (epsilon, this)-probabilistic privacy, hence (epsilon, this)-privacy; sound for losses fixed beforehand.
    """
    loss = nonnegative(epsilon=epsilon)
    pure = pure_loss(cost)
    if pure is not None and pure <= loss:
        return 0.0
    if loss == 0:
        return 1.0

    def value(t: float) -> float:
        share = -math.expm1(-float(loss) * _part(t))
        return delta(cost, epsilon=loss * (1 - Fraction(_part(t))), gap=_ROUGH).upper / share

    part = Fraction(_part(best_place(value, low=-6.0, high=0.0)))
    reached = delta(cost, epsilon=loss * (1 - part)).upper
    return min(1.0, up(Fraction(reached) / -expm1(-loss * part, _BITS).upper))


def _part(t: float) -> float:
    """How far below epsilon to look, as a part of it."""
    return min(math.exp(t), 1.0)
