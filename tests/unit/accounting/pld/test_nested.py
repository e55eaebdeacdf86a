"""A sample that several releases see, and leaks inside a sample: quick, and around the truth."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.accounting import delta, epsilon
from deniable.accounting.pld.composite_pairs import NestedPair
from deniable.accounting.pld.cost_pairs import steps_of
from deniable.cost import Bounded, Concentrated, Gaussian, Laplace, Neighbours, RandomizedResponse, Sampled, Sampling

THIRD, TENTH = Fraction(1, 3), Fraction(1, 10)
MIX = Laplace(scale=5) + Gaussian(scale=5, sensitivity=1) + RandomizedResponse(truth=Fraction(3, 4))


def gaussian_part(t):
    """The profile of the Gaussian alone, at any real t."""
    return 0.5 * math.erfc((t - 0.02) / 0.2 / math.sqrt(2)) - math.exp(t) * 0.5 * math.erfc(
        (t + 0.02) / 0.2 / math.sqrt(2)
    )


def profile_of_the_mix(e):
    """The three releases together by quadrature over the Laplace noise, both answers of the coin."""
    xs, total = np.linspace(0, 1, 2001), 0.0
    for answer, chance in ((math.log(3), 0.75), (-math.log(3), 0.25)):
        inner = np.array([gaussian_part(e - answer - (1 - 2 * x) / 5) for x in xs]) * np.exp(-xs / 5) / 10
        between = float(np.sum(inner[:-1] + inner[1:]) / 2 * (xs[1] - xs[0]))
        ends = 0.5 * gaussian_part(e - answer - 0.2) + 0.5 * math.exp(-0.2) * gaussian_part(e - answer + 0.2)
        total += chance * (between + ends)
    return total


@pytest.mark.parametrize("loss", [0.01, 0.1, 0.4])
def test_a_sample_of_different_releases_is_read_around_the_truth(loss):
    """Removing a unit: q f(1 + (x-1)/q), f the profile of everything the sample is asked."""
    rate = 0.1
    truth = rate * profile_of_the_mix(math.log1p(math.expm1(loss) / rate))
    found = delta(MIX.sampled(rate=TENTH), epsilon=Fraction(loss))
    assert found.lower <= truth * (1 + 1e-6)
    assert truth * (1 - 1e-6) <= found.upper <= truth * 1.01


def test_the_table_is_made_once_and_both_ways():
    steps, _ = steps_of(MIX)
    pair = NestedPair(steps)
    assert pair.swapped is pair  # noise that treats both neighbours alike
    lopsided = NestedPair(steps_of(Laplace(scale=5).sampled(rate=TENTH) + Laplace(scale=4).sampled(rate=THIRD))[0])
    assert lopsided.swapped is not lopsided
    assert lopsided.swapped.swapped is lopsided


@pytest.mark.parametrize("how", list(Sampling))
@pytest.mark.parametrize("loss", [Fraction(0), Fraction(1, 20), Fraction(1, 5)])
def test_a_leak_inside_a_sample_shows_only_who_was_drawn(how, loss):
    """(e, d) sampled at q is (ln(1 + q (e^e - 1)), q d): the pair's worst law, mixed, against the reading."""
    inner, rate = Bounded(epsilon=1, delta=Fraction(1, 100)), TENTH
    neighbours = Neighbours.ADD_REMOVE if how is Sampling.POISSON else Neighbours.REPLACE
    found = delta(Sampled(inner, rate=rate, how=how, neighbours=neighbours), epsilon=loss)
    x = 1 + math.expm1(float(loss)) / 0.1
    truth = 0.1 * (0.01 + 0.99 * max(0.0, (math.e - x) / (1 + math.e)))
    assert found.lower <= truth  # the leak is overstated a little, so no lower end is claimed
    assert truth * (1 - 1e-9) <= found.upper <= truth * 1.01


def test_leaks_in_samples_compose_and_replace():
    once = Bounded(epsilon=1, delta=Fraction(1, 10**8)).sampled(rate=TENTH)
    ten = epsilon(once.repeated(10), delta=1e-6)
    plain = epsilon(Bounded(epsilon=1).sampled(rate=TENTH).repeated(10), delta=Fraction(1, 10**6) - Fraction(1, 10**8))
    assert plain.lower * (1 - 1e-6) <= ten.upper <= plain.upper * 1.001
    promised = Concentrated(rho=Fraction(1, 50), delta=Fraction(1, 10**8)).sampled(rate=TENTH)
    assert (
        epsilon(promised, delta=1e-6).upper
        >= epsilon(Concentrated(rho=Fraction(1, 50)).sampled(rate=TENTH), delta=1e-6).lower
    )
    replaced = Bounded(epsilon=1, delta=Fraction(1, 10**8)).sampled(rate=TENTH, neighbours=Neighbours.REPLACE)
    assert delta(replaced, epsilon=2).upper == pytest.approx(2e-9, rel=0.01)
