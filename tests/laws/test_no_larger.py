"""What a plan accepts for less than was declared: never more, alone or composed, and not what only looks smaller."""

from fractions import Fraction
from functools import cache
from itertools import product

import pytest

import deniable as dp
from deniable.accounting import delta, epsilon, no_larger
from deniable.core import AbsoluteDistance, Booleans, DiscreteDistance, Lattice, Space
from deniable.cost import (
    FREE,
    Bounded,
    Composed,
    Concentrated,
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
    Selected,
    Shuffled,
    Stopping,
    TruncatedLaplace,
)
from deniable.errors import BudgetExceeded, Retired, Unaccountable
from deniable.testing.scripted_entropy import Silent

HALF, TINY = Fraction(1, 2), Fraction(1, 10**6)
SMALL, LARGE = DiscreteLaplace(scale=2), DiscreteLaplace(scale=1)


def _selected(cost):
    return Selected(cost, stopping=Stopping.NEGATIVE_BINOMIAL, tries=HALF)


ACCEPTED = [
    (FREE, LARGE),
    (SMALL, LARGE),
    (DiscreteLaplace(scale=1, sensitivity=1), DiscreteLaplace(scale=1, sensitivity=2, coordinates=2)),
    (Laplace(scale=4, sensitivity=2), Laplace(scale=1)),
    (Gaussian(scale=6, sensitivity=2), Gaussian(scale=2, sensitivity=1)),
    (DiscreteGaussian(scale=2, sensitivity=1), DiscreteGaussian(scale=2, sensitivity=2)),
    (Exponential(eta=HALF), Exponential(eta=1)),
    (RandomizedResponse(truth=Fraction(11, 20)), RandomizedResponse(truth=Fraction(3, 4))),
    (RandomizedResponse(truth=Fraction(11, 20)), Bounded(epsilon=1)),
    (LARGE, Bounded(epsilon=1)),
    (Gaussian(scale=5, sensitivity=1), Bounded(epsilon=1, delta=Fraction(1, 10**4))),
    (TruncatedLaplace(scale=3, radius=60), Bounded(epsilon=HALF, delta=TINY)),
    (Composed((SMALL, SMALL)), Bounded(epsilon=1)),
    (Sampled(Bounded(epsilon=1), rate=Fraction(1, 10)), Bounded(epsilon=Fraction(1, 5))),
    (LARGE, Concentrated(rho=HALF)),
    (Gaussian(scale=1, sensitivity=1), Concentrated(rho=HALF)),
    (Bounded(epsilon=1, delta=TINY), Concentrated(rho=HALF, delta=TINY)),
    (Gaussian(scale=1, sensitivity=1), Renyi([(2, 1), (8, 4)])),
    (SMALL, Composed((LARGE, LARGE))),
    (Composed((SMALL, LARGE)), Composed((LARGE, Bounded(epsilon=3), LARGE))),
    (Repeated(SMALL, 2), Repeated(LARGE, 3)),
    (SMALL, Repeated(LARGE, 3)),
    (Parallel((SMALL, DiscreteLaplace(scale=3))), LARGE),
    (SMALL, Parallel((Exponential(eta=1), LARGE))),
    (Sampled(SMALL, rate=HALF), Sampled(LARGE, rate=HALF)),
    (_selected(SMALL), _selected(LARGE)),
    (Grouped(Bounded(epsilon=HALF, delta=TINY), 2), Grouped(Bounded(epsilon=1, delta=TINY), 2)),
    (Mixed([(HALF, SMALL), (HALF, FREE)]), Mixed([(HALF, LARGE), (HALF, SMALL)])),
    (Shuffled(epsilon=HALF, reports=100), Shuffled(epsilon=1, reports=100)),
]
REFUSED = [
    (LARGE, FREE),
    (LARGE, SMALL),
    (DiscreteLaplace(scale=4, sensitivity=2), LARGE),  # the ratio alone does not decide on a lattice
    (DiscreteLaplace(scale=2, sensitivity=1, coordinates=2), LARGE),
    (Gaussian(scale=1, sensitivity=1), Gaussian(scale=2, sensitivity=1)),
    (Gaussian(scale=100, sensitivity=1), Bounded(epsilon=1)),
    (Gaussian(scale=5, sensitivity=1), Bounded(epsilon=1, delta=Fraction(1, 10**12))),
    (Gaussian(scale=1, sensitivity=1), Concentrated(rho=Fraction(49, 100))),
    (Bounded(epsilon=1, delta=TINY), Concentrated(rho=HALF)),
    (Bounded(epsilon=1, delta=TINY), Renyi([(2, 10)])),
    (DiscreteGaussian(scale=3, sensitivity=1), DiscreteGaussian(scale=2, sensitivity=1)),
    (RandomizedResponse(truth=HALF, categories=3), RandomizedResponse(truth=HALF, categories=2)),
    (Composed((SMALL, SMALL)), LARGE),  # equal in epsilon, and not one release of Laplace noise
    (Composed((LARGE, LARGE)), Composed((LARGE,))),
    (Repeated(SMALL, 4), Repeated(LARGE, 3)),
    (Parallel((SMALL, DiscreteLaplace(scale=HALF))), LARGE),
    (Sampled(SMALL, rate=HALF), Sampled(LARGE, rate=Fraction(1, 3))),
    (Sampled(SMALL, rate=HALF), Sampled(LARGE, rate=HALF, neighbours=Neighbours.REPLACE)),
    (
        Bounded(epsilon=Fraction(1, 100)),
        Gaussian(scale=1, sensitivity=1),
    ),  # as hard to tell apart, but no normal noise
    (Shuffled(epsilon=HALF, reports=10), Shuffled(epsilon=1, reports=100)),
]
ZOO = list(dict.fromkeys(cost for pair in (*ACCEPTED, *REFUSED) for cost in pair))


