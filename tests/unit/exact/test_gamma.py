"""ln Gamma and ln of binomials: the true value inside, the width as asked, also next to the zeros of ln Gamma."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.errors import InvalidArgument
from deniable.exact import Interval, lgamma, ln, log_binomial
from deniable.exact.gamma import _bernoulli

precisions = st.sampled_from([1, 10, 53, 64, 128, 250])
arguments = st.one_of(
    st.builds(Fraction, st.integers(1, 10**9), st.integers(1, 10**9)),
    st.integers(1, 10**15).map(Fraction),
    st.builds(lambda n, k: 1 + Fraction(n, 10**k), st.integers(-999, 10**4), st.integers(3, 25)),
)


@settings(max_examples=50)
@given(arguments, precisions)
@example(Fraction(1, 10**50), 64)
@example(Fraction(10**40) + Fraction(1, 3), 64)
@example(2 + Fraction(1, 10**30), 64)
@example(2 - Fraction(1, 10**30), 128)
@example(Fraction(65), 64)
@example(Fraction(1, 2), 500)
def test_lgamma(holds, x, bits):
    result = lgamma(x, bits)
    assert result.tight(bits)
    assert holds(result, lambda z: mpmath.loggamma(z).real, x, bits=bits, lost=300)


def test_the_zeros_are_points():
    assert lgamma(1) == lgamma(2) == Interval.point(0)


@pytest.mark.parametrize("n", [3, 10, 63, 64, 65, 66, 200, 1000])
def test_whole_arguments_meet_factorials(n):
    both = lgamma(n, 100).meet(ln(math.factorial(n - 1), 100))  # an empty meet is refused
    assert both.tight(99)


@settings(max_examples=40)
@given(st.integers(0, 10**4), st.data(), precisions)
def test_log_binomial_of_moderate_numbers(holds, n, data, bits):
    k = data.draw(st.integers(0, n))
    result = log_binomial(n, k, bits)
    assert result.tight(bits)
    assert holds(result, mpmath.log, Fraction(math.comb(n, k)), bits=bits)


@pytest.mark.parametrize(
    ("n", "k"), [(10**6, 10**5), (10**9, 5 * 10**8), (10**12, 7), (10**12, 10**12 - 10**6), (10**30, 500)]
)
def test_log_binomial_of_large_numbers(holds, n, k):
    def truth():
        return sum(sign * mpmath.loggamma(z + 1) for sign, z in ((1, n), (-1, k), (-1, n - k)))

    for bits in (10, 64, 128):
        result = log_binomial(n, k, bits)
        assert result.tight(bits)
        assert holds(result, truth, bits=bits, lost=300)


def test_bernoulli_numbers():
    known = {2: Fraction(1, 6), 4: Fraction(-1, 30), 12: Fraction(-691, 2730), 20: Fraction(-174611, 330)}
    assert {m: _bernoulli(m) for m in known} == known


def test_arguments_out_of_range_are_refused():
    for x in (0, -1, Fraction(-1, 2)):
        with pytest.raises(InvalidArgument, match="x must be positive, got"):
            lgamma(x)
    with pytest.raises(InvalidArgument, match="k must be at most 3, got 4"):
        log_binomial(3, 4)
    with pytest.raises(InvalidArgument, match="k must be at least 0, got -1"):
        log_binomial(3, -1)
    with pytest.raises(InvalidArgument, match="exact number"):
        lgamma(0.5)
