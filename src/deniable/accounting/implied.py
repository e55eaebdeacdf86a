"""What a promise about one unit says about coarser and finer ones: a household of several people, one test of a student.

Several units that change together are that many steps between neighbours; a part of a unit is at most the unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from deniable.accounting.budgets import Budget
from deniable.accounting.measures.approximate import Approximate
from deniable.accounting.spend import Spend
from deniable.accounting.theorems import epsilon
from deniable.cost import Bounded, Concentrated, Cost
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer, open_probability


@dataclass(frozen=True, slots=True)
class Implied:
    """A guarantee that follows from another: for whom, how many units that is, and how much."""

    unit: str
    units: int
    spend: Spend

    def __str__(self) -> str:
        size = "one unit, or a part of one" if self.units == 1 else f"up to {self.units} units"
        worth = "; no protection" if self.spend.delta >= 1 else ""
        return f"{self.unit} ({size}): {self.spend}{worth}"


@dataclass(frozen=True, slots=True)
class Implications:
    """The guarantees that follow from one, a line each."""

    rows: tuple[Implied, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.rows))

    __repr__ = __str__


def implied_guarantee(promise: Cost | Budget, *, units: int, delta: Real | None = None) -> Spend:
    """What a promise about one unit says about `units` of them together; for a part of a unit ask for one.

    A cost is read with every theorem for groups, at `delta`; a budget, which may be spent on anything, by group privacy of
    the budget itself: (k epsilon, delta (1 + e^epsilon + ... + e^((k-1) epsilon))) or k² rho. A rho budget with a delta of its
    own has no group theorem: give the `delta` at which to read it as a pair first.

    Guarantee: holds for data sets that `units` steps between neighbours connect; every number is rounded up.
    """
    size = integer(units=units, least=1)
    if not isinstance(promise, Budget):
        if delta is None:
            raise InvalidArgument("a cost has a whole curve of guarantees; say at which delta to read it")
        chance = open_probability(delta=delta)
        return Spend(Fraction(epsilon(promise.group(size), delta=chance).upper), chance, "epsilon")
    if promise.rho is None:
        return _pair(Bounded(epsilon=promise.epsilon or 0, delta=promise.delta), size)
    if delta is not None:
        return _read(Concentrated(rho=promise.rho, delta=promise.delta), size, open_probability(delta=delta))
    if promise.delta and size > 1:
        raise InvalidArgument("no theorem groups rho with a delta beside it; say at which delta to read it as epsilon")
    return Spend(promise.rho * size**2, promise.delta, "rho")


def _read(cost: Concentrated, size: int, delta: Fraction) -> Spend:
    if cost.delta == 0:
        return Spend(Fraction(epsilon(cost.group(size), delta=delta).upper), delta, "epsilon")
    return _pair(Bounded(epsilon=Fraction(epsilon(cost, delta=delta).upper), delta=delta), size)


def _pair(pair: Bounded, size: int) -> Spend:
    found = Approximate().read(pair.group(size))
    return Spend(found.loss, min(Fraction(1), found.delta), "epsilon")


def implications(
    budget: Budget, *, unit: str, coarser: Mapping[str, int], finer: Iterable[str], delta: Real | None = None
) -> Implications:
    """What a budget for one `unit` says about coarser ones, of so many units each, and about finer ones, parts of one unit."""
    named = [*((name, 1) for name in finer), (unit, 1), *coarser.items()]
    return Implications(
        tuple(Implied(name, size, implied_guarantee(budget, units=size, delta=delta)) for name, size in named)
    )
