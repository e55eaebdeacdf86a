"""`epsilon` and `delta`: the tightest sound reading of any cost.

Closed forms first; then the privacy loss distribution; then Rényi divergences for costs that only promise those.
"""

from __future__ import annotations

from fractions import Fraction

from deniable.accounting.bracket import Bracket
from deniable.accounting.composition import Pairs
from deniable.accounting.measures.concentrated import ZeroConcentrated
from deniable.accounting.measures.pure import Pure
from deniable.accounting.neighbours import compared
from deniable.accounting.readers import tightest
from deniable.cost import Cost
from deniable.errors import Unaccountable
from deniable.exact import up
from deniable.exact.guards import Real, nonnegative, probability

GAP = 1e-4
"""How far apart the ends of a bracket may lie, relative to the upper one, unless asked otherwise."""


def epsilon(cost: Cost, *, delta: Real, gap: float = GAP) -> Bracket:
    """The smallest epsilon such that the cost is (epsilon, delta)-private.

    Guarantee: the upper end is sound for losses fixed beforehand; the lower end is not above the truth of the worst mechanism
    with this cost. With delta = 0 it is the pure loss, and a cost without one is refused.
    """
    chance = probability(delta=delta)
    compared(cost)
    if chance == 1:
        return Bracket(0.0, 0.0)
    if chance == 0:
        most = Pure().read(cost)
        return Bracket.around(most, most)
    found, pairs = tightest(cost).epsilon(chance, gap), _pairs(cost)
    upper = min(found.upper, up(pairs.plain)) if pairs is not None and pairs.leaked <= chance else found.upper
    return Bracket(max(0.0, min(found.lower, upper)), max(0.0, upper), found.note)


def delta(cost: Cost, *, epsilon: Real, gap: float = GAP) -> Bracket:
    """The smallest delta such that the cost is (epsilon, delta)-private.

    Guarantee: the upper end is sound for losses fixed beforehand; the lower end is not above the truth of the worst mechanism
    with this cost.
    """
    loss = nonnegative(epsilon=epsilon)
    compared(cost)
    pairs = _pairs(cost)
    summed = pairs is not None and pairs.plain <= loss
    if pairs is not None and summed and pairs.leaked == 0:
        return Bracket(0.0, 0.0)
    found = tightest(cost).delta(loss, gap)
    upper = min(found.upper, up(pairs.leaked)) if pairs is not None and summed else found.upper
    return Bracket(min(found.lower, upper), upper, found.note)


def _pairs(cost: Cost) -> Pairs | None:
    """The cost as pairs that add, where each release has one: never tight, but to the point where all is leaked."""
    try:
        return Pairs.of(cost)
    except Unaccountable:
        return None


def pure(cost: Cost) -> Fraction:
    """The pure epsilon of a cost, exact and rounded up; `Unaccountable` if it has none."""
    return Pure().read(cost)


def rho(cost: Cost) -> Fraction:
    """The zero-concentrated rho of a cost, exact and rounded up; `Unaccountable` if it has none, or only with a delta."""
    read = ZeroConcentrated().read(cost)
    if read.delta:
        raise Unaccountable(
            f"the cost has rho only up to a delta of {up(read.delta, significant=3)}; "
            "read both with accounting.ZeroConcentrated().read(cost)"
        )
    return read.loss
