"""Membership answers for every value and never raises."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.core import (
    Anything,
    Ball,
    Booleans,
    Categories,
    Frame,
    Keyed,
    Lattice,
    Numbers,
    Rows,
    Texts,
    Vectors,
    missing,
    numbers,
)
from deniable.errors import InvalidArgument

anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.floats(), max_size=2),
    st.just({}),
    st.binary(max_size=2),
)
DOMAINS = [
    Numbers(),
    numbers(lower=0, upper=1, missing=False),
    Lattice(),
    Lattice(Fraction(1, 8), -3, 5),
    Booleans(),
    Texts(),
    Categories(("a", 1)),
    Anything(),
    Rows(Numbers()),
    Vectors(Lattice(), 2, Ball(Fraction(2))),
    Keyed(Lattice(), ("a",)),
    Frame({"x": Numbers()}),
]


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: type(d).__name__)
@given(value=anything)
def test_membership_is_total(domain, value):
    assert (value in domain) in (True, False)


def test_numbers_know_their_bounds_exactly():
    domain = numbers(lower=0.1, upper=0.3, missing=False)
    assert 0.2 in domain
    assert 0.1 in domain  # the float 0.1 lies above one tenth
    assert 0.3 not in numbers(lower=0.1, upper=Fraction(299, 1000), missing=False)
    assert float("nan") not in domain
    assert float("inf") not in domain
    assert float("nan") in numbers()
    assert True not in numbers()


def test_a_lattice_is_carried_in_steps():
    domain = Lattice(Fraction(1, 4), 0, 8)
    assert 8 in domain
    assert np.int64(8) in domain
    assert 9 not in domain
    assert 0.5 not in domain
    assert domain.read(3) == 0.75
    assert Lattice().read(3) == 3
    assert isinstance(Lattice().read(3), int)
    for step in (Fraction(1, 4), Fraction(3, 7), Fraction(1, 10), Fraction(22, 3), Fraction(10**30 + 1, 10**31)):
        for steps in (0, 1, -3, 12345678901234567, -(10**40) - 1):
            assert Lattice(step).read(steps) == float(steps * step), "the nearest float of the exact product"
    assert Lattice(Fraction(3)).read(np.int64(2**62)) == 3 * 2**62, "never in 64 bits"


def test_a_ball_is_exact():
    domain = Vectors(Lattice(Fraction(1, 2)), 2, Ball(Fraction(5, 2), p=2))
    assert [3, 4] in domain
    assert [3, 5] not in domain


def test_frames_need_every_column_at_one_length():
    domain = Frame({"x": Numbers(), "y": Texts()}, size=2)
    assert {"x": [1.0, None], "y": ["a", "b"]} in domain
    assert {"x": [1.0], "y": ["a"]} not in domain
    assert {"x": [1.0, 2.0]} not in domain
    assert {"x": [1.0, 2.0], "y": ["a"]} not in domain


@pytest.mark.parametrize(
    "build",
    [
        lambda: numbers(lower=2, upper=1),
        lambda: numbers(lower=float("nan")),
        lambda: Categories(()),
        lambda: Rows(Numbers(), -1),
    ],
)
def test_domains_refuse_nonsense(build):
    with pytest.raises(InvalidArgument):
        build()


def test_missing_never_raises():
    import decimal

    import pandas as pd

    absent = [None, float("nan"), np.float64("nan"), pd.NA, pd.NaT, decimal.Decimal("nan"), decimal.Decimal("sNaN")]
    assert [missing(value) for value in absent] == [True] * len(absent)
    present = [0, 0.0, "", [], np.array([1.0, 2.0]), {}, float("inf")]
    assert [missing(value) for value in present] == [False] * len(present)
