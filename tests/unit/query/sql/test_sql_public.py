"""Queries on public tables only: exact, labelled, free, and limited in time, memory and rows."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import duckdb
import pytest

import deniable as dp
from deniable.engines import public_database as public
from deniable.errors import QueryRefused
from deniable.query.sql.explain import Explanation
from deniable.release.answer import Release
from deniable.release.session import Session
from tests.engines.sql_schemas import session


@pytest.fixture(scope="module")
def clinic() -> Session:
    return session("clinic")


def test_a_public_query_is_exact_labelled_and_free(clinic: Session) -> None:
    before = clinic.spent
    release = clinic.sql("SELECT country, pop * 2 AS twice FROM cities WHERE name LIKE 'O%' ORDER BY 1")
    assert isinstance(release, Release)
    assert release.table == [{"country": "NO", "twice": 1400}]
    assert release.guarantee == "Public: computed from public tables only, exact; nothing was charged."
    assert release.receipt is None
    explained = clinic.sql("EXPLAIN DP SELECT COUNT(*) FROM cities")
    assert isinstance(explained, Explanation)
    assert explained.public
    assert "answered exactly and free" in str(explained)
    assert clinic.spent == before


FOREVER = "WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r) SELECT COUNT(*) FROM r, cities"
MANY = "SELECT a.name FROM cities a, cities b, cities c"


def _refused(clinic: Session, query: str) -> QueryRefused:
    before = clinic.spent
    with pytest.raises(QueryRefused) as refusal:
        clinic.sql(query)
    assert clinic.spent == before
    return refusal.value


def test_a_query_without_end_is_interrupted(clinic: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public, "SECONDS", 0.2)
    assert _refused(clinic, FOREVER).code == "public-limit"


def test_too_many_rows_are_refused(clinic: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public, "MOST_ROWS", 63)
    assert _refused(clinic, MANY).code == "public-limit"
    monkeypatch.setattr(public, "MOST_ROWS", 64)
    release = clinic.sql(MANY)
    assert isinstance(release, Release)
    assert len(release.groups) == 64


def test_too_much_memory_is_refused(clinic: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public, "MEMORY", "8MB")
    tables = ", ".join(f"cities c{i}" for i in range(10))
    keys = ", ".join(f"c{i}.name" for i in range(10))
    query = f"SELECT COUNT(*) FROM (SELECT DISTINCT {keys} FROM {tables}) q"
    assert _refused(clinic, query).code == "public-limit"


def test_no_file_and_no_setting_is_reached(clinic: Session) -> None:
    for query in ("SELECT * FROM cities, read_csv('/etc/passwd')", "SELECT getenv('HOME') FROM cities"):
        assert "/" not in str(_refused(clinic, query)).replace("read_csv('/etc/passwd')", "")


UNSTABLE = [
    "RANDOM()",
    "UUID()",
    "gen_random_uuid()",
    "version()",
    "current_user",
    "session_user",
    "user",
    "current_role",
    "current_schema",
    "current_catalog",
    "current_database()",
    "current_date",
    "current_timestamp",
    "current_time",
    "localtime",
    "localtimestamp",
    "now()",
    "today()",
]


@pytest.mark.parametrize("word", UNSTABLE)
def test_what_depends_on_chance_the_moment_or_who_asks_is_refused(clinic: Session, word: str) -> None:
    for query in (f"SELECT {word} AS x FROM cities", f"SELECT COUNT(*) AS n FROM cities WHERE {word} IS NOT NULL"):
        refusal = _refused(clinic, query)
        assert refusal.code == "unsupported"
        assert "not answered" in refusal.reason or "depends on chance, the moment or who asks" in refusal.reason


def test_a_public_column_may_be_called_like_such_a_word() -> None:
    book = {
        "unit": "rows",
        "tables": {"t": {"variables": {"x": "boolean"}}, "p": {"public": True, "variables": {"user": "string"}}},
    }
    asked = dp.Dataset({"t": {"x": [True]}, "p": {"user": ["Ada"]}}, codebook=book).session(dp.budget(epsilon=1))
    for written in ("user", "p.user", '"user"'):
        release = asked.sql(f"SELECT {written} AS x FROM p")
        assert isinstance(release, Release)
        assert release.table == [{"x": "Ada"}], written


def _looked_at(column: str, query: str = "SELECT * FROM p") -> list[str]:
    """The columns a statement finds when it looks at a public table `p` without rows, which has this one column."""
    book = dp.Codebook.from_yaml(
        "{unit: rows, tables: {t: {variables: {x: boolean}}, p: {public: true, variables: {" + column + ": string}}}}"
    )
    return public.public_rows(query, book, ("p",), None)[0]


def test_looks_at_empty_tables_share_a_database_and_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, meet = public._kept(os.getpid()), Barrier(4)

    def look(column: str) -> list[list[str]]:
        meet.wait()
        return [_looked_at(column) for _ in range(5)]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(look, "abcd")) == [[[column]] * 5 for column in "abcd"]
    monkeypatch.setattr(public, "SECONDS", 0.1)
    for query in ("SELECT nothing FROM p", FOREVER.replace(", cities", "")):
        with pytest.raises(QueryRefused):
            _looked_at("a", query)
    assert kept.execute("SELECT count(*) FROM duckdb_tables()").fetchone() == (0,)
    assert public._kept(os.getpid()) is kept
    with pytest.raises(duckdb.InvalidInputException, match="locked"):
        kept.execute("SET memory_limit = '9GB'")
    with pytest.raises(duckdb.PermissionException):
        kept.execute("SELECT * FROM read_csv('/etc/passwd')")


def test_a_forked_process_looks_in_a_database_of_its_own() -> None:
    assert _looked_at("a") == ["a"]
    made, child = public._kept.cache_info().currsize, os.fork()
    if child == 0:
        os._exit(0 if _looked_at("b") == ["b"] and public._kept.cache_info().currsize == made + 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
