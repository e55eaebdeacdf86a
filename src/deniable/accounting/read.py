"""`epsilon` and `delta`: the tightest sound reading of any cost.

Closed forms first; then the privacy loss distribution; then Rényi and zero-concentrated bounds for costs that only promise those.
"""

from __future__ import annotations

from fractions import Fraction

from deniable.accounting.bracket import Bracket
from deniable.accounting.closed.forms import closed_form
from deniable.accounting.closed.profile import epsilon_of
from deniable.accounting.measures.pure import Pure
from deniable.cost import Cost
from deniable.errors import Unaccountable
from deniable.exact.guards import Real, nonnegative, probability

GAP = 1e-4
"""How far apart the ends of a bracket may lie, relative to the upper one, unless asked otherwise."""


def epsilon(cost: Cost, *, delta: Real, gap: float = GAP) -> Bracket:
    """The smallest epsilon such that the cost is (epsilon, delta)-private.

    Guarantee: the upper end is sound; the lower end is not above the truth of the worst mechanism with this cost.
    """
    chance = probability(delta=delta)
    if chance == 1:
        return Bracket(0.0, 0.0)
    most = _pure(cost)
    if chance == 0:
        if most is None:
            raise Pure().refuse(
                cost, instead="(epsilon, delta) with a delta above 0: deniable.epsilon(cost, delta=...)"
            )
        return Bracket.around(most, most)
    profile = closed_form(cost)
    if profile is None:
        raise Unaccountable(f"no theorem reads {cost!r}")
    found = epsilon_of(profile, chance, gap=min(gap, 1e-9))
    return found if most is None else Bracket(found.lower, min(found.upper, Bracket.around(most, most).upper))


def delta(cost: Cost, *, epsilon: Real, gap: float = GAP) -> Bracket:  # noqa: ARG001
    """The smallest delta such that the cost is (epsilon, delta)-private.

    Guarantee: the upper end is sound; the lower end is not above the truth of the worst mechanism with this cost.
    """
    loss = nonnegative(epsilon=epsilon)
    profile = closed_form(cost)
    if profile is None:
        raise Unaccountable(f"no theorem reads {cost!r}")
    found = profile.delta(loss)
    return Bracket.around(found.lower, min(Fraction(1), found.upper))


def _pure(cost: Cost) -> Fraction | None:
    try:
        return Pure().read(cost)
    except Unaccountable:
        return None
