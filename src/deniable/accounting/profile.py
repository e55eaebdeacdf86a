"""The whole privacy profile of a cost: delta as a function of epsilon."""

from __future__ import annotations

from dataclasses import dataclass

from deniable.accounting.bracket import Bracket
from deniable.accounting.read import delta, epsilon
from deniable.cost import Cost
from deniable.exact.guards import Real


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


def profile(cost: Cost) -> PrivacyProfile:
    """The privacy profile of a cost."""
    return PrivacyProfile(cost)
