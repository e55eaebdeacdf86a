"""A promise read at its own delta is the promise: leaks are exact, and budgets are spent to the last digit."""

import math
from fractions import Fraction
from itertools import product

import pytest

from deniable.accounting import delta, epsilon, explain
from deniable.cost import Bounded, Concentrated, Exponential, Gaussian, Laplace, Parallel, Shuffled, TruncatedLaplace
from deniable.exact import up

EPSILONS = [Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(8)]
DELTAS = [Fraction(1, 10**12), Fraction(1, 10**6), Fraction(1, 3), Fraction(1, 4), Fraction(9, 10)]
HAIR = Fraction(1, 10**9)


def close(found, truth):
    """The bracket holds the truth, given as a float rounded either way, and is narrow."""
    assert found.lower * (1 - 1e-9) <= truth <= found.upper * (1 + 1e-9)
    assert found.upper <= truth * (1 + 1e-4)


@pytest.mark.parametrize(("loss", "chance", "times"), list(product(EPSILONS, DELTAS, [1, 2, 3, 40])))
def test_a_promise_is_read_back_at_its_own_delta(loss, chance, times):
    cost = Bounded(epsilon=loss, delta=chance).repeated(times)
    whole = 1 - (1 - chance) ** times
    found = epsilon(cost, delta=whole)
    close(found, float(times * loss))
    assert found.upper <= up(times * loss)
    assert explain(cost, delta=whole).epsilon == found
    assert epsilon(cost, delta=whole * (1 - HAIR)).lower == math.inf
    assert delta(cost, epsilon=times * loss).upper <= float(whole) * (1 + 1e-15)


@pytest.mark.parametrize(
    ("loss", "chance", "rate"), list(product(EPSILONS, DELTAS, [Fraction(1, 2), Fraction(1, 1000)]))
)
def test_a_promise_on_a_sample_is_read_back_at_its_share_of_delta(loss, chance, rate):
    found = epsilon(Bounded(epsilon=loss, delta=chance).sampled(rate=rate), delta=chance * rate)
    truth = math.log1p(float(rate) * math.expm1(loss))
    assert truth * (1 - 1e-12) <= found.upper <= truth * (1 + 1e-12)


def test_leaks_beside_other_releases_leave_what_these_can_lose():
    leak = Bounded(epsilon=0, delta=Fraction(1, 10**6))
    for rest, truth in [
        (Laplace(scale=3) + Exponential(eta=1), 4 / 3),
        (Shuffled(epsilon=Fraction(1, 2), reports=5), 0.5),
        (Laplace(scale=2, coordinates=2) + Bounded(epsilon=1), 1.5),
    ]:
        assert epsilon(leak + rest, delta=Fraction(1, 10**6)).upper <= truth * (1 + 1e-12)
    for rest in (Gaussian(scale=2, sensitivity=1), Concentrated(rho=1)):
        assert epsilon(leak + rest, delta=Fraction(1, 10**6)).upper == math.inf


def test_the_worst_of_a_promise_and_a_gaussian_at_the_delta_of_the_promise():
    parts = (Bounded(epsilon=1, delta=Fraction(1, 10**6)), Gaussian(scale=2, sensitivity=1))
    close(epsilon(Parallel(parts), delta=Fraction(1, 10**6)), epsilon(parts[1], delta=Fraction(1, 10**6)).upper)
    sampled = Parallel(parts).sampled(rate=Fraction(1, 2))
    alone = parts[1].sampled(rate=Fraction(1, 2))
    close(epsilon(sampled, delta=Fraction(1, 2 * 10**6)), epsilon(alone, delta=Fraction(1, 2 * 10**6)).upper)


def test_a_truncated_law_is_pure_beyond_what_it_leaks():
    cost = TruncatedLaplace(scale=3, radius=40, sensitivity=2)
    leaked = Fraction(delta(cost, epsilon=5).upper)
    assert epsilon(cost + cost, delta=2 * leaked).upper <= 4 / 3 * (1 + 1e-12)
