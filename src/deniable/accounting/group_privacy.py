"""What a cost becomes for several units that change together: a rule on records, so that every measure gains from it.

Noise of a fixed scale sees a larger sensitivity; compositions are grouped part by part; a selection groups its candidate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import assert_never

from deniable.accounting.spend import LARGEST_EXPONENT, expm1, round_up
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
    Parallel,
    RandomizedResponse,
    Renyi,
    Repeated,
    Sampled,
    Sampling,
    Selected,
    Shuffled,
    TruncatedLaplace,
    composed,
)


def group_cost(cost: Cost, size: int) -> Cost:
    """The cost of `size` units that change together; a `Grouped` comes back only where no other record says it.

    Guarantee: at least as large as the loss between data sets that `size` steps between neighbours connect. Units that are
    sampled together are all added, or all removed.
    """
    if size == 1:
        return cost
    match cost:
        case Laplace(scale, sensitivity, coordinates):
            return Laplace(scale=scale, sensitivity=sensitivity * size, coordinates=coordinates * size)
        case DiscreteLaplace(scale, steps, coordinates):
            return DiscreteLaplace(scale=scale, sensitivity=steps * size, coordinates=coordinates * size)
        case Gaussian(scale, square):
            return Gaussian(scale=scale, squared_sensitivity=square * size**2)
        case DiscreteGaussian(scale, square, coordinates, largest):
            return DiscreteGaussian(
                scale=scale,
                squared_sensitivity=square * size**2,
                coordinates=coordinates * size,
                largest=largest * size,
            )
        case TruncatedLaplace(scale, radius, steps):
            return TruncatedLaplace(scale=scale, radius=radius, sensitivity=steps * size)
        case Exponential(eta):
            return Exponential(eta=eta * size)
        case RandomizedResponse():
            return Repeated(cost, size)
        case Bounded(epsilon, delta):
            return _bounded(epsilon, delta, size)
        case Concentrated(rho, delta) if delta == 0:
            return Concentrated(rho=rho * size**2)
        case Composed(costs):
            return Composed(tuple(group_cost(each, size) for each in costs))
        case Repeated(each, times):
            return Repeated(group_cost(each, size), times)
        case Selected(each, stopping, tries, shape):
            return Selected(group_cost(each, size), stopping=stopping, tries=tries, shape=shape)
        case Calibrated(each, epsilon, delta):
            pair = _bounded(epsilon, delta, size)
            return Calibrated(group_cost(each, size), epsilon=pair.epsilon, delta=pair.delta)
        case Grouped(each, inner):
            return group_cost(each, inner * size)
        case Parallel(costs) if (splits := _splits(costs, size)) is not None:
            return Parallel(splits)
        case Parallel() | Mixed() | Sampled() | Allocated() | Shuffled() | Concentrated() | Renyi():
            return Grouped(cost, size)
        case _:
            assert_never(cost)


def _splits(costs: tuple[Cost, ...], size: int) -> tuple[Cost, ...] | None:
    """Every way in which so many units can sit in disjoint parts, each as one cost; None if there are too many.

    The parts share no data and no noise, so a group in several of them pays for each part it is in.
    """
    whole: list[tuple[int, tuple[Cost, ...]]] = [(0, ())]
    for cost, parts in Counter(costs).items():
        shares = [shape for most in range(size + 1) for shape in _shapes(most, parts, most)]
        if len(whole) * len(shares) > _SPLITS**2:
            return None
        whole = [
            (have + sum(shape), (*together, *(group_cost(cost, count) for count in shape)))
            for have, together in whole
            for shape in shares
            if have + sum(shape) <= size
        ]
    full = [composed(together) for have, together in whole if have == size]
    return tuple(full) if len(full) <= _SPLITS else None


def _shapes(total: int, parts: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Falling sequences of at most `parts` counts that add up to `total`."""
    if total == 0:
        yield ()
    elif parts:
        for first in range(min(total, largest), 0, -1):
            for rest in _shapes(total - first, parts - 1, first):
                yield (first, *rest)


_SPLITS = 32


def _bounded(epsilon: Fraction, delta: Fraction, size: int) -> Bounded:
    """(size epsilon, delta (1 + e^epsilon + ... + e^((size-1) epsilon))): the triangle inequality of hockey sticks."""
    if delta == 0:
        return Bounded(epsilon=size * epsilon)
    if epsilon == 0:
        return Bounded(epsilon=0, delta=min(Fraction(1), size * delta))
    if size * epsilon > LARGEST_EXPONENT:
        return Bounded(epsilon=size * epsilon, delta=1)
    factor = expm1(size * epsilon).upper / expm1(epsilon).lower
    return Bounded(epsilon=size * epsilon, delta=min(Fraction(1), round_up(delta * factor)))


def sampled_group(cost: Sampled, size: int) -> Sampled:
    """Several units under sampling: any of them is in the sample as rarely as that, and then all of them may be.

    Guarantee: holds for units that are all added, all removed or all replaced; a mixture of Gaussians is tighter.
    """
    together = 1 - (1 - cost.rate) ** size if cost.how is Sampling.POISSON else min(Fraction(1), size * cost.rate)
    return Sampled(group_cost(cost.cost, size), rate=together, how=cost.how, neighbours=cost.neighbours)
