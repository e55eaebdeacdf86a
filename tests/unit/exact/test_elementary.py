"""exp, ln and roots: the true value inside, the width as asked, also next to zeros and at extreme sizes."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deniable.errors import InvalidArgument
from deniable.exact import Interval, exp, expm1, ln, log1p, power, root, sqrt
from deniable.exact.fixed import exp_fraction, ln2, pi, root_floor

precisions = st.one_of(st.integers(1, 20), st.sampled_from([53, 64, 128, 300]))
positives = st.builds(
    lambda n, d, k: Fraction(n, d) * Fraction(10) ** k,
    st.integers(1, 10**20),
    st.integers(1, 10**20),
    st.integers(-60, 60),
)
reals = st.builds(
    lambda sign, n, d, k: sign * Fraction(n, d) / Fraction(10) ** k,
    st.sampled_from([-1, 1]),
    st.integers(0, 3000 * 10**6),
    st.integers(10**6, 10**9),
    st.sampled_from([0, 0, 0, 1, 3, 10, 50]),
)
near_one = st.builds(lambda x, k: 1 + x / Fraction(3000 * 10**k), reals, st.integers(1, 80)).filter(lambda x: x > 0)


@given(reals, precisions)
@example(Fraction(0), 64)
@example(Fraction(-1048576), 64)
@example(Fraction(20000), 300)
def test_exp(holds, x, bits):
    result = exp(x, bits)
    assert result.tight(bits)
    assert holds(result, mpmath.exp, x, bits=bits)


@given(reals, precisions)
@example(Fraction(1, 8), 64)
@example(Fraction(-1, 8), 64)
@example(Fraction(1, 10**200), 64)
@example(Fraction(-10), 10)
def test_expm1(holds, x, bits):
    result = expm1(x, bits)
    assert result.tight(bits)
    assert holds(result, mpmath.expm1, x, bits=bits, lost=700)


@given(st.one_of(positives, near_one), precisions)
@example(Fraction(1), 64)
@example(Fraction(257, 256), 64)
@example(Fraction(255, 256), 64)
@example(Fraction(10) ** 4000, 64)
@example(Fraction(1, 10**4000), 64)
@example(1 + Fraction(1, 10**2000), 64)
@example(Fraction(181, 128), 64)
def test_ln(holds, x, bits):
    result = ln(x, bits)
    assert result.tight(bits)
    assert holds(result, mpmath.log, x, bits=bits, lost=14_000 if x.denominator > 10**1000 else 600)


@given(reals.filter(lambda x: x > -1), precisions)
def test_log1p(holds, x, bits):
    result = log1p(x, bits)
    assert result.tight(bits)
    assert holds(result, mpmath.log1p, x, bits=bits, lost=700)


@given(positives, precisions)
def test_sqrt(holds, x, bits):
    result = sqrt(x, bits)
    assert result.tight(bits)
    assert result.lower**2 <= x <= result.upper**2
    assert holds(result, mpmath.sqrt, x, bits=bits)


@given(positives, st.integers(1, 12), precisions)
def test_root(x, degree, bits):
    result = root(x, degree, bits)
    assert result.tight(bits)
    assert result.lower**degree <= x <= result.upper**degree


@given(st.fractions(min_value=0, max_value=1000, max_denominator=1000), st.integers(1, 7))
def test_rational_roots_are_points(x, degree):
    assert root(x**degree, degree) == Interval.point(x)


@given(positives, st.fractions(-50, 50, max_denominator=60), precisions)
@example(Fraction(3, 7), Fraction(10**6), 64)
@example(Fraction(3, 7), Fraction(-(10**5)), 64)
@example(Fraction(1), Fraction(1, 3), 64)
@example(1 + Fraction(1, 10**9), Fraction(10**9), 128)
def test_power(holds, x, exponent, bits):
    result = power(x, exponent, bits)
    assert result.tight(bits)
    assert holds(result, mpmath.power, x, exponent, bits=bits, lost=100)


def test_the_judge_notices_an_enclosure_that_misses_by_a_hair(holds):
    good = exp(Fraction(1), 64)
    hair = good.width
    assert holds(good, mpmath.exp, Fraction(1), bits=64)
    assert not holds(good + hair, mpmath.exp, Fraction(1), bits=64)
    assert not holds(good - hair, mpmath.exp, Fraction(1), bits=64)


def test_short_whole_powers_are_exact():
    assert power(Fraction(2, 3), -5) == Interval.point(Fraction(243, 32))
    assert power(7, 0) == Interval.point(1)


FUNCTIONS = {exp: mpmath.exp, expm1: mpmath.expm1, ln: mpmath.log, sqrt: mpmath.sqrt}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@given(low=positives, width=positives, weight=st.fractions(0, 1, max_denominator=10))
def test_over_an_interval_every_member_is_covered(holds, function, low, width, weight):
    low, width = low.limit_denominator(10**6) % 100 + Fraction(1, 100), width.limit_denominator(10**6) % 10
    member = low + width * weight
    assert holds(function(Interval(low, low + width), 40), FUNCTIONS[function], member, bits=40, lost=200)


def test_beyond_its_range_exp_stays_true_or_refuses():
    vanishing = exp(-(10**9))
    assert vanishing.lower == 0
    assert exp(Fraction(-1048577), 20).upper < vanishing.upper * 2
    assert exp(Fraction(-1048576), 20).upper > vanishing.upper / 2
    assert exp(Interval(-(10**9), 0)) == Interval(0, 1)
    with pytest.raises(InvalidArgument, match=r"x up to 1048576, got 1000000000;"):
        exp(10**9)


@pytest.mark.parametrize("function", [exp, expm1, ln, log1p, sqrt], ids=lambda f: f.__name__)
@pytest.mark.parametrize("value", [0.5, float("nan"), float("inf"), True, "1", None], ids=repr)
def test_inexact_arguments_are_refused(function, value):
    with pytest.raises(InvalidArgument, match="exact number") as refusal:
        function(value)
    assert repr(value) in str(refusal.value)


@pytest.mark.parametrize("bits", [0, -1, 1.5, True, "64", None])
def test_odd_precisions_are_refused(bits):
    with pytest.raises(InvalidArgument, match="bits must be"):
        exp(Fraction(1), bits)


@pytest.mark.parametrize(
    "attempt",
    [lambda: ln(0), lambda: ln(-1), lambda: log1p(-1), lambda: power(0, 2), lambda: power(-1, Fraction(1, 2))],
)
def test_logarithms_need_positive_arguments(attempt):
    with pytest.raises(InvalidArgument, match="x must be positive, got"):
        attempt()


def test_roots_need_arguments_that_are_not_negative():
    assert sqrt(0) == Interval.point(0)
    with pytest.raises(InvalidArgument, match="x must not be negative, got -1"):
        sqrt(-1)
    with pytest.raises(InvalidArgument, match="degree must be at least 1, got 0"):
        root(2, 0)


@pytest.mark.parametrize("precision", [1, 10, 64, 500, 513, 5000, 20_000])
def test_constants_are_below_by_less_than_two_units(precision):
    with mpmath.workprec(precision + 100):
        for ours, theirs in ((ln2, mpmath.ln(2)), (pi, +mpmath.pi)):
            assert 0 <= theirs * mpmath.mpf(2) ** precision - ours(precision) < 2


@given(st.integers(10, 400), st.fractions(0, 1).filter(lambda x: x < 1))
def test_the_exponential_kernel_is_below_by_less_than_two_units(precision, fraction):
    r = int(fraction * (1 << precision))
    with mpmath.workprec(precision + 200):
        truth = mpmath.exp(mpmath.mpf(r) / (1 << precision)) * mpmath.mpf(2) ** precision
        assert 0 <= truth - exp_fraction(r, precision) < 2


@given(st.integers(0, 10**60), st.integers(1, 9))
def test_integer_roots_are_floors(n, degree):
    r = root_floor(n, degree)
    assert r**degree <= n < (r + 1) ** degree
