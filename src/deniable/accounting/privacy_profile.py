"""The whole privacy profile of a cost: delta as a function of epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable.accounting.adjacency import neighbours_of
from deniable.accounting.bracket import Bracket
from deniable.accounting.theorems import delta, epsilon
from deniable.cost import Cost
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer, open_probability

if TYPE_CHECKING:
    from deniable.plots import Figure


@dataclass(frozen=True, slots=True)
class PrivacyProfile:
    """`profile(x)` is delta at epsilon = x; `profile.epsilon(d)` reads it backwards.

    Guarantee: upper ends are sound for losses fixed beforehand.
    """

    cost: Cost

    def __call__(self, epsilon: Real) -> Bracket:
        """delta at this epsilon."""
        return delta(self.cost, epsilon=epsilon)

    def epsilon(self, delta: Real) -> Bracket:
        """epsilon at this delta."""
        return epsilon(self.cost, delta=delta)

    @property
    def advantage(self) -> Bracket:
        """How much better than a coin any attacker guesses which of two neighbouring data sets was used: delta at 0."""
        return delta(self.cost, epsilon=0)

    def plot(self, *, least: Real = Fraction(1, 10**9), points: int = 40) -> Figure:
        """Delta against epsilon on a logarithmic scale, down to `least`: the upper ends, with the bracket as a band."""
        from deniable.plots import profile_curve

        lowest, count = float(open_probability(least=least)), integer(points=points, least=2)
        reach = self.epsilon(least).upper
        if not reach < math.inf:
            raise InvalidArgument(f"no finite epsilon goes with delta = {least}; plot down to a larger one")
        at = [reach * k / (count - 1) for k in range(count)]
        found = [self(epsilon) for epsilon in at]
        upper = [max(each.upper, lowest) for each in found]
        lower = [max(each.lower, lowest) for each in found]
        return profile_curve(at, lower=lower, upper=upper)


def profile(cost: Cost) -> PrivacyProfile:
    """The privacy profile of a cost."""
    neighbours_of(cost)
    return PrivacyProfile(cost)
