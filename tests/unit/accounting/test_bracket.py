"""A bracket encloses outward, prints its upper end and never rounds a loss down."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.accounting.bracket import Bracket
from deniable.errors import InvalidArgument


@given(st.fractions(), st.fractions())
def test_exact_ends_are_enclosed_by_neighbouring_floats(a, b):
    lower, upper = min(a, b), max(a, b)
    bracket = Bracket.around(lower, upper)
    assert Fraction(bracket.lower) <= lower <= upper <= Fraction(bracket.upper)


def test_a_number_too_large_for_a_float_is_enclosed_by_infinity():
    bracket = Bracket.around(Fraction(10) ** 400, Fraction(10) ** 401)
    assert bracket.upper == float("inf")
    assert bracket.lower < float("inf")


def test_it_prints_and_converts_to_its_upper_end_rounded_up():
    bracket = Bracket(6.9070001, 6.9071234567)
    assert repr(bracket) == "6.90713"
    assert float(bracket) == 6.9071234567
    assert f"{bracket:.2f}" == "6.91"
    assert f"{Bracket(0, 0.121):.2f}" == "0.13"
    assert f"{bracket}" == "6.90713"
    assert repr(Bracket(0, float("inf"))) == "inf"


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_what_is_printed_is_never_less(value):
    assert Fraction(repr(Bracket(0, value))) >= Fraction(value)


def test_comparisons_are_certain():
    bracket = Bracket(1.0, 2.0)
    assert bracket <= 2
    assert not bracket <= 1.5
    assert not bracket > 1.5
    assert bracket < Bracket(3, 4)
    assert Bracket(3, 4) >= bracket
    assert bracket > 0.5
    assert 1.5 in bracket
    assert 2.5 not in bracket


def test_the_gap_is_relative():
    assert Bracket(0.5, 1).gap == 0.5
    assert Bracket(1, 1).gap == 0
    assert Bracket(0, float("inf")).gap == float("inf")


@pytest.mark.parametrize("ends", [(2, 1), (float("nan"), 1), (0, float("nan"))])
def test_ends_out_of_order_are_refused(ends):
    with pytest.raises(InvalidArgument, match="lower <= upper"):
        Bracket(*ends)
