"""Mechanisms that keep a promise to the full: what one of them loses, no reading of the promise can deny.

A dominating pair bounds every mechanism with a cost from above. From below it counts only if some mechanism has that very pair:
the pointwise worst of several laws is one pair, but nobody has it, so two steps of it prove nothing (docs/theory/witnesses.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from deniable.accounting.cost_terms import CostTerms, overstates, replaces, terms
from deniable.accounting.pld.laplace_pairs import MOST_STEPS
from deniable.cost import (
    Allocated,
    Bounded,
    Concentrated,
    Cost,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Grouped,
    Laplace,
    Mixed,
    Neighbours,
    Parallel,
    Renyi,
    Sampled,
    Sampling,
    Selected,
    Shuffled,
    composed,
)

_VARIANTS = 4
_WIDEST = 10_000


def is_attained(cost: Cost) -> bool:
    """Whether some mechanism has the cost's own profile, at every epsilon or at each by itself."""
    found = terms(cost)
    if overstates(cost):
        return False
    once = found.only
    return all(_has_pair(each) for each, _ in found.releases) or (once is not None and _worst_is_met(once))


def instances(cost: Cost) -> tuple[Cost, ...]:
    """Costs that mechanisms with this cost really have, made of exactly known parts; none if only nothing is known.

    Guarantee: the loss of each is at most the loss of the worst mechanism with the cost.
    """
    found = terms(cost)
    leaks = found.leaks if not overstates(cost) else ()
    tried = [
        composed(_repeated(_instance(each, turn), times) for each, times in found.releases) for turn in range(_VARIANTS)
    ]
    whole = [composed([each, CostTerms((), leaks).cost]) for each in tried]
    if overstates(cost) and not replaces(cost):
        whole.append(CostTerms((), found.leaks).cost)
    return tuple(each for each in dict.fromkeys(whole) if terms(each) != CostTerms(()))


def _repeated(cost: Cost, times: int) -> Cost:
    return cost if times == 1 else cost.repeated(times)


def _has_pair(cost: Cost) -> bool:
    """Whether some mechanism has the one pair that the cost is read by."""
    match cost:
        case Laplace() | DiscreteLaplace():
            return cost.coordinates == 1
        case DiscreteGaussian(scale, square, coordinates, largest):
            return scale <= _WIDEST and min(largest, _root(square)) ** 2 * coordinates <= square
        case Sampled(inner, _, how, neighbours):
            if how is Sampling.WITHOUT_REPLACEMENT:
                return neighbours is Neighbours.ADD_REMOVE and _all_have(inner)
            return _opposite(inner) if neighbours is Neighbours.REPLACE else _all_have(inner)
        case Grouped(Sampled(Gaussian(), _, Sampling.POISSON, Neighbours.ADD_REMOVE | Neighbours.ZERO_OUT)):
            return True
        case Mixed(parts):
            return all(_all_have(each) for _, each in parts)
        case Exponential() | Parallel() | Grouped() | Shuffled() | Selected() | Allocated():
            return False
        case Renyi() | Concentrated():
            return False
        case _:
            return True


def _all_have(cost: Cost) -> bool:
    return all(_has_pair(each) for each, _ in terms(cost).releases)


def _opposite(cost: Cost) -> bool:
    """Whether a unit and its replacement can move this release in opposite directions, and are read so."""
    short = not isinstance(cost, DiscreteLaplace) or cost.sensitivity <= MOST_STEPS
    return isinstance(cost, Gaussian | Laplace | DiscreteLaplace) and short and _has_pair(cost)


def _worst_is_met(cost: Cost) -> bool:
    """Whether at each epsilon some mechanism has the profile of this one release."""
    match cost:
        case Exponential():
            return True
        case Parallel(costs):
            return all(map(is_attained, costs))
        case Mixed(parts):
            return all(is_attained(each) for _, each in parts)
        case Sampled(inner, _, how, neighbours):
            simple = how is Sampling.POISSON and neighbours is not Neighbours.REPLACE
            fixed = how is Sampling.WITHOUT_REPLACEMENT
            return (simple or fixed) and is_attained(inner)
        case _:
            return _has_pair(cost)


def _instance(cost: Cost, turn: int) -> Cost:
    """A release that a mechanism with this cost may be; of disjoint parts, one of them at every `turn`."""
    match cost:
        case Concentrated(rho):
            return Gaussian(scale=1, squared_sensitivity=2 * rho)
        case Exponential(eta):
            return Bounded(epsilon=eta / 2)
        case Laplace(scale, sensitivity):
            return Laplace(scale=scale, sensitivity=sensitivity)
        case DiscreteLaplace(scale, steps, coordinates):
            spread = coordinates > 1 and turn % 2 == 1
            most = Bounded(epsilon=1 / scale).repeated(min(coordinates, steps))
            return most if spread else DiscreteLaplace(scale=scale, sensitivity=steps)
        case DiscreteGaussian():
            return _moved(cost)
        case Sampled(inner, rate, how):
            return cost if _has_pair(cost) else Sampled(_inner(inner, turn), rate=rate, how=how)
        case Mixed(parts):
            return Mixed((chance, _inner(each, turn)) for chance, each in parts)
        case Parallel(costs):
            return _inner(costs[turn % len(costs)], turn)
        case Grouped(each):
            return _inner(each, turn)
        case Renyi() | Selected() | Shuffled() | Allocated():
            return composed([])
        case _:
            return cost


def _inner(cost: Cost, turn: int) -> Cost:
    """An instance of a cost inside another one, leaks kept only where they are exact."""
    found = terms(cost)
    parts = [_repeated(_instance(each, turn), times) for each, times in found.releases]
    return composed([*parts, *(() if overstates(cost) else _leaks(found))])


def _leaks(found: CostTerms) -> Iterator[Cost]:
    for chance, times in found.leaks:
        yield _repeated(Bounded(epsilon=0, delta=chance), times)


def _moved(cost: DiscreteGaussian) -> Cost:
    """As many numbers moved by their most as the whole vector allows; nothing where the noise is too wide to be summed."""
    if cost.scale > _WIDEST:
        return composed([])
    far = min(cost.largest, _root(cost.squared_sensitivity))
    count = min(cost.coordinates, int(cost.squared_sensitivity / far**2)) if far else 0
    return composed([_repeated(DiscreteGaussian(scale=cost.scale, sensitivity=far), count)] if count else [])


def _root(square: Fraction) -> int:
    return math.isqrt(math.floor(square))
