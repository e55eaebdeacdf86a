"""Staircase noise: what is drawn, what is stated and what is paid, by enumeration; better than Laplace noise where it should be."""

from fractions import Fraction

import pytest

from deniable import mechanisms as m
from deniable.accounting import epsilon
from deniable.audit.comparison import check_privacy
from deniable.audit.exact_law import output_law
from deniable.core import L1, AbsoluteDistance, Lattice, Space, Vectors
from deniable.errors import InvalidArgument
from deniable.exact import exp
from deniable.kernels import Law, Sensitivity, noise_of
from deniable.kernels.staircase import Staircase, attempt, attempts
from deniable.noise import system_entropy

HALF = Fraction(1, 2)
NUMBER = Space(Lattice(), AbsoluteDistance())
KINDS = [
    Staircase(width, tread, rate)
    for width in (1, 2, 4)
    for tread in {1, (width + 1) // 2, width}
    for rate in (HALF, Fraction(2))
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_is_drawn_is_what_is_stated(kind):
    law = output_law(lambda entropy: attempt(kind, entropy), tail=Fraction(1, 10**9))
    kept = 1 - law.probability(None).lower
    assert kept >= HALF
    for at in range(-9, 10):
        assert abs(law.probability(at).lower / kept - kind.mass(at).midpoint) < Fraction(1, 10**6)


@pytest.mark.parametrize("kind", KINDS[::2], ids=str)
def test_many_draws_at_once_have_the_same_law(kind):
    def first(entropy):
        values, refused = attempts(kind, 1, entropy)
        return None if refused[0] else int(values[0])

    law = output_law(first, tail=Fraction(1, 10**9))
    kept = 1 - law.probability(None).lower
    for at in range(-6, 7):
        assert abs(law.probability(at).lower / kept - kind.mass(at).midpoint) < Fraction(1, 10**6)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_variance_and_mean_size_are_those_of_the_masses(kind):
    masses = {at: float(kind.mass(at).midpoint) for at in range(-400, 401)}
    assert float(kind.variance) == pytest.approx(sum(at * at * share for at, share in masses.items()))
    assert kind.mean_size(0) == pytest.approx(sum(abs(at) * share for at, share in masses.items()))
    assert kind.mean_size(500) == pytest.approx(500, rel=1e-6)


def test_a_sampler_that_counts_zero_twice_is_caught():
    """Planted: zero kept on both sides has twice its share."""
    kind = KINDS[0]
    law = output_law(lambda entropy: attempt(kind, entropy) or 0, tail=Fraction(1, 10**9))
    assert law.probability(0).lower - kind.mass(0).upper > Fraction(1, 20)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_masses_add_up_and_tails_are_their_sums(kind):
    reach = 80 * kind.width
    masses = {at: kind.mass(at) for at in range(-reach, reach + 1)}
    assert abs(sum(each.midpoint for each in masses.values()) - 1) < Fraction(1, 10**12)
    for at in (-5, 0, 1, 2, 3, 7):
        summed = sum(each.midpoint for place, each in masses.items() if place >= at)
        assert abs(summed - kind.tail(at).midpoint) < Fraction(1, 10**12)
    for near, far in ((0, 1), (3, -2), (5, 9)):
        ratio = masses[near] / masses[far]
        assert exp(kind.loss(near=near, far=far).lower, 96).lower <= ratio.upper
        assert ratio.lower <= exp(kind.loss(near=near, far=far).upper, 96).upper


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_no_shift_costs_more_than_the_stairs_it_crosses(kind):
    for shift in range(1, 3 * kind.width + 1):
        apart = Sensitivity(l0=1, l1=shift, linf=shift)
        paid = Fraction(kind.cost(apart).epsilon)
        worst = max(kind.loss(near=at, far=at + shift).upper for at in range(-40, 40))
        assert worst <= paid
        assert worst == paid or shift % kind.width  # the whole of it is used up by whole stairs


def test_several_numbers_cross_no_more_stairs_than_are_paid_for():
    kind = Staircase(3, 2, Fraction(1))
    for moved in ((1, 1), (3, 1), (4, 2), (3, 3, 1), (6,)):
        apart = Sensitivity(l0=len(moved), l1=sum(moved), linf=max(moved))
        crossed = sum(max(kind.stair(at + d) - kind.stair(at) for at in range(-30, 30)) for d in moved)
        assert crossed <= kind.cost(apart).epsilon


def test_a_price_that_forgets_a_begun_stair_is_caught():
    """Planted: stairs rounded down instead of up."""
    kind = Staircase(3, 2, Fraction(1))
    worst = max(kind.loss(near=at, far=at + 4).upper for at in range(-9, 9))
    assert worst > kind.rate * (4 // kind.width)


@pytest.mark.parametrize(("width", "scale", "d"), [(2, 1, 2), (3, 2, 2), (2, 1, 3)])
def test_the_promise_is_kept(width, scale, d):
    built = NUMBER >> m.staircase(width=width, scale=scale)
    for shift in range(d + 1):
        assert check_privacy(built, 0, shift, d_in=d, tail=Fraction(1, 10**4)).kept
    assert float(epsilon(built.cost(d_in=d), delta=0).upper) == pytest.approx(-(-d // width) * width / scale)


def test_errors_are_smaller_than_those_of_laplace_noise_where_epsilon_is_large():
    width, scale = 100, Fraction(20)
    stairs, laplace = Staircase.best(width=width, rate=width / scale), noise_of(Law.LAPLACE, scale)
    assert float(epsilon(stairs.cost(Sensitivity(l0=1, l1=100, linf=100)), delta=0).upper) == pytest.approx(5)

    def size(kind):
        return float(sum(2 * at * kind.mass(at).midpoint for at in range(1, 1500)))

    assert size(stairs) < 0.7 * size(laplace)
    others = [size(Staircase(width, tread, width / scale)) for tread in (1, 4, 12, 30, 100)]
    assert size(stairs) <= min(others)


@pytest.mark.parametrize("beta", [Fraction(1, 20), Fraction(2, 5)])
@pytest.mark.parametrize("count", [1, 3])
def test_stated_errors_are_the_least(beta, count):
    kind = Staircase(4, 2, HALF)
    error = kind.error(beta, count=count)
    beyond = [1 - (1 - 2 * kind.tail(t + 1).midpoint) ** count for t in (error, error - 1)]
    assert beyond[0] <= beta < beyond[1]


def test_grids_vectors_and_refusals():
    finer = Space(Vectors(Lattice(HALF), 3), L1()) >> m.staircase(width=2, scale=1)
    answer = finer([0, 1, 2])
    assert all(float(2 * value).is_integer() for value in answer)
    assert float(epsilon(finer.cost(d_in=2), delta=0).upper) >= 2
    assert finer.accuracy(simultaneous=True).error >= finer.accuracy().error
    drawn = Staircase.best(width=5, rate=Fraction(1, 3)).draw(200, system_entropy())
    assert min(drawn) < 0 < max(drawn)
    with pytest.raises(InvalidArgument, match="at least width"):
        NUMBER >> m.staircase(width=10**6, scale=1)
    with pytest.raises(InvalidArgument, match="tread"):
        Staircase(2, 3, HALF)
