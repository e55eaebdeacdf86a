"""From divergences to (epsilon, delta): sound at one order, best over all, and the inverse agrees."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.accounting import delta, epsilon
from deniable.accounting.conversion import (
    best_order,
    delta_within,
    divergence_within,
    epsilon_within,
    rho_within,
)
from deniable.accounting.theorems import RenyiPrivacy
from deniable.cost import Bounded, Concentrated, Gaussian, Laplace, Renyi
from tests.unit.accounting.reference import exactly

chances = st.integers(1, 40).map(lambda k: Fraction(1, 2**k))
rhos = st.fractions(min_value=Fraction(1, 10**4), max_value=30, max_denominator=10**4)


@settings(max_examples=40)
@given(rhos, chances)
def test_concentrated_readings_are_sound_and_invert(rho, chance):
    cost = Concentrated(rho=rho)
    found = epsilon(cost, delta=chance)
    assert found.lower <= epsilon(Gaussian(scale=1, squared_sensitivity=2 * rho), delta=chance).upper <= found.upper
    assert delta(cost, epsilon=found.upper).upper <= float(chance) * (1 + 1e-6)
    if found.upper > 0:
        held = rho_within(epsilon=Fraction(found.upper), delta=chance)
        assert held == pytest.approx(rho, rel=1e-6)


@settings(max_examples=20)
@given(rhos, chances)
def test_no_order_beats_the_one_chosen(rho, chance):
    found, _ = epsilon_within(RenyiPrivacy().read(Concentrated(rho=rho)), delta=chance)
    r, log = exactly(rho), mpmath.log(exactly(chance))
    for k in range(-40, 80):
        order = 1 + mpmath.mpf(2) ** (mpmath.mpf(k) / 4)
        other = order * r + mpmath.log(1 - 1 / order) - (log + mpmath.log(order)) / (order - 1)
        assert exactly(found) <= max(0, other) * (1 + 1e-9) + 1e-12


def test_conversion_beats_the_textbook_one():
    cost = Gaussian(scale=20, sensitivity=1).repeated(100)
    found = epsilon_within(RenyiPrivacy().read(cost), delta=Fraction(1, 10**6))[0]
    rho = 100 / 800
    assert float(found) < rho + 2 * mpmath.sqrt(rho * mpmath.log(10**6))
    assert float(found) > epsilon(cost, delta=1e-6).lower


def test_a_limit_at_one_order_is_consistent_with_the_conversion():
    for order in (Fraction(3, 2), Fraction(8), Fraction(100)):
        room = divergence_within(order, epsilon=Fraction(1), delta=Fraction(1, 10**6))
        if room > 0:
            listed = RenyiPrivacy().read(Renyi([(order, room)]))
            assert epsilon_within(listed, delta=Fraction(1, 10**6))[0] <= 1 + Fraction(1, 10**9)


def test_the_best_order_fits_most_copies():
    loss = RenyiPrivacy().read(Laplace(scale=200))
    order = best_order(loss, epsilon=Fraction(1), delta=Fraction(1, 10**6))
    fit = divergence_within(order, epsilon=Fraction(1), delta=Fraction(1, 10**6)) / loss.at(order)
    for other in (order / 2, order * 2):
        assert divergence_within(other, epsilon=Fraction(1), delta=Fraction(1, 10**6)) / loss.at(
            other
        ) <= fit * Fraction(101, 100)


def test_leaks_use_up_delta():
    loss = RenyiPrivacy().read(Concentrated(rho=Fraction(1, 10), delta=Fraction(1, 10**6)))
    assert epsilon_within(loss, delta=Fraction(1, 10**6)) is None
    found = epsilon_within(loss, delta=Fraction(2, 10**6))[0]
    assert found > epsilon_within(RenyiPrivacy().read(Concentrated(rho=Fraction(1, 10))), delta=Fraction(2, 10**6))[0]
    assert delta_within(loss, epsilon=Fraction(50)) >= Fraction(1, 10**6)
    assert delta_within(RenyiPrivacy().read(Bounded(epsilon=1)), epsilon=Fraction(0)) <= 1
