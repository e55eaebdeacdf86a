"""A mechanism that keeps a promise to the full: what it loses, no reading of the promise can deny."""

from __future__ import annotations

from fractions import Fraction

from deniable.accounting.terms import Terms, terms
from deniable.cost import Concentrated, Cost, Gaussian, Renyi, Selected, Shuffled


def instance(cost: Cost) -> Cost | None:
    """A cost that some mechanism with this cost really has, made of exactly known parts; None if that is nothing.

    A rho-zCDP promise is kept by a Gaussian with that rho. Promises with no such witness count as nothing.
    """
    parts = terms(cost)
    square = Fraction(0)
    kept: list[tuple[Cost, int]] = []
    for each, times in parts.releases:
        match each:
            case Concentrated(rho):
                square += 2 * rho * times
            case Renyi() | Selected() | Shuffled():
                continue
            case _:
                kept.append((each, times))
    if square:
        kept.append((Gaussian(scale=1, squared_sensitivity=square), 1))
    found = Terms(tuple(kept), parts.leaks)
    return None if found == parts or found == Terms(()) else found.cost
