"""From a cost to pairs: each release becomes one dominating pair (P, Q), P with the unit and Q without it.

The other direction is the swapped pairs. A sample is drawn once for whatever cost is inside it: under Poisson sampling that cost
compares a sample with and without a unit, under sampling without replacement one with a unit or another (docs/theory/pld-pairs.md).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import assert_never

from deniable.accounting.cost_terms import terms
from deniable.accounting.group_privacy import group_cost, sampled_group
from deniable.accounting.pld.allocated import allocated_pair
from deniable.accounting.pld.atom_pairs import (
    BoundedRangePair,
    discrete_gaussian,
    leak,
    pure,
    randomized_response,
    shuffled_pair,
)
from deniable.accounting.pld.composite_pairs import NestedPair, enumerate_atoms
from deniable.accounting.pld.convolution import Steps
from deniable.accounting.pld.gaussian_pairs import PromisedPair, gaussian_pair, sampled_replacement
from deniable.accounting.pld.gaussian_pairs import sampled_group as gaussian_group
from deniable.accounting.pld.laplace_pairs import (
    MOST_STEPS,
    DiscreteLaplacePair,
    LaplacePair,
    ReplacedLaplacePair,
    replaced_discrete_laplace,
    truncated_laplace,
)
from deniable.accounting.pld.outward import float_above, float_below
from deniable.accounting.pld.pair import Pair
from deniable.accounting.pld.sampled_pairs import MixedPair, ReplacedInSamplePair, ReplacedPair, SampledPair, WorstPair
from deniable.cost import (
    Allocated,
    Bounded,
    Calibrated,
    Composed,
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
    RandomizedResponse,
    Renyi,
    Repeated,
    Sampled,
    Sampling,
    Selected,
    Shuffled,
    TruncatedLaplace,
)
from deniable.errors import Unaccountable

Leaks = tuple[tuple[Fraction, int], ...]

_WIDEST = 10_000
"""Discrete Gaussians up to this scale are read atom by atom; wider ones through their zero-concentrated bound."""


def steps_of(cost: Cost) -> tuple[Steps, Leaks]:
    """The pairs of a cost with their counts, and the leaks apart from them (a leak shows everything with its probability)."""
    found = terms(cost)
    steps: list[tuple[Pair, int]] = []
    rho = Fraction(0)
    curves: list[dict[Fraction, Fraction]] = []
    for each, times in found.releases:
        match each:
            case Concentrated(more, _):
                rho += times * more
            case Renyi(curve):
                curves.append({order: times * loss for order, loss in curve})
            case DiscreteGaussian() if each.scale > _WIDEST:
                rho += times * each.squared_sensitivity / (2 * each.scale**2)
            case DiscreteGaussian():
                steps.append((discrete_gaussian(each.scale, _most(each)), times * each.coordinates))
            case _:
                steps.append((pair_of(each), times))
    if rho:
        steps.append((PromisedPair(rho=rho), 1))
    if curves:
        steps.append((PromisedPair(curve=_summed(curves)), 1))
    return tuple(steps), found.leaks


def _most(cost: DiscreteGaussian) -> int:
    """How far one number can move: at most `largest`, and never further than the whole vector."""
    square = cost.squared_sensitivity
    return min(cost.largest, math.isqrt(square.numerator // square.denominator))


def _summed(curves: list[dict[Fraction, Fraction]]) -> tuple[tuple[Fraction, Fraction], ...]:
    """Rényi losses add at each order that all of them have."""
    orders = set.intersection(*(set(curve) for curve in curves))
    if not orders:
        raise Unaccountable("these Rényi curves have no order in common; give each of them at the same orders")
    return tuple((order, sum((curve[order] for curve in curves), Fraction(0))) for order in sorted(orders))


def whole(cost: Cost) -> Pair:
    """Any cost as one pair, leaks included."""
    steps, leaks = steps_of(cost)
    steps += tuple((leak(chance), times) for chance, times in leaks)
    if len(steps) == 1 and steps[0][1] == 1:
        return steps[0][0]
    alike = all(pair.swapped is pair for pair, _ in steps)  # a pair of atoms is its own swap
    few = enumerate_atoms(steps) if alike else None
    return NestedPair(steps) if few is None else few


def pair_of(cost: Cost) -> Pair:
    """The pair of one release."""
    match cost:
        case Laplace(scale, sensitivity, coordinates):
            loss = sensitivity / scale
            return LaplacePair(float_below(loss), float_above(loss)) if coordinates == 1 else pure(loss)
        case DiscreteLaplace(scale, steps, coordinates):
            if coordinates > 1:
                return pure(steps / scale)
            return DiscreteLaplacePair(float_below(1 / scale), float_above(1 / scale), steps)
        case Gaussian(scale, square):
            return gaussian_pair(square / scale**2)
        case TruncatedLaplace(scale, radius, steps):
            return truncated_laplace(scale, radius, steps)
        case Exponential(eta):
            return BoundedRangePair(float_below(eta), float_above(eta))
        case RandomizedResponse(truth, categories):
            return randomized_response(truth, categories)
        case Bounded(epsilon, delta) if delta == 0:
            return pure(epsilon)
        case Shuffled(epsilon, reports):
            return shuffled_pair(epsilon, reports)
        case Sampled():
            return _sampled(cost)
        case Allocated(each, steps):
            return allocated_pair(whole(each), steps)
        case Parallel(costs):
            return WorstPair([whole(each) for each in costs])
        case Mixed(parts):
            return MixedPair(
                [(float_below(chance), float_above(chance), whole(each)) for chance, each in parts if chance]
            )
        case Grouped(each, size):
            return _grouped(each, size)
        case Bounded() | Calibrated() | Composed() | Repeated() | Concentrated() | Renyi() | DiscreteGaussian():
            return whole(cost)
        case Selected():
            raise Unaccountable("no theorem reads a private selection as a privacy loss distribution; read it as Rényi")
        case _:
            assert_never(cost)


def _grouped(cost: Cost, size: int) -> Pair:
    inner = group_cost(cost, size)
    if not isinstance(inner, Grouped):
        return whole(inner)
    match inner.cost:
        case Sampled(Gaussian(scale, square), rate, Sampling.POISSON, Neighbours.ADD_REMOVE | Neighbours.ZERO_OUT):
            return gaussian_group(square / scale**2, rate, inner.size)
        case Sampled():
            return pair_of(sampled_group(inner.cost, inner.size))
        case _:
            raise Unaccountable(
                f"no theorem reads {type(inner.cost).__name__} for a group of {inner.size} as a privacy loss distribution; "
                "read it as (epsilon, delta)"
            )


def _sampled(cost: Sampled) -> Pair:
    low, high = float_below(cost.rate), float_above(cost.rate)
    if cost.how is Sampling.WITHOUT_REPLACEMENT:
        inner = whole(cost.cost)
        return (
            ReplacedPair(inner, low, high)
            if cost.neighbours is not Neighbours.ADD_REMOVE
            else SampledPair(inner, low, high)
        )
    if cost.neighbours is not Neighbours.REPLACE:
        return SampledPair(whole(cost.cost), low, high)
    if isinstance(cost.cost, Gaussian):
        return sampled_replacement(cost.cost.squared_sensitivity / cost.cost.scale**2, cost.rate)
    if isinstance(cost.cost, Laplace) and cost.cost.coordinates == 1:
        moved = cost.cost.sensitivity / cost.cost.scale
        return ReplacedLaplacePair((low, high), (float_below(moved), float_above(moved)))
    if isinstance(cost.cost, DiscreteLaplace) and cost.cost.coordinates == 1 and cost.cost.sensitivity <= MOST_STEPS:
        return replaced_discrete_laplace(cost.cost.scale, cost.cost.sensitivity, cost.rate)
    return ReplacedInSamplePair(whole(cost.cost), whole(group_cost(cost.cost, 2)), low, high)
