"""Composition theorems for (epsilon, delta) pairs, as numbers: what each of them would say.

`epsilon` and `delta` use the tightest; these are here to be compared with, to check others' claims, and for teaching.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from deniable.accounting.adjacency import neighbours_of
from deniable.accounting.cost_terms import terms
from deniable.accounting.measures.approximate import Approximate
from deniable.accounting.profiles import leak
from deniable.accounting.spend import Spend
from deniable.cost import Cost
from deniable.exact import Interval, exp, expm1, ln, sqrt

_BITS = 80
_E = exp(1, _BITS)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Releases as (epsilon, times), and what they leak together."""

    losses: tuple[tuple[Fraction, int], ...]
    leaked: Fraction

    @classmethod
    def of(cls, cost: Cost) -> Pairs:
        """Every release of a cost read as a pair; `Unaccountable` where one of them has no single pair."""
        neighbours_of(cost)
        parts = terms(cost)
        read = [(Approximate().read(each), times) for each, times in parts.releases]
        leaks = [(pair.delta, times) for pair, times in read if pair.delta]
        return cls(tuple((pair.loss, times) for pair, times in read), leak((*parts.leaks, *leaks)).upper)

    @property
    def plain(self) -> Fraction:
        """The sum of all epsilons: the loss at a delta of all that leaks, or more."""
        return sum((epsilon * times for epsilon, times in self.losses), Fraction(0))

    def total(self, value: Callable[[Fraction], Interval]) -> Interval:
        """The sum over all releases of a function of epsilon."""
        whole = Interval.point(0)
        for epsilon, times in self.losses:
            whole = whole + value(epsilon) * times
        return whole.rounded(_BITS)


def basic(cost: Cost) -> Spend:
    """Sums of epsilons and deltas (Dwork, Kenthapadi, McSherry, Mironov and Naor 2006).

    Guarantee: (loss, delta)-private, for adaptive queries.
    """
    return Approximate().read(cost)


def advanced(cost: Cost, *, delta: Fraction) -> Fraction | None:
    """The epsilon of Dwork, Rothblum and Vadhan 2010 at a total `delta`: sqrt(2 ln(1/d) sum e²) + sum e (e^e - 1).

    Guarantee: (epsilon, delta)-private, for adaptive queries with losses fixed beforehand; None where delta is leaked already.
    """
    pairs = Pairs.of(cost)
    slack = _slack(pairs, delta)
    if slack is None:
        return None
    spread = sqrt((2 * -ln(slack, _BITS) * pairs.total(lambda e: Interval.point(e * e))).rounded(_BITS), _BITS)
    return (spread + pairs.total(lambda e: e * expm1(e, _BITS))).upper


def optimal_bound(cost: Cost, *, delta: Fraction) -> Fraction | None:
    """The closed form of Kairouz, Oh and Viswanath 2015, theorem 3.5, for different losses, never above the plain sum.

    Guarantee: (epsilon, delta)-private, for adaptive queries with losses fixed beforehand; None where delta is leaked already.
    """
    pairs = Pairs.of(cost)
    slack = _slack(pairs, delta)
    if slack is None:
        return pairs.plain if delta >= pairs.leaked else None
    squares = pairs.total(lambda e: Interval.point(e * e))
    mean = pairs.total(lambda e: e * (expm1(e, _BITS) / (exp(e, _BITS) + 1)))
    first = 2 * squares * -ln(slack, _BITS)
    second = 2 * squares * ln((_E + sqrt(squares, _BITS) / slack).rounded(_BITS), _BITS)
    spread = sqrt(first.least(second).rounded(_BITS), _BITS)
    return min(pairs.plain, (mean + spread).upper)


def _slack(pairs: Pairs, delta: Fraction) -> Fraction | None:
    """What 1 - (1 - delta')(1 - leaked) = delta leaves for delta'."""
    return (delta - pairs.leaked) / (1 - pairs.leaked) if pairs.leaked < delta < 1 else None
