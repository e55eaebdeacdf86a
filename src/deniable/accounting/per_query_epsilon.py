"""How much each of many queries may cost under each composition rule, for one promise about all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable.accounting import composition
from deniable.accounting.conversion import epsilon_within, rho_within
from deniable.accounting.theorems import RenyiPrivacy, epsilon, rho
from deniable.cost import Bounded, Cost
from deniable.exact.guards import Real, integer, open_probability, positive

if TYPE_CHECKING:
    from deniable.plots import Figure

_STEPS = 22
"""Halvings of the logarithm of the answer: six digits."""


@dataclass(frozen=True, slots=True)
class PerQuery:
    """For each rule by name, the largest pure epsilon of one of `queries` releases that keeps the promise for all; rounded down."""

    epsilon: Fraction
    delta: Fraction
    queries: tuple[int, ...]
    rules: dict[str, tuple[float, ...]]

    def plot(self) -> Figure:
        """The epsilon of each query against the number of queries, both logarithmic."""
        from deniable.plots import per_query_curves

        epsilon, delta = float(self.epsilon), float(self.delta)
        return per_query_curves(self.queries, rules=self.rules, epsilon=epsilon, delta=delta)


def per_query(*, epsilon: Real, delta: Real, queries: Sequence[int]) -> PerQuery:
    """The epsilon of each of so many purely private queries under every composition rule.

    Guarantee: releases of that epsilon, so many of them, are together (epsilon, delta)-private by that rule's theorem.
    """
    loss, chance = positive(epsilon=epsilon), open_probability(delta=delta)
    counts = tuple(integer(queries=each, least=1) for each in queries)
    found = {
        name: tuple(_largest(lambda cost, total=total: total(cost, loss, chance), loss, count) for count in counts)  # type: ignore[misc]
        for name, total in _RULES
    }
    return PerQuery(loss, chance, counts, found)


def _largest(within: Callable[[Cost], bool], loss: Fraction, count: int) -> float:
    """The largest epsilon for one query between what basic composition allows and everything."""
    low, high = loss / count, loss
    if not within(Bounded(epsilon=low).repeated(count)):  # a rule that is worse than adding up
        low, high = low / (10 * count), low
    for _ in range(_STEPS):
        middle = Fraction((float(low) * float(high)) ** 0.5)
        low, high = (middle, high) if within(Bounded(epsilon=middle).repeated(count)) else (low, middle)
    return float(low) * (1 - 2**-50)


def _at_most(value: Fraction | None, limit: Fraction) -> bool:
    return value is not None and value <= limit


def _exact(cost: Cost, loss: Fraction, delta: Fraction) -> bool:
    return Fraction(epsilon(cost, delta=delta).upper) <= loss


def _renyi(cost: Cost, loss: Fraction, delta: Fraction) -> bool:
    found = epsilon_within(RenyiPrivacy().read(cost), delta=delta)
    return found is not None and found[0] <= loss


def _concentrated(cost: Cost, loss: Fraction, delta: Fraction) -> bool:
    return rho(cost) <= rho_within(epsilon=loss, delta=delta)


def _basic(cost: Cost, loss: Fraction, delta: Fraction) -> bool:
    total = composition.basic(cost)
    return total.loss <= loss and total.delta <= delta


Within = Callable[[Cost, Fraction, Fraction], bool]

_RULES: tuple[tuple[str, Within], ...] = (
    ("optimal (exact)", _exact),
    ("Rényi", _renyi),
    ("zero-concentrated", _concentrated),
    ("optimal (closed bound)", lambda c, e, d: _at_most(composition.optimal_bound(c, delta=d), e)),
    ("advanced", lambda c, e, d: _at_most(composition.advanced(c, delta=d), e)),
    ("basic", _basic),
)
