"""Zero-concentrated differential privacy, exact and approximate: rho bounds the Rényi divergence of every order a by a rho.

Losses are pairs (rho, delta) of exact fractions that add. Every cost with a pure or a Gaussian reading has one here, by the
tightest conversion known, so this is the measure for a session whose questions are not known beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, assert_never

from deniable.accounting.measures.approximate import Approximate
from deniable.accounting.measures.measure import Adaptivity, PairMeasure, Single
from deniable.accounting.measures.pure import half_tanh, odds
from deniable.accounting.spend import LARGEST_EXPONENT, Spend, exp, expm1, ln, round_up
from deniable.cost import (
    Allocated,
    Bounded,
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
    Neighbours,
    Parallel,
    RandomizedResponse,
    Renyi,
    Repeated,
    Sampled,
    Sampling,
    Selected,
    Shuffled,
    TruncatedLaplace,
)
from deniable.errors import Unaccountable

_APPROXIMATE = Approximate()


def of_pure(epsilon: Fraction) -> Fraction:
    """epsilon tanh(epsilon/2), the average loss of randomised response: no epsilon-private law loses more (Steinke 2024)."""
    return round_up(epsilon * half_tanh(epsilon))


def of_laplace(epsilon: Fraction) -> Fraction:
    """epsilon + e^-epsilon - 1 (Harrison and Manurangsi 2025)."""
    return round_up(min(epsilon**2 / 2, max(Fraction(0), epsilon + exp(-epsilon).upper - 1)))


def of_discrete_laplace(scale: Fraction, steps: int) -> Fraction:
    """(steps - 2 q (1 - q^steps) / (1 - q^2)) / scale with q = e^(-1/scale): the average loss, worst at order one."""
    most = of_pure(round_up(steps / scale))
    if steps <= 1:
        return most
    q, power = exp(-1 / scale), exp(-steps / scale)
    kept = 2 * q.lower * (1 - power.upper) / (1 - q.lower**2)
    return min(most, round_up(max(Fraction(0), steps - kept) / scale))


def of_bounded_range(eta: Fraction) -> Fraction:
    """u - 1 - ln u with u = eta/(e^eta - 1), at most eta^2/8 (Cesar and Rogers 2021; Harrison and Manurangsi 2025)."""
    if eta == 0:
        return Fraction(0)
    if eta > LARGEST_EXPONENT:
        return round_up(eta)  # u - 1 - ln u < eta - ln eta, which is less
    ratio = eta / expm1(eta)
    return round_up(min(eta**2 / 8, max(Fraction(0), ratio.upper - 1 - ln(ratio.lower).lower)))


def of_response(cost: RandomizedResponse) -> Fraction:
    """The average loss (truth - other) ln(odds) up to six answers, where it is the worst of all orders; else as pure."""
    ratio = odds(cost)
    if ratio <= 1:
        return Fraction(0)
    epsilon = ln(ratio).upper
    if cost.categories > _FEW:
        return of_pure(round_up(epsilon))
    return round_up((cost.truth - (1 - cost.truth) / (cost.categories - 1)) * epsilon)


_FEW = 6


@dataclass(frozen=True, slots=True)
class ZeroConcentrated(PairMeasure):
    """Reads a cost as (rho, delta) (Bun and Steinke 2016)."""

    name: ClassVar[str] = "zero-concentrated privacy"
    theorem: ClassVar[str] = "rhos and deltas add, whoever chooses them when (Whitehouse, Ramdas, Rogers and Wu 2023)"
    adaptivity: ClassVar[Adaptivity] = Adaptivity.LOSSES

    def single(self, cost: Single) -> Spend:
        match cost:
            case Laplace(scale, sensitivity):
                return Spend(of_laplace(sensitivity / scale))
            case DiscreteLaplace(scale, steps):
                return Spend(of_discrete_laplace(scale, steps))
            case Gaussian() | DiscreteGaussian():
                return Spend(round_up(cost.squared_sensitivity / (2 * cost.scale**2)))
            case Exponential(eta):
                return Spend(of_bounded_range(eta))
            case RandomizedResponse():
                return Spend(of_response(cost))
            case Concentrated(rho, delta):
                return Spend(round_up(rho), round_up(delta))
            case Bounded() | TruncatedLaplace() | Shuffled():
                return self._through_pairs(cost)
            case Selected():
                return self._selected(cost)
            case Sampled():
                return self._sampled(cost)
            case Allocated(inner):
                return self.read(inner)  # a mixture of runs is never worse than one of them
            case Renyi():
                raise self.refuse(cost, instead="Rényi privacy: deniable.epsilon(cost, delta=...)")
            case _:
                assert_never(cost)

    def _through_pairs(self, cost: Cost) -> Spend:
        pair = _APPROXIMATE.read(cost)
        return Spend(of_pure(pair.loss), pair.delta)

    def _selected(self, cost: Selected) -> Spend:
        try:
            return self._through_pairs(cost)
        except Unaccountable:
            raise self.refuse(cost, instead="Rényi privacy: deniable.epsilon(cost, delta=...)") from None

    def _sampled(self, cost: Sampled) -> Spend:
        """A sample never costs more than the whole (divergences are quasi-convex); pure parts are amplified."""
        whole = self.read(cost.cost.group(2) if _moves_twice(cost) else cost.cost)
        missed = Spend(whole.loss, round_up(cost.rate * whole.delta))
        try:
            pair = self._through_pairs(cost)
        except Unaccountable:
            return missed
        return pair if pair <= missed else missed

    def group(self, loss: Spend, size: int) -> Spend:
        """size^2 rho; no group theorem holds for a delta here."""
        if loss.delta > 0:
            raise Unaccountable(
                "no theorem groups approximate zero-concentrated privacy; group the releases before they are composed, "
                "or read the whole by deniable.epsilon(cost, delta=...)"
            )
        return Spend(loss.loss * size**2)

    def promise(self, loss: Spend) -> Cost:
        return Concentrated(rho=loss.loss, delta=min(Fraction(1), loss.delta))


def lost_by_rho(cost: Cost) -> str:
    """What a reading as rho gives away: "" if nothing, else a sentence about the samples it reads as if they held everybody.

    As the order grows, the divergence of a sampled Gaussian tends to that of the whole: no rho below the whole's holds for it.
    """
    match cost:
        case Sampled(inner, rate):
            try:
                whole = ZeroConcentrated().read(inner.group(2) if _moves_twice(cost) else inner)
                kept = ZeroConcentrated().read(cost)
            except Unaccountable:
                return ""
            return _LOST if 0 < rate < 1 and kept.loss >= whole.loss > 0 else ""
        case Composed(costs) | Parallel(costs):
            return next(filter(None, map(lost_by_rho, costs)), "")
        case Repeated(inner) | Grouped(inner):
            return lost_by_rho(inner)
        case Mixed(parts):
            return next(filter(None, (lost_by_rho(each) for _, each in parts)), "")
        case _:
            return ""


_LOST = "the sample is read as if it held everybody; dp.epsilon reads its amplification"


def _moves_twice(cost: Sampled) -> bool:
    return cost.how is Sampling.POISSON and cost.neighbours is Neighbours.REPLACE
