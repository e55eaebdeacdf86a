"""A promise about the total loss, and the rule for keeping it while questions come one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from deniable.accounting.conversion import best_order, divergence_within, rho_within
from deniable.accounting.filters import (
    BasicRule,
    ConcentratedRule,
    GaussianRule,
    PureRule,
    RenyiRule,
    Rule,
    times_that_fit,
)
from deniable.accounting.measures.renyi import RenyiLoss, RenyiPrivacy
from deniable.accounting.rounding import granted
from deniable.accounting.spend import Spend
from deniable.cost import Cost, composed
from deniable.errors import InvalidArgument, Unaccountable
from deniable.exact import gaussian_mu
from deniable.exact.guards import Real, nonnegative, probability

_RESERVE = Fraction(1, 4)
"""The share of delta kept for thresholds when nobody said which questions will come: it costs the noise about 2 %."""

_WORTH = Fraction(51, 50)
_SHARES = tuple(Fraction(k, 16) for k in range(1, 16))


def _renyi(cost: Cost) -> RenyiLoss | None:
    try:
        return RenyiPrivacy().read(cost)
    except Unaccountable:
        return None


@dataclass(frozen=True, slots=True)
class Budget:
    """At most `epsilon` with `delta`, or at most `rho` (with `delta` set aside for thresholds); exactly one of the two."""

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None

    def rule(self, workload: Iterable[Cost] | None = None) -> Rule:
        """The best sound rule for spending this budget on questions like `workload`, or on any if that is not known.

        Guarantee: whatever fits the rule's limit keeps this budget's promise, with queries and losses chosen along the way.
        """
        if self.rho is not None:
            return ConcentratedRule(Spend(self.rho, self.delta))
        assert self.epsilon is not None
        if self.delta == 0:
            return PureRule(Spend(self.epsilon))
        if workload is None:
            reason = (
                "with a delta, squared losses add (zCDP): better than adding epsilons from a handful of releases on"
            )
            return self._concentrated(self.delta * _RESERVE, reason)
        return self._best(composed(workload))

    def _concentrated(self, reserve: Fraction, reason: str) -> ConcentratedRule:
        """Both parts together keep delta: a (rho, reserve) mechanism is (epsilon, reserve + (1 - reserve) delta(rho))."""
        assert self.epsilon is not None
        reserve = granted(reserve)
        return ConcentratedRule(Spend(rho_within(epsilon=self.epsilon, delta=self._left(reserve)), reserve), reason)

    def _best(self, workload: Cost) -> Rule:
        """The rule under which the workload fits most often; a later, less simple one must be worth its while."""
        best, most = None, Fraction(-1)
        for candidate in self._candidates(workload):
            try:
                fitting = times_that_fit(candidate, candidate.read(workload))
            except Unaccountable:
                continue
            if fitting is None:
                return candidate
            if fitting > most * _WORTH:
                best, most = candidate, fitting
        if best is None:
            raise Unaccountable("no filter reads this workload; declare it as one plan and read it by deniable.epsilon")
        return best

    def _candidates(self, workload: Cost) -> Iterator[Rule]:
        assert self.epsilon is not None
        yield BasicRule(Spend(self.epsilon, self.delta))
        loss = _renyi(workload)
        if loss is None:
            return
        for share in _SHARES if loss.leaks else (Fraction(0),):
            yield self._concentrated(self.delta * share, "squared losses add (zCDP): more of the workload fits")
            yield self._gaussian(self.delta * share)
            yield from self._renyi(self.delta * share, loss)

    def _left(self, reserve: Fraction) -> Fraction:
        """What 1 - (1 - reserve)(1 - left) = delta leaves."""
        return (self.delta - reserve) / (1 - reserve)

    def _gaussian(self, reserve: Fraction) -> GaussianRule:
        assert self.epsilon is not None
        reserve = granted(reserve)
        mu = gaussian_mu(self.epsilon, self._left(reserve)).lower
        return GaussianRule(Spend(granted(mu**2), reserve))

    def _renyi(self, reserve: Fraction, loss: RenyiLoss) -> Iterator[RenyiRule]:
        """One order, the best for as many repetitions of the workload as fit."""
        assert self.epsilon is not None
        reserve = granted(reserve)
        left = self._left(reserve)
        order = best_order(loss, epsilon=self.epsilon, delta=left)
        if order is not None:
            limit = divergence_within(order, epsilon=self.epsilon, delta=left)
            if limit > 0:
                yield RenyiRule(
                    Spend(limit, reserve), order, f"one Rényi order, {float(order):g}, suits the workload best"
                )

    def __str__(self) -> str:
        loss = f"epsilon = {float(self.epsilon):g}" if self.epsilon is not None else f"rho = {float(self.rho or 0):g}"
        return f"{loss}, delta = {float(self.delta):g}" if self.delta else loss


def budget(*, epsilon: Real | None = None, delta: Real = 0, rho: Real | None = None) -> Budget:
    """A budget: `epsilon`, `epsilon` with `delta`, or `rho` (zero-concentrated), optionally with a `delta` for thresholds.

    Guarantee: nothing by itself; the rule it gives keeps it.
    """
    if (epsilon is None) == (rho is None):
        raise InvalidArgument(f"a budget needs epsilon or rho, one of them; got epsilon={epsilon!r}, rho={rho!r}")
    chance = probability(delta=delta)
    if not chance < 1:
        raise InvalidArgument(f"delta must be below 1, got {delta!r}: with 1 anything may be published")
    return Budget(
        epsilon=None if epsilon is None else nonnegative(epsilon=epsilon),
        delta=chance,
        rho=None if rho is None else nonnegative(rho=rho),
    )
