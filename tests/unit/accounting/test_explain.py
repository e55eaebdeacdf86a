"""`explain` names its theorem, and every alternative it shows is an upper bound."""

from deniable.accounting import epsilon, explain
from deniable.cost import Bounded, Gaussian, Laplace, Renyi


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
