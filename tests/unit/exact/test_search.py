"""`crossing` brackets the zero of an increasing function with certain signs at both ends."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.errors import InvalidArgument
from deniable.exact import Interval, crossing, exp, ln


@given(st.fractions(Fraction(1, 1000), 1000), st.integers(1, 200))
def test_a_rational_zero_is_bracketed(zero, bits):
    found = crossing(
        lambda x, working: Interval.point(x**3 - zero**3), lower=Fraction(0), upper=Fraction(1001), bits=bits
    )
    assert found.lower < zero < found.upper
    assert found.tight(bits)


@settings(max_examples=40)
@given(st.fractions(Fraction(1, 100), 10), st.integers(1, 120))
def test_an_irrational_zero_is_bracketed_by_certain_signs(target, bits):
    found = crossing(lambda x, working: ln(x, working) - target, lower=Fraction(1), upper=Fraction(3) ** 11, bits=bits)
    assert found.tight(bits)
    assert ln(found.lower, bits + 200).upper < target < ln(found.upper, bits + 200).lower
    assert not found.certainly_below(exp(target, bits + 50))
    assert not found.certainly_above(exp(target, bits + 50))


def test_it_does_not_need_many_evaluations():
    asked = []

    def cubic(x, working):
        asked.append(x)
        return Interval.point(x**3 - 2)

    crossing(cubic, lower=Fraction(1), upper=Fraction(2), bits=200)
    assert len(asked) < 30  # halving alone needs 200


def test_a_negative_zero_is_found_too():
    found = crossing(lambda x, working: exp(x, working) - Fraction(1, 7), lower=Fraction(-9), upper=Fraction(0))
    assert found.upper < 0
    assert found.tight(64)


def test_signs_at_the_ends_must_differ():
    with pytest.raises(InvalidArgument, match="negative at lower and positive at upper"):
        crossing(lambda x, working: Interval.point(x), lower=Fraction(1), upper=Fraction(2))


def test_a_sign_that_cannot_be_decided_is_refused():
    with pytest.raises(InvalidArgument, match="cannot be decided"):
        crossing(lambda x, working: Interval(-1, 1), lower=Fraction(1), upper=Fraction(2))
