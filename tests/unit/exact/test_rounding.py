"""`up` is the smallest float (or decimal) not below, `down` the largest not above; nothing in between is possible."""

from __future__ import annotations

import math
import sys
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deniable.errors import InvalidArgument
from deniable.exact import Interval, down, outward, up

LARGEST = Fraction(sys.float_info.max)
SMALLEST = Fraction(5e-324)

rationals = st.builds(
    lambda n, d, k: Fraction(n, d) * Fraction(10) ** k,
    st.integers(-(10**30), 10**30),
    st.integers(1, 10**30),
    st.integers(-345, 320),
)


@given(rationals)
@example(Fraction(0))
@example(LARGEST)
@example(LARGEST + Fraction(1, 10**400))
@example(SMALLEST / 2)
@example(-SMALLEST / 3)
@example(Fraction(3, 10))
@example(Fraction(2) ** 1024)
@example(Fraction(2**1024 - 2**969, 1))
@example(Fraction(1, 3) * Fraction(2) ** -1060)
def test_up_is_the_smallest_float_not_below(x):
    above = up(x)
    assert above == math.inf or Fraction(above) >= x
    before = math.nextafter(above, -math.inf)
    assert before == -math.inf or Fraction(before) < x
    assert (above == math.inf) == (x > LARGEST)


@given(rationals)
@example(LARGEST * 3)
@example(-LARGEST * 3)
@example(-SMALLEST / 2)
def test_down_mirrors_up(x):
    assert down(x) == -up(-x)
    assert down(x) == -math.inf or Fraction(down(x)) <= x
    assert math.nextafter(down(x), math.inf) == math.inf or Fraction(math.nextafter(down(x), math.inf)) > x


def test_zero_has_no_sign():
    for result in (up(Fraction(0)), down(Fraction(0)), up(-SMALLEST / 2), down(SMALLEST / 2), up(0), down(0)):
        assert math.copysign(1.0, result) == 1.0
        assert result == 0.0


@given(st.floats(allow_nan=False))
def test_a_float_is_itself(x):
    assert up(x) == x == down(x)


@given(rationals, rationals)
def test_an_interval_rounds_outward(x, y):
    interval = Interval(min(x, y), max(x, y))
    assert outward(interval) == (down(min(x, y)), up(max(x, y)))


@given(rationals, st.integers(-3, 12))
def test_decimals_enclose_by_less_than_one_unit(x, digits):
    unit = Fraction(10) ** -digits
    above, below = up(x, digits=digits), down(x, digits=digits)
    assert x <= Fraction(above) < x + unit
    assert x - unit < Fraction(below) <= x
    assert above.as_tuple().exponent == -digits == below.as_tuple().exponent


@given(rationals.filter(bool), st.integers(1, 20))
def test_significant_digits_enclose_relatively(x, significant):
    above, below = Fraction(up(x, significant=significant)), Fraction(down(x, significant=significant))
    assert below <= x <= above
    assert above - below <= abs(x) * Fraction(10) ** (1 - significant)


def test_decimals_read_as_people_write_them():
    assert str(up(Fraction(200, 3), digits=2)) == "66.67"
    assert str(down(Fraction(200, 3), digits=2)) == "66.66"
    assert str(up(Fraction(1, 10), digits=2)) == "0.10"
    assert str(up(Fraction(1, 10**9) + Fraction(1, 10**15), significant=2)) == "1.1E-9"
    assert up(Interval(Fraction(1), Fraction(4, 3)), digits=1) == Decimal("1.4")
    assert down(Interval(Fraction(1, 3), Fraction(4, 3)), digits=1) == Decimal("0.3")
    assert str(up(0, significant=3)) == "0.00"


def test_decimals_have_no_length_limit():
    x = Fraction(10**9000 + 1, 3)
    assert Fraction(down(x, digits=0)) <= x <= Fraction(up(x, digits=0))
    assert Fraction(up(x, digits=0)) - Fraction(down(x, digits=0)) == 1


@pytest.mark.parametrize("direction", [up, down])
@pytest.mark.parametrize("value", [float("nan"), True, "1", None, 1j, Decimal(1)], ids=repr)
def test_what_has_no_exact_value_is_refused(direction, value):
    with pytest.raises(InvalidArgument, match="x must be"):
        direction(value)


@pytest.mark.parametrize("direction", [up, down])
def test_decimals_of_infinities_and_odd_digits_are_refused(direction):
    with pytest.raises(InvalidArgument, match="finite number, got inf"):
        direction(math.inf, digits=2)
    with pytest.raises(InvalidArgument, match="significant must be at least 1, got 0"):
        direction(Fraction(1), significant=0)
    with pytest.raises(InvalidArgument, match=r"digits must be a whole number, got 2\.0"):
        direction(Fraction(1), digits=2.0)
