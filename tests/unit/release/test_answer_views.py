"""Order, top and having on an answer: free, by noisy values, with errors that follow their rows."""

from __future__ import annotations

from datetime import datetime

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


def test_an_answer_without_groups_says_so(asked):
    _, answer = asked
    none = answer.having("n", at_least=1000)
    assert "(no group is shown)" in str(none)
    assert "(no group is shown)" in none._repr_html_()
    assert "(no group is shown)" not in str(answer)


def test_midnights_are_printed_as_days_and_hours_as_they_are():
    book = {"name": "t", "unit": "rows", "table": "t", "variables": {"t": {"type": "timestamp"}}}
    book["variables"]["t"]["bounds"] = ["2025-01-01 00:00:00", "2025-02-28 23:59:59"]
    rows = {"t": ["2025-01-03 10:00:00"] * 5 + ["2025-02-03 11:00:00"] * 5}
    session = dp.Dataset(rows, codebook=book).session(dp.budget(epsilon=100), entropy=Silent())
    months = session.query().group_by(month="date_trunc('month', t)").agg(n=dp.count()).release(epsilon=5)
    assert [line.split()[:3] for line in str(months).splitlines()[2:4]] == [
        ["2025-01-01", "5", "±"],
        ["2025-02-01", "5", "±"],
    ]
    assert months.groups[0] == (datetime(2025, 1, 1),)  # what is printed shortly is still a moment
    hours = session.query().where("t < '2025-01-02 00:00:00'").group_by(hour="date_trunc('hour', t)").agg(n=dp.count())
    assert "2025-01-01 00:00:00" in str(hours.release(epsilon=5))
