"""Probabilistic differential privacy: how likely a loss above epsilon is (Meiser 2018; docs/theory/probabilistic.md).

Stronger than (epsilon, delta): there delta is the average of 1 - e^(epsilon - loss), here all of a loss above epsilon counts. It is
not closed under processing, so it is a number to look at and no budget.
"""

from __future__ import annotations

import math
from fractions import Fraction

from deniable.accounting.conversion import best_place
from deniable.accounting.read import delta
from deniable.accounting.readers import pure_loss
from deniable.cost import Cost
from deniable.exact import expm1, up
from deniable.exact.guards import Real, nonnegative

_BITS = 80
_ROUGH = 1e-2


def exceeding(cost: Cost, *, epsilon: Real) -> float:
    """At most the chance, rounded up, of an outcome whose privacy loss is above epsilon, in either direction.

    Guarantee: (epsilon, this)-probabilistic privacy, hence (epsilon, this)-privacy; sound for losses fixed beforehand.
    """
    loss = nonnegative(epsilon=epsilon)
    pure = pure_loss(cost)
    if pure is not None and pure <= loss:
        return 0.0
    if loss == 0:
        return 1.0

    def value(t: float) -> float:
        share = -math.expm1(-float(loss) * _part(t))
        return delta(cost, epsilon=loss * (1 - Fraction(_part(t))), gap=_ROUGH).upper / share

    part = Fraction(_part(best_place(value, low=-6.0, high=0.0)))
    reached = delta(cost, epsilon=loss * (1 - part)).upper
    return min(1.0, up(Fraction(reached) / -expm1(-loss * part, _BITS).upper))


def _part(t: float) -> float:
    """How far below epsilon to look, as a part of it."""
    return min(math.exp(t), 1.0)
