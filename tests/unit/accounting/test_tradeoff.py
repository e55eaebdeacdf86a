"""Trade-off curves and profiles: the Gaussian's known curve, symmetry, attack rates."""

import math
from fractions import Fraction
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.accounting import profile, tradeoff
from deniable.cost import Bounded, Gaussian, Laplace, RandomizedResponse, TruncatedLaplace

NORMAL = NormalDist()


@settings(max_examples=20)
@given(st.floats(0.001, 0.999))
def test_the_gaussian_curve(alpha):
    curve = tradeoff(Gaussian(scale=2, sensitivity=1))
    right = NORMAL.cdf(NORMAL.inv_cdf(1 - alpha) - 0.5)
    assert right - 1e-6 <= curve(alpha) <= right + 1e-12


@settings(max_examples=20)
@given(st.floats(0.001, 0.999))
def test_randomised_response_is_two_lines(alpha):
    curve = tradeoff(RandomizedResponse(truth=0.75))
    right = max(1 - 3 * alpha, (1 - alpha) / 3)
    assert curve(alpha) == pytest.approx(right, abs=1e-6)
    assert curve(alpha) <= right + 1e-12


def test_the_ends_and_the_leak():
    curve = tradeoff(Laplace(scale=1))
    assert curve(0) == 1
    assert curve(1) == 0
    leaking = tradeoff(Laplace(scale=1) + Bounded(epsilon=0, delta=Fraction(1, 10)))
    assert leaking(0) == pytest.approx(0.9)


def test_power_and_advantage():
    cost = Gaussian(scale=1, sensitivity=1)
    assert tradeoff(cost).power(0.01) == pytest.approx(1 - NORMAL.cdf(NORMAL.inv_cdf(0.99) - 1), abs=1e-6)
    assert profile(cost).advantage.upper == pytest.approx(2 * NORMAL.cdf(0.5) - 1)
    assert profile(cost)(1).upper == pytest.approx(0.1269367, abs=1e-6)
    assert profile(cost).epsilon(1e-6).upper == pytest.approx(4.886554)


def test_the_curve_never_falls_below_what_a_pure_loss_allows():
    """p + e^epsilon q >= 1 for every test."""
    curve = tradeoff(Laplace(scale=2))
    for alpha in (0.01, 0.1, 0.3):
        assert curve(alpha) >= 1 - 1.6487213 * alpha - 1e-6


@pytest.mark.parametrize("chance", [Fraction(0), Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 3)])
@pytest.mark.parametrize("loss", [0.1, 1.0, 5.0])
def test_a_promise_with_a_leak_is_two_lines_too(loss, chance):
    curve = tradeoff(Bounded(epsilon=loss, delta=chance))
    for alpha in (0.0, 1e-6, 0.01, 0.1, 0.5, 0.6, 0.9, 0.99):
        rest = 1 - float(chance)
        right = max(0.0, rest - math.exp(loss) * alpha, math.exp(-loss) * (rest - alpha))
        assert right * (1 - 1e-9) - 1e-15 <= curve(alpha) <= right * (1 + 1e-12) + 1e-15


def test_truncated_noise_has_a_curve_and_not_only_a_leak():
    """Ten digits of the exact curve: the likelihood-ratio tests of two shifted laws, found outcome by outcome."""
    scale, radius = 2, 4
    weights = {x: math.exp(-abs(x) / scale) for x in range(-radius, radius + 1)}
    whole = math.fsum(weights.values())
    curve = tradeoff(TruncatedLaplace(scale=scale, radius=radius))
    alarms, misses = 0.0, 1.0
    for x in range(-radius, radius + 2):  # the largest ratios P/Q lie on the left; each threshold is a corner
        misses -= weights.get(x, 0.0) / whole
        alarms += weights.get(x - 1, 0.0) / whole
        if 0 < alarms < 1:
            assert misses - 2e-4 <= curve(alarms) <= misses + 1e-12