@pytest.mark.parametrize(("cost", "declared"), ACCEPTED)
def test_what_is_proved_no_larger_is_accepted(cost, declared):
    assert no_larger(cost, declared)


@pytest.mark.parametrize(("cost", "declared"), REFUSED)
def test_what_is_not_proved_no_larger_is_refused(cost, declared):
    assert not no_larger(cost, declared)


_delta = cache(lambda cost, loss: delta(cost, epsilon=loss))


def _exceeds(cost, declared, losses=(0, HALF, 1, 2)):
    """Whether the worst mechanism with this cost certainly has a larger delta than the declared cost allows, somewhere."""
    try:
        return any(_delta(cost, loss).lower > _delta(declared, loss).upper for loss in losses)
    except Unaccountable:
        return False


SINGLE = [cost for cost in ZOO if isinstance(cost, Laplace | DiscreteLaplace | Gaussian | RandomizedResponse | Bounded)]


def test_no_accepted_pair_of_the_zoo_exceeds_its_declaration():
    """Every single release against every other: what is accepted is never certainly larger."""
    accepted = [(c, d) for c, d in product(SINGLE, repeat=2) if c != d and no_larger(c, d)]
    assert len(accepted) > 20
    assert [(c, d) for c, d in accepted if _exceeds(c, d)] == []


FIELDS = {
    "Laplace": [Laplace(scale=b, sensitivity=s, coordinates=k) for b, s, k in product((1, 2), repeat=3)],
    "discrete Laplace": [
        DiscreteLaplace(scale=b, sensitivity=s, coordinates=k)
        for b, s, k in product((1, 2), (1, 2, 3), (1, 2, 3))
        if k <= s
    ],
    "discrete Gaussian": [
        DiscreteGaussian(scale=b, squared_sensitivity=s, coordinates=k, largest=m)
        for b, s, k, m in product((1, 2), (1, 2, 4), (1, 2, 4), (1, 2))
        if k <= s and m * m <= s
    ],
}


@pytest.mark.parametrize("law", FIELDS)
def test_every_field_of_a_record_is_compared(law):
    """All small settings of one noise against all others: a bound that is not looked at lets something larger pass."""
    accepted = [(c, d) for c, d in product(FIELDS[law], repeat=2) if c != d and no_larger(c, d)]
    assert len(accepted) > 5
    assert [(c, d) for c, d in accepted if _exceeds(c, d)] == []


