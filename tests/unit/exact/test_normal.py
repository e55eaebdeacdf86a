"""The normal distribution: the true value inside, the width as asked, in the middle and in both tails."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.errors import InvalidArgument
from deniable.exact import (
    Interval,
    erf,
    erfc,
    log_normal_cdf,
    mills_ratio,
    normal_cdf,
    normal_quantile,
    normal_upper_tail,
)

precisions = st.sampled_from([1, 10, 53, 64, 128, 250])
signs = st.sampled_from([-1, 1])
arguments = st.one_of(
    st.builds(lambda s, n: s * Fraction(n, 10**9), signs, st.integers(0, 12 * 10**9)),
    st.builds(lambda s, n, d: s * Fraction(n, d), signs, st.integers(1, 40), st.integers(1, 40)),
    st.builds(lambda s, n, k: s * Fraction(n, 10**k), signs, st.integers(1, 999), st.integers(2, 40)),
)


def cdf(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


TRUTHS = {
    normal_cdf: cdf,
    normal_upper_tail: lambda x: cdf(-x),
    log_normal_cdf: lambda x: mpmath.log(cdf(x)),
    mills_ratio: lambda x: cdf(-x) * mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(x * x / 2),
    erf: mpmath.erf,
    erfc: mpmath.erfc,
}


@pytest.mark.parametrize("function", TRUTHS, ids=lambda f: f.__name__)
@settings(max_examples=40)
@given(x=arguments, bits=precisions)
@example(x=Fraction(0), bits=64)
@example(x=Fraction(-38), bits=64)
@example(x=Fraction(38), bits=64)
@example(x=Fraction(3), bits=64)
@example(x=Fraction(4), bits=128)
@example(x=Fraction(1, 10**30), bits=64)
def test_enclosures_hold_the_truth(holds, function, x, bits):
    result = function(x, bits)
    assert result.tight(bits)
    assert holds(result, TRUTHS[function], x, bits=bits, lost=int(3 * x * x))


@pytest.mark.parametrize("x", [50, 1000, 10**4, 10**6, 10**30, 10**400])
@pytest.mark.parametrize("bits", [1, 64, 200])
def test_logarithms_far_in_the_tail(holds, x, bits):
    """The asymptotic series is the judge here: its error is below its first term left out, x**-2k (2k-1)!!."""

    def truth(z):
        terms = 60 if x < 10**4 else 30
        series = sum((-1) ** k * mpmath.fac2(2 * k - 1) / z ** (2 * k) for k in range(terms))
        return -z * z / 2 - mpmath.log(z * mpmath.sqrt(2 * mpmath.pi)) + mpmath.log(series)

    result = log_normal_cdf(-x, bits)
    assert result.tight(bits)
    if x >= 1000:  # below that the judge itself is not sharp enough for 200 bits
        assert holds(result, truth, Fraction(x), bits=0 if x < 10**4 else bits)
    else:
        assert holds(result, TRUTHS[log_normal_cdf], Fraction(-x), bits=bits, lost=4000)


def test_far_out_everything_stays_true():
    assert normal_cdf(-2000).lower == 0
    assert 0 < normal_cdf(-2000).upper < Fraction(1, 2**1_000_000)
    assert 1 in normal_cdf(2000, 64)
    assert normal_cdf(10**100, 64).tight(64)
    assert log_normal_cdf(10**50).upper == 0
    assert log_normal_cdf(10**50).width < Fraction(1, 2**1_000_000)
    assert mills_ratio(10**50, 64).tight(64)
    with pytest.raises(InvalidArgument, match="above -1448, got"):
        mills_ratio(-2000)


def test_symmetries_are_exact_where_the_value_is():
    assert normal_cdf(0) == Interval.point(Fraction(1, 2))
    assert erf(0) == Interval.point(0)
    assert erfc(0) == Interval.point(1)
    assert erf(Fraction(-1, 3)) == -erf(Fraction(1, 3))
    assert normal_upper_tail(Fraction(-7, 3)) == normal_cdf(Fraction(7, 3))


@pytest.mark.parametrize("function", TRUTHS, ids=lambda f: f.__name__)
def test_over_an_interval_every_member_is_covered(holds, function):
    interval = Interval(Fraction(-3), Fraction(17, 5))
    for member in (Fraction(-3), Fraction(-1), Fraction(0), Fraction(1, 7), Fraction(17, 5)):
        assert holds(function(interval, 40), TRUTHS[function], member, bits=40)


@settings(max_examples=40)
@given(
    st.one_of(
        st.builds(Fraction, st.integers(1, 10**6 - 1), st.just(10**6)),
        st.integers(1, 400).map(lambda k: Fraction(1, 10**k)),
        st.integers(1, 400).map(lambda k: 1 - Fraction(1, 10**k)),
    ),
    st.sampled_from([8, 53, 64, 100]),
)
@example(Fraction(1, 2) - Fraction(1, 10**12), 64)
@example(Fraction(1, 10**4000), 64)
def test_quantiles_are_proved_from_both_sides(holds, p, bits):
    result = normal_quantile(p, bits)
    assert result.tight(bits)
    assert not normal_cdf(result.lower, 3 * bits + 20).certainly_above(p)
    assert not normal_cdf(result.upper, 3 * bits + 20).certainly_below(p)


def test_known_quantiles():
    assert normal_quantile(Fraction(1, 2)) == Interval.point(0)
    assert Fraction("1.959963984540054235524594430520551") in normal_quantile(Fraction(39, 40), 64)
    for p in (0, 1, -1, 2):
        with pytest.raises(InvalidArgument, match="p must be strictly between 0 and 1, got"):
            normal_quantile(p)


@pytest.mark.parametrize("function", [*TRUTHS, normal_quantile], ids=lambda f: f.__name__)
@pytest.mark.parametrize("value", [0.5, float("nan"), "1", None], ids=repr)
def test_inexact_arguments_are_refused(function, value):
    with pytest.raises(InvalidArgument, match="must be an exact number"):
        function(value)
