"""Probabilistic differential privacy: a loss above epsilon has probability at most delta (docs/theory/probabilistic.md).

Processing an answer can destroy it, and a record does not say what was computed from an answer. So costs are read through
(epsilon, delta), which processing keeps: what comes out holds for every function of the answers too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, assert_never

from deniable.accounting.measures.approximate import Approximate
from deniable.accounting.measures.measure import Adaptivity, Measure, Single
from deniable.accounting.rounding import charged
from deniable.accounting.spend import Spend
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
from deniable.exact import ln

_PAIRS = Approximate()
_LN_2 = charged(ln(2).upper)


def from_pair(pair: Spend) -> Spend:
    """What (epsilon, delta) implies: (epsilon + ln 2, 2 delta)-probabilistic privacy, and nothing is lost where delta is zero.

    Guarantee: Markov's inequality, P[loss > epsilon + t] <= delta / (1 - e^-t), at t = ln 2.
    """
    return Spend(pair.loss + _LN_2, 2 * pair.delta) if pair.delta else Spend(pair.loss)


@dataclass(frozen=True, slots=True)
class Probabilistic(Measure[Spend]):
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

    def compose(self, losses: Iterable[Spend]) -> Spend:
        return Spend.total(losses)

    def repeat(self, loss: Spend, times: int) -> Spend:
        return loss.times(times)

    def worst(self, losses: Iterable[Spend]) -> Spend:
        return Spend.worst(losses)

    def mixed(self, parts: Sequence[tuple[Fraction, Spend]]) -> Spend:
        """The draw itself may be hidden, which is a processing of the answer: the way leads over (epsilon, delta)."""
        return from_pair(_PAIRS.mixed(parts)) if len(parts) > 1 else Spend.mixed(parts)

    def group(self, loss: Spend, size: int) -> Spend:
        """That of pairs: where step i is the first to exceed epsilon, the earlier ones cost a factor e^epsilon each."""
        return _PAIRS.group(loss, size)

    def at_most(self, loss: Spend, limit: Spend) -> bool:
        return loss <= limit

    def promise(self, loss: Spend) -> Cost:
        return Bounded(epsilon=loss.loss, delta=min(Fraction(1), loss.delta))
