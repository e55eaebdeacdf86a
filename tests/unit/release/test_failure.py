"""A release says what its delta covers: a leak, a tail, both or nothing."""

import pytest

import deniable as dp
from deniable import calculus as c
from deniable.testing import Silent

BOOK = {
    "name": "v",
    "unit": {"id": "p", "groups": 1, "rows_per_group": 1},
    "table": "v",
    "variables": {"p": "integer", "k": "string", "x": {"type": "integer", "bounds": [0, 9]}},
}


@pytest.fixture
def session():
    data = dp.Dataset({"p": [1, 2], "k": ["a", "b"], "x": [3, 4]}, codebook=BOOK)
    return data.session(dp.budget(epsilon=10, delta=1e-3), entropy=Silent())


def test_tables(session):
    counts, by_key = session.query().agg(n=dp.count()), session.query().group_by("k").agg(n=dp.count())
    pure = counts.release(epsilon=1, law="laplace")
    assert pure.facts.failure == "nothing: there is no delta"
    tail = counts.release(epsilon=1, delta=1e-6, law="gaussian")
    assert tail.facts.failure.startswith("a tail")
    leak = by_key.release(epsilon=1, delta=1e-6, law="laplace")
    assert leak.facts.failure == "a leak, all of it: the chance that something rare shows as it is"
    both = by_key.release(epsilon=1, delta=1e-6, law="gaussian")
    assert both.facts.failure.startswith("a leak, 5e-7:")
    assert both.facts.failure.endswith("rarely above epsilon")
    assert ("What delta covers", both.facts.failure) in both.extended_table().rows


def test_mechanisms(session):
    rows = session.rows(column="x")
    assert session.release(rows >> c.total() >> c.laplace(), epsilon=1).facts.failure.startswith("nothing")
    assert session.release(rows >> c.total() >> c.gaussian(), epsilon=1).facts.failure.startswith("a tail")
