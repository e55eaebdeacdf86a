"""What SQL is meant to cover stands in the corpus, and a query means the same whichever dialect it is written in."""

from __future__ import annotations

import logging
import re
from collections import Counter
from functools import cache

import pytest
import sqlglot

from deniable.errors import QueryRefused
from deniable.plan.canonical import identity
from deniable.plan.codebook import Codebook
from deniable.query import compile_query
from deniable.query.sql import compile_statement, public_tables, read
from tests.engines.sql_corpus import ANSWERED
from tests.engines.sql_schemas import world
from tests.sql_grammar import Nobody

SCOPE = {
    "filter": r"WHERE", "group by a position": r"GROUP BY 1", "group by an alias": r"AS (\w+).*GROUP BY \1\b",
    "group by an expression": r"GROUP BY \w* ?[>(]", "having": "HAVING", "order": "ORDER BY", "limit": "LIMIT", "case": "CASE WHEN",
    "between": "BETWEEN", "in a list": r" IN \('", "like": "LIKE", "is null": "IS NULL", "dates": r"EXTRACT|DATE_TRUNC|DATE_DIFF",
    "text": r"UPPER|LOWER|SUBSTR|LENGTH", "distinct": r"COUNT\(DISTINCT", "variance": "VAR_", "deviation": "STDDEV",
    "filter clause": "FILTER",
    "aggregate of an expression": r"SUM\(\w+ \*", "arithmetic of aggregates": r"SUM\([^)]*\) / ",
    "rollup": "ROLLUP", "cube": "CUBE",
    "grouping sets": "GROUPING SETS", "inner join": "JOIN", "left join": "LEFT", "using": "USING", "semi join": "SEMI JOIN",
    "anti join": "ANTI JOIN", "exists": "WHERE EXISTS", "not exists": "NOT EXISTS", "in a query": r"IN \(SELECT",
    "not in a query": r"NOT IN \(SELECT", "with": "^WITH", "derived table": r"FROM \(SELECT", "union": "UNION ALL",
    "per unit": r"FROM \(SELECT \w+_id, COUNT", "public": "FROM cities|FROM products",
}  # fmt: skip


@pytest.mark.parametrize("feature", SCOPE)
def test_the_corpus_has_a_query_with(feature: str) -> None:
    assert any(re.search(SCOPE[feature], query, flags=re.IGNORECASE) for _, query in ANSWERED)


@cache
def _book(name: str) -> Codebook:
    return Codebook.from_record(world(name).codebook)


@cache
def _meaning(name: str, query: str, dialect: str) -> str:
    """The plan a query stands for."""
    book = _book(name)
    statement = read(query, dialect=dialect)
    if public_tables(statement, book) is not None:
        return "public"
    assert book.unit is not None
    return str(identity(compile_query(compile_statement(statement, book, Nobody()).query, book.unit).plan))


SAME_MEANING_ANOTHER_PLAN = ("COUNT_IF", "COUNT(DISTINCT patient_id) FILTER", "IS TRUE", "date_diff")
"""These are written in another way in some dialects, which is another plan with the same value."""


REFUSED_AT_MOST = {"postgres": 10, "bigquery": 10, "spark": 10, "mysql": 12}
"""MySQL compares text without regard to case, so that nine more queries are refused there, each with its rewrite."""


@pytest.mark.parametrize("dialect", REFUSED_AT_MOST)
def test_a_query_in_another_dialect_is_the_same_plan_or_refused(dialect: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="sqlglot")
    found = Counter[str]()
    for name, query in ANSWERED:
        text = sqlglot.transpile(query, read="duckdb", write=dialect)[0]
        try:
            same = _meaning(name, text, dialect) == _meaning(name, query, "duckdb")
        except QueryRefused:
            found["refused"] += 1
            continue
        assert same or any(words in query for words in SAME_MEANING_ANOTHER_PLAN), (query, text)
        found["same" if same else "another"] += 1
    assert found["same"] >= len(ANSWERED) - REFUSED_AT_MOST[dialect]
