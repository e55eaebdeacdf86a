"""Gaussian differential privacy: no test does better than on two normals mu apart. Losses are mu², exact; they add."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, assert_never

from deniable.accounting.measures.measure import Adaptivity, NumberMeasure, Single
from deniable.accounting.measures.pure import Pure
from deniable.accounting.spend import LARGEST_EXPONENT, exp, round_up
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
from deniable.errors import Unaccountable
from deniable.exact import normal_quantile

_PURE = Pure()


def of_pure(epsilon: Fraction) -> Fraction:
    """mu² = (2 z)² with Pr[normal > z] = 1/(1 + e^epsilon), rounded up.

    The trade-off curve of randomised response is a chord of that of the Gaussian with the same total variation, hence above it.
    """
    if epsilon == 0:
        return Fraction(0)
    if epsilon > LARGEST_EXPONENT:
        raise Unaccountable("a pure loss this large has no useful Gaussian reading; read it as pure")
    tail = 1 / (1 + exp(epsilon).upper)
    place = -normal_quantile(_shortened(tail)).lower
    return round_up((2 * place) ** 2)


def _shortened(value: Fraction) -> Fraction:
    """A little less, with few digits."""
    shift = value.denominator.bit_length() - value.numerator.bit_length() + 80
    return Fraction((value.numerator << shift) // value.denominator, 1 << shift)


@dataclass(frozen=True, slots=True)
class GaussianPrivacy(NumberMeasure):
    """Reads a cost as mu² (Dong, Roth and Su 2022)."""

    name: ClassVar[str] = "Gaussian differential privacy"
    theorem: ClassVar[str] = "squares of mu add, whoever chooses them when (Koskela, Tobaben and Honkela 2023)"
    adaptivity: ClassVar[Adaptivity] = Adaptivity.LOSSES

    def single(self, cost: Single) -> Fraction:
        match cost:
            case Gaussian(scale, square):
                return round_up(square / scale**2)
            case DiscreteGaussian(_, square):
                return Fraction(0) if square == 0 else self._refused(cost, "zero-concentrated privacy")
            case Sampled():
                return self._sampled(cost)
            case Allocated(inner):
                return self.read(inner)  # a mixture of runs is never worse than one of them
            case Laplace() | DiscreteLaplace() | Exponential() | RandomizedResponse() | Shuffled() | Selected():
                return self._pure(cost)
            case Bounded() | TruncatedLaplace() | Concentrated() | Renyi():
                return self._pure(cost)
            case _:
                assert_never(cost)

    def _sampled(self, cost: Sampled) -> Fraction:
        """A sample is no worse than the whole: mixtures of trade-off curves above G stay above G, which is convex."""
        replaced = cost.how is Sampling.POISSON and cost.neighbours is Neighbours.REPLACE
        whole = self.read(cost.cost.group(2) if replaced else cost.cost)
        try:
            return min(whole, self._pure(cost))
        except Unaccountable:
            return whole

    def _pure(self, cost: Single) -> Fraction:
        try:
            return of_pure(_PURE.single(cost))
        except Unaccountable:
            return self._refused(cost, "(epsilon, delta): deniable.epsilon(cost, delta=...)")

    def _refused(self, cost: Cost, instead: str) -> Fraction:
        raise self.refuse(cost, instead=instead)

    def group(self, loss: Fraction, size: int) -> Fraction:
        return loss * size**2

    def promise(self, loss: Fraction) -> Cost:
        return Gaussian(scale=1, squared_sensitivity=loss)
