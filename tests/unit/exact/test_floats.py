"""Directed float functions: never on the wrong side of the truth, at most a float or two from it."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.errors import InvalidArgument
from deniable.exact import floats

ALL = st.floats(allow_nan=False, allow_infinity=False)


def phi(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def check(name, truth, x, precision=400):
    above, below = getattr(floats, f"{name}_up")(x), getattr(floats, f"{name}_down")(x)
    with mpmath.workprec(precision):
        value = truth(mpmath.mpf(x))
        assert mpmath.mpf(below) <= value <= mpmath.mpf(above)
    apart = math.nextafter(math.nextafter(below, math.inf), math.inf)
    assert apart >= above


@given(st.one_of(st.floats(-800, 800), ALL))
@example(709.782712893384)
@example(709.782712893385)
@example(-745.2)
@example(-745.13)
@example(1e-320)
@example(0.0)
def test_exp(x):
    check("exp", mpmath.exp, x if abs(x) < 10**6 else math.copysign(10.0**6, x))
    floats.exp_up(x), floats.exp_down(x)


@given(st.one_of(st.floats(-800, 800), st.floats(-1e-3, 1e-3)))
@example(5e-324)
@example(-5e-324)
def test_expm1(x):
    check("expm1", mpmath.expm1, x, precision=3000)


@given(st.floats(min_value=5e-324, allow_nan=False, allow_infinity=False))
@example(1.0)
@example(math.nextafter(1.0, 2))
@example(math.nextafter(1.0, 0))
def test_ln(x):
    check("ln", mpmath.log, x)


@given(st.floats(min_value=-1, exclude_min=True, allow_nan=False, allow_infinity=False))
@example(5e-324)
@example(-5e-324)
@example(math.nextafter(-1.0, 0))
def test_log1p(x):
    check("log1p", mpmath.log1p, x, precision=3000)


@given(st.floats(min_value=0, allow_nan=False, allow_infinity=False))
@example(5e-324)
def test_sqrt_is_the_best_possible(x):
    above, below = floats.sqrt_up(x), floats.sqrt_down(x)
    assert Fraction(below) ** 2 <= Fraction(x) <= Fraction(above) ** 2
    assert above <= math.nextafter(below, math.inf)


@settings(max_examples=30)
@given(st.floats(-45, 15))
@example(-38.5)
@example(9.0)
def test_normal_cdf(x):
    check("normal_cdf", phi, x, precision=200 + int(3 * x * x))


@settings(max_examples=30)
@given(st.floats(-45, 45))
def test_log_normal_cdf(x):
    check("log_normal_cdf", lambda z: mpmath.log(phi(z)), x, precision=200 + int(3 * x * x))


def test_log_normal_cdf_at_any_depth():
    assert floats.log_normal_cdf_up(-1e4) == pytest.approx(-50000010.12927891518)
    assert floats.log_normal_cdf_down(-1e150) < -4.9e299
    assert floats.log_normal_cdf_down(-1e200) == -math.inf
    assert floats.log_normal_cdf_up(-1e200) == -1.7976931348623157e308


def test_infinities_are_limits():
    inf = math.inf
    assert (floats.exp_up(inf), floats.exp_down(inf), floats.exp_up(-inf), floats.exp_down(-inf)) == (inf, inf, 0, 0)
    assert (floats.expm1_up(inf), floats.expm1_down(inf)) == (inf, inf)
    assert (floats.expm1_up(-inf), floats.expm1_down(-inf)) == (-1, -1)
    assert (floats.ln_up(inf), floats.ln_up(0.0), floats.ln_down(0.0)) == (inf, -inf, -inf)
    assert (floats.log1p_up(-1.0), floats.log1p_down(inf)) == (-inf, inf)
    assert (floats.sqrt_up(inf), floats.sqrt_down(inf), floats.sqrt_up(0.0)) == (inf, inf, 0)
    assert (floats.normal_cdf_up(inf), floats.normal_cdf_down(inf)) == (1, 1)
    assert (floats.normal_cdf_up(-inf), floats.normal_cdf_down(-inf)) == (0, 0)
    assert (floats.log_normal_cdf_up(inf), floats.log_normal_cdf_down(inf)) == (0, 0)
    assert (floats.log_normal_cdf_up(-inf), floats.log_normal_cdf_down(-inf)) == (-inf, -inf)


NAMES = [name for name in vars(floats) if name.endswith(("_up", "_down")) and not name.startswith("_")]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [math.nan, True, "1", None, Fraction(1, 2)], ids=repr)
def test_what_is_no_float_is_refused(name, value):
    with pytest.raises(InvalidArgument, match="got"):
        getattr(floats, name)(value)


@pytest.mark.parametrize("name", ["ln_up", "ln_down", "log1p_up", "log1p_down", "sqrt_up", "sqrt_down"])
@pytest.mark.parametrize("value", [-2.0, -math.inf])
def test_arguments_out_of_range_are_refused(name, value):
    with pytest.raises(InvalidArgument, match="x must"):
        getattr(floats, name)(value)
