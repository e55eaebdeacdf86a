"""A claim as a trade-off curve: which pairs of error rates it forbids.

A cost promises P(S) <= e^e Q(S) + delta(e) for every event S, every e and both orders of the neighbours. Each point of its privacy
profile is one such line; whoever crosses any of them has refuted the claim, so a few lines, chosen well, are enough and sound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, get_args

import numpy as np

from deniable.accounting import delta, epsilon, no_larger, tradeoff
from deniable.cost import (
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
    RandomizedResponse,
    Repeated,
    Sampled,
    TruncatedLaplace,
    composed,
)
from deniable.errors import InvalidArgument, Unaccountable
from deniable.exact import digits, loss_text, number_of

_QUICK = (Bounded, Calibrated, DiscreteGaussian, DiscreteLaplace, Exponential, Gaussian, Laplace)
_MANY, _FEW, _THIN = 24, 8, 3
_UP = 1 + 1e-12
_SMALL_DELTA = 1e-6


@dataclass(frozen=True, slots=True)
class ClaimCurve:
    """The lines of a claim: for each `losses[k]` the smallest delta it promises, rounded up."""

    cost: Cost
    losses: tuple[float, ...]
    deltas: tuple[float, ...]
    delta: float
    """The delta at which a lower bound on epsilon is stated."""

    def frontier(self, rates: Any) -> Any:
        """The largest P(S) that the claim allows beside each Q(S): every line, both orders of the neighbours."""
        found = np.ones(np.shape(rates))
        for loss, least in zip(self.losses, self.deltas, strict=True):
            factor = _factor(loss) * _UP
            found = np.minimum(found, np.minimum(factor * rates + least, 1 - (1 - rates - least) / factor))
        return found

    def excess(self, often: float, seldom: float) -> float:
        """By how much rates P(S) = often and Q(S) = seldom lie above the frontier; positive: forbidden."""
        return float(often - self.frontier(np.float64(seldom)))

    def supports(self) -> list[tuple[float, float]]:
        """Some (slope, most) with P(S) - slope * Q(S) <= most for every event: slope 1 first, lines in both orders."""
        chosen = list(zip(self.losses[::-_THIN], self.deltas[::-_THIN], strict=True))
        factors = [(_factor(min(loss, 300.0)), least) for loss, least in chosen]
        back = [(1 / factor, 1 - (1 - least) / factor) for factor, least in factors]
        return [(1.0, self.deltas[0] if self.losses[0] == 0 else 1.0), *factors, *back]

    def scores(self, often: Any, seldom: Any, draws: float) -> tuple[Any, Any]:
        """How many standard errors estimated rates cross the line they cross most, and its slope; for whole arrays of events."""
        best, slopes = np.full(np.shape(often), -np.inf), np.ones(np.shape(often))
        spread_often, spread_seldom = (self.spread(rate, draws) for rate in (often, seldom))
        for slope, most in self.supports():
            found = (often - slope * seldom - most) / np.sqrt(spread_often + slope * slope * spread_seldom)
            slopes, best = np.where(found > best, slope, slopes), np.maximum(best, found)
        return best, slopes

    @staticmethod
    def spread(rate: Any, draws: float) -> Any:
        """The variance of an estimated rate; one that was never or always seen is not certain."""
        return np.maximum(rate * (1 - rate), 1 / draws) / draws

    def epsilons(self, often: Any, seldom: Any, draws: float) -> Any:
        """About the lower bound on epsilon that each of many events will give."""
        a, b = 2.6 * np.sqrt(self.spread(often, draws)), 2.6 * np.sqrt(self.spread(seldom, draws))
        sides = [(often - a - self.delta, seldom + b), (1 - seldom - b - self.delta, 1 - often + a)]
        return np.maximum(*(np.log(np.maximum(high, 1e-300) / np.maximum(low, 1 / draws)) for high, low in sides))


def _factor(loss: float) -> float:
    """e to the loss; beyond all floats it is infinite, and nothing can cross the line."""
    return math.exp(loss) if loss < 700 else 1e304


@lru_cache(maxsize=256)
def curve_of(cost: Cost) -> ClaimCurve:
    """The lines of a claim, or a refusal that names the costs that can be read."""
    if not isinstance(cost, get_args(Cost)):
        raise InvalidArgument(
            f"a claim is one of the cost records in dp.costs (such as Bounded, Gaussian, Concentrated), got {cost!r}"
        )
    try:
        points = _points(cost)
    except Unaccountable as refusal:
        raise InvalidArgument(f"this claim has no privacy profile that can be tested: {refusal}") from None
    losses, deltas = zip(*points, strict=True)
    return ClaimCurve(cost, tuple(map(float, losses)), tuple(map(_up, deltas)), _stated_delta(cost))


def _up(value: Any) -> float:
    """As a float that is not below it."""
    near = float(value)
    return near if near >= value else math.nextafter(near, math.inf)


def _points(cost: Cost) -> list[tuple[float, float]]:
    """Points of the profile. Of a long composition that is pure, those of its whole epsilon and a few of its own: each is sound."""
    if isinstance(cost, _QUICK) and getattr(cost, "coordinates", 1) == 1:
        return tradeoff(cost).supports(_MANY)
    try:
        whole = epsilon(cost, delta=0).upper
    except Unaccountable:
        whole = math.inf
    if not math.isfinite(whole):
        return tradeoff(cost).supports(_FEW)
    own = [(whole * share, _up(delta(cost, epsilon=whole * share).upper)) for share in (0.0, 0.5)]
    return sorted([*own, *tradeoff(Bounded(epsilon=whole)).supports(_MANY)])


def _stated_delta(cost: Cost) -> float:
    if isinstance(cost, Bounded | Calibrated):
        return float(cost.delta)
    try:
        return 0.0 if math.isfinite(epsilon(cost, delta=0).upper) else _SMALL_DELTA
    except Unaccountable:
        return _SMALL_DELTA


_NOISES: dict[type, str] = {
    Laplace: "Laplace noise",
    DiscreteLaplace: "discrete Laplace noise",
    Gaussian: "Gaussian noise",
    DiscreteGaussian: "discrete Gaussian noise",
    TruncatedLaplace: "truncated Laplace noise",
}


def claim_text(cost: Cost) -> str:
    """A claim as people read it: "epsilon = 1", "Gaussian noise of scale 2"; others as their record."""
    if isinstance(cost, Bounded | Calibrated):
        return loss_text("epsilon", cost.epsilon, cost.delta)
    if isinstance(cost, Concentrated):
        return loss_text("rho", cost.rho, cost.delta)
    if isinstance(cost, Exponential):
        return f"exponential mechanism of range {digits(cost.eta)}"
    if isinstance(cost, RandomizedResponse):
        return f"randomized response among {cost.categories}, true with probability {digits(cost.truth)}"
    return _noise_text(cost) if type(cost) in _NOISES else _several_text(cost)


def _noise_text(cost: Any) -> str:
    moved = float(cost.sensitivity) if hasattr(cost, "sensitivity") else math.sqrt(cost.squared_sensitivity)
    told = "" if moved == 1 else f" for sensitivity {moved:.6g}"
    cut = f" cut at {cost.radius}" if isinstance(cost, TruncatedLaplace) else ""
    return f"{_NOISES[type(cost)]} of scale {digits(cost.scale, downwards=True)}{cut}{told}"


def _several_text(cost: Cost) -> str:
    if isinstance(cost, Composed):
        return " and ".join(map(claim_text, cost.costs)) or "epsilon = 0"
    if isinstance(cost, Repeated):
        return f"{number_of(cost.times, 'time')} ({claim_text(cost.cost)})"
    if isinstance(cost, Sampled):
        return f"({claim_text(cost.cost)}) on a sample of rate {digits(cost.rate)}"
    if isinstance(cost, Grouped):
        return f"({claim_text(cost.cost)}) for groups of {cost.size}"
    return repr(cost)


def exceeds(costs: Sequence[Cost], allowed: Sequence[Cost]) -> bool:
    """Whether the costs together are certainly more than what is allowed: at some epsilon they need a larger delta."""
    total, most = composed(costs), composed(allowed)
    if no_larger(total, most):
        return False
    curve = curve_of(most if allowed else Bounded(epsilon=0))
    return any(delta(total, epsilon=loss).lower > least for loss, least in zip(curve.losses, curve.deltas, strict=True))
