"""Privacy loss distributions, computed with certified bounds from both sides.

`delta` and `epsilon` read any cost that has dominating pairs; `PrivacyLoss` keeps the pairs for further questions.
"""

from __future__ import annotations

from deniable.accounting.bracket import Bracket
from deniable.accounting.pld.privacy_loss import GAP, PrivacyLoss
from deniable.cost import Cost
from deniable.exact.guards import Real

__all__ = ["PrivacyLoss", "delta", "epsilon"]


def delta(cost: Cost, *, epsilon: Real, gap: float = GAP) -> Bracket:
    """The least delta such that the cost is (epsilon, delta)-private, with a bracket whose ends lie within a relative `gap`.

    Guarantee: the upper end is sound; the lower end is not above the truth of the worst mechanism with this cost.
    """
    return PrivacyLoss(cost).delta(epsilon, gap=gap)


def epsilon(cost: Cost, *, delta: Real, gap: float = GAP) -> Bracket:
    """The least epsilon such that the cost is (epsilon, delta)-private, with a bracket whose ends lie within a relative `gap`.

    Guarantee: the upper end is sound; the lower end is not above the truth of the worst mechanism with this cost.
    """
    return PrivacyLoss(cost).epsilon(delta, gap=gap)
