"""An answer says what its numbers are of, where a person may be in more groups, or have more rows, than count."""

import pytest

import deniable as dp

BOOK = {
    "name": "visits",
    "unit": {"id": "person", "groups": 2, "rows_per_group": 3},
    "table": "visits",
    "variables": {
        "person": "integer",
        "ward": {"type": "string", "categories": ["A", "B", "C"]},
        "town": {"type": "string", "categories": ["X", "Y", "Z"], "of_unit": True},
        "month": {"type": "integer", "bounds": [1, 12]},
        "domain": "string",
    },
}
ROWS = {
    "person": [i % 10 for i in range(120)],
    "ward": ["ABC"[i // 10 % 3] for i in range(120)],
    "town": ["X"] * 120,
    "month": [1 + i // 10 for i in range(120)],
    "domain": ["a.example"] * 120,
}
SHORT = "One person in more than 2 groups counts in 2 of them only"


@pytest.fixture(scope="module")
def session():
    return dp.Dataset(ROWS, codebook=BOOK).session(dp.budget(epsilon=1000, delta=1e-3))


def notes(session, query):
    return "\n".join(session.sql(query, epsilon=1).notes)


def test_whoever_is_in_more_groups_than_count_is_said_to_be_left_out_of_the_others(session):
    by_month = session.sql("SELECT month, COUNT(*) AS n FROM visits GROUP BY month", epsilon=500)
    assert sum(by_month["n"]) == 20  # ten people, two of their twelve months each: 100 of 120 visits are not there
    assert f"{SHORT}, so counts can come out too small." in by_month.notes


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT ward, COUNT(DISTINCT person) AS n FROM visits GROUP BY ward", f"{SHORT}, so counts can"),
        ("SELECT ward, COUNT(*) AS n, SUM(month) AS s FROM visits GROUP BY ward", f"{SHORT}, so counts and sums can"),
        ("SELECT domain, COUNT(*) AS n FROM visits GROUP BY domain", f"{SHORT}, so counts can"),
        ("SELECT ward, AVG(month) AS m FROM visits GROUP BY ward", f"{SHORT}."),
    ],
)
def test_it_is_said_of_what_is_asked(session, query, said):
    assert said in notes(session, query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(*) AS n FROM visits",
        "SELECT town, COUNT(*) AS n FROM visits GROUP BY town",
        "SELECT ward, COUNT(*) AS n FROM visits WHERE ward <> 'C' GROUP BY ward",
    ],
)
def test_nothing_is_said_where_nobody_can_be_in_more(session, query):
    assert "of them only" not in notes(session, query)


def test_several_keys_are_listed(session):
    assert "at most 3 rows per person, ward and month;" in notes(
        session, "SELECT ward, month, COUNT(*) AS n FROM visits GROUP BY ward, month"
    )
