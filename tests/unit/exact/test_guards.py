"""Guards return exact values, and refuse everything else with the name and the value in one line."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidArgument
from deniable.exact.guards import (
    integer,
    nonnegative,
    open_probability,
    positive,
    probability,
    rational,
    shown,
)

NUMBERS = [rational, positive, nonnegative, probability, open_probability]
NOT_NUMBERS = [
    float("nan"),
    float("inf"),
    float("-inf"),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("Infinity"),
    Decimal("1e999999999"),
    Decimal("1e-999999999"),
    True,
    False,
    "1",
    None,
    [1],
    1j,
    np.float64("nan"),
    np.bool_(True),
    np.array([1.0]),
]


@pytest.mark.parametrize("guard", NUMBERS)
@pytest.mark.parametrize("value", NOT_NUMBERS, ids=repr)
def test_what_is_no_number_is_refused_with_its_name_and_value(guard, value):
    with pytest.raises(InvalidArgument) as refusal:
        guard(scale=value)
    message = str(refusal.value)
    assert message.startswith("scale must be")
    assert shown(value) in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        (0.1, Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (1e-300, Fraction(1, 10**300)),
        (5e-324, Fraction(5, 10**324)),
        (Decimal("0.10"), Fraction(1, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
        (7, Fraction(7)),
        (np.int64(-7), Fraction(-7)),
        (-0.0, Fraction(0)),
    ],
)
def test_a_number_means_what_a_person_reads(value, meaning):
    assert rational(x=value) == meaning
    assert type(rational(x=value)) is Fraction


def test_ten_charges_of_a_tenth_fill_a_budget_of_one():
    assert sum((positive(epsilon=0.1) for _ in range(10)), Fraction(0)) == rational(epsilon=1.0)


@pytest.mark.parametrize(
    ("guard", "good", "bad"),
    [
        (positive, [5e-324, 1, Fraction(1, 10**400)], [0, 0.0, -0.0, -1, Fraction(-1, 10**400)]),
        (nonnegative, [0, -0.0, 3], [-5e-324, -1]),
        (probability, [0, 1, 0.5, 1.0], [-1e-300, Fraction(10**40 + 1, 10**40), 2]),
        (open_probability, [1e-300, 0.5], [0, 1, 0.0, 1.0, -1, 2]),
    ],
)
def test_ranges_end_exactly_where_they_say(guard, good, bad):
    for value in good:
        assert guard(p=value) == rational(p=value)
    for value in bad:
        with pytest.raises(InvalidArgument, match=r"^p must"):
            guard(p=value)


@pytest.mark.parametrize("value", [2.0, 2.5, True, "2", None, Fraction(5, 2), float("nan"), Decimal(2), np.float64(2)])
def test_a_whole_number_is_not_guessed(value):
    with pytest.raises(InvalidArgument, match="count must be a whole number, got"):
        integer(count=value)


def test_whole_numbers_are_bounded_on_both_sides():
    assert integer(count=np.int32(4), least=4, greatest=4) == 4
    assert integer(count=Fraction(4)) == 4
    with pytest.raises(InvalidArgument, match="count must be at least 5, got 4"):
        integer(count=4, least=5)
    with pytest.raises(InvalidArgument, match="count must be at most 3, got 4"):
        integer(count=4, greatest=3)


def test_a_message_stays_one_short_line_whatever_the_value():
    class Rude:
        def __repr__(self):
            raise RuntimeError("no")

    assert shown(Rude()) == "<Rude>"
    assert shown(-(10**5000)) == "<int>"
    assert len(shown("x" * 10_000)) == 120
    assert "\n" not in shown(np.arange(1000).reshape(10, 100))
    with pytest.raises(InvalidArgument, match="scale must be positive, got <int>"):
        positive(scale=-(10**5000))
