"""`epsilon` and `delta`: the tightest sound reading of any cost.

Closed forms first; then the privacy loss distribution; then Rényi divergences for costs that only promise those.
"""

from __future__ import annotations

from fractions import Fraction

from deniable.accounting.bracket import Bracket
from deniable.accounting.measures.concentrated import ZeroConcentrated
from deniable.accounting.measures.pure import Pure
from deniable.accounting.readers import pure_loss, tightest
from deniable.accounting.terms import overstated
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
    if chance == 1:
        return Bracket(0.0, 0.0)
    if chance == 0:
        most = Pure().read(cost)
        return Bracket.around(most, most)
    found, most_or_none = tightest(cost).epsilon(chance, gap), pure_loss(cost)
    upper = found.upper if most_or_none is None else min(found.upper, up(most_or_none))
    lower = 0.0 if overstated(cost) else min(found.lower, upper)
    return Bracket(max(0.0, lower), max(0.0, upper))


def delta(cost: Cost, *, epsilon: Real, gap: float = GAP) -> Bracket:
    """The smallest delta such that the cost is (epsilon, delta)-private.

    Guarantee: the upper end is sound for losses fixed beforehand; the lower end is not above the truth of the worst mechanism
    with this cost.
    """
    loss = nonnegative(epsilon=epsilon)
    most = pure_loss(cost)
    if most is not None and most <= loss:
        return Bracket(0.0, 0.0)
    found = tightest(cost).delta(loss, gap)
    return Bracket(0.0, found.upper) if overstated(cost) else found


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
