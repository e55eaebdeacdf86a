"""`explain` names its theorem, and every alternative it shows is an upper bound."""

from fractions import Fraction

import pytest

from deniable.accounting import delta, epsilon, explain
from deniable.cost import Bounded, Gaussian, Laplace, Renyi, TruncatedLaplace


def test_it_says_which_theorem_and_what_the_others_give():
    cost = Bounded(epsilon=0.1).repeated(100)
    found = explain(cost, delta=1e-6)
    assert found.epsilon.upper == epsilon(cost, delta=1e-6).upper
    assert "Kairouz" in found.theorem
    said = {each.theorem: each.epsilon for each in found.alternatives}
    assert said["basic composition"] == 10.0
    assert all(value is None or value >= found.epsilon.lower * (1 - 1e-9) for value in said.values())
    text = str(found)
    assert "4.77457" in text
    assert "advanced composition" in text


def test_what_has_nothing_to_say_gives_its_reason():
    found = explain(Gaussian(scale=10, sensitivity=1), delta=1e-6)
    basic = next(each for each in found.alternatives if each.theorem == "basic composition")
    assert basic.epsilon is None
    assert "Gaussian" in basic.note
    assert "says nothing" in str(found)


def test_pure_costs_at_delta_zero():
    found = explain(Laplace(scale=2), delta=0)
    assert found.epsilon.upper == 0.5
    assert "pure" in found.theorem


def test_costs_that_only_promise_divergences():
    found = explain(Renyi([(2, 0.1), (8, 0.4)]), delta=1e-6)
    assert "order" in found.theorem
    assert found.epsilon.lower == 0


def test_the_ends_it_prints_are_rounded_outward():
    for scale in (1, 3, 7, 11):
        told = explain(Gaussian(scale=scale, sensitivity=1).sampled(rate=0.1).repeated(50), delta=1e-6)
        low, high = str(told).split("[")[1].split("]")[0].split(", ")
        assert float(low) <= told.epsilon.lower <= told.epsilon.upper <= float(high)


def test_it_says_whether_delta_is_a_leak_or_a_tail():
    gaussian, promise = Gaussian(scale=2, sensitivity=1), Bounded(epsilon=1, delta=Fraction(1, 10**6))
    tail = explain(gaussian, delta=1e-6)
    assert tail.leak == 0
    assert "delta is a tail" in str(tail)
    whole = explain(promise, delta=1e-6)
    assert whole.leak == Fraction(1, 10**6)
    assert "all of delta is a leak" in str(whole)
    both = explain(gaussian + promise, delta=1e-5)
    assert both.leak == Fraction(1, 10**6)
    assert "1e-6 of delta is a leak" in str(both)
    noise = TruncatedLaplace(scale=1, radius=3)
    assert float(explain(noise, delta=0.5).leak) == pytest.approx(delta(noise, epsilon=9).upper)
    assert "leak" not in str(explain(Bounded(epsilon=1), delta=0))


def test_a_reading_as_rho_says_what_sampling_it_gives_away():
    """Poisson samples of a Gaussian keep the rho of the whole; those of a pure release do not, and nothing is said."""
    said = [
        [str(each) for each in explain(cost.sampled(rate=Fraction(1, 100)).repeated(100), delta=1e-6).alternatives]
        for cost in (Gaussian(scale=2, sensitivity=1), Laplace(scale=1))
    ]
    lost = [
        [line for line in lines if "as if it held everybody; dp.epsilon reads its amplification" in line]
        for lines in said
    ]
    assert len(lost[0]) == 1
    assert "zero-concentrated" in lost[0][0]
    assert not lost[1]


def test_a_reading_that_met_a_bound_says_so():
    """The bracket is wide, sound, and names its reason."""
    cost = Gaussian(scale=Fraction(1, 1000), sensitivity=1).sampled(rate=Fraction(1, 2)).repeated(10**9)
    found = explain(cost, delta=1e-6)
    assert found.epsilon.note
    assert f"note: {found.epsilon.note}" in str(found)
