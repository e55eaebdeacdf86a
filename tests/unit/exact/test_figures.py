"""Numbers as people read them: digits follow the error, and nothing looks surer than it is."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.exact.figures import error_figures, plain_figures, value_figures

SIZES = st.floats(1e-6, 1e6)


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ((34.26718, 30.79, 37.74436), "34.3 ± 3.5"),
        ((2390, 2318, 2462), "2,390 ± 72"),
        ((94459, 80643, 108275), "94,459 ± 13,816"),
        ((14_051, 14_051 - 105_219, 14_051 + 105_219), "10,000 ± 110,000"),
        ((1_646_899, 1_541_680, 1_752_118), "1,650,000 ± 110,000"),
        ((5, 0, 123_456), "0 [0, 124,000]"),
        ((0.892473, 0.442623, 1.0), "0.89 [0.44, 1]"),
        ((2071.11, 2000.0, 7000.0), "2,100 [2,000, 7,000]"),
        ((50.1234, 47.013, 53.22), "50.1 ± 3.2"),
        ((49, 46, 53), "49 [46, 53]"),
        ((49, 46.5, 50.5), "49 [46.5, 50.5]"),
        ((5.0, 5.0, 5.0), "5 ± 0"),
        ((14.8, 14.8, 14.8), "14.8 ± 0"),
        ((36.2, 36.1, 36.3), "36.20 ± 0.10"),  # as they are written: in floats 36.3 - 36.2 is a little more
        ((-0.001, -3.0, 2.9), "0.0 ± 3.0"),
        ((0.1, -inf, inf), "–"),
        ((0.1, -inf, 0.3), "0.10 [-∞, 0.30]"),
    ],
)
def test_digits_follow_the_error(cell, shown):
    assert value_figures(*cell) == shown


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (16.9866, "17"),
        (3075.43, "3,100"),
        (72.0, "72"),
        (99_999, "99,999"),
        (105_219, "110,000"),
        (0.139708, "0.14"),
        (Fraction(1, 3), "0.34"),
        (inf, "∞"),
        (0, "0"),
    ],
)
def test_errors_have_two_figures_rounded_up(error, shown):
    assert error_figures(error) == shown


def _read(text: str) -> Decimal:
    return Decimal(text.replace(",", "").replace("∞", "Infinity"))


@given(value=st.floats(-1e6, 1e6), left=SIZES, right=SIZES)
def test_what_is_shown_is_never_surer(value, left, right):
    """Shown ends hold the true ones, but for the rounding of the value itself where one error stands for both sides."""
    low, high = value - left, value + right
    shown = value_figures(value, low, high)
    ends = re.fullmatch(r"(\S+) \[(\S+), (\S+)\]", shown)
    if ends:
        assert _read(ends[2]) <= Decimal(str(low))
        assert _read(ends[3]) >= Decimal(str(high))
    else:
        middle, half = shown.split(" ± ")
        assert float(_read(half)) >= max(value - low, high - value) * (1 - 1e-9)
        assert abs(float(_read(middle)) - value) <= 0.06 * (left + right)


@given(st.lists(st.floats(allow_nan=False), min_size=3, max_size=3).map(sorted))
def test_any_number_can_be_shown(ends):
    low, value, high = ends
    assert value_figures(value, low, high)
    assert error_figures(abs(value))


@given(SIZES)
def test_an_error_is_at_most_a_tenth_larger_than_it_was(error):
    assert error * (1 - 1e-12) <= float(_read(error_figures(error))) <= 1.1 * error


def test_numbers_without_an_error():
    assert [plain_figures(each) for each in (1234567, 0.5, 1234567.8, 12.3456789)] == [
        "1,234,567", "0.5", "1,234,568", "12.3457",
    ]  # fmt: skip
