"""Every bracket holds the truth: its lower end is the loss of a real mechanism, and no other sound reading lies below it.

The truth of bounded range and of disjoint parts is that of an adversary who chooses each step from what was seen: found here by a
dynamic programme, which knows nothing of pairs.
"""

import math
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

from deniable.accounting import delta, epsilon
from deniable.accounting.explanation import LOSSES, THEOREMS
from deniable.accounting.theorems import numeric
from deniable.cost import (
    Bounded,
    Concentrated,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    Mixed,
    Neighbours,
    Parallel,
    RandomizedResponse,
    Renyi,
    Sampled,
    Sampling,
    Selected,
    Shuffled,
    Stopping,
    TruncatedLaplace,
    composed,
)
from deniable.errors import Unaccountable

SLACK = 1e-9
HALF = Fraction(1, 2)


def best_adversary(laws, times, at):
    """The largest P(S) - e^at Q(S) over events of `times` steps, each law chosen from the losses so far.

    `laws` holds the units of the losses and the laws to choose from: outcomes with whole multiples of the units, and P.
    """
    units, choices = laws

    @cache
    def value(left, state):
        if left == 0:
            return max(0.0, -math.expm1(at - math.fsum(unit * count for unit, count in zip(units, state, strict=True))))
        return max(
            math.fsum(
                chance * value(left - 1, tuple(have + more for have, more in zip(state, move, strict=True)))
                for move, chance in law
            )
            for law in choices
        )

    return value(times, (0,) * len(units))


def ranges(eta, parts):
    """Two-point laws with losses t and t - eta, for t on a grid that holds eta/2."""
    chances = []
    for k in range(1, parts):
        t = eta * k / parts
        chances.append((((k,), -math.expm1(t - eta) / -math.expm1(-eta)), ((k - parts,), None)))
    return (eta / parts,), [((one, chance), (two, 1 - chance)) for (one, chance), (two, _) in chances]


def responses(*laws):
    """Randomised responses with ln(odds) and categories, side by side."""
    units, choices = [], []
    for place, (loss, categories) in enumerate(laws):
        units.append(loss)
        unit = tuple(int(k == place) for k in range(len(laws)))
        kept = math.exp(loss) / (math.exp(loss) + categories - 1)
        rest = (1 - kept) * (categories - 2) / (categories - 1)
        back = tuple(-each for each in unit)
        choices.append(((unit, kept), (back, (1 - kept) / (categories - 1)), ((0,) * len(laws), rest)))
    return tuple(units), choices


def holds(found, truth):
    assert found.lower <= truth * (1 + SLACK) + 1e-15
    assert truth <= found.upper * (1 + SLACK) + 1e-15


@pytest.mark.parametrize(("eta", "times"), [(0.5, 1), (0.5, 2), (0.5, 10), (2.0, 3), (0.1, 12), (4.0, 2)])
def test_bounded_range_against_the_best_adversary(eta, times):
    cost = Exponential(eta=Fraction(eta)).repeated(times)
    for share in (0.0, 0.1, 0.3, 0.6):  # for one step the best t is on the grid
        at = share * eta * times
        holds(delta(cost, epsilon=Fraction(at)), best_adversary(ranges(eta, 40), times, at))


@pytest.mark.parametrize(("times", "share"), list(product([1, 2, 4, 6], [0.0, 0.1, 0.2, 0.5])))
def test_disjoint_parts_against_the_best_adversary(times, share):
    wide = RandomizedResponse(truth=Fraction(8, 37), categories=30)  # the other part is worse at 0, this one far out
    cost = Parallel((wide, Bounded(epsilon=Fraction(11, 20)))).repeated(times)
    at = share * times * math.log(8)
    holds(delta(cost, epsilon=Fraction(at)), best_adversary(responses((math.log(8), 30), (0.55, 2)), times, at))


REPLACE, FIXED = Neighbours.REPLACE, Sampling.WITHOUT_REPLACEMENT
PIECES = [
    Exponential(eta=HALF),
    Exponential(eta=HALF).sampled(rate=HALF),
    Exponential(eta=HALF).repeated(3).sampled(rate=HALF),
    Laplace(scale=2, coordinates=3),
    DiscreteLaplace(scale=3, sensitivity=4, coordinates=4),
    DiscreteGaussian(scale=3, squared_sensitivity=5, coordinates=5, largest=2),
    TruncatedLaplace(scale=2, radius=12),
    Bounded(epsilon=HALF, delta=Fraction(1, 1000)).sampled(rate=HALF),
    Bounded(epsilon=HALF, delta=Fraction(1, 1000)).sampled(rate=HALF, neighbours=REPLACE),
    Concentrated(rho=Fraction(1, 20)),
    Renyi([(2, Fraction(1, 10)), (8, Fraction(2, 5)), (32, Fraction(8, 5))]),
    Shuffled(epsilon=1, reports=300),
    Selected(Laplace(scale=9), stopping=Stopping.POISSON, tries=2),
    Parallel((Bounded(epsilon=HALF), Gaussian(scale=2, sensitivity=1))),
    Parallel((Exponential(eta=1), Gaussian(scale=2, sensitivity=1), Laplace(scale=3))),
    Mixed([(HALF, Exponential(eta=1)), (HALF, Laplace(scale=2))]),
    Sampled(Gaussian(scale=1, sensitivity=1), rate=Fraction(1, 10), how=FIXED, neighbours=REPLACE),
    Sampled(DiscreteLaplace(scale=1), rate=Fraction(1, 10), how=FIXED),
    Sampled(Exponential(eta=1), rate=Fraction(1, 4), neighbours=REPLACE),
    Gaussian(scale=2, sensitivity=1).sampled(rate=Fraction(1, 5)).group(2),
    Laplace(scale=3).sampled(rate=Fraction(1, 5)).group(2),
]


COARSE = 1e-2


def others(cost, chance):
    """The upper ends of every theorem there is, each by itself."""
    for name, say in THEOREMS:
        try:
            found = numeric(cost).epsilon(chance, gap=COARSE).upper if name == LOSSES else say(cost, chance)[0]
        except (Unaccountable, AttributeError):
            continue
        if found is not None:
            yield float(found)


@pytest.mark.parametrize("further", [1, 2], ids=["beside another", "three times"])
@pytest.mark.parametrize("cost", PIECES, ids=lambda cost: type(cost).__name__)
def test_no_sound_reading_lies_below_a_lower_end_or_above_the_least(cost, further):
    whole = cost.repeated(3) if further == 2 else composed([cost, Bounded(epsilon=Fraction(1, 4))])
    found = epsilon(whole, delta=Fraction(1, 10**4), gap=COARSE)
    for each in others(whole, Fraction(1, 10**4)):
        assert found.lower <= each * (1 + SLACK)
        assert found.upper <= each * (1 + COARSE) + 1e-12


def test_a_bracket_with_one_real_pair_stays_narrow():
    """Where a mechanism has the pair itself nothing was lost by being careful."""
    for cost in (
        Gaussian(scale=2, sensitivity=1).sampled(rate=Fraction(1, 10)).repeated(20),
        DiscreteLaplace(scale=3).repeated(5) + Bounded(epsilon=HALF),
        Sampled(Bounded(epsilon=1), rate=Fraction(1, 10), how=FIXED).repeated(5),
        DiscreteGaussian(scale=3, squared_sensitivity=5, coordinates=5, largest=1) + Bounded(epsilon=HALF),
        Parallel((Bounded(epsilon=HALF), Gaussian(scale=2, sensitivity=1))),
    ):
        assert epsilon(cost, delta=Fraction(1, 10**3)).gap <= 2e-4
