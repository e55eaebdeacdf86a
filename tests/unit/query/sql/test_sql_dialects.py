"""Other dialects' words mean what they mean there, or are refused with the rewrite."""

from __future__ import annotations

import subprocess
import sys
from datetime import date, timedelta

import pytest

import deniable as dp
from deniable.errors import InvalidArgument, QueryRefused
from deniable.query.sql import read
from deniable.testing import Silent

DAYS = [date(2024, 1, 1) + timedelta(days=i) for i in range(10)]
BOOK = {
    "name": "t",
    "unit": "rows",
    "tables": {
        "t": {
            "variables": {
                "d": {"type": "date", "bounds": ["2024-01-01", "2024-12-31"]},
                "s": "string",
                "k": {"type": "string", "categories": ["x", "y"]},
            }
        }
    },
}
DATA = {"d": DAYS, "s": (["Ant", "ant", "ANT", "bee", ""] * 2), "k": ["x", "y"] * 5}


@pytest.fixture(scope="module")
def session():
    return dp.Dataset(DATA, codebook=BOOK).session(dp.budget(epsilon=10**6), entropy=Silent())


def count(session, condition, dialect):
    return session.sql(f"SELECT COUNT(*) AS n FROM t WHERE {condition}", epsilon=1, dialect=dialect).value("n")


SUNDAY_ONE = {i: (day.isoweekday() % 7) + 1 for i, day in enumerate(DAYS)}
SUNDAY_ZERO = {i: day.isoweekday() % 7 for i, day in enumerate(DAYS)}
MONDAY_ONE = {i: day.isoweekday() for i, day in enumerate(DAYS)}
WEEKDAYS = [
    ("bigquery", "EXTRACT(DAYOFWEEK FROM d)", SUNDAY_ONE),
    ("mysql", "DAYOFWEEK(d)", SUNDAY_ONE),
    ("spark", "DAYOFWEEK(d)", SUNDAY_ONE),
    ("databricks", "DAYOFWEEK(d)", SUNDAY_ONE),
    ("spark", "EXTRACT(DOW FROM d)", SUNDAY_ONE),
    ("tsql", "DATEPART(weekday, d)", SUNDAY_ONE),
    ("duckdb", "EXTRACT(DOW FROM d)", SUNDAY_ZERO),
    ("duckdb", "DAYOFWEEK(d)", SUNDAY_ZERO),
    ("postgres", "EXTRACT(DOW FROM d)", SUNDAY_ZERO),
    ("snowflake", "DAYOFWEEK(d)", SUNDAY_ZERO),
    ("trino", "EXTRACT(DOW FROM d)", MONDAY_ONE),
]


@pytest.mark.parametrize(("dialect", "word", "days"), WEEKDAYS)
def test_days_of_the_week_are_numbered_as_there(session, dialect, word, days):
    for number in range(8):
        assert count(session, f"{word} = {number}", dialect) == sum(each == number for each in days.values()), number


def test_an_unknown_numbering_is_refused(session):
    with pytest.raises(QueryRefused, match="numbered otherwise in exasol"):
        count(session, "EXTRACT(DOW FROM d) = 7", "exasol")


@pytest.mark.parametrize("dialect", ["sqlite", "mysql", "tsql"])
def test_like_without_case_is_refused_with_the_rewrite(session, dialect):
    for condition in ("s LIKE 'ant'", "s NOT LIKE 'ant'", "LOWER(s) LIKE 'Ant'", "k LIKE 'x%'"):
        with pytest.raises(QueryRefused, match="without regard to case; write LOWER"):
            count(session, condition, dialect)
    assert count(session, "LOWER(s) LIKE 'ant'", dialect) == 6


@pytest.mark.parametrize("dialect", ["mysql", "tsql"])
def test_equality_without_case_is_refused_with_the_rewrite(session, dialect):
    for condition in ("s = 'ant'", "'ant' = s", "s <> 'ant'", "s IN ('ant', 'bee')", "k = 'X'", "LOWER(s) = 'Ant'"):
        with pytest.raises(QueryRefused, match="without regard to case; write LOWER"):
            count(session, condition, dialect)
    assert count(session, "LOWER(s) = 'ant'", dialect) == 6
    assert count(session, "k = 'x'", dialect) == 5
    assert count(session, "d = '2024-01-03'", dialect) == 1


def test_other_dialects_mind_the_case(session):
    for dialect in ("duckdb", "postgres", "bigquery", "spark", "snowflake"):
        assert count(session, "s = 'ant'", dialect) == count(session, "s LIKE 'ant'", dialect) == 2
    assert count(session, "s = 'ant'", "sqlite") == 2


def test_an_empty_text_is_missing_in_oracle(session):
    with pytest.raises(QueryRefused, match="'' is NULL in Oracle; write IS NULL"):
        count(session, "s = ''", "oracle")
    assert count(session, "s = ''", "postgres") == 2


