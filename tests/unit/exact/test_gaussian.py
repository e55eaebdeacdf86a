"""The Gaussian profile: delta, epsilon and mu enclose the truth, and their safe ends are safe."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from deniable.errors import InvalidArgument
from deniable.exact import Interval, exp, gaussian_delta, gaussian_epsilon, gaussian_mu, log_gaussian_delta

precisions = st.sampled_from([1, 30, 64, 128])
shifts = st.builds(lambda n, k: Fraction(n, 10**k), st.integers(1, 9999), st.integers(1, 8))
losses = st.builds(
    lambda s, n, k: s * Fraction(n, 10**k), st.sampled_from([-1, 1]), st.integers(0, 9999), st.integers(1, 8)
)


def profile(mu, epsilon):
    tail = lambda x: mpmath.erfc(x / mpmath.sqrt(2)) / 2  # noqa: E731
    return tail(epsilon / mu - mu / 2) - mpmath.exp(epsilon) * tail(epsilon / mu + mu / 2)


@settings(max_examples=80)
@given(shifts, losses, precisions)
@example(Fraction(1, 10**10), Fraction(0), 64)
@example(Fraction(1, 10**10), Fraction(1, 10**11), 64)
@example(Fraction(2), Fraction(2), 64)
@example(Fraction(20), Fraction(1, 10), 64)
@example(Fraction(1, 1000), Fraction(3, 100), 128)
@example(Fraction(1), Fraction(-3), 64)
def test_delta_holds_the_truth(holds, mu, epsilon, bits):
    assume(mu < 25 and abs(epsilon / mu) < 25)
    lost = 100 + int(3 * (abs(epsilon / mu) + mu) ** 2)
    result = gaussian_delta(mu, epsilon, bits)
    assert result.tight(bits)
    assert holds(result, profile, mu, epsilon, bits=bits, lost=lost)
    if epsilon >= 0:
        logarithm = log_gaussian_delta(mu, epsilon, bits)
        assert logarithm.tight(bits)
        assert holds(logarithm, lambda m, e: mpmath.log(profile(m, e)), mu, epsilon, bits=bits, lost=lost)


def test_the_profile_is_symmetric():
    """delta(-e) = 1 - exp(-e) (1 - delta(e)): the two directions of one dominating pair."""
    for mu, epsilon in ((Fraction(1), Fraction(1, 2)), (Fraction(3), Fraction(7)), (Fraction(1, 10), Fraction(1, 5))):
        reflected = 1 - exp(-epsilon, 80) * (1 - gaussian_delta(mu, epsilon, 80))
        assert gaussian_delta(mu, -epsilon, 80).meet(reflected).tight(60)


def test_no_shift_costs_nothing():
    assert gaussian_delta(0, 1) == Interval.point(0)
    assert gaussian_delta(0, 0) == Interval.point(0)
    assert gaussian_delta(0, -1).meet(1 - exp(-1)).tight(60)
    assert gaussian_epsilon(0, Fraction(1, 10**9)) == Interval.point(0)


def test_where_delta_underflows_its_logarithm_does_not():
    tiny = gaussian_delta(Fraction(1, 1000), 10)
    assert tiny.lower == 0
    assert 0 < tiny.upper < Fraction(1, 2**1_000_000)
    logarithm = log_gaussian_delta(Fraction(1, 1000), 10)
    assert logarithm.tight(64)
    assert logarithm in Interval(-50000022, -50000021)
    near_one = log_gaussian_delta(10**4, 1)
    assert near_one.upper <= 0
    assert near_one.width < Fraction(1, 2**1_000_000)


CASES = [
    (Fraction(1), Fraction(1, 10**5)),
    (Fraction(1, 10), Fraction(1, 10**5)),
    (Fraction(10), Fraction(1, 10**6)),
    (Fraction(1), Fraction(1, 10**300)),
    (Fraction(1, 10**6), Fraction(1, 10**9)),
    (Fraction(1), Fraction(1, 3)),
    (Fraction(50), Fraction(999, 1000)),
    (Fraction(1, 7), Fraction("0.0567")),
]


@pytest.mark.parametrize(("mu", "delta"), CASES)
@pytest.mark.parametrize("bits", [20, 64, 100])
def test_epsilon_and_mu_are_proved_from_both_sides(mu, delta, bits):
    epsilon = gaussian_epsilon(mu, delta, bits)
    assert epsilon.tight(bits)
    assert gaussian_delta(mu, epsilon.upper, 2 * bits + 64).upper <= delta
    assert gaussian_delta(mu, epsilon.lower, 2 * bits + 64).lower > delta
    shift = gaussian_mu(epsilon.upper, delta, bits)
    assert shift.tight(bits)
    assert gaussian_delta(shift.lower, epsilon.upper, 2 * bits + 64).upper <= delta
    assert gaussian_delta(shift.upper, epsilon.upper, 2 * bits + 64).lower > delta
    assert abs(shift.midpoint / mu - 1) < Fraction(8, 2 ** (bits - 6))


def test_epsilon_zero_when_zero_suffices():
    at_zero = gaussian_delta(1, 0, 100)
    assert gaussian_epsilon(1, at_zero.upper + Fraction(1, 10**18)) == Interval.point(0)
    assert gaussian_epsilon(1, 1) == Interval.point(0)
    hardly = gaussian_epsilon(1, at_zero.lower)
    assert hardly.lower == 0
    assert gaussian_delta(1, hardly.upper, 200).upper <= at_zero.lower


def test_published_values():
    """Balle and Wang 2018, Figure 1 region, by their Algorithm 1 at high precision: sigma 1/mu for (epsilon, delta)."""
    assert gaussian_mu(0, Fraction(1, 10), 40).certainly_above(Fraction("0.25132"))
    assert gaussian_mu(0, Fraction(1, 10), 40).certainly_below(Fraction("0.25133"))
    sigma = 1 / gaussian_mu(1, Fraction(1, 10**5), 40)
    assert sigma in Interval(Fraction("3.7306"), Fraction("3.7307"))


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: gaussian_delta(-1, 1), "mu must not be negative, got -1"),
        (lambda: gaussian_delta(1.0, 1), "mu must be an exact number"),
        (lambda: gaussian_delta(1, 0.5), "epsilon must be an exact number"),
        (lambda: gaussian_epsilon(1, 0), "delta must be above 0 and at most 1, got 0"),
        (lambda: gaussian_epsilon(1, 2), "delta must be above 0 and at most 1, got 2"),
        (lambda: gaussian_mu(-1, Fraction(1, 2)), "epsilon must not be negative, got -1"),
        (lambda: gaussian_mu(1, 1), "delta must be below 1, got 1"),
        (lambda: log_gaussian_delta(0, 1), "mu must be positive"),
        (lambda: log_gaussian_delta(1, -1), "epsilon not negative"),
    ],
)
def test_arguments_out_of_range_are_refused(attempt, message):
    with pytest.raises(InvalidArgument, match=message):
        attempt()
