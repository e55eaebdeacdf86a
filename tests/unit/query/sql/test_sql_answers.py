"""What SQL says beside its numbers: notices, intervals of computed columns, options of the clause, dialects, explanations."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import pytest

from deniable.errors import InvalidArgument, QueryRefused
from deniable.query.aggregates import quantile
from deniable.query.columns import AnswerColumn
from deniable.query.sql import AnswerTable, Explanation, Stage, applied
from deniable.query.sql.post import Apply, Cell, CellOperator, Constant, Field, Function, Operation, evaluate
from deniable.query.sql.stage import Ordering
from deniable.release.answer import Release
from deniable.release.session import Session
from tests.engines.sql_schemas import plain, session


@cache
def _clinic() -> Session:
    return session("clinic")


def _answer(query: str, **terms: object) -> Release:
    release = _clinic().sql(query, **({"epsilon": 100} | terms))  # type: ignore[arg-type]
    assert isinstance(release, Release)
    return release


ROW = {"n": Cell(10, 8, 12), "s": Cell(30.0, 27.0, 33.0), "z": Cell(1, -1, 3), "q": Cell(5), "gone": Cell(None)}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Operation(CellOperator.PLUS, Field("n"), Field("s")), Cell(40.0, 35.0, 45.0)),
        (Operation(CellOperator.MINUS, Field("s"), Field("n")), Cell(20.0, 15.0, 25.0)),
        (Operation(CellOperator.TIMES, Field("n"), Field("z")), Cell(10, -12, 36)),
        (Operation(CellOperator.DIVIDE, Field("s"), Field("n")), Cell(3.0, 27 / 12, 33 / 8)),
        (Operation(CellOperator.DIVIDE, Field("s"), Field("z")), Cell(30.0, -math.inf, math.inf)),
        (Operation(CellOperator.DIVIDE, Field("s"), Constant(0)), Cell(None)),
        (Operation(CellOperator.PLUS, Field("n"), Field("q")), Cell(15)),
        (Operation(CellOperator.PLUS, Field("n"), Field("gone")), Cell(None)),
        (Apply(Function.NEGATE, (Field("n"),)), Cell(-10, -12, -8)),
        (Apply(Function.ABSOLUTE, (Field("z"),)), Cell(1, 0, 3)),
        (Apply(Function.ROUND, (Constant(2.5),)), Cell(3, 3, 3)),
        (Apply(Function.ROUND, (Constant(-2.5),)), Cell(-3, -3, -3)),
        (Apply(Function.ROOT, (Field("z"),)), Cell(1.0, 0.0, math.sqrt(3))),
        (Apply(Function.GREATEST, (Field("n"), Constant(9))), Cell(10, 9, 12)),
        (Apply(Function.COALESCE, (Field("gone"), Field("n"))), Cell(10, 8, 12)),
        (Apply(Function.CHOOSE, (Constant(True), Field("n"), Constant(0))), Cell(10)),
    ],
)
def test_intervals_of_computed_values_hold_whenever_those_of_their_parts_do(value: object, expected: Cell) -> None:
    assert evaluate(value, ROW) == expected  # type: ignore[arg-type]


def test_rows_are_sorted_stably_and_missing_values_go_where_they_were_asked() -> None:
    column = AnswerColumn("n", "number", (2, None, 2, 1), None, None, "")
    released = AnswerTable(("k",), (("a",), ("b",), ("c",), ("d",)), (column,))
    order = (Ordering(Field("n"), descending=True, missing_first=True),)
    stage = Stage((("k", "k"),), (("n", Field("n")),), order=order, limit=3)
    assert applied(stage, released, Fraction(19, 20)).groups == (("b",), ("a",), ("c",))


@pytest.mark.parametrize(
    "written",
    [
        "SUM(cost) / COUNT(*)",
        "100.0 * SUM(cost) / NULLIF(COUNT(*), 0) / 100",
        "CAST(SUM(cost) AS DOUBLE) / COUNT(*)",
        "(SUM(cost)) / (1.0 * COUNT(*))",
    ],
)
def test_a_quotient_of_two_noisy_numbers_has_the_interval_of_a_quotient(written: str) -> None:
    """One released column at full confidence, narrower than by the corners, and priced as its two parts."""
    release = _answer(f"SELECT {written} AS r, SUM(cost) AS s, COUNT(*) AS n FROM visits")
    column, top, bottom = (release.columns[name] for name in "rsn")
    assert "0.9 " not in column.error + " "
    corners = [a / b for a in (top.lower[0], top.upper[0]) for b in (bottom.lower[0], bottom.upper[0])]
    assert 0 < column.upper[0] - column.lower[0] < max(corners) - min(corners)
    assert column.lower[0] <= top.values[0] / bottom.values[0] <= column.upper[0]
    assert column.values[0] == pytest.approx(top.values[0] / bottom.values[0], rel=1e-3)


@pytest.mark.parametrize("written", ["COUNT(*) / COUNT(*)", "AVG(cost) / COUNT(*)", "SUM(cost) / (COUNT(*) + 1)"])
def test_other_quotients_are_left_to_arithmetic(written: str) -> None:
    assert "by arithmetic" in _answer(f"SELECT {written} AS r FROM visits").columns["r"].error


def test_a_value_computed_from_two_noisy_ones_says_how_sure_its_interval_is() -> None:
    release = _answer("SELECT SUM(cost) - COUNT(*) AS r FROM visits")
    column = release.columns["r"]
    assert column.lower is not None
    assert column.upper is not None
    assert column.lower[0] <= column.values[0] <= column.upper[0]
    assert "0.9" in column.error
    assert any("r: interval by arithmetic" in note for note in release.notes)


def test_min_and_max_are_quantiles_and_say_so() -> None:
    release = _answer("SELECT MIN(duration) AS low, MAX(duration) AS high FROM visits")
    values = sorted(
        v for (v,) in plain("clinic").execute("SELECT duration FROM visits WHERE duration IS NOT NULL").fetchall()
    )
    assert values[0] <= release.value("low") <= values[len(values) // 50]
    assert values[-len(values) // 50] <= release.value("high") <= values[-1]
    assert sum("-quantile" in note for note in release.notes) == 2


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("MEDIAN(duration)", 0.5),
        ("QUANTILE(duration, 0.9)", 0.9),
        ("QUANTILE_DISC(duration, 0.25)", 0.25),
        ("PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY duration)", 0.75),
        ("PERCENTILE_DISC(0.2) WITHIN GROUP (ORDER BY duration DESC)", 0.8),
    ],
)
def test_a_quantile_has_the_right_rank(text: str, share: float) -> None:
    value = _answer(f"SELECT {text} AS q FROM visits").value("q")
    values = [
        v for (v,) in plain("clinic").execute("SELECT duration FROM visits WHERE duration IS NOT NULL").fetchall()
    ]
    assert sum(v < value for v in values) <= share * len(values)
    assert sum(v > value for v in values) <= (1 - share) * len(values)


def test_rows_without_a_key_are_said_to_be_in_no_group() -> None:
    release = _answer("SELECT city, COUNT(*) AS n FROM visits GROUP BY city")
    assert "Rows whose city is missing are left out." in release.notes


def test_the_options_of_the_clause_price_and_bound_the_query() -> None:
    session_ = _clinic()
    before = session_.spent
    release = session_.sql(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5, delta = 0, privacy_unit_column = patient_id, "
        "max_groups_contributed = 2) specialty, SUM(duration, contribution_bounds_per_row => (0, 50)) AS s "
        "FROM visits GROUP BY specialty",
        law="laplace",
    )
    assert isinstance(release, Release)
    assert session_.spent.loss - before.loss == Fraction(1, 2)
    assert "at most 2 groups" in release.facts.contribution


def test_bounds_written_in_an_aggregate_clamp_each_row() -> None:
    release = _answer("SELECT SUM(duration, contribution_bounds_per_row => (10, 50)) AS s FROM visits")
    truth = plain("clinic").execute(
        "SELECT SUM(LEAST(GREATEST(duration, 10), 50)) FROM visits WHERE duration IS NOT NULL"
    )
    found = truth.fetchone()
    assert found is not None
    assert release.value("s") == found[0]


def test_a_text_that_looks_like_the_clause_is_left_alone() -> None:
    release = _answer(
        "SELECT COUNT(*) AS n FROM visits WHERE city <> 'SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=9)'"
    )
    assert release.value("n") > 0


@pytest.mark.parametrize("dialect", ["postgres", "bigquery", "spark", "snowflake", "mysql", "tsql"])
def test_other_dialects_mean_the_same(dialect: str) -> None:
    query = "SELECT specialty, COUNT(*) AS n, AVG(cost) AS m FROM visits WHERE duration > 30 GROUP BY specialty"
    assert _answer(query, dialect=dialect).table == _answer(query).table


def test_whole_numbers_are_not_divided_where_the_dialect_would_cut_off() -> None:
    with pytest.raises(QueryRefused, match="integer-division"):
        _answer("SELECT SUM(duration) / COUNT(*) FROM visits", dialect="postgres")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT specialty, n / 7 AS s FROM (SELECT specialty, COUNT(*) AS n FROM visits GROUP BY specialty) t",
        "SELECT n / SUM(n) OVER () AS s FROM (SELECT specialty, COUNT(*) AS n FROM visits GROUP BY specialty) t",
        "SELECT name, pop / 7 AS s FROM cities",
    ],
)
def test_nor_are_those_that_are_released_or_public(query: str) -> None:
    before = _clinic().spent
    with pytest.raises(QueryRefused, match="integer-division"):
        _answer(query, dialect="postgres")
    assert _clinic().spent == before
    exact = query.replace("/", "* 1.0 /")
    assert _answer(exact, dialect="postgres").table == _answer(exact).table == _answer(query).table


def test_a_mean_that_is_released_is_divided_in_every_dialect() -> None:
    query = (
        "SELECT 100 * m / SUM(m) OVER () AS s FROM (SELECT specialty, AVG(cost) AS m FROM visits GROUP BY specialty) t"
    )
    assert _answer(query, dialect="postgres").table == _answer(query).table


def test_the_three_least_are_no_minimum() -> None:
    with pytest.raises(QueryRefused, match="MIN and MAX take one value"):
        _answer("SELECT MIN(cost, 3) FROM visits")


def test_an_unknown_dialect_is_named() -> None:
    with pytest.raises(InvalidArgument, match="dialect"):
        _answer("SELECT 1", dialect="klingon")


def test_a_public_query_is_exact_free_and_labelled() -> None:
    before = _clinic().spent
    release = _clinic().sql("SELECT SUM(pop) AS s, MAX(name) AS last FROM cities")
    assert isinstance(release, Release)
    assert release.table == [{"s": 3920, "last": "Rome"}]
    assert release.guarantee.startswith("Public")
    assert _clinic().spent == before


def test_explain_names_everything_and_spends_nothing() -> None:
    before = _clinic().spent
    explained = _clinic().sql("EXPLAIN DP SELECT city, AVG(cost) AS m FROM visits GROUP BY city ORDER BY m", epsilon=2)
    assert isinstance(explained, Explanation)
    assert _clinic().spent == before
    text = str(explained)
    for word in (
        "one patient",
        "at most 60 groups",
        "threshold",
        "epsilon = 2",
        "order by m",
        "scan visits",
        "m: ±",
    ):
        assert word in text
    assert explained.price is not None


def test_explain_of_a_public_query_says_it_is_free() -> None:
    assert "free" in str(_clinic().sql("EXPLAIN DP SELECT COUNT(*) FROM cities"))


def test_another_share_of_the_same_column_is_another_question() -> None:
    """The stored answer of one quantile must never be handed out for another."""
    asked = _clinic().query("visits")
    low, high = (asked.agg(q=quantile("cost", share)).release(epsilon=100).value("q") for share in (0.2, 0.8))
    assert low < high


def test_what_is_said_instead_of_a_sum_of_distinct_values_is_answered() -> None:
    """Each unit's own values once, or those that several units share: both forms the refusal writes out."""
    with pytest.raises(QueryRefused, match="DISTINCT is answered inside COUNT only") as refusal:
        _clinic().sql("SELECT SUM(DISTINCT duration) FROM visits", epsilon=1)
    own, shared = refusal.value.rewrite.split("; or ")
    tables = [said.partition(": ")[2].replace("...", "visits") for said in (own, shared)]
    assert tables[0] == "FROM (SELECT DISTINCT patient_id, duration FROM visits) v"
    for table in tables:
        (row,) = _answer(f"SELECT SUM(duration) AS s {table}").table
        assert row["s"] > 0


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(*) AS n FROM ((SELECT * FROM visits) LIMIT 3) v",
        "WITH v AS ((SELECT * FROM visits) ORDER BY cost LIMIT 3) SELECT COUNT(*) AS n FROM v",
        "SELECT COUNT(*) AS n FROM visits WHERE patient_id IN ((SELECT patient_id FROM visits) LIMIT 3)",
        "SELECT COUNT(*) AS n FROM visits WHERE cost > ((SELECT AVG(cost) FROM visits) LIMIT 0)",
    ],
)
def test_a_clause_after_parentheses_is_not_overlooked(query: str) -> None:
    before = _clinic().spent
    with pytest.raises(QueryRefused, match="after a sub-query in parentheses is not answered"):
        _answer(query)
    assert _clinic().spent == before


