"""Pure differential privacy: no output's probability changes by more than a factor e^epsilon.

Losses are exact fractions; they add, and both queries and losses may be chosen along the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, assert_never

from deniable.accounting.measures.measure import Adaptivity, NumberMeasure, Single
from deniable.accounting.spend import LARGEST_EXPONENT, exp, expm1, ln, round_up
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
    Stopping,
    TruncatedLaplace,
)


def amplify(epsilon: Fraction, rate: Fraction) -> Fraction:
    """ln(1 + rate (e^epsilon - 1)), rounded up: the loss of a unit that is only present with probability `rate`."""
    if rate == 1 or epsilon == 0:
        return epsilon
    if rate == 0:
        return Fraction(0)
    if epsilon > LARGEST_EXPONENT:  # ln(1 + q (e^x - 1)) <= x + ln(q + e^-x) and here e^-x is nothing
        return min(epsilon, round_up(epsilon + ln(rate + exp(-epsilon).upper).upper))
    return min(epsilon, round_up(ln(1 + rate * expm1(epsilon).upper).upper))


def odds(cost: RandomizedResponse) -> Fraction:
    """How much likelier the truth is than another answer."""
    return cost.truth * (cost.categories - 1) / (1 - cost.truth)


def half_tanh(epsilon: Fraction) -> Fraction:
    """tanh(epsilon/2), rounded up: the total variation distance of epsilon-randomised response."""
    if epsilon > LARGEST_EXPONENT:
        return Fraction(1)
    grown = expm1(epsilon).upper
    return min(Fraction(1), round_up(grown / (grown + 2)))


@dataclass(frozen=True, slots=True)
class Pure(NumberMeasure):
    """Reads a cost as one number epsilon (Dwork, McSherry, Nissim and Smith 2006)."""

    name: ClassVar[str] = "pure differential privacy"
    theorem: ClassVar[str] = "pure losses add, whoever chooses them when (Rogers, Roth, Ullman and Vadhan 2016)"
    adaptivity: ClassVar[Adaptivity] = Adaptivity.LOSSES

    def single(self, cost: Single) -> Fraction:
        match cost:
            case Laplace(scale, sensitivity) | DiscreteLaplace(scale, sensitivity):
                return round_up(sensitivity / scale)
            case Exponential(eta):
                return round_up(eta)
            case RandomizedResponse():
                return round_up(max(Fraction(0), ln(odds(cost)).upper)) if odds(cost) > 1 else Fraction(0)
            case Bounded(epsilon, delta):
                return round_up(epsilon) if delta == 0 else self._refused(cost)
            case Concentrated(rho, delta):
                return Fraction(0) if rho == 0 and delta == 0 else self._refused(cost)
            case Gaussian() | DiscreteGaussian():
                return Fraction(0) if cost.squared_sensitivity == 0 else self._refused(cost)
            case TruncatedLaplace():
                return Fraction(0) if cost.sensitivity == 0 else self._refused(cost)
            case Renyi():
                return self._refused(cost)
            case Shuffled(epsilon):
                return round_up(epsilon)
            case Sampled():
                return self._sampled(cost)
            case Allocated(inner):
                return self.read(inner)  # a mixture of runs is never worse than one of them
            case Selected():
                return self._selected(cost)
            case _:
                assert_never(cost)

    def _sampled(self, cost: Sampled) -> Fraction:
        """Balle, Barthe and Gaboardi 2018; with Poisson samples and replaced units both mixtures move."""
        epsilon = self.read(cost.cost)
        if cost.how is Sampling.POISSON and cost.neighbours is Neighbours.REPLACE:
            return round_up(amplify(epsilon, cost.rate) + self._shrunk(epsilon, cost.rate))
        return amplify(epsilon, cost.rate)

    @staticmethod
    def _shrunk(epsilon: Fraction, rate: Fraction) -> Fraction:
        """-ln(1 - rate + rate e^-epsilon), rounded up."""
        if rate == 1 or epsilon == 0:
            return epsilon
        return min(epsilon, round_up(-ln(1 - rate + rate * exp(-epsilon).lower).lower))

    def _selected(self, cost: Selected) -> Fraction:
        """Papernot and Steinke 2022: (2 + eta) epsilon, and for Poisson tries epsilon + mean tanh(epsilon/2)."""
        epsilon = self.read(cost.cost)
        match cost.stopping:
            case Stopping.NEGATIVE_BINOMIAL:
                return round_up((2 + cost.shape) * epsilon)
            case Stopping.POISSON:
                return round_up(epsilon + cost.tries * half_tanh(epsilon))
            case _:
                assert_never(cost.stopping)

    def _refused(self, cost: Cost) -> Fraction:
        raise self.refuse(cost, instead="(epsilon, delta) by deniable.epsilon(cost, delta=...)")

    def group(self, loss: Fraction, size: int) -> Fraction:
        return loss * size

    def promise(self, loss: Fraction) -> Cost:
        return Bounded(epsilon=loss)
