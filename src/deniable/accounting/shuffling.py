"""Shuffling by its closed form: people's own noise, hidden among the noise of the others.

Feldman, McMillan and Talwar 2021 ("Hiding among the clones"), theorem 3.1. The variant of 2022 is not used: its general bound
carries an erratum. The numeric bound for the same design is tighter and is what `epsilon` reads.
"""

from __future__ import annotations

from fractions import Fraction

from deniable.cost import Shuffled
from deniable.exact import exp, ln, sqrt

_BITS = 80


def shuffled_epsilon(cost: Shuffled, *, delta: Fraction) -> Fraction | None:
    """ln(1 + tanh(e/2) (8 sqrt(e^e ln(4/delta)/n) + 8 e^e/n)), rounded up, never above the local loss e.

    Guarantee: (epsilon, delta)-private against who sees the shuffled reports. None where the theorem's condition
    e <= ln(n/(16 ln(2/delta))) does not hold.
    """
    local, reports = cost.epsilon, cost.reports
    if local == 0:
        return Fraction(0)
    if not 0 < delta < 1 or local > 64:
        return None
    grown = exp(local, _BITS)
    if not (grown * 16 * ln(2 / delta, _BITS)).upper <= reports:
        return None
    root = sqrt((grown * ln(4 / delta, _BITS) / reports).rounded(_BITS), _BITS)
    inner = (grown - 1) / (grown + 1) * (8 * root + 8 * grown / reports)
    return min(local, ln((1 + inner).rounded(_BITS), _BITS).upper)
