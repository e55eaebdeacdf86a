"""Views of an answer: asked of a query or of its answer they show the same, they cost nothing, and mistakes are free."""

from __future__ import annotations

import pytest

import deniable as dp
from deniable.errors import InvalidArgument
from deniable.testing import Silent

DATA = {"u": list(range(12)), "k": ["a", "b", "b", "c", "c", "c"] * 2, "x": [1, 5, 5, 2, 2, 2] * 2}
BOOK = {
    "name": "t",
    "unit": {"id": "u", "groups": 1, "rows_per_group": 1},
    "table": "t",
    "variables": {
        "u": "integer",
        "k": {"type": "string", "categories": ["a", "b", "c"]},
        "x": {"type": "integer", "bounds": [0, 10]},
    },
}


@pytest.fixture
def session():
    return dp.Dataset(DATA, codebook=BOOK).session(dp.budget(epsilon=10**4), entropy=Silent())


def asked(session):
    return session.query().group_by("k").agg(n=dp.count(), m=dp.mean("x"))


VIEWS = {
    "order": (lambda it: it.order_by("n", descending=True), ["c", "b", "a"]),
    "order by two": (lambda it: it.order_by("m", "k"), ["a", "c", "b"]),
    "top": (lambda it: it.top(2, by="m"), ["b", "c"]),
    "having": (lambda it: it.having("n", at_least=3, at_most=5), ["b"]),
    "both": (lambda it: it.having("n", at_least=3).order_by("k", descending=True).top(1, by="m"), ["b"]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_query_shows_what_its_answer_would_show(session, name):
    view, keys = VIEWS[name]
    shown = view(asked(session)).release(epsilon=1000)
    assert shown["k"] == keys
    assert shown.table == view(asked(session).release(epsilon=1000)).table
    assert session.spent.loss == 1000, "a view is no new question"
    assert sum("noisy values" in note for note in shown.notes) == 1


def test_a_workload_shows_its_answers_by_their_views(session):
    work = session.workload({"most": asked(session).top(1, by="n"), "all": asked(session)}, epsilon=1000).release()
    assert (work["most"]["k"], work["all"]["k"]) == (["c"], ["a", "b", "c"])
    assert session.spent.loss == 1000


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda query: query.order_by("nn"), "no column 'nn' in this answer; it has k, n, m"),
        (lambda query: query.order_by(), "order_by needs a column or key"),
        (lambda query: query.top(2), "say by="),
        (lambda query: query.top(0, by="n"), "count"),
        (lambda query: query.having("n"), "at_least= or at_most="),
        (lambda query: query.having("k", at_least=1), "no column 'k' in this answer; it has n, m"),
    ],
)
def test_a_wrong_view_is_refused_when_it_is_asked_for(session, wrong, said):
    with pytest.raises(InvalidArgument, match=said):
        wrong(asked(session))
    assert session.spent.loss == 0


def test_a_view_comes_after_the_numbers(session):
    with pytest.raises(InvalidArgument, match="come after agg"):
        session.query().group_by("k").order_by("k")
