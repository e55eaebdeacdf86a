"""Numbers as text: exact for records, against us for people."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidArgument
from deniable.ledger.numbers import digits, number_from_text, number_text


@given(st.fractions())
def test_text_is_exact(value: Fraction):
    assert number_from_text(number_text(value)) == value


@given(st.fractions(min_value=0))
def test_people_never_read_less_loss_or_more_room_than_there_is(value: Fraction):
    assert Fraction(digits(value)) >= value >= Fraction(digits(value, downwards=True))


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [
        (Fraction(1, 10), "0.1", "0.1"),
        (Fraction(1, 3), "0.333334", "0.333333"),
        (Fraction(0), "0", "0"),
        (Fraction(100), "100", "100"),
        (Fraction(1, 10**7), "1e-7", "1e-7"),
        (Fraction(2, 3 * 10**9), "6.66667e-10", "6.66666e-10"),
    ],
)
def test_examples(value: Fraction, up: str, down: str):
    assert (digits(value), digits(value, downwards=True)) == (up, down)


@pytest.mark.parametrize("text", ["0.1", "1e3", "+1", " 1", "1/2/3", "", "one", "0x10", 1, 0.5, None])
def test_other_spellings_are_refused(text: object):
    with pytest.raises(InvalidArgument):
        number_from_text(text)
