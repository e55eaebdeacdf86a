"""Is one cost no larger than another, whatever will be read from it later?

Comparing two losses at one delta is not enough: costs that are equal there may part after composition. A cost is no larger than a
declared one only if every mechanism of which the first record is true makes the second one true (docs/theory/plans.md).
"""

from __future__ import annotations

from fractions import Fraction

from deniable.accounting.measures.approximate import Approximate
from deniable.accounting.measures.concentrated import ZeroConcentrated
from deniable.accounting.theorems import RenyiPrivacy, delta
from deniable.cost import (
    FREE,
    Bounded,
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
    Parallel,
    RandomizedResponse,
    Renyi,
    Repeated,
    Sampled,
    Selected,
    Shuffled,
)
from deniable.errors import Unaccountable


def no_larger(cost: Cost, declared: Cost) -> bool:
    """Whether every mechanism with this `cost` also has the `declared` one; False where that is not proved.

    Guarantee: a plan that declares the second may be used by the first: every measure's reading of the plan still holds.
    """
    return (
        cost in (declared, FREE)
        or _by_parts(cost, declared)
        or _by_terms(cost, declared)
        or _by_promise(cost, declared)
    )


def _by_parts(cost: Cost, declared: Cost) -> bool:
    """Compositions part by part, in order; the worst of several; one design around a smaller cost."""
    match cost, declared:
        case Parallel(costs), _ if costs and all(no_larger(each, declared) for each in costs):
            return True
        case _, Parallel(costs) if any(no_larger(cost, each) for each in costs):
            return True
        case Repeated(each, times), Repeated(other, most):
            return times <= most and no_larger(each, other)
        case _, Repeated(other, most) if most and no_larger(cost, other):
            return True
        case _, Composed(others):
            return _in_order(cost.costs if isinstance(cost, Composed) else (cost,), others)
        case Mixed(parts), Mixed(others):
            return len(parts) == len(others) and all(
                p == q and no_larger(each, other) for (p, each), (q, other) in zip(parts, others, strict=True)
            )
    return _one_design(cost, declared)


def _one_design(cost: Cost, declared: Cost) -> bool:
    match cost, declared:
        case Sampled(), Sampled():
            same = (cost.rate, cost.how, cost.neighbours) == (declared.rate, declared.how, declared.neighbours)
            return same and no_larger(cost.cost, declared.cost)
        case Selected(), Selected():
            same = (cost.stopping, cost.tries, cost.shape) == (declared.stopping, declared.tries, declared.shape)
            return same and no_larger(cost.cost, declared.cost)
        case Grouped(each, size), Grouped(other, most):
            return size == most and no_larger(each, other)
    return False


def _in_order(costs: tuple[Cost, ...], others: tuple[Cost, ...]) -> bool:
    """Whether each cost finds, from left to right, a declared one of its own that is at least as large."""
    left = iter(others)
    return all(any(no_larger(each, other) for other in left) for each in costs)


def _by_terms(cost: Cost, declared: Cost) -> bool:
    """The same noise on less: smaller bounds on what moves, or noise that contains the declared one."""
    match cost, declared:
        case Laplace(), Laplace():
            weaker = cost.sensitivity / cost.scale <= declared.sensitivity / declared.scale
            return weaker and cost.coordinates <= declared.coordinates
        case DiscreteLaplace(), DiscreteLaplace():
            less = cost.sensitivity <= declared.sensitivity and cost.coordinates <= declared.coordinates
            return less and cost.scale >= declared.scale
        case Gaussian(), Gaussian():
            mine, most = (each.squared_sensitivity / each.scale**2 for each in (cost, declared))
            return mine <= most
        case Exponential(), Exponential():
            return cost.eta <= declared.eta
        case DiscreteGaussian(), DiscreteGaussian():
            less = cost.squared_sensitivity <= declared.squared_sensitivity and cost.largest <= declared.largest
            return less and cost.coordinates <= declared.coordinates and cost.scale == declared.scale
        case RandomizedResponse(), RandomizedResponse():
            return cost.categories == declared.categories and cost.truth <= declared.truth
        case Shuffled(), Shuffled():
            return cost.reports == declared.reports and cost.epsilon <= declared.epsilon
    return False


def _by_promise(cost: Cost, declared: Cost) -> bool:
    """A record of a promise is true of whatever keeps the promise, by any theorem; each is proved in its own measure."""
    try:
        match declared:
            case Bounded(epsilon, chance):
                return _approximate(cost, epsilon, chance)
            case Concentrated(rho, chance):
                read = ZeroConcentrated().read(cost)
                return read.loss <= rho and read.delta <= chance
            case Renyi(curve):
                return _renyi(cost, curve)
    except Unaccountable:
        return False
    return False


def _approximate(cost: Cost, epsilon: Fraction, chance: Fraction) -> bool:
    """Exactly, where epsilons and deltas add; else by the tightest reading of delta, rounded up."""
    try:
        read = Approximate().read(cost)
        if read.loss <= epsilon and read.delta <= chance:
            return True
    except Unaccountable:
        pass
    return chance > 0 and Fraction(delta(cost, epsilon=epsilon).upper) <= chance


def _renyi(cost: Cost, curve: tuple[tuple[Fraction, Fraction], ...]) -> bool:
    loss = RenyiPrivacy().read(cost)
    if any(leak and times for leak, times in loss.leaks):
        return False
    values = [(loss.at(order), limit) for order, limit in curve]
    return all(value is not None and value <= limit for value, limit in values)