PEOPLE = {
    "unit": {"id": "who", "groups": 1, "rows_per_group": 2},
    "tables": {
        "t": {
            "unit": "who",
            "variables": {
                "who": "integer",
                "x": {"type": "integer", "bounds": [0, 9]},
                "k": {"type": "string", "categories": ["a", "b"]},
            },
        },
        "p": {"public": True, "variables": {"y": {"type": "integer", "bounds": [0, 9]}}},
    },
}
ROWS = {"t": {"who": [1, 2, 3, 4], "x": [5, None, 7, 8], "k": ["a", "a", "a", "b"]}, "p": {"y": [1, 2, 3, None]}}
PRESENT = {
    "rows": ("SELECT COUNT(*) AS n FROM t WHERE x {}", [3]),
    "a filter": ("SELECT SUM(CASE WHEN x {} THEN 1 ELSE 0 END) AS n FROM t", [3]),
    "groups": ("SELECT k, COUNT(*) AS n FROM t GROUP BY k HAVING NULLIF(COUNT(*), 1) {}", [3]),
    "a released value": ("SELECT CASE WHEN NULLIF(COUNT(*), 4) {} THEN 1 ELSE 3 END AS n FROM t", [3]),
    "an outer query": ("SELECT n FROM (SELECT k, NULLIF(COUNT(*), 1) AS n FROM t GROUP BY k) z WHERE n {}", [3]),
    "units": ("SELECT COUNT(*) AS n FROM (SELECT who, SUM(x) AS s FROM t GROUP BY who HAVING SUM(x) {}) z", [3]),
    "public rows": ("SELECT COUNT(*) AS n FROM p WHERE y {}", [3]),
}


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark", "bigquery", "snowflake", "mysql", "tsql", "sqlite"])
def test_is_not_null_is_read_in_every_place_of_every_dialect(dialect):
    asked = dp.Dataset(ROWS, codebook=PEOPLE).session(dp.budget(epsilon=10**6), entropy=Silent())
    for place, (query, wanted) in PRESENT.items():
        answer = asked.sql(query.format("IS NOT NULL"), epsilon=100, dialect=dialect)
        assert [row["n"] for row in answer.table] == wanted, place


@pytest.mark.parametrize(("word", "standard"), [("VAR", "VAR_SAMP"), ("VARP", "VAR_POP"), ("STDEVP", "STDDEV_POP")])
def test_a_function_nobody_knows_is_named_and_the_standard_one_shown(session, word, standard):
    for query in (f"SELECT {word}(x) AS v FROM t", f"SELECT k, {word}(x) AS v FROM t GROUP BY k"):
        with pytest.raises(QueryRefused, match=f"{word} is not a function we know; write {standard}"):
            dp.Dataset(ROWS, codebook=PEOPLE).session(dp.budget(epsilon=1)).sql(query, dialect="tsql")


def test_a_question_loads_its_own_dialect_and_no_other():
    """All of them take longer than everything else before the first price."""
    asked = "from deniable.query.sql import read; read('SELECT COUNT(*) FROM t'); import sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.split()
    found = {name.rpartition(".")[2] for name in loaded if name.startswith("sqlglot.dialects.")}
    assert found == {"dialect", "duckdb"}


def test_every_dialect_of_the_parser_is_known_and_others_are_refused_with_the_list():
    assert read("SELECT 1 FROM t", dialect="singlestore").dialect == "singlestore"  # in the table, not in the list
    for odd in ("Klingon", "dialect.os", None, 3):
        with pytest.raises(InvalidArgument, match="dialect must be one of athena, bigquery"):
            read("SELECT 1 FROM t", dialect=odd)


ODD = {
    "who": "integer",
    "union": "boolean",
    "year": {"type": "integer", "bounds": [1, 3]},
    "had pay": "boolean",
    "wage (log)": {"type": "integer", "bounds": [0, 4]},
}


@pytest.fixture(scope="module")
def odd():
    book = {"name": "w", "unit": {"id": "who", "groups": 1, "rows_per_group": 1}, "table": "w", "variables": ODD}
    return dp.Dataset({name: [1] for name in ODD}, codebook=book).session(dp.budget(epsilon=10**6), entropy=Silent())


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("SELECT union, COUNT(*) FROM w GROUP BY union", '"union"'),
        ("SELECT COUNT(*) FROM w WHERE union AND year = 1", '"union"'),
        ("SELECT COUNT(*), union FROM w GROUP BY 2", '"union"'),
        ("SELECT COUNT(*) FROM w WHERE had pay", '"had pay"'),
        ("SELECT Had Pay, COUNT(*) FROM w GROUP BY 1", '"had pay"'),
        ("SELECT AVG(wage (log)) FROM w", '"wage (log)"'),
        ("SELECT year, AVG(wage (log)) FROM w GROUP BY year", '"wage (log)"'),
    ],
)
def test_a_column_that_stands_without_the_quotes_it_needs_is_named(odd, text, written):
    """A column called union is a first question in many surveys, and "',' was not expected" helps nobody."""
    asked = (odd.sql, lambda *words, **terms: odd.sql("EXPLAIN DP " + words[0], **terms))
    for ask in asked:
        with pytest.raises(QueryRefused) as refused:
            ask(text, epsilon=1)
        assert f"write {written}" in str(refused.value)
    with pytest.raises(
        QueryRefused, match=f"write {written.replace(chr(34), '`')}".replace("(", r"\(").replace(")", r"\)")
    ):
        odd.sql(text, epsilon=1, dialect="mysql")


@pytest.mark.parametrize(
    "text",
    [
        'SELECT "union", COUNT(* FROM w GROUP BY 1',
        "SELECT COUNT(*) FROM w WHERE yaer = 1",
        "SELECT COUNT(*) FROM w WHERE year = 'had pay",
        "SELECT year COUNT(*) FROM w",
    ],
)
def test_a_column_that_is_written_as_it_must_be_is_not_named(odd, text):
    with pytest.raises(QueryRefused) as refused:
        odd.sql(text, epsilon=1)
    assert "reads the name" not in str(refused.value)
