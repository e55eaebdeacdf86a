"""Every closed form against a high-precision reference: enclosed, tight, and read backwards with certainty."""

import math
from fractions import Fraction

import mpmath
import pytest
from mpmath import mpf

from deniable.accounting import delta, epsilon
from deniable.accounting.closed_forms import closed_form
from deniable.accounting.gaussian_profiles import tail_sum
from deniable.accounting.profiles import epsilon_of
from deniable.cost import (
    FREE,
    Bounded,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    Mixed,
    Parallel,
    RandomizedResponse,
    TruncatedLaplace,
)
from tests.unit.accounting.reference import exactly, truth

EPSILONS = [Fraction(0), Fraction(1, 10), Fraction(1), Fraction(7, 3), Fraction(6)]
COSTS = [
    Gaussian(scale=1, sensitivity=1),
    Gaussian(scale=10, sensitivity=1),
    Gaussian(scale=Fraction(3, 10), sensitivity=1),
    Gaussian(scale=30, sensitivity=1).repeated(17),
    Laplace(scale=1),
    Laplace(scale=Fraction(1, 4), sensitivity=1),
    DiscreteLaplace(scale=1),
    DiscreteLaplace(scale=3, sensitivity=7),
    DiscreteLaplace(scale=Fraction(5, 2), sensitivity=4),
    TruncatedLaplace(scale=2, radius=30, sensitivity=1),
    TruncatedLaplace(scale=2, radius=5, sensitivity=4),
    TruncatedLaplace(scale=2, radius=3, sensitivity=5),
    TruncatedLaplace(scale=2, radius=3, sensitivity=7),
    DiscreteGaussian(scale=Fraction(1, 2), sensitivity=1),
    DiscreteGaussian(scale=1, sensitivity=1),
    DiscreteGaussian(scale=5, sensitivity=3),
    DiscreteGaussian(scale=40, sensitivity=11),
    Exponential(eta=1),
    Exponential(eta=4),
    RandomizedResponse(truth=Fraction(3, 4)),
    RandomizedResponse(truth=Fraction(1, 2), categories=6),
    Bounded(epsilon=1),
    Bounded(epsilon=Fraction(1, 2)).repeated(9),
    Bounded(epsilon=Fraction(1, 10), delta=Fraction(1, 10**4)).repeated(40),
    RandomizedResponse(truth=Fraction(3, 4)).repeated(12),
    DiscreteLaplace(scale=4).repeated(11),
    Gaussian(scale=1, sensitivity=1).sampled(rate=Fraction(1, 100)),
    Gaussian(scale=2, sensitivity=1).sampled(rate=Fraction(1, 2)),
    Gaussian(scale=Fraction(1, 2), sensitivity=1).sampled(rate=Fraction(9, 10)),
]


@pytest.mark.parametrize("cost", COSTS, ids=str)
@pytest.mark.parametrize("at", EPSILONS, ids=str)
def test_the_truth_is_enclosed_tightly(cost, at):
    found = closed_form(cost).delta(at)
    right = truth(cost, at)
    assert exactly(found.lower) <= right * (1 + mpf(10) ** -28) + mpf(10) ** -45
    assert right <= exactly(found.upper) * (1 + mpf(10) ** -28) + mpf(10) ** -45
    assert found.width <= found.upper * Fraction(1, 10**9)


@pytest.mark.parametrize("cost", COSTS, ids=str)
@pytest.mark.parametrize("chance", [Fraction(1, 20), Fraction(1, 10**6), Fraction(1, 10**20)], ids=str)
def test_reading_backwards_brackets_the_truth(cost, chance):
    found = epsilon(cost, delta=chance)
    if math.isinf(found.upper):
        assert truth(cost, Fraction(1000)) > exactly(chance)
        return
    slack = 1 + mpf(10) ** -30
    assert truth(cost, Fraction(found.upper)) <= exactly(chance) * slack
    assert found.lower == 0 or truth(cost, Fraction(found.lower)) >= exactly(chance) / slack
    assert found.gap < 1e-8


