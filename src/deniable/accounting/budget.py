"""A promise about the total loss, and the rule for keeping it while questions come one at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from deniable.accounting.conversion import rho_within
from deniable.accounting.filters import BasicRule, ConcentratedRule, PureRule, Rule, Spend, times_that_fit
from deniable.accounting.rounding import granted
from deniable.cost import Cost, composed
from deniable.errors import InvalidArgument, Unaccountable
from deniable.exact.guards import Real, nonnegative, probability

_RESERVE = Fraction(1, 4)
"""The share of delta kept for thresholds when nobody said which questions will come: it costs the noise about 2 %."""


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
        left = (self.delta - reserve) / (1 - reserve)
        return ConcentratedRule(Spend(rho_within(epsilon=self.epsilon, delta=left), reserve), reason)

    def _best(self, workload: Cost) -> Rule:
        assert self.epsilon is not None
        rules: list[tuple[Fraction, Rule]] = []
        candidates: list[Rule] = [BasicRule(Spend(self.epsilon, self.delta)), *self._splits(workload)]
        for candidate in candidates:
            try:
                fitting = times_that_fit(candidate, candidate.read(workload))
            except Unaccountable:
                continue
            rules.append((fitting if fitting is not None else Fraction(0), candidate))
        if not rules:
            raise Unaccountable("no filter reads this workload; declare it as one plan and read it by deniable.epsilon")
        return max(rules, key=lambda pair: pair[0])[1]

    def _splits(self, workload: Cost) -> list[ConcentratedRule]:
        """Ways to divide delta between the noise and the thresholds of this workload."""
        try:
            thresholds = self._concentrated(Fraction(0), "").read(workload).delta > 0
        except Unaccountable:
            return []
        shares = [Fraction(k, 32) for k in range(1, 32)] if thresholds else [Fraction(0)]
        return [
            self._concentrated(self.delta * share, "squared losses add: more of the workload fits") for share in shares
        ]

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
