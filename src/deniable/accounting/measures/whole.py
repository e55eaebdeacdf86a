"""Measures whose loss is the whole law of the privacy loss: profile, loss distribution, trade-off curve.

The three say the same in three ways (Zhu, Dong and Wang 2022). The loss is kept as what happened, so nothing is lost by composing;
numbers are read from it at the end. Losses must be fixed beforehand: adaptively chosen ones have no theorem here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from deniable.accounting.cost_terms import CostTerms, terms
from deniable.accounting.measures.measure import Adaptivity, Measure, Single
from deniable.accounting.privacy_profile import PrivacyProfile
from deniable.accounting.theorems import ClosedReader, numeric, tightest
from deniable.accounting.tradeoffs import TradeOff
from deniable.cost import Cost, Grouped, Mixed, Parallel, Repeated, composed
from deniable.errors import Unaccountable

_EPSILONS = tuple(Fraction(k, 4) for k in range(41))


@dataclass(frozen=True, slots=True)
class Profiles(Measure[CostTerms]):
    """Reads a cost as delta for every epsilon: `curve(loss)` gives numbers."""

    name: ClassVar[str] = "privacy profile"
    theorem: ClassVar[str] = "products of dominating pairs dominate (Zhu, Dong and Wang 2022)"
    adaptivity: ClassVar[Adaptivity] = Adaptivity.QUERIES

    def single(self, cost: Single) -> CostTerms:
        tightest(cost)  # refuses what nothing reads
        return terms(cost)

    def compose(self, losses: Iterable[CostTerms]) -> CostTerms:
        return terms(composed(loss.cost for loss in losses))

    def repeat(self, loss: CostTerms, times: int) -> CostTerms:
        return terms(Repeated(loss.cost, times))

    def worst(self, losses: Iterable[CostTerms]) -> CostTerms:
        return terms(Parallel(tuple(loss.cost for loss in losses)))

    def mixed(self, parts: Sequence[tuple[Fraction, CostTerms]]) -> CostTerms:
        return terms(Mixed((chance, loss.cost) for chance, loss in parts))

    def group(self, loss: CostTerms, size: int) -> CostTerms:
        found = Grouped(loss.cost, size)
        tightest(found)
        return terms(found)

    def at_most(self, loss: CostTerms, limit: CostTerms) -> bool:
        """Whether the profile is certainly within the limit's at forty epsilons from 0 to 10."""
        if loss == limit:
            return True
        mine, theirs = tightest(loss.cost), tightest(limit.cost)
        return all(mine.delta(e, 1e-4).upper <= theirs.delta(e, 1e-4).upper for e in _EPSILONS)

    def promise(self, loss: CostTerms) -> Cost:
        return loss.cost

    def curve(self, loss: CostTerms) -> PrivacyProfile:
        """delta as a function of epsilon."""
        return PrivacyProfile(loss.cost)


@dataclass(frozen=True, slots=True)
class LossDistributions(Profiles):
    """Reads a cost as the law of its privacy loss; only costs with a dominating pair have one."""

    name: ClassVar[str] = "privacy loss distribution"
    theorem: ClassVar[str] = "loss distributions convolve (Sommer, Meiser and Mohammadi 2019)"

    def single(self, cost: Single) -> CostTerms:
        if numeric(cost) is None and not (isinstance(tightest(cost), ClosedReader)):
            raise Unaccountable(f"{type(cost).__name__} has no dominating pair; read it as Rényi privacy")
        return terms(cost)


@dataclass(frozen=True, slots=True)
class TradeOffs(Profiles):
    """Reads a cost as a trade-off curve (f-differential privacy, Dong, Roth and Su 2022)."""

    name: ClassVar[str] = "trade-off curve"
    theorem: ClassVar[str] = "trade-off curves of products compose (Dong, Roth and Su 2022)"

    def errors(self, loss: CostTerms) -> TradeOff:
        """Misses as a function of false alarms."""
        return TradeOff(loss.cost)
