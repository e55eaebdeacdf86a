"""Every trap that existing systems were seen to fall into, each with the test that holds it; engines share the answers.

| trap | test |
|---|---|
| a float sum depends on the order of rows | test_a_sum_is_exact_and_the_same_in_any_order |
| many digits are lost on the way to the sum | test_no_digit_of_the_grid_is_lost |
| NaN and infinities | test_nan_and_infinities_are_missing_before_the_clamp |
| missing units, keys, NOT IN with NULL, outer joins | test_missing_units_keys_and_values |
| division by zero, ln, sqrt, casts, overflow raise | test_what_could_raise_is_total_or_refused_from_the_text |
| an order that can be predicted or repeated | test_bounding_does_not_depend_on_the_order_of_rows |
| `/`, `%`, LIKE and dates differ by dialect | test_dialects_mean_what_they_say |
| ORDER BY, LIMIT, HAVING before noise; order of groups | test_order_limit_and_having_see_noise_only |
| observed keys | test_keys_are_declared_or_above_a_threshold |
| CASE on an id, IN, EXISTS | tests/attacks/test_sql_threats.py::test_refusals_prices_and_layout_do_not_depend_on_one_person |
| metadata read from data | test_types_and_bounds_come_from_the_codebook |
| fresh noise for a repeated query | test_the_same_question_has_one_answer |
| counts truncated to whole numbers | test_counts_are_whole_numbers_with_noise_around_zero |
| hidden charges | test_the_price_shown_is_the_price_charged |
| private joins | test_private_tables_meet_on_the_unit_or_along_a_link |
| public queries | test_a_public_query_is_free |
| GROUP BY the unit | test_groups_of_one_unit_are_refused |
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import pytest

import deniable as dp
from deniable.engines import connect
from deniable.errors import QueryRefused
from deniable.release.session import Session
from deniable.testing import Seeded, Silent
from tests.docs.pages import is_a_test

_BOOK: dict[str, Any] = {
    "unit": {"id": "uid", "groups": 2, "rows_per_group": 2},
    "tables": {
        "people": {"variables": {"uid": "integer", "sex": {"type": "string", "categories": ["f", "m"]}}},
        "orders": {
            "unit": "uid",
            "variables": {
                "oid": "integer",
                "uid": "integer",
                "x": {"type": "number", "bounds": [-1000, 1000], "step": 0.1},
                "n": {"type": "integer", "bounds": [-100, 100]},
                "kind": {"type": "string", "categories": ["a", "b", "never"]},
                "word": "string",
                "day": {"type": "date", "bounds": ["2024-01-01", "2024-12-31"]},
            },
        },
        "lines": {"links": ["oid -> orders.oid"], "variables": {"oid": "integer", "q": {"type": "integer", "bounds": [0, 9]}}},
        "kinds": {"public": True, "variables": {"kind": "string", "title": "string"}},
    },
}  # fmt: skip


def _rows(count: int = 60) -> dict[str, list[Any]]:
    return {
        "oid": list(range(count)),
        "uid": [i // 2 for i in range(count)],
        "x": [round((i * 37 % 200) / 10 - 7, 1) for i in range(count)],
        "n": [i % 15 - 7 for i in range(count)],
        "kind": ["ab"[i % 2] for i in range(count)],
        "word": [["Ant", "ant"][i % 2] for i in range(count)],
        "day": [f"2024-{1 + i % 12:02d}-28" for i in range(count)],
    }


def _session(
    orders: dict[str, list[Any]] | None = None, *, entropy: Any = None, key: int | None = None, **unit: int
) -> Session:
    tables: Any = {
        "people": {"uid": list(range(30)), "sex": ["fm"[i % 2] for i in range(30)]},
        "orders": orders or _rows(),
        "lines": {"oid": [i % 60 for i in range(120)], "q": [i % 10 for i in range(120)]},
        "kinds": {"kind": ["a", "b"], "title": ["first", "second"]},
    }
    book = dp.Codebook.from_record({**_BOOK, "unit": {**_BOOK["unit"], **unit}})
    return dp.Dataset(tables if key is None else connect(tables, book, key=key), codebook=book).session(
        dp.budget(epsilon=10**6, delta=0.5), entropy=entropy or Silent()
    )


def _value(session: Session, query: str, name: str = "v") -> Any:
    release = session.sql(query, epsilon=1000)
    assert isinstance(release, dp.Release)
    return release.value(name)


def _code(session: Session, query: str, **terms: Any) -> str:
    before = session.spent
    with pytest.raises(QueryRefused) as refusal:
        session.sql(query, epsilon=1, **terms)
    assert session.spent == before
    return refusal.value.code


def test_every_trap_names_a_test() -> None:
    named = re.findall(r"\| ((?:tests/\S+::)?test_\w+) \|", __doc__ or "")
    assert len(named) == 17
    for name in named:
        assert is_a_test(name if "::" in name else f"tests/attacks/test_sql_traps.py::{name}"), name


def test_a_sum_is_exact_and_the_same_in_any_order() -> None:
    rows = _rows()
    exact = sum(Fraction(str(x)) for x in rows["x"])
    backwards = {name: cells[::-1] for name, cells in rows.items()}
    sums = [_value(_session(each), "SELECT SUM(x) AS v FROM orders") for each in (rows, backwards)]
    assert sums[0] == sums[1] == float(exact)
    assert sum(rows["x"]) != float(exact), "floats would have lost it"


def test_no_digit_of_the_grid_is_lost() -> None:
    book = {
        "unit": "rows",
        "table": "t",
        "variables": {"x": {"type": "number", "bounds": [0, 1000000000], "step": 0.000001}},
    }
    values = [123456789.012345, 987654321.987654, 0.000001]
    data = dp.Dataset({"x": values}, codebook=book)
    release = data.session(dp.budget(epsilon=10**9), entropy=Silent()).sql("SELECT SUM(x) AS v FROM t", epsilon=10**8)
    assert isinstance(release, dp.Release)
    assert release.value("v") == float(sum(Fraction(str(value)) for value in values))


def test_nan_and_infinities_are_missing_before_the_clamp() -> None:
    rows = _rows(8)
    rows["x"] = [math.nan, math.inf, -math.inf, 5.0, 1e300, -1e300, None, 0.0]
    session = _session(rows)
    assert _value(session, "SELECT COUNT(x) AS v FROM orders") == 4
    assert _value(session, "SELECT SUM(x) AS v FROM orders") == 5.0  # 1000 and -1000 cancel


def test_missing_units_keys_and_values() -> None:
    rows = _rows(8)
    rows["uid"][0] = None
    rows["kind"][1] = None
    rows["word"][2] = None
    session = _session(rows)
    assert _value(session, "SELECT COUNT(*) AS v FROM orders") == 7, "a row of nobody is left out"
    assert (
        session.sql("SELECT kind, COUNT(*) AS v FROM orders GROUP BY kind", epsilon=9)
        .notes[-1]
        .startswith("Rows whose kind")
    )  # type: ignore[union-attr]
    assert _value(session, "SELECT COUNT(word) AS v FROM orders") == 6
    assert _code(session, "SELECT COUNT(*) FROM orders WHERE word NOT IN (SELECT title FROM kinds)") == "not-in-null"
    left = "SELECT COUNT(*) AS n, COUNT(o.oid) AS v FROM people p LEFT JOIN orders o ON p.uid = o.uid"
    assert _value(session, left) == 7
    assert _value(session, left, "n") == 7 + 26


def test_what_could_raise_is_total_or_refused_from_the_text() -> None:
    session = _session()
    zero = sum(1 for n in _rows()["n"] if n == 0)
    assert _value(session, "SELECT COUNT(10 / n) AS v FROM orders") == 60 - zero
    for query in (
        "SELECT COUNT(*) FROM orders WHERE ln(n) > 0",
        "SELECT COUNT(*) FROM orders WHERE sqrt(n) > 0",
        "SELECT COUNT(*) FROM orders WHERE CAST(word AS INTEGER) = 1",
        "SELECT SUM(n * 9000000000000000000) FROM orders",
        "SELECT COUNT(*) FROM orders WHERE n / 0 = 1",
    ):
        assert _code(session, query)


def test_bounding_does_not_depend_on_the_order_of_rows() -> None:
    rows = _rows()
    rows["uid"] = [i // 10 for i in range(60)]
    backwards = {name: cells[::-1] for name, cells in rows.items()}
    query = "SELECT AVG(n) AS v FROM orders"
    sessions = [_session(each, key=2**200 + 1) for each in (rows, backwards)]
    assert _value(sessions[0], query) == _value(sessions[1], query)
    others = {_value(_session(rows, key=2**200 + other), query) for other in (1, 2, 3)}
    assert len(others) > 1, "without the key nobody can tell whose rows are kept"
    assert _code(sessions[0], "SELECT COUNT(*) FROM orders WHERE random() < 0.5")
    assert _code(sessions[0], "SELECT setseed(0.5), COUNT(*) FROM orders")


def test_dialects_mean_what_they_say() -> None:
    session, n = _session(), _rows()["n"]
    assert _value(session, "SELECT COUNT(*) AS v FROM orders WHERE n / 2 = 0.5") == n.count(1)
    assert _code(session, "SELECT COUNT(*) FROM orders WHERE n / 2 = 0", dialect="postgres") == "integer-division"
    assert _value(session, "SELECT COUNT(*) AS v FROM orders WHERE n % 3 = -1") == sum(
        math.fmod(each, 3) == -1 for each in n
    )
    assert _value(session, "SELECT COUNT(*) AS v FROM orders WHERE word LIKE 'A%'") == 30
    assert _value(session, "SELECT COUNT(*) AS v FROM orders WHERE EXTRACT(month FROM day) = 2") == 5
    assert _code(session, "SELECT COUNT(*) FROM orders WHERE word < 'B'")


def test_order_limit_and_having_see_noise_only() -> None:
    session = _session(entropy=Seeded(3))
    grouped = "SELECT kind, COUNT(*) AS v FROM orders GROUP BY kind"
    full = session.sql(grouped, epsilon=1)
    assert isinstance(full, dp.Release)
    assert [group[0] for group in full.groups] == ["a", "b", "never"], "the public order"
    spent = session.spent
    noisy = {group[0]: value for group, value in zip(full.groups, full.columns["v"].values, strict=True)}
    first = session.sql(f"{grouped} ORDER BY v DESC LIMIT 1", epsilon=1)
    kept = session.sql(f"{grouped} HAVING v > 0", epsilon=1)
    assert isinstance(first, dp.Release)
    assert isinstance(kept, dp.Release)
    assert first.groups == ((max(noisy, key=lambda key: noisy[key]),),)
    assert {group[0] for group in kept.groups} == {key for key, value in noisy.items() if value > 0}
    assert session.spent == spent
    assert _code(session, "SELECT COUNT(*) FROM (SELECT * FROM orders ORDER BY n LIMIT 1) t")


def test_keys_are_declared_or_above_a_threshold() -> None:
    rows = _rows()
    rows["word"][0] = "only one person says this"
    session = _session(rows)
    shown = session.sql("SELECT word, COUNT(*) AS v FROM orders GROUP BY word", epsilon=5)
    assert isinstance(shown, dp.Release)
    assert {group[0] for group in shown.groups} == {"Ant", "ant"}
    assert _value(session, "SELECT COUNT(*) AS v FROM orders WHERE kind = 'never'") == 0
    declared = session.sql("SELECT kind, COUNT(*) AS v FROM orders WHERE n > 100 GROUP BY kind", epsilon=5)
    assert isinstance(declared, dp.Release)
    assert len(declared.groups) == 3


def test_types_and_bounds_come_from_the_codebook() -> None:
    rows = _rows(6)
    rows["n"] = ["7", "seven", "", "5000", "1e9", "3.5"]
    session = _session(rows)
    assert _value(session, "SELECT SUM(n) AS v FROM orders") == 7 + 100
    assert _value(session, "SELECT COUNT(n) AS v FROM orders") == 2


def test_the_same_question_has_one_answer() -> None:
    session = _session(entropy=Seeded(4))
    first = session.sql("SELECT COUNT(*) AS v FROM orders WHERE n > 1 AND n < 5", epsilon=1)
    spent = session.spent
    again = session.sql("select count(*) as V from ORDERS o where 5 > o.n and not (o.n <= 1)", epsilon=1)
    assert isinstance(first, dp.Release)
    assert isinstance(again, dp.Release)
    assert first.value("v") == again.value("V")
    assert session.spent == spent


def test_counts_are_whole_numbers_with_noise_around_zero() -> None:
    names = [f"k{i}" for i in range(900)]
    book = {"unit": "rows", "table": "t", "variables": {"k": {"type": "string", "categories": names}}}
    session = dp.Dataset({"k": names}, codebook=book).session(dp.budget(epsilon=9), entropy=Seeded(9))
    release = session.sql("SELECT k, COUNT(*) AS v FROM t GROUP BY k", epsilon=1, law="laplace")
    assert isinstance(release, dp.Release)
    counts = release.columns["v"].values
    assert all(isinstance(count, int) for count in counts)
    # the mean of 900 draws of scale 1 has deviation 0.045; counts cut to whole numbers would lean by half of one
    assert abs(sum(counts) / 900 - 1) < 0.3


@pytest.mark.parametrize("what", ["COUNT(*)", "SUM(n)", "AVG(n)", "STDDEV(n)", "MEDIAN(n)", "COUNT(*), SUM(n), AVG(n)"])
def test_the_price_shown_is_the_price_charged(what: str) -> None:
    session = _session()
    query = f"SELECT kind, {what} FROM orders GROUP BY kind"
    explained = session.sql(f"EXPLAIN DP {query}", epsilon=Fraction(1, 3))
    before = session.spent
    session.sql(query, epsilon=Fraction(1, 3))
    assert explained.price.spend.loss == Fraction(1, 3)  # type: ignore[union-attr]
    assert session.spent.loss - before.loss == Fraction(1, 3)


def test_private_tables_meet_on_the_unit_or_along_a_link() -> None:
    session = _session(groups=3, rows_per_group=50)
    assert _value(session, "SELECT COUNT(*) AS v FROM orders o JOIN people p ON o.uid = p.uid") == 60
    assert _value(session, "SELECT COUNT(*) AS v FROM lines l JOIN orders o ON l.oid = o.oid") == 120
    assert _code(session, "SELECT COUNT(*) FROM orders a JOIN orders b ON a.n = b.n") == "join-not-on-unit"
    assert _code(session, "SELECT COUNT(*) FROM orders a, people b")
    doubled = _rows()
    doubled["oid"] = [0] * 60
    tight = _session(doubled)
    assert _value(tight, "SELECT COUNT(*) AS v FROM lines l JOIN orders o ON l.oid = o.oid") <= 30 * 2, (
        "bounded after the join"
    )


def test_a_public_query_is_free() -> None:
    session = _session()
    before = session.spent
    release = session.sql("SELECT title FROM kinds ORDER BY title DESC LIMIT 1")
    assert isinstance(release, dp.Release)
    assert release.table == [{"title": "second"}]
    assert release.guarantee.startswith("Public")
    assert session.spent == before


def test_groups_of_one_unit_are_refused() -> None:
    session = _session()
    assert _code(session, "SELECT uid, COUNT(*) FROM orders GROUP BY uid") == "group-by-unit"
    assert _code(session, "SELECT oid, SUM(q) FROM lines GROUP BY oid") == "group-by-unit"
    assert (
        _code(session, "SELECT p.uid AS who, COUNT(*) FROM people p JOIN orders o ON p.uid = o.uid GROUP BY who")
        == "group-by-unit"
    )