def test_a_clause_after_parentheses_is_read_where_all_below_is_released() -> None:
    counted = "(SELECT specialty, COUNT(*) AS n FROM visits GROUP BY specialty) ORDER BY n DESC LIMIT 2"
    for query in (f"SELECT * FROM ({counted}) q", f"WITH q AS ({counted}) SELECT specialty, n FROM q"):
        assert len(_answer(query).table) == 2


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "oracle"])
def test_rows_are_fetched_in_the_words_of_the_standard(dialect: str) -> None:
    counted = "SELECT specialty, COUNT(*) AS n FROM visits GROUP BY specialty ORDER BY n DESC"
    for words, rows in (("FETCH FIRST 2 ROWS ONLY", 2), ("OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY", 1)):
        assert len(_answer(f"{counted} {words}", dialect=dialect).table) == rows
    for words in ("FETCH FIRST 2 ROWS WITH TIES", "FETCH FIRST 50 PERCENT ROWS ONLY"):
        with pytest.raises(QueryRefused, match="LIMIT takes a whole number"):
            _answer(f"{counted} {words}", dialect=dialect)


def test_a_window_is_called_as_it_was_written():
    answer = _answer(
        "SELECT specialty, RANK() OVER (ORDER BY COUNT(*) DESC), 1 + RANK() OVER (ORDER BY COUNT(*)) AS place "
        "FROM visits GROUP BY specialty"
    )
    assert list(answer.columns) == ["specialty", "rank() over (order by count(*) desc)", "place"]
