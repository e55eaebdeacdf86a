"""Order, top and having on an answer: free, by noisy values, with errors that follow their rows."""

from __future__ import annotations

import pytest

import deniable as dp
from deniable.errors import InvalidArgument
from deniable.testing import Silent

SIZES = {"a": 5, "b": 40, "c": 20, "d": 30}
BOOK = {
    "name": "t", "unit": {"id": "p", "groups": 1, "rows_per_group": 1}, "table": "t",
    "variables": {
        "p": "integer", "x": {"type": "integer", "bounds": [0, 10]}, "w": {"type": "string", "categories": list(SIZES)},
    },
}  # fmt: skip
WARDS = [ward for ward, size in SIZES.items() for _ in range(size)]


@pytest.fixture
def asked():
    data = {"p": list(range(len(WARDS))), "x": [i % 11 for i in range(len(WARDS))], "w": WARDS}
    session = dp.Dataset(data, codebook=BOOK).session(dp.budget(epsilon=100), entropy=Silent())
    answer = session.query().group_by("w").agg(n=dp.count(), q=dp.median("x"), m=dp.mean("x")).release(epsilon=5)
    return session, answer


def test_views_are_free_and_keep_errors_with_their_rows(asked):
    session, answer = asked
    spent = session.spent
    rows = {row["w"]: row for row in answer.table}
    assert [row["w"] for row in answer.order_by("n").table] == ["a", "c", "d", "b"]
    assert [row["w"] for row in answer.order_by("w", descending=True).table] == ["d", "c", "b", "a"]
    best = answer.top(2, by="n")
    assert [row["w"] for row in best.table] == ["b", "d"]
    assert best.table == [rows["b"], rows["d"]]
    middle = answer.having("n", at_least=10, at_most=35)
    assert [row["w"] for row in middle.table] == ["c", "d"]
    assert middle.order_by("n", descending=True).table == [rows["d"], rows["c"]]
    assert any("noisy values" in note for note in best.notes)
    assert best.guarantee == answer.guarantee
    assert session.spent == spent


def test_mistakes_are_said(asked):
    _, answer = asked
    for call in (
        lambda: answer.order_by("z"),
        lambda: answer.top(2),
        lambda: answer.top(0, by="n"),
        lambda: answer.having("n"),
        lambda: answer.having("z", at_least=1),
    ):
        with pytest.raises(InvalidArgument):
            call()
