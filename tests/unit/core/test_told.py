"""What a piece of the calculus prints: what it is made of, never an address in memory."""

import pytest

import deniable as dp
from deniable import calculus as c
from deniable.core import Triple

NUMBERS = c.rows(c.integers(lower=0, upper=10))


def test_a_mechanism_prints_its_chain():
    noisy = NUMBERS >> c.clamp(lower=0, upper=10) >> c.total() >> c.laplace(scale=20)
    assert repr(noisy).startswith("Mechanism(clamp(lower=0, upper=10) >> total() >> laplace(scale=20);")
    assert repr(NUMBERS >> c.total()).startswith("Transformation(total();")
    assert "function of its author" in repr(noisy.post(lambda answer: answer))
    assert "what is paid solves for it" in repr(NUMBERS >> c.total() >> c.laplace())


def test_a_query_inside_a_chain_is_not_spelt_out():
    book = {"name": "b", "unit": "rows", "table": "b", "variables": {"x": {"type": "integer", "bounds": [0, 9]}}}
    session = dp.Dataset({"x": [1, 2]}, codebook=book).session(dp.budget(epsilon=1))
    assert repr(session.rows(column="x") >> c.total()).startswith("Transformation(rows(...) >> total();")


def test_a_map_takes_a_number_as_people_write_it():
    total = NUMBERS >> c.total() >> c.laplace(scale=20)
    assert total.privacy_map(1) == total.cost(d_in=1)
    for wrong in ((1, 1, 1), Triple(1, 1, 1), -1, float("nan"), "1"):
        with pytest.raises(dp.errors.InvalidArgument):
            total.privacy_map(wrong)