@pytest.mark.parametrize(("cost", "declared"), [pair for pair in ACCEPTED if {*pair} <= {*SINGLE}])
def test_an_accepted_cost_exceeds_nothing_when_it_is_composed(cost, declared):
    """Three of each beside a release of another kind: crossings that one release hides would show."""
    assert not _exceeds(cost.repeated(3) + Bounded(epsilon=1), declared.repeated(3) + Bounded(epsilon=1), losses=(1, 2))


# Look-alikes


def _at_one_delta(cost, declared):
    """Unsound: no larger in epsilon at the session's delta."""
    return epsilon(cost, delta=TINY).upper <= epsilon(declared, delta=TINY).upper


def test_a_comparison_at_one_delta_is_caught():
    """One coin of epsilon 4 is no dearer at 10⁻⁶ than one Gaussian of scale 1; ten coins are far dearer than ten Gaussians."""
    coin, declared = Bounded(epsilon=4), Gaussian(scale=1, sensitivity=1)
    assert _at_one_delta(coin, declared)
    assert _exceeds(coin.repeated(10), declared.repeated(10), losses=(10, 20))
    assert not no_larger(coin, declared)


def test_a_comparison_by_pure_loss_alone_is_caught():
    """A coin of epsilon 1 is told apart more often than Laplace noise of epsilon 1 that spreads over several steps."""
    coin, declared = RandomizedResponse(truth=Fraction(73, 100)), DiscreteLaplace(scale=5, sensitivity=5)
    assert dp.accounting.pure(coin) <= dp.accounting.pure(declared)
    assert _exceeds(coin, declared)
    assert not no_larger(coin, declared)


# Plans

NUMBER = Space(Lattice(), AbsoluteDistance())
BIT = Space(Booleans(), DiscreteDistance())


def test_the_plan_of_a_book_takes_smaller_answers():
    """Two answers of epsilon 1 declared; coins of 0.2 are taken, what is dearer is refused and uses nothing up."""
    plan = [Bounded(epsilon=1)] * 2
    held = dp.calculus.compositor(True, BIT, costs=plan, entropy=Silent())
    held.release(dp.calculus.randomized_response(truth=Fraction(55, 100)))
    with pytest.raises(BudgetExceeded, match="no measure proves no larger"):
        held.release(dp.calculus.randomized_response(truth=Fraction(9, 10)))
    held.release(dp.calculus.randomized_response(truth=Fraction(73, 100)))
    with pytest.raises(Retired):
        held.release(dp.calculus.randomized_response(truth=Fraction(55, 100)))


def test_what_is_noted_is_what_was_declared():
    """A smaller cost was chosen along the way: read as if it had been planned it would promise too much."""
    held = dp.calculus.compositor(0, NUMBER, costs=[Gaussian(scale=1, sensitivity=1)] * 2, entropy=Silent())
    held.release(dp.calculus.gaussian(scale=5))
    assert held.gate.charged == Gaussian(scale=1, sensitivity=1)
    assert held.gate.total == Composed((Gaussian(scale=1, sensitivity=1),) * 2)


def test_a_plan_inside_a_plan_and_in_a_sample():
    outer = dp.calculus.compositor(0, NUMBER, costs=[Bounded(epsilon=1)], entropy=Silent())
    inner = outer.planned([Bounded(epsilon=Fraction(3, 5)), Bounded(epsilon=Fraction(2, 5))])
    inner.release(dp.calculus.laplace(scale=2))
    inner.release(dp.calculus.laplace(scale=5))
    rows = dp.calculus.rows(dp.calculus.integers(lower=0, upper=1))
    held = dp.calculus.compositor([1, 0], rows, budget=dp.budget(rho=1), entropy=Silent())
    (batch,) = held.batches([Gaussian(scale=2, sensitivity=1)], steps=1, rate=HALF)
    with pytest.raises(BudgetExceeded):
        batch.release(dp.calculus.total() >> dp.calculus.laplace(scale=100))
    batch.release(dp.calculus.total() >> dp.calculus.gaussian(scale=3))
