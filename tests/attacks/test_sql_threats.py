"""Oracles in SQL (threats S1, S2, S4, C1-C4, K1-K5, M1-M3): a question is refused from its text or answered privately.

Each pair of data sets below differs in one person in a way that would show if a refusal, a price, an error or an unpriced
value depended on the data.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from deniable.accounting import budget
from deniable.errors import DeniableError
from deniable.plan.codebook import Codebook
from deniable.query.sql import PrivateStatement, compile_statement, read
from deniable.release.answer import Release
from deniable.release.dataset import Dataset
from deniable.release.session import Session
from deniable.testing import Seeded, Silent

BOOK = {
    "unit": {"id": "uid", "groups": 2, "rows_per_group": 3},
    "tables": {
        "t": {
            "variables": {
                "uid": "integer",
                "x": {"type": "integer", "bounds": [0, 100]},
                "word": "string",
                "kind": {"type": "string", "categories": ["a", "b"]},
            }
        },
        "names": {"public": True, "variables": {"name": "string"}},
    },
}
_NAMES = {"name": ["usual"]}


def people(*, odd: bool) -> dict[str, dict[str, list[Any]]]:
    """Forty people; when `odd`, one more whose cells are unlike any other's."""
    rows = {"uid": [i // 2 for i in range(80)], "x": [10 + i % 50 for i in range(80)]}
    rows |= {"word": ["usual"] * 80, "kind": ["ab"[i % 2] for i in range(80)]}  # type: ignore[dict-item]
    if odd:
        for name, value in {"uid": 777, "x": 3, "word": "not a number", "kind": "a"}.items():
            rows[name] = [*rows[name], value, value]  # type: ignore[list-item]
    return {"t": rows, "names": _NAMES}


def _session(*, odd: bool, silent: bool = False) -> Session:
    data = Dataset(people(odd=odd), codebook=Codebook.from_record(BOOK))
    return data.session(budget(epsilon=1000, delta=1e-3), entropy=Silent() if silent else Seeded(5))


ORACLES = [
    "SELECT COUNT(*) FROM t WHERE 1 / (x - 3) > 0",
    "SELECT COUNT(*) FROM t WHERE x % 3 = 0 AND 100 / (x - 3) > 5",
    "SELECT SUM(100 / (x - 3)) FROM t",
    "SELECT COUNT(*) FROM t WHERE CAST(word AS INTEGER) = 1",
    "SELECT COUNT(*) FROM t WHERE CAST(word AS DATE) = DATE '2024-01-01'",
    "SELECT COUNT(*) FROM t WHERE word::INT > 3",
    "SELECT COUNT(*) FROM t WHERE ln(x - 3) > 0",
    "SELECT COUNT(*) FROM t WHERE sqrt(x - 10) > 0",
    "SELECT SUM(x * 9000000000000000000) FROM t",
    "SELECT COUNT(*) FROM t WHERE x * x * x * x * x * x * x * x * x * x > 1",
    "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM t WHERE uid = 777)",
    "SELECT COUNT(*) FROM t a WHERE EXISTS (SELECT 1 FROM t b WHERE b.uid = a.uid AND b.x = 3)",
    "SELECT COUNT(*) FROM t WHERE x IN (SELECT x FROM t WHERE uid = 777)",
    "SELECT COUNT(*) FROM t WHERE uid IN (SELECT uid FROM t WHERE x = 3)",
    "SELECT COUNT(*) FROM names WHERE name IN (SELECT word FROM t)",
    "SELECT COUNT(*) FROM names LEFT JOIN t ON name = word",
    "SELECT CASE WHEN uid = 777 THEN 'him' ELSE 'others' END AS who, COUNT(*) FROM t GROUP BY 1",
    "SELECT uid = 777 AS him, SUM(x) FROM t GROUP BY him",
    "SELECT uid, COUNT(*) FROM t GROUP BY uid",
    "SELECT x FROM t ORDER BY x LIMIT 1",
    "SELECT COUNT(*) FROM (SELECT * FROM t ORDER BY x LIMIT 1) s",
    "SELECT kind, COUNT(*) AS n FROM t GROUP BY kind ORDER BY n LIMIT 1",
    "SELECT kind, COUNT(*) AS n FROM t GROUP BY kind HAVING SUM(x) > 100",
    "SELECT kind FROM t GROUP BY kind HAVING MIN(x) < 5",
    "SELECT word, COUNT(*) FROM t GROUP BY word",
    "SELECT DISTINCT word FROM t",
    "SELECT MIN(x), MAX(x) FROM t",
    "SELECT MEDIAN(x) FROM t WHERE x < 5",
    "SELECT COUNT(DISTINCT word) FROM t WHERE x < 5",
    "SELECT kind, MEDIAN(x) FROM t WHERE x < 5 GROUP BY ROLLUP (kind)",
    "SELECT word, QUANTILE(x, 0.9) FROM t WHERE x < 5 GROUP BY CUBE (word, kind)",
    "SELECT COUNT(*) FROM t a JOIN t b ON a.kind = b.kind",
    "SELECT COUNT(*) FROM t a JOIN t b ON a.uid = b.uid",
    "SELECT COUNT(*) FROM t WHERE (SELECT COUNT(*) FROM t WHERE uid = 777) = 1",
    "SELECT error(word) FROM t",
    "SELECT COUNT(*) FROM t WHERE error('x') IS NULL",
    "SELECT SUM(x) OVER () FROM t",
    "SELECT LIST(x) FROM t",
    "SELECT COUNT(*) FILTER (WHERE uid = 777) FROM t",
    "SELECT AVG(LEAST(n, 5)) FROM (SELECT uid, COUNT(*) AS n FROM t GROUP BY uid) s",
]


def outcome(session: Session, query: str) -> tuple[str, Any]:
    """What an analyst can see without looking at values: the refusal's words, or the price, columns and notes."""
    before = session.spent
    try:
        release = session.sql(query, epsilon=1)
    except DeniableError as error:
        assert session.spent == before, "a refusal costs nothing"
        return "refused", str(error)
    assert isinstance(release, Release)
    assert session.spent != before, "an answer is charged"
    charged = (session.spent.loss - before.loss, session.spent.delta - before.delta)
    return "answered", (charged, release.keys, [c.kind for c in release.columns.values()], release.notes)


@cache
def _shared(odd: bool) -> Session:
    return _session(odd=odd)


@pytest.mark.parametrize("query", ORACLES)
def test_refusals_prices_and_layout_do_not_depend_on_one_person(query: str) -> None:
    kind, said = seen = outcome(_shared(True), query)
    assert seen == outcome(_shared(False), query)
    if kind == "refused":
        told = said.lower()
        assert not any(word in told for word in ("duckdb", "binder", "conversion", "invalid input", "out of range"))
        assert "not a number" not in told.replace("is not a number", "")


def test_division_by_zero_is_missing_and_counted_out_not_raised() -> None:
    release = _session(odd=True, silent=True).sql("SELECT COUNT(*) AS n FROM t WHERE 1 / (x - 10) > 0", epsilon=100)
    assert isinstance(release, Release)
    assert release.value("n") == sum(1 for x in people(odd=True)["t"]["x"] if x > 10)


def test_a_unique_key_is_hidden_by_the_threshold() -> None:
    release = _session(odd=True, silent=True).sql("SELECT word, COUNT(*) AS n FROM t GROUP BY word", epsilon=10)
    assert isinstance(release, Release)
    assert release.groups == (("usual",),)


def test_declared_groups_are_all_shown_when_empty() -> None:
    release = _session(odd=False, silent=True).sql(
        "SELECT kind, COUNT(*) AS n FROM t WHERE x > 1000 GROUP BY kind", epsilon=1
    )
    assert isinstance(release, Release)
    assert release.groups == (("a",), ("b",))


def test_a_self_join_cannot_raise_what_one_person_adds() -> None:
    """C1: bounding comes after the join; sixteen copies of one person still count three times."""
    data = people(odd=False)
    for name, value in {"uid": 777, "x": 3, "word": "usual", "kind": "a"}.items():
        data["t"][name] = [*data["t"][name], *[value] * 4]
    session = Dataset(data, codebook=Codebook.from_record(BOOK)).session(budget(epsilon=1000), entropy=Silent())
    without = _session(odd=False, silent=True)
    query = "SELECT COUNT(*) AS n FROM t a JOIN t b ON a.uid = b.uid"
    counts = [each.sql(query, epsilon=1).value("n") for each in (session, without)]  # type: ignore[union-attr]
    assert counts[0] - counts[1] == 3


REWRITES = [
    "SELECT kind, COUNT(*) AS n FROM t WHERE x > 20 AND x < 40 GROUP BY kind",
    "SELECT kind, COUNT(*) AS n FROM t WHERE x < 40 AND x > 20 GROUP BY kind",
    "select KIND, count(*) as n from T where 40 > X and 20 < X group by 1",
    "SELECT v.kind, COUNT(*) AS n FROM t AS v WHERE NOT (x <= 20 OR x >= 40) GROUP BY v.kind",
    "SELECT kind, COUNT(*) AS n FROM (SELECT * FROM t WHERE x > 20) s WHERE x < 40 GROUP BY kind",
    "WITH s AS (SELECT * FROM t WHERE x > 20) SELECT kind, COUNT(*) AS n FROM s WHERE x < 40 GROUP BY kind",
    "SELECT kind, COUNT(*) AS n FROM t WHERE x > 20 AND x < 40 GROUP BY kind ORDER BY n DESC LIMIT 1",
    "SELECT kind, COUNT(*) AS n FROM t WHERE x > 20 AND x < 40 GROUP BY kind HAVING n > 3",
    "SELECT kind, n FROM (SELECT kind, COUNT(*) AS n FROM t WHERE x > 20 AND x < 40 GROUP BY kind) s WHERE n > 3",
]


def test_equivalent_rewrites_and_views_of_one_release_share_one_charge_and_one_draw() -> None:
    session = _session(odd=False)
    first = session.query("t").where("x > 20 and x < 40").group_by("kind").agg(n=_count()).release(epsilon=1)
    spent = session.spent
    for query in REWRITES:
        release = session.sql(query, epsilon=1)
        assert isinstance(release, Release)
        for key, value in zip(release.groups, release.columns["n"].values, strict=True):
            assert value == first.value("n", kind=key[0])
    assert session.spent == spent


def _count() -> Any:
    from deniable.query.aggregates import count

    return count()


def test_explaining_spends_nothing_and_reads_nothing() -> None:
    session = _session(odd=True)
    before = session.spent
    texts = [str(session.sql(f"EXPLAIN DP {query}")) for query in REWRITES]
    assert session.spent == before
    assert all("protects  one uid" in text and "price" in text and "scan t" in text for text in texts)


def test_compiling_touches_no_engine() -> None:
    """The compiler is given a codebook and text; there is no data it could look at."""
    statement = read("SELECT kind, AVG(x) AS m FROM t GROUP BY kind")
    built = compile_statement(statement, Codebook.from_record(BOOK), _Nobody())
    assert isinstance(built, PrivateStatement)


class _Nobody:
    def price_query(self, query: Any, payment: Any) -> Any:
        raise AssertionError("compiling asked for a price")

    def release_query(self, query: Any, payment: Any, request: Any) -> Any:
        raise AssertionError("compiling asked for a release")
