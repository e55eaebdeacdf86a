"""Random allocation: the bound against every outcome of small runs, in both directions, and never below the truth."""

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from deniable.accounting import delta, epsilon
from deniable.accounting.pld.allocated import allocated_pair
from deniable.accounting.pld.cost_pairs import whole
from deniable.accounting.strength import MEASURES
from deniable.cost import (
    Allocated,
    Bounded,
    Gaussian,
    Laplace,
    Neighbours,
    RandomizedResponse,
    Sampled,
    TruncatedLaplace,
)
from deniable.errors import Unaccountable
from tests.finite import hockey_stick

HALF = Fraction(1, 2)


def runs(one, none, steps):
    """The exact laws of a run of `steps` with the unit in one of them, and of a run without it."""
    with_unit, without = {}, {}
    for outcome in product(one.keys() | none.keys(), repeat=steps):
        chances = [none.get(each, Fraction(0)) for each in outcome]
        without[outcome] = math.prod(chances, start=Fraction(1))
        mixed = Fraction(0)
        for place in range(steps):
            others = math.prod(chances[:place] + chances[place + 1 :], start=Fraction(1))
            mixed += one.get(outcome[place], Fraction(0)) * others
        with_unit[outcome] = mixed / steps
    return with_unit, without


def response(truth, categories):
    other = (1 - truth) / (categories - 1)
    one = {k: truth if k == 0 else other for k in range(categories)}
    none = {k: truth if k == 1 else other for k in range(categories)}
    return RandomizedResponse(truth=truth, categories=categories), one, none


LAWS = [
    response(Fraction(3, 4), 2),
    response(Fraction(9, 10), 3),
    (
        Bounded(epsilon=0, delta=Fraction(1, 5)),
        {"in": Fraction(1, 5), "no": Fraction(4, 5)},
        {"out": Fraction(1, 5), "no": Fraction(4, 5)},
    ),
]


@pytest.mark.parametrize("steps", [2, 3, 4])
@pytest.mark.parametrize(("cost", "one", "none"), LAWS, ids=["two answers", "three answers", "a leak"])
def test_every_outcome_of_small_runs_both_ways(cost, one, none, steps):
    """The pair itself is attained by these mechanisms: above the truth, and by less than a thousandth of it."""
    mine, theirs = runs(one, none, steps)
    pair = allocated_pair(whole(cost), steps)
    for at in (Fraction(0), Fraction(1, 10), HALF, Fraction(1), Fraction(2)):
        removed = hockey_stick(mine, theirs, epsilon=at)
        added = hockey_stick(theirs, mine, epsilon=at)
        for truth, found in ((removed, pair.upper), (added, pair.swapped.upper)):
            most = Fraction(float(found(np.array([float(at)]))[0]))
            assert truth.lower <= most
            assert most <= truth.upper * (1 + Fraction(1, 1000)) + Fraction(1, 10**9)
        worst = delta(Allocated(cost, steps), epsilon=at).upper
        assert Fraction(worst) >= max(removed.lower, added.lower)


def test_two_epochs_of_two_steps():
    """Composition: both epochs enumerated."""
    cost, one, none = LAWS[0]
    mine, theirs = runs(one, none, 2)
    twice = [{(a, b): law[a] * law[b] for a, b in product(law, law)} for law in (mine, theirs)]
    for at in (Fraction(0), HALF, Fraction(3, 2)):
        truth = max(hockey_stick(*pair, epsilon=at).lower for pair in (twice, twice[::-1]))
        found = delta(Allocated(cost, 2).repeated(2), epsilon=at).upper
        assert truth <= Fraction(found) <= truth * (1 + Fraction(1, 1000)) + Fraction(1, 10**9)


@pytest.mark.parametrize("steps", [2, 5])
@pytest.mark.parametrize("cost", [Gaussian(scale=1, sensitivity=1), Laplace(scale=1)], ids=["Gaussian", "Laplace"])
def test_continuous_noise_against_a_coarse_sum_from_below(cost, steps):
    """Ratios of one step put together in cells (their means) say less; their runs, enumerated, stay below the bound."""
    laws = cells(cost, 7)
    mine, theirs = {}, {}
    for outcome in product(range(len(laws)), repeat=steps):
        none = math.prod(laws[k][1] for k in outcome)
        theirs[outcome] = none
        mine[outcome] = none * math.fsum(laws[k][0] / laws[k][1] for k in outcome) / steps
    for at in (0.0, 0.2, 0.7):
        for p, q in ((mine, theirs), (theirs, mine)):
            least = math.fsum(max(0.0, p[o] - math.exp(at) * q[o]) for o in p)
            found = delta(Allocated(cost, steps), epsilon=Fraction(at)).upper
            assert found >= least * (1 - 1e-12)


def cells(cost, count):
    """(P, Q) of intervals of outcomes."""
    if isinstance(cost, Gaussian):
        cdf = lambda x: math.erfc(-x / math.sqrt(2)) / 2  # noqa: E731
    else:
        cdf = lambda x: math.exp(x) / 2 if x < 0 else 1 - math.exp(-x) / 2  # noqa: E731
    edges = [-math.inf, *(-2 + 5 * k / (count - 2) for k in range(count - 1)), math.inf]
    return [(cdf(b - 1) - cdf(a - 1), cdf(b) - cdf(a)) for a, b in pairwise(edges)]


def test_less_than_one_full_step_and_less_with_more_steps():
    chance = Fraction(1, 10**5)
    step = Gaussian(scale=1, sensitivity=1)
    found = [epsilon(Allocated(step, steps), delta=chance, gap=1e-3).upper for steps in (1, 4, 30, 300)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < found[0] / 5
    poisson = epsilon(step.sampled(rate=Fraction(1, 300)).repeated(300), delta=chance).upper
    assert found[-1] < 1.2 * poisson


def test_every_measure_reads_it_as_at_most_one_step():
    for inner in (Laplace(scale=4), Gaussian(scale=4, sensitivity=1), TruncatedLaplace(scale=2, radius=30)):
        cost = Allocated(inner, 7)
        assert delta(cost, epsilon=HALF).upper <= delta(inner, epsilon=HALF).upper * (1 + 1e-9)
        for measure in MEASURES[:5]:
            try:
                whole_run = measure.read(cost)
            except Unaccountable:
                continue
            assert measure.at_most(whole_run, measure.read(inner))


def test_replaced_units_have_no_reading():
    inside = Sampled(Laplace(scale=1), rate=HALF, neighbours=Neighbours.REPLACE)
    with pytest.raises(Unaccountable, match="allocated"):
        delta(Allocated(inside, 3), epsilon=1)
    beside = Allocated(Laplace(scale=1), 3) + inside
    with pytest.raises(Unaccountable, match="different neighbours"):
        delta(beside, epsilon=1)
