"""Every trap that existing systems were seen to fall into, each with the test that holds it, on every engine.

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
| CASE on an id, IN, EXISTS | tests/attacks/test_oracles_everywhere.py::test_one_person_shows_in_no_refusal_price_or_layout |
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
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

import pytest

import deniable as dp
from deniable.errors import QueryRefused
from deniable.noise import Entropy
from deniable.release.session import Session
from deniable.testing import Seeded, Silent
from tests.docs.pages import is_a_test
from tests.engines.everywhere import ENGINES, KEY, placed, servers_of
from tests.engines.sql_schemas import World

Opened: TypeAlias = Callable[..., Session]
EVERYWHERE = pytest.mark.parametrize("engine", ENGINES)

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


def _changed(**columns: Any) -> dict[str, list[Any]]:
    """A few orders, some of their columns changed."""
    count = max(map(len, columns.values()))
    return {**_rows(count), **columns}


def _backwards(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: cells[::-1] for name, cells in rows.items()}


_FEW = _changed(uid=[i // 10 for i in range(60)])
ORDERS: dict[str, dict[str, list[Any]]] = {
    "plain": _rows(),
    "backwards": _backwards(_rows()),
    "few people": _FEW,
    "few people, backwards": _backwards(_FEW),
    "odd reals": _changed(x=[math.nan, math.inf, -math.inf, 5.0, 1e300, -1e300, None, 0.0]),
    "missing": _changed(uid=[None, 0, 1, 1, 2, 2, 3, 3], kind=["a", None, *"ababab"], word=["Ant", "ant", None] + ["Ant"] * 5),
    "a word of one": _changed(word=["only one person says this", *_rows()["word"][1:]]),
    "numbers as texts": _changed(n=["7", "seven", "", "5000", "1e9", "3.5"]),
    "one order id": _changed(oid=[0] * 60),
}  # fmt: skip
"""What the orders are in each test; each is stored once on each engine."""

_TYPES = {
    "people": {"uid": "BIGINT", "sex": "VARCHAR"},
    "orders": {
        "oid": "BIGINT", "uid": "BIGINT", "x": "DOUBLE", "n": "BIGINT", "kind": "VARCHAR", "word": "VARCHAR", "day": "VARCHAR",
    },
    "lines": {"oid": "BIGINT", "q": "BIGINT"},
    "kinds": {"kind": "VARCHAR", "title": "VARCHAR"},
}  # fmt: skip


def _world(orders: str, unit: tuple[tuple[str, int], ...]) -> World:
    tables = {
        "people": {"uid": list(range(30)), "sex": ["fm"[i % 2] for i in range(30)]},
        "orders": ORDERS[orders],
        "lines": {"oid": [i % 60 for i in range(120)], "q": [i % 10 for i in range(120)]},
        "kinds": {"kind": ["a", "b"], "title": ["first", "second"]},
    }
    number = {"n": "VARCHAR"} if orders == "numbers as texts" else {}
    types = {**_TYPES, "orders": {**_TYPES["orders"], **number}}
    return World({**_BOOK, "unit": {**_BOOK["unit"], **dict(unit)}}, tables, types)


@pytest.fixture(scope="module")
def opened(request: pytest.FixtureRequest) -> Opened:
    """Fresh sessions, rich and silent unless told otherwise, over data sets that are placed once and shared."""

    @cache
    def data(engine: str, orders: str, key: bytes, unit: tuple[tuple[str, int], ...]) -> dp.Dataset:
        return placed(engine, _world(orders, unit), servers_of(request), key=key)

    def session(
        engine: str, orders: str = "plain", *, entropy: Entropy | None = None, key: bytes = KEY, **unit: int
    ) -> Session:
        rich = dp.budget(epsilon=10**6, delta=0.5)
        return data(engine, orders, key, tuple(unit.items())).session(rich, entropy=entropy or Silent())

    return session


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


@EVERYWHERE
def test_a_sum_is_exact_and_the_same_in_any_order(opened: Opened, engine: str) -> None:
    cells = ORDERS["plain"]["x"]
    exact = sum(Fraction(str(x)) for x in cells)
    sums = [_value(opened(engine, each), "SELECT SUM(x) AS v FROM orders") for each in ("plain", "backwards")]
    assert sums[0] == sums[1] == float(exact)
    assert sum(cells) != float(exact), "floats would have lost it"


@EVERYWHERE
def test_no_digit_of_the_grid_is_lost(request: pytest.FixtureRequest, engine: str) -> None:
    number = {"type": "number", "bounds": [0, 1000000000], "step": 0.000001}
    values = [123456789.012345, 987654321.987654, 0.000001]
    book = {"unit": "rows", "table": "t", "variables": {"x": number}}
    data = placed(engine, World(book, {"t": {"x": values}}, {"t": {"x": "DOUBLE"}}), servers_of(request))
    release = data.session(dp.budget(epsilon=10**9), entropy=Silent()).sql("SELECT SUM(x) AS v FROM t", epsilon=10**8)
    assert isinstance(release, dp.Release)
    assert release.value("v") == float(sum(Fraction(str(value)) for value in values))


@EVERYWHERE
def test_nan_and_infinities_are_missing_before_the_clamp(opened: Opened, engine: str) -> None:
    session = opened(engine, "odd reals")
    assert _value(session, "SELECT COUNT(x) AS v FROM orders") == 4
    assert _value(session, "SELECT SUM(x) AS v FROM orders") == 5.0  # 1000 and -1000 cancel


@EVERYWHERE
def test_missing_units_keys_and_values(opened: Opened, engine: str) -> None:
    session = opened(engine, "missing")
    assert _value(session, "SELECT COUNT(*) AS v FROM orders") == 7, "a row of nobody is left out"
    by_kind = session.sql("SELECT kind, COUNT(*) AS v FROM orders GROUP BY kind", epsilon=9)
    assert isinstance(by_kind, dp.Release)
    assert by_kind.notes[-1].startswith("Rows whose kind")
    assert sum(by_kind.columns["v"].values) == 6
    assert _value(session, "SELECT COUNT(word) AS v FROM orders") == 6
    assert _code(session, "SELECT COUNT(*) FROM orders WHERE word NOT IN (SELECT title FROM kinds)") == "not-in-null"
    left = "SELECT COUNT(*) AS n, COUNT(o.oid) AS v FROM people p LEFT JOIN orders o ON p.uid = o.uid"
    assert _value(session, left) == 7
    assert _value(session, left, "n") == 7 + 26


@EVERYWHERE
def test_what_could_raise_is_total_or_refused_from_the_text(opened: Opened, engine: str) -> None:
    session = opened(engine)
    zero = ORDERS["plain"]["n"].count(0)
    assert _value(session, "SELECT COUNT(10 / n) AS v FROM orders") == 60 - zero
    for query in (
        "SELECT COUNT(*) FROM orders WHERE ln(n) > 0",
        "SELECT COUNT(*) FROM orders WHERE sqrt(n) > 0",
        "SELECT COUNT(*) FROM orders WHERE CAST(word AS INTEGER) = 1",
        "SELECT SUM(n * 9000000000000000000) FROM orders",
        "SELECT COUNT(*) FROM orders WHERE n / 0 = 1",
    ):
        assert _code(session, query)


@EVERYWHERE
def test_bounding_does_not_depend_on_the_order_of_rows(opened: Opened, engine: str) -> None:
    forwards, other_keys = opened(engine, "few people"), [bytes([other] * 32) for other in (1, 2, 3)]
    for query, keyed in (
        ("SELECT AVG(n) AS v FROM orders", False),
        ("SELECT COUNT(DISTINCT n) AS v FROM orders", True),
    ):
        kept = _value(forwards, query)
        assert kept == _value(opened(engine, "few people, backwards"), query)
        assert kept == _value(opened("DuckDB", "few people"), query), "every engine keeps the same rows"
        others = {_value(opened(engine, "few people", key=key), query) for key in other_keys}
        assert (others != {kept}) is keyed, (
            "rows weigh alike, whatever the key; which values are kept only the key knows"
        )
    assert _code(forwards, "SELECT COUNT(*) FROM orders WHERE random() < 0.5")
    assert _code(forwards, "SELECT setseed(0.5), COUNT(*) FROM orders")


@EVERYWHERE
def test_dialects_mean_what_they_say(opened: Opened, engine: str) -> None:
    session, n = opened(engine), ORDERS["plain"]["n"]
    assert _value(session, "SELECT COUNT(*) AS v FROM orders WHERE n / 2 = 0.5") == n.count(1)
    assert _code(session, "SELECT COUNT(*) FROM orders WHERE n / 2 = 0", dialect="postgres") == "integer-division"
    assert _value(session, "SELECT COUNT(*) AS v FROM orders WHERE n % 3 = -1") == sum(
        math.fmod(each, 3) == -1 for each in n
    )
    assert _value(session, "SELECT COUNT(*) AS v FROM orders WHERE word LIKE 'A%'") == 30
    assert _value(session, "SELECT COUNT(*) AS v FROM orders WHERE EXTRACT(month FROM day) = 2") == 5
    assert _code(session, "SELECT COUNT(*) FROM orders WHERE word < 'B'")


@EVERYWHERE
def test_order_limit_and_having_see_noise_only(opened: Opened, engine: str) -> None:
    session = opened(engine, entropy=Seeded(3))
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


@EVERYWHERE
def test_keys_are_declared_or_above_a_threshold(opened: Opened, engine: str) -> None:
    session = opened(engine, "a word of one")
    shown = session.sql("SELECT word, COUNT(*) AS v FROM orders GROUP BY word", epsilon=5)
    assert isinstance(shown, dp.Release)
    assert {group[0] for group in shown.groups} == {"Ant", "ant"}
    assert _value(session, "SELECT COUNT(*) AS v FROM orders WHERE kind = 'never'") == 0
    declared = session.sql("SELECT kind, COUNT(*) AS v FROM orders WHERE n > 100 GROUP BY kind", epsilon=5)
    assert isinstance(declared, dp.Release)
    assert len(declared.groups) == 3


@EVERYWHERE
def test_types_and_bounds_come_from_the_codebook(opened: Opened, engine: str) -> None:
    session = opened(engine, "numbers as texts")
    assert _value(session, "SELECT SUM(n) AS v FROM orders") == 7 + 100
    assert _value(session, "SELECT COUNT(n) AS v FROM orders") == 2


@EVERYWHERE
def test_the_same_question_has_one_answer(opened: Opened, engine: str) -> None:
    session = opened(engine, entropy=Seeded(4))
    first = session.sql("SELECT COUNT(*) AS v FROM orders WHERE n > 1 AND n < 5", epsilon=1)
    spent = session.spent
    again = session.sql("select count(*) as V from ORDERS o where 5 > o.n and not (o.n <= 1)", epsilon=1)
    assert isinstance(first, dp.Release)
    assert isinstance(again, dp.Release)
    assert first.value("v") == again.value("V")
    assert session.spent == spent


@EVERYWHERE
def test_counts_are_whole_numbers_with_noise_around_zero(request: pytest.FixtureRequest, engine: str) -> None:
    names = [f"k{i}" for i in range(900)]
    book = {"unit": "rows", "table": "t", "variables": {"k": {"type": "string", "categories": names}}}
    data = placed(engine, World(book, {"t": {"k": names}}, {"t": {"k": "VARCHAR"}}), servers_of(request))
    session = data.session(dp.budget(epsilon=9), entropy=Seeded(9))
    release = session.sql("SELECT k, COUNT(*) AS v FROM t GROUP BY k", epsilon=1, law="laplace")
    assert isinstance(release, dp.Release)
    counts = release.columns["v"].values
    assert all(isinstance(count, int) for count in counts)
    # the mean of 900 draws of scale 1 has deviation 0.045; counts cut to whole numbers would lean by half of one
    assert abs(sum(counts) / 900 - 1) < 0.3


@EVERYWHERE
@pytest.mark.parametrize("what", ["COUNT(*)", "SUM(n)", "AVG(n)", "STDDEV(n)", "MEDIAN(n)", "COUNT(*), SUM(n), AVG(n)"])
def test_the_price_shown_is_the_price_charged(opened: Opened, engine: str, what: str) -> None:
    session = opened(engine)
    query = f"SELECT kind, {what} FROM orders GROUP BY kind"
    explained = session.sql(f"EXPLAIN DP {query}", epsilon=Fraction(1, 3))
    answer = session.sql(query, epsilon=Fraction(1, 3))
    assert explained.price.pair.loss == Fraction(1, 3)  # type: ignore[union-attr]
    assert answer.receipt.cost == explained.price.charge  # type: ignore[union-attr]


@EVERYWHERE
def test_private_tables_meet_on_the_unit_or_along_a_link(opened: Opened, engine: str) -> None:
    session = opened(engine, groups=3, rows_per_group=50)
    assert _value(session, "SELECT COUNT(*) AS v FROM orders o JOIN people p ON o.uid = p.uid") == 60
    assert _value(session, "SELECT COUNT(*) AS v FROM lines l JOIN orders o ON l.oid = o.oid") == 120
    assert _code(session, "SELECT COUNT(*) FROM orders a JOIN orders b ON a.n = b.n") == "join-not-on-unit"
    assert _code(session, "SELECT COUNT(*) FROM orders a, people b")
    tight = opened(engine, "one order id")
    assert _value(tight, "SELECT COUNT(*) AS v FROM lines l JOIN orders o ON l.oid = o.oid") <= 30 * 2, (
        "bounded after the join"
    )


@EVERYWHERE
def test_a_public_query_is_free(opened: Opened, engine: str) -> None:
    session = opened(engine)
    before = session.spent
    release = session.sql("SELECT title FROM kinds ORDER BY title DESC LIMIT 1")
    assert isinstance(release, dp.Release)
    assert release.table == [{"title": "second"}]
    assert release.guarantee.startswith("Public")
    assert session.spent == before


@EVERYWHERE
def test_groups_of_one_unit_are_refused(opened: Opened, engine: str) -> None:
    session = opened(engine)
    assert _code(session, "SELECT uid, COUNT(*) FROM orders GROUP BY uid") == "group-by-unit"
    assert _code(session, "SELECT oid, SUM(q) FROM lines GROUP BY oid") == "group-by-unit"
    assert (
        _code(session, "SELECT p.uid AS who, COUNT(*) FROM people p JOIN orders o ON p.uid = o.uid GROUP BY who")
        == "group-by-unit"
    )
