"""What a synthesizer cannot do is refused in one line, before anything is spent, and the session goes on."""

from __future__ import annotations

import pytest

import deniable as dp
from deniable.errors import InvalidArgument
from tests.unit.synth.people import people, people_rows

ROWS = people_rows(20)
TWO = ("sex", "works")


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"method": "aim", "rounds": 2_000_000, "columns": TWO}, "rounds must be at most 10000"),
        ({"method": "mwem", "rounds": 10**8, "columns": TWO}, "rounds must be at most 10000"),
        ({"method": "privbayes", "most_rows": 10**400, "columns": TWO}, "most_rows must be at most"),
        ({"method": "pate-ctgan", "parts": 10**9}, "parts must be at most 100000"),
        ({"method": "ctgan", "steps": 10**9}, "steps must be at most 100000"),
        ({"bins": ["age"]}, "bins must say how many by column"),
        ({"bins": {"sex": 3}}, "bins= cuts numbers, and sex is none"),
        ({"quantiles": ["age"]}, "quantiles must say how many by column"),
        ({"open": 3}, "open must be a list of columns"),
    ],
)
def test_what_cannot_work_costs_nothing(told, said):
    session = people(ROWS).session(dp.budget(epsilon=100, delta=1e-4))
    with pytest.raises(InvalidArgument, match=said) as found:
        session.synthesizer(**told).release(epsilon=1, anyway=True)
    assert "\n" not in str(found.value)
    assert session.spent.loss == 0


def test_a_twin_refuses_in_words(tmp_path):
    session = people(ROWS).session(dp.budget(epsilon=100, delta=1e-4))
    twin = session.synthesizer(columns=TWO, method="tree").release(epsilon=10)
    with pytest.raises(InvalidArgument, match="a text in SQL"):
        twin.query(3)
    with pytest.raises(InvalidArgument, match="cannot write"):
        twin.report(tmp_path / "nowhere" / "twin.html")
