"""Rényi differential privacy: a bound on the divergence at every order above one, orders being any real number.

Losses are curves; they add order by order. Parts that no order can bound, because they give everything away with a small
probability, are kept beside the curve as leaks and add to delta.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, assert_never

from deniable.accounting.cost_terms import terms
from deniable.accounting.measures.approximate import Approximate
from deniable.accounting.measures.measure import Adaptivity, Measure, Single
from deniable.accounting.measures.pure import Pure
from deniable.accounting.pure_profiles import PureLoss
from deniable.accounting.renyi_curves import (
    Curve,
    DiscreteLaplaceCurve,
    DoubledCurve,
    GroupedCurve,
    LaplaceCurve,
    LinearCurve,
    ListedCurve,
    NegativeBinomialCurve,
    PoissonCurve,
    PureCurve,
    RangeCurve,
    ResponseCurve,
)
from deniable.accounting.renyi_sampling import (
    MOST_VALUES,
    SHORTENED,
    BinomialSample,
    ConvexSample,
    FixedSizeSample,
    GreatestCurve,
    LeastCurve,
    MixtureCurve,
    SampledGaussianCurve,
    grouped_curve,
    is_shortened,
    work,
)
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
    Stopping,
    TruncatedLaplace,
    composed,
)
from deniable.errors import Unaccountable

_EXACT = (LinearCurve, PureCurve, LaplaceCurve, DiscreteLaplaceCurve, RangeCurve, ResponseCurve)
"""The divergences of the worst pair of laws, and not only a bound on them."""


@dataclass(frozen=True, slots=True)
class RenyiLoss:
    """Curves with their counts, and leaks with theirs."""

    curves: tuple[tuple[Curve, int], ...] = ()
    leaks: tuple[tuple[Fraction, int], ...] = ()

    def at(self, order: Fraction) -> Fraction | None:
        """The divergence at an exact order, rounded up, leaks apart; None where no bound is known."""
        total = Fraction(0)
        for curve, times in self.curves:
            value = curve.at(order)
            if value is None:
                return None
            total += times * value
        return total

    @property
    def exact(self) -> bool:
        """Whether these are the divergences themselves, up to rounding: no other theorem bounds them better."""
        return all(isinstance(curve, _EXACT) for curve, _ in self.curves)

    @property
    def note(self) -> str:
        """What the bound on work made looser; "" if nothing."""
        return SHORTENED if any(is_shortened(curve) for curve, _ in self.curves) else ""

    def estimate(self, order: float) -> float:
        """About the same, quickly."""
        return math.fsum(times * curve.estimate(order) for curve, times in self.curves)


class RenyiDivergences(Measure[RenyiLoss]):
    """Reads a cost as a curve over the orders (Mironov 2017).

    A Poisson number of candidates needs the candidate's own delta, which any theorem may give: `theorems.RenyiPrivacy`, the
    measure to use, says how that is read.
    """

    __slots__ = ()

    name: ClassVar[str] = "Rényi privacy"
    theorem: ClassVar[str] = (
        "divergences of one order add (Mironov 2017); the best order is sound for losses fixed beforehand"
    )
    adaptivity: ClassVar[Adaptivity] = Adaptivity.QUERIES

    def single(self, cost: Single) -> RenyiLoss:
        match cost:
            case Laplace(scale, sensitivity):
                return _one(LaplaceCurve(sensitivity / scale))
            case DiscreteLaplace(scale, steps):
                return _one(DiscreteLaplaceCurve(scale, steps))
            case Gaussian() | DiscreteGaussian():
                return _one(LinearCurve(cost.squared_sensitivity / (2 * cost.scale**2)))
            case Exponential(eta):
                return _one(RangeCurve(eta)) if eta else RenyiLoss()
            case RandomizedResponse(truth, categories):
                other = (1 - truth) / (categories - 1)
                return _one(ResponseCurve(truth, other, (categories - 2) * other))
            case Concentrated(rho, delta):
                return RenyiLoss(((LinearCurve(rho), 1),), ((delta, 1),) if delta else ())
            case Bounded() | TruncatedLaplace() | Shuffled():
                return self._pair(cost)
            case Renyi(curve):
                return _one(ListedCurve(curve))
            case Sampled():
                return self._sampled(cost)
            case Allocated(inner):
                return self.read(inner)  # a mixture of runs is never worse than one of them
            case Selected():
                return self._selected(cost)
            case _:
                assert_never(cost)

    def _pair(self, cost: Cost) -> RenyiLoss:
        """A pure part and a leak: the worst (epsilon, delta) law."""
        pair = Approximate().read(cost)
        curves = ((PureCurve(PureLoss(epsilon=pair.loss)), 1),) if pair.loss else ()
        return RenyiLoss(curves, ((pair.delta, 1),) if pair.delta else ())

    def _sampled(self, cost: Sampled) -> RenyiLoss:
        replaced = cost.how is Sampling.POISSON and cost.neighbours is Neighbours.REPLACE
        base = self.read(cost.cost)
        if cost.rate == 0:
            return RenyiLoss()
        inner = terms(cost.cost).only
        if isinstance(inner, Gaussian) and not replaced and cost.rate < 1 and cost.how is Sampling.POISSON:
            return _one(SampledGaussianCurve(inner.squared_sensitivity / inner.scale**2, cost.rate))
        whole = self.read(cost.cost.group(2)) if replaced else base
        curves: list[Curve] = [ConvexSample(_Sum(whole), cost.rate)]
        if cost.rate < 1 and not replaced:
            expanded = FixedSizeSample if cost.neighbours is Neighbours.REPLACE else BinomialSample
            best = expanded(_Sum(base), cost.rate)
            curves.append(best if work(best) <= MOST_VALUES else expanded(_Sum(_doubled(base)), cost.rate))
        pure = _pure(cost)
        if pure is not None:
            curves.append(PureCurve(PureLoss(epsilon=pure)))
        leaks = tuple((round_up(cost.rate * chance), times) for chance, times in whole.leaks)
        return RenyiLoss(((LeastCurve(tuple(curves), pure), 1),), leaks)

    def _selected(self, cost: Selected) -> RenyiLoss:
        base = self.read(cost.cost)
        if base.leaks:
            raise self.refuse(cost, instead="nothing: select among candidates whose loss has no delta")
        match cost.stopping:
            case Stopping.NEGATIVE_BINOMIAL:
                pure = _pure(cost.cost)
                return _one(NegativeBinomialCurve(_Sum(base), cost.shape, cost.tries, pure))
            case Stopping.POISSON:
                return _one(PoissonCurve(_Sum(base), cost.tries, self.delta_of(cost.cost)))
            case _:
                assert_never(cost.stopping)

    @abstractmethod
    def delta_of(self, cost: Cost) -> Callable[[Fraction], Fraction]:
        """The delta of a candidate as a function of epsilon, rounded up; equal for equal costs."""

    def compose(self, losses: Iterable[RenyiLoss]) -> RenyiLoss:
        curves: dict[Curve, int] = {}
        leaks: dict[Fraction, int] = {}
        for loss in losses:
            for curve, times in loss.curves:
                curves[curve] = curves.get(curve, 0) + times
            for chance, times in loss.leaks:
                leaks[chance] = leaks.get(chance, 0) + times
        return RenyiLoss(tuple(curves.items()), tuple(leaks.items()))

    def repeat(self, loss: RenyiLoss, times: int) -> RenyiLoss:
        if times == 0:
            return RenyiLoss()
        return RenyiLoss(
            tuple((curve, count * times) for curve, count in loss.curves),
            tuple((chance, count * times) for chance, count in loss.leaks),
        )

    def worst(self, losses: Iterable[RenyiLoss]) -> RenyiLoss:
        parts = tuple(losses)
        if len(parts) == 1:
            return parts[0]
        leaks = [sum(chance * times for chance, times in part.leaks) for part in parts]
        worst = min(Fraction(1), max(leaks, default=Fraction(0)))
        return RenyiLoss(
            ((GreatestCurve(tuple(map(_Sum, parts))), 1),) if parts else (), ((worst, 1),) if worst else ()
        )

    def mixed(self, parts: Sequence[tuple[Fraction, RenyiLoss]]) -> RenyiLoss:
        leaked = round_up(sum((chance * _leaked(loss) for chance, loss in parts), Fraction(0)))
        curve = MixtureCurve(tuple((chance, _Sum(loss)) for chance, loss in parts))
        return RenyiLoss(((curve, 1),), ((min(Fraction(1), leaked), 1),) if leaked else ())

    def group(self, loss: RenyiLoss, size: int) -> RenyiLoss:
        if loss.leaks:
            raise Unaccountable(
                "no theorem groups approximate Rényi privacy; group the releases before they are composed, "
                "or read the whole by deniable.epsilon(cost, delta=...)"
            )
        return _one(grouped_curve(_Sum(loss), size))

    def at_most(self, loss: RenyiLoss, limit: RenyiLoss) -> bool:
        """Whether a loss is below a limit at every order of a fine grid, leaks included."""
        if dict(loss.curves) == dict(limit.curves) and dict(loss.leaks) == dict(limit.leaks):
            return True
        orders = [1 + Fraction(2) ** k for k in range(-8, 9)]
        below = all(_within(loss.at(order), limit.at(order)) for order in orders)
        return below and _leaked(loss) <= _leaked(limit)

    def promise(self, loss: RenyiLoss) -> Cost:
        """The divergences at a good number of orders, and the leaks."""
        points = [(order, value) for order in _ORDERS if (value := loss.at(order)) is not None]
        leaks = [Bounded(epsilon=0, delta=chance).repeated(times) for chance, times in loss.leaks]
        return composed([Renyi(points), *leaks]) if loss.curves else composed(leaks)


_ORDERS = tuple(1 + Fraction(2) ** k for k in range(-6, 1)) + tuple(
    Fraction(n) for n in (*range(3, 32), *range(32, 64, 2), *range(64, 257, 8), 512, 1024, 4096)
)


def _within(value: Fraction | None, limit: Fraction | None) -> bool:
    return limit is None or (value is not None and value <= limit)


def _leaked(loss: RenyiLoss) -> Fraction:
    return sum((chance * times for chance, times in loss.leaks), Fraction(0))


def _one(curve: Curve) -> RenyiLoss:
    return RenyiLoss(((curve, 1),))


def _pure(cost: Cost) -> Fraction | None:
    try:
        return Pure().read(cost)
    except Unaccountable:
        return None


def _doubled(loss: RenyiLoss) -> RenyiLoss:
    """The same with groups from one value each."""
    curves = ((DoubledCurve(c.base, c.size) if isinstance(c, GroupedCurve) else c, k) for c, k in loss.curves)
    return RenyiLoss(tuple(curves), loss.leaks)


@dataclass(frozen=True, slots=True)
class _Sum:
    """A whole loss as one curve."""

    loss: RenyiLoss

    def at(self, order: Fraction) -> Fraction | None:
        return self.loss.at(order)

    def estimate(self, order: float) -> float:
        return self.loss.estimate(order)