def test_a_leak_adds_as_a_union():
    leak = Bounded(epsilon=0, delta=Fraction(1, 1000)).repeated(3)
    found = delta(Laplace(scale=1) + leak, epsilon=Fraction(1, 2))
    right = 1 - (1 - truth(Laplace(scale=1), Fraction(1, 2))) * (1 - mpf(1) / 1000) ** 3
    assert found.lower <= right <= found.upper


def test_more_leaked_than_allowed_is_infinite_and_said_so():
    assert epsilon(Laplace(scale=1) + Bounded(epsilon=0, delta=1e-3), delta=1e-4).lower == math.inf


def test_disjoint_parts_cost_the_worst_and_mixtures_the_average():
    one, two = Laplace(scale=1), Gaussian(scale=1, sensitivity=1)
    worst, drawn = Parallel((one, two)), Mixed([(Fraction(1, 3), one), (Fraction(2, 3), two)])
    for at in EPSILONS:
        first, second = truth(one, at), truth(two, at)
        found = delta(worst, epsilon=at)
        assert found.lower * (1 - 1e-12) <= max(first, second) <= found.upper * (1 + 1e-12)
        found = delta(drawn, epsilon=at)
        assert found.lower * (1 - 1e-12) <= first / 3 + 2 * second / 3 <= found.upper * (1 + 1e-12)


def test_nothing_costs_nothing():
    assert delta(FREE, epsilon=0).upper == 0
    assert epsilon(Gaussian(scale=1, sensitivity=0), delta=1e-9).upper == 0


@pytest.mark.parametrize("times", [10**4, 10**6])
@pytest.mark.parametrize("each", [0.01, 1.0])
def test_a_million_equal_releases_neither_overflow_nor_loosen(times, each):
    found = epsilon(Bounded(epsilon=each).repeated(times), delta=1e-6)
    assert found.gap < 1e-8
    # the central limit of the loss: mean k e tanh(e/2), deviation e/cosh(e/2) sqrt(k)
    mean, spread = times * each * math.tanh(each / 2), each / math.cosh(each / 2) * math.sqrt(times)
    assert mean < found.upper < mean + 6 * spread


def test_known_numbers():
    """Values of the issue: k = 100 pure releases of 1 at delta 1e-6 cost 83.53, where one library says 72."""
    assert epsilon(Bounded(epsilon=1).repeated(100), delta=1e-6).upper == pytest.approx(83.5307, abs=1e-4)
    assert epsilon(Gaussian(scale=0.03, sensitivity=1), delta=1e-6).upper == pytest.approx(713.0684, abs=1e-4)
    assert delta(Gaussian(scale=1, sensitivity=1), epsilon=1).upper == pytest.approx(0.12693673750664, rel=1e-12)


@pytest.mark.parametrize("start", [1, 40, 300, 700, 2500, 9000])
def test_wide_lattice_tails_agree_with_their_sums(start):
    scale = Fraction(300)  # beyond the table: Euler and Maclaurin
    found = tail_sum(scale, start, 96)
    right = mpmath.fsum(mpmath.exp(-(mpf(x) ** 2) / (2 * mpf(300) ** 2)) for x in range(start, start + 9000))
    assert exactly(found.lower) <= right * (1 + mpf(10) ** -45)
    assert right <= exactly(found.upper)
    assert found.width < found.upper / 10**20


def test_reading_backwards_survives_a_bad_guess():
    class Blind:
        theorem = ""

        def delta(self, epsilon):
            return closed_form(Gaussian(scale=1, sensitivity=1)).delta(epsilon)

        def least(self):
            return closed_form(Gaussian(scale=1, sensitivity=1)).least()

        def guess(self, delta):
            return math.nan if delta < 1e-7 else 3000.0

        def ceiling(self):
            return None

    for chance in (Fraction(1, 10**6), Fraction(1, 10**8)):
        found = epsilon_of(Blind(), chance)
        right = epsilon(Gaussian(scale=1, sensitivity=1), delta=chance)
        assert found.gap < 1e-8
        assert found.lower <= right.upper
        assert right.lower <= found.upper
