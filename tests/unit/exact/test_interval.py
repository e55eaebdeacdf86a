"""Interval arithmetic keeps every member, says nothing it does not know, and refuses inexact ends."""

from __future__ import annotations

import math
import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deniable.errors import InvalidArgument
from deniable.exact import Interval, sqrt

numbers = st.fractions(min_value=-20, max_value=20, max_denominator=50)


@st.composite
def members(draw):
    """An interval and one of its members."""
    a, b, weight = draw(numbers), draw(numbers), draw(st.fractions(0, 1, max_denominator=9))
    low, high = min(a, b), max(a, b)
    return Interval(low, high), low + (high - low) * weight


@settings(max_examples=50)
@given(members(), members())
def test_arithmetic_keeps_every_member(first, second):
    (xs, x), (ys, y) = first, second
    assert x + y in xs + ys
    assert x - y in xs - ys
    assert x * y in xs * ys
    assert -x in -xs
    assert abs(x) in abs(xs)
    assert min(x, y) in xs.least(ys)
    assert max(x, y) in xs.greatest(ys)
    assert x in xs.hull(ys)
    assert y in xs.hull(ys)


@settings(max_examples=50)
@given(members(), members())
def test_quotients_keep_every_member_and_zero_is_refused(first, second):
    (xs, x), (ys, y) = first, second
    if 0 in ys:
        with pytest.raises(InvalidArgument, match="holds zero"):
            xs / ys
    else:
        assert x / y in xs / ys
        assert 3 / y in 3 / ys


@settings(max_examples=50)
@given(members(), st.integers(-4, 5))
def test_powers_keep_every_member_and_no_more(interval_and_member, power):
    xs, x = interval_and_member
    assume(power >= 0 or 0 not in xs)
    assert x**power in xs**power
    ends = [xs.lower**power, xs.upper**power] + ([Fraction(0)] if power > 0 and 0 in xs else [])
    assert (xs**power).lower == min(ends)
    assert (xs**power).upper == max(ends)


@settings(max_examples=50)
@given(members(), numbers)
def test_arithmetic_with_exact_numbers_is_exact(interval_and_member, number):
    xs, _ = interval_and_member
    point = Interval.point(number)
    assert xs + number == number + xs == xs + point
    assert xs - number == xs - point
    assert number - xs == point - xs
    assert xs * number == number * xs == xs * point


@settings(max_examples=50)
@given(members(), members())
def test_order_is_claimed_only_when_certain(first, second):
    (xs, x), (ys, y) = first, second
    if xs.certainly_below(ys):
        assert x < y
    assert xs.certainly_below(ys) == ys.certainly_above(xs) == (xs.upper < ys.lower)
    assert not xs.certainly_below(xs)


def test_intervals_have_no_order_and_no_float_of_their_own():
    with pytest.raises(TypeError):
        _ = Interval.point(1) < Interval.point(2)
    with pytest.raises(TypeError):
        float(Interval.point(1))


@settings(max_examples=50)
@given(members(), st.integers(1, 40))
def test_rounding_moves_outward_and_little(interval_and_member, bits):
    xs, _ = interval_and_member
    rounded = xs.rounded(bits)
    assert xs in rounded
    for end, moved in ((xs.lower, rounded.lower), (xs.upper, rounded.upper)):
        assert abs(end - moved) <= abs(end) * Fraction(2) ** (1 - bits)
        assert moved.denominator & (moved.denominator - 1) == 0


def test_measures_of_an_interval():
    interval = Interval(Fraction(1), Fraction(5, 4))
    assert interval.width == Fraction(1, 4)
    assert interval.midpoint == Fraction(9, 8)
    assert interval.magnitude == 1
    assert (-interval).magnitude == 1
    assert Interval(-1, 1).magnitude == 0
    assert interval.tight(2)
    assert not interval.tight(3)
    assert Interval.point(0).tight(1000)
    assert Interval(1, 2).meet(Interval(Fraction(3, 2), 7)) == Interval(Fraction(3, 2), 2)


def test_monotone_helpers_take_the_right_ends():
    xs = Interval(4, 9)
    assert xs.increasing(sqrt) == Interval(2, 3)
    assert xs.decreasing(lambda x: 1 / sqrt(x)) == Interval(Fraction(1, 3), Fraction(1, 2))
    assert Interval.point(4).increasing(sqrt) == Interval.point(4).decreasing(sqrt) == Interval.point(2)


def test_an_interval_cannot_change_and_can_be_stored():
    interval = Interval(1, 2)
    with pytest.raises(FrozenInstanceError):
        interval.lower = Fraction(0)
    assert pickle.loads(pickle.dumps(interval)) == interval
    assert type(interval.lower) is Fraction
    assert hash(interval) == hash(Interval(Fraction(1), Fraction(2)))


@pytest.mark.parametrize("value", [1.0, math.nan, math.inf, True, "1", None], ids=repr)
def test_inexact_ends_and_members_are_refused(value):
    for attempt in (
        lambda: Interval(value, 2),
        lambda: Interval(0, value),
        lambda: Interval.point(value),
        lambda: Interval(0, 2) + value,
        lambda: Interval(0, 2) * value,
        lambda: value in Interval(0, 2),
    ):
        with pytest.raises(InvalidArgument, match="exact number") as refusal:
            attempt()
        assert repr(value) in str(refusal.value)


def test_ends_in_the_wrong_order_are_refused():
    with pytest.raises(InvalidArgument, match="lower must not exceed upper"):
        Interval(2, 1)


def test_the_text_is_short_and_outward():
    assert repr(Interval(Fraction(1, 3), Fraction(2, 3))) == "Interval[0.333333333333, 0.666666666667]"
    assert len(repr(Interval(-(10**9000), 10**9000))) < 60
