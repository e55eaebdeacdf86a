"""PostgreSQL: the reference engine's integers exactly, read-only, over one snapshot, credentials and cells never shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deniable as dp
from deniable.engines import connect
from deniable.engines.postgres import PostgresEngine, fenced
from deniable.engines.reference import ReferenceEngine
from deniable.errors import EngineFailed, InvalidArgument, Retired
from deniable.ledger import Ledger
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column
from deniable.plan.nodes import Bounding, Filter, GroupAgg, Join, KeyColumn, RowCount, Total, Units, scan
from deniable.plan.relation import schema
from deniable.plan.translate import parse
from tests.engines.random_plans import KEY, UNITS, as_values, codebook, plans, tables
from tests.engines.stored import Kinds, kinds, stored
from tests.engines.stored import Rows as Stored
from tests.servers import PASSWORD, POSTGRES, Postgres

pytestmark = POSTGRES
_LOOSE = [
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
    HealthCheck.function_scoped_fixture,
]
_TYPES = {"double": "double precision", "zoned": "timestamptz"}


@contextmanager
def loaded(server: Postgres, rows: Stored, chosen: Kinds) -> Iterator[dict[str, str]]:
    """The rows in tables of a schema of their own; where each is."""
    import psycopg

    schema = server.fresh("data")
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        for table, columns in rows.items():
            written = ", ".join(f'"{name}" {_TYPES.get(kind, kind)}' for name, kind in chosen[table].items())
            connection.execute(f"CREATE TABLE {schema}.{table} ({written})")
            marks = ", ".join(["%s"] * len(columns))
            cells = list(zip(*(columns[name] for name in chosen[table]), strict=True))
            connection.cursor().executemany(f"INSERT INTO {schema}.{table} VALUES ({marks})", cells)
        try:
            yield {table: f"{schema}.{table}" for table in rows}
        finally:
            connection.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.mark.parametrize("kind", list(UNITS))
@settings(max_examples=6, suppress_health_check=_LOOSE)
@given(data=st.data())
def test_random_plans_agree_with_the_reference(postgres: Postgres, kind: str, data: st.DataObject) -> None:
    book = codebook(kind)
    chosen = data.draw(kinds(book))
    rows = stored(data.draw(tables(kind)), chosen)
    reference = ReferenceEngine(rows, book, key=KEY)
    with loaded(postgres, rows, chosen) as places:
        engine = PostgresEngine(postgres.url(), book, key=KEY, tables=places)
        for _ in range(3):
            plan = data.draw(plans(book))
            assert as_values(engine.run(plan)) == as_values(reference.run(plan))


def _book(*variables: str, unit: str = "unit: rows") -> Codebook:
    return Codebook.from_yaml(f"{unit}\ntable: t\nvariables:\n" + "".join(f"  {each}\n" for each in variables))


def _total(book: Codebook, name: str) -> GroupAgg:
    known = book.tables[0].schema
    of = parse(name, schema=known)
    total = Total(of, *(end * known[name].step for end in known[name].ends))
    return GroupAgg(
        scan(book), (), Bounding(groups=1), (("rows", RowCount(1)), ("with", RowCount(1, of)), ("sum", total))
    )


@pytest.mark.parametrize(
    ("declared", "kind", "cells"),
    [
        ("number, bounds: [-50, 50], step: 5", "double precision", [5e-324, -5e-324, 1e-310, 2.5, -2.5, 7.4]),
        ("number, bounds: [-50, 50], step: 5", "double precision", [float("nan"), float("inf"), float("-inf"), -0.0]),
        ("number, bounds: [-50, 50], step: 0.5", "real", [1.25, 1e-40, 3e38, float("nan")]),
        ("number, bounds: [-50, 50], step: 7", "numeric", [Decimal("1e-400"), Decimal("1e400"), Decimal("NaN"), Decimal(9)]),
        ("number, bounds: [-50, 50], step: 7", "numeric", [Decimal("Infinity"), Decimal(-(10**40)), Decimal("-1e-330")]),
        ("number, bounds: [-1, 1], step: 0.5", "numeric", [Decimal(2**1024 - 2**970 - 1), Decimal(2**1024 - 2**970)]),
        ("integer, bounds: [-50, 50]", "numeric", [Decimal("1e30"), Decimal("2.0"), Decimal("2.5"), Decimal("NaN")]),
        ("integer, bounds: [-50, 50]", "double precision", [9.3e18, -9.3e18, 2.0, 2.5, float("nan"), float("inf")]),
        ("integer, bounds: [-50, 50]", "text", ["9" * 30, "-" + "9" * 30, "5\n", " 7 ", "+3", "1e2", "٣", "2.0"]),
        ("number, bounds: [-50, 50], step: 0.25", "text", ["1e99", "1e-99", "1e-400", "inf", "nan", ".5", "5.", "0x1p3"]),
        ("integer, bounds: [-50, 50]", "boolean", [True, False, None]),
        ("integer, bounds: [-50, 50]", "smallint", [3, -4, None]),
    ],
)  # fmt: skip
def test_no_cell_raises_and_every_cell_is_read_as_the_reference_reads_it(
    postgres: Postgres, declared: str, kind: str, cells: list[Any]
):
    """Division that underflows, casts out of range, NaN: in PostgreSQL each is an error, and an error is an oracle."""
    book = _book(f"x: {{type: {declared}}}")
    python = [None if cell is None else float(cell) if kind == "real" and cell == cell else cell for cell in cells]
    if kind == "real":
        import numpy as np

        python = [float(np.float32(cell)) for cell in cells]
    with loaded(postgres, {"t": {"x": cells}}, {"t": {"x": kind}}) as places:
        engine = PostgresEngine(postgres.url(), book, key=KEY, tables=places)
        plan = _total(book, "x")
        assert as_values(engine.run(plan)) == as_values(ReferenceEngine({"t": {"x": python}}, book, key=KEY).run(plan))


def test_text_is_equal_when_its_characters_are_whatever_the_collation(postgres: Postgres):
    book = _book("who: integer", "x: string", unit="unit: {id: who, groups: 9, rows_per_group: 1}")
    postgres.sql(
        "CREATE COLLATION IF NOT EXISTS public.any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    )
    words = ["a", "A", "é", "e\u0301", "Z", "b "]
    rows = {"t": {"who": list(range(6)), "x": words}}
    with loaded(postgres, rows, {"t": {"who": "bigint", "x": "text COLLATE public.any_case"}}) as places:
        engine = PostgresEngine(postgres.url(), book, key=KEY, tables=places)
        plan = GroupAgg(scan(book), (KeyColumn("x", Column("x")),), Bounding(groups=9), (("units", Units()),))
        assert as_values(engine.run(plan)) == as_values(ReferenceEngine(rows, book, key=KEY).run(plan))
        assert engine.run(plan).groups == 6


def test_enumerations_domains_and_unusual_types_are_read_or_refused(postgres: Postgres):
    book = _book("x: {type: string, categories: [a, b]}", "y: {type: integer, bounds: [0, 9]}", "z: timestamp")
    schema = postgres.fresh("data")
    postgres.sql(
        f"CREATE SCHEMA {schema}", f"CREATE TYPE {schema}.letter AS ENUM ('b', 'a')",
        f"CREATE DOMAIN {schema}.small AS int CHECK (value < 100)", f"CREATE DOMAIN {schema}.smaller AS {schema}.small",
        f"CREATE TABLE {schema}.t (x {schema}.letter, y {schema}.smaller, z timestamptz, w point)",
        f"INSERT INTO {schema}.t VALUES ('a', 3, 'infinity', NULL), ('b', NULL, '4000-01-01 BC', NULL), (NULL, 5, now(), NULL)",
        f"GRANT USAGE ON SCHEMA {schema} TO reader", f"GRANT SELECT ON {schema}.t TO reader",
        user="postgres",
    )  # fmt: skip
    engine = PostgresEngine(postgres.url("reader"), book, key=KEY, tables=[f"{schema}.t"])
    plan = GroupAgg(
        scan(book), (), Bounding(groups=1),
        (("x", RowCount(1, parse("x"))), ("y", RowCount(1, parse("y"))), ("z", RowCount(1, parse("z")))),
    )  # fmt: skip
    assert as_values(engine.run(plan)) == {"groups": 1, "level": [0], "keys": {}, "x": [2], "y": [2], "z": [1]}
    with pytest.raises(InvalidArgument, match="column 'w' has type point, which deniable does not read"):
        PostgresEngine(postgres.url("reader"), _book("w: string"), key=KEY, tables=[f"{schema}.t"])
    with pytest.raises(InvalidArgument, match="has no column 'nothing'"):
        PostgresEngine(postgres.url("reader"), _book("nothing: string"), key=KEY, tables=[f"{schema}.t"])


def test_a_view_is_refused_and_a_materialized_view_is_read(postgres: Postgres):
    book = _book("x: {type: integer, bounds: [0, 9]}")
    with loaded(postgres, {"t": {"x": [1, 2]}}, {"t": {"x": "bigint"}}) as places:
        schema = places["t"].partition(".")[0]
        postgres.sql(f"CREATE VIEW {schema}.v AS SELECT 10 / (x - 1) AS x FROM {schema}.t", user="curator")
        postgres.sql(f"CREATE MATERIALIZED VIEW {schema}.m AS SELECT x + 1 AS x FROM {schema}.t", user="curator")
        with pytest.raises(
            InvalidArgument, match="is not stored data; use the tables behind it or a materialized view"
        ):
            PostgresEngine(postgres.url(), book, key=KEY, tables=[f"{schema}.v"])
        engine = PostgresEngine(postgres.url(), book, key=KEY, tables=[f"{schema}.m"])
        assert engine.run(_total(book, "x")).columns["sum"].tolist() == [5]
        with pytest.raises(InvalidArgument, match=f"this role may not read it; GRANT SELECT ON {schema}.t"):
            PostgresEngine(postgres.url("reader"), book, key=KEY, tables=[f"{schema}.t"])
        with pytest.raises(InvalidArgument, match=f"there is no {schema}.gone"):
            PostgresEngine(postgres.url(), book, key=KEY, tables=[f"{schema}.gone"])


def test_connections_only_read_and_a_failure_has_one_constant_text(postgres: Postgres):
    book = _book("x: {type: integer, bounds: [0, 9]}")
    with loaded(postgres, {"t": {"x": [7]}}, {"t": {"x": "bigint"}}) as places:
        engine = PostgresEngine(postgres.url(), book, key=KEY, tables=places, time_limit=1)
        assert engine._fetch_all([f"DELETE FROM {places['t']}"]) is None
        for broken in ("SELECT 1 / 0", "SELECT CAST('secret cell' AS int)", "SELECT pg_sleep(9)", "nonsense"):
            assert engine._fetch_all([broken]) is None
        postgres.sql(f"ALTER TABLE {places['t']} RENAME x TO y", user="curator")
        with pytest.raises(EngineFailed) as failed:
            engine.run(_total(book, "x"))
        assert str(failed.value) == str(EngineFailed())
        assert failed.value.__context__ is None
        assert failed.value.__cause__ is None
        engine.close()
        with pytest.raises(InvalidArgument, match="the engine is closed"):
            engine.run(_total(book, "x"))


@pytest.mark.parametrize("limit", [0, -1, 0.5, float("nan"), float("inf"), 2_147_484, "60", True, Decimal("NaN")])
def test_a_time_limit_is_a_positive_finite_number_of_seconds(postgres: Postgres, limit: Any):
    with pytest.raises(InvalidArgument, match="time_limit must be"):
        dp.Dataset(postgres.url(), codebook=_book("x: string"), time_limit=limit)


def test_the_curator_sets_the_time_limit_of_statements(postgres: Postgres):
    with loaded(postgres, {"t": {"x": [1]}}, {"t": {"x": "bigint"}}) as places:
        book = _book("x: {type: integer, bounds: [0, 9]}")
        for limit, said in ((None, "1h"), (90, "90s"), (1.5, "1500ms"), (2_147_483, "2147483s")):
            engine = dp.Dataset(postgres.url(), tables=places, codebook=book, time_limit=limit)._engine
            found = engine._fetch_all(["SELECT current_setting('statement_timeout') AS said"])  # type: ignore[attr-defined]
            assert found is not None
            assert found[0]["said"].tolist() == [said]


def test_a_statement_over_its_time_limit_stays_charged_and_retires_the_session(postgres: Postgres):
    import psycopg

    with loaded(postgres, {"t": {"x": [1, 2]}}, {"t": {"x": "bigint"}}) as places:
        book = _book("x: {type: integer, bounds: [0, 9]}")
        session = dp.Dataset(postgres.url(), tables=places, codebook=book, time_limit=1).session(dp.budget(epsilon=1))
        with psycopg.connect(postgres.url()) as other:
            other.execute(f"LOCK TABLE {places['t']} IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(EngineFailed) as failed:
                session.sql("SELECT COUNT(*) AS n FROM t", epsilon=0.25)
        assert str(failed.value) == str(EngineFailed())
        assert session.spent.loss * 4 == 1
        with pytest.raises(Retired):
            session.sql("SELECT SUM(x) AS n FROM t", epsilon=0.25)


def test_an_engine_that_is_connected_has_its_time_limit(postgres: Postgres):
    book = _book("x: {type: integer, bounds: [0, 9]}")
    engine = ReferenceEngine({"t": {"x": [1]}}, book, key=KEY)
    with pytest.raises(InvalidArgument, match="connected already; give it its time limit where it is made"):
        dp.Dataset(engine, codebook=book, time_limit=60)


def test_all_statements_of_a_plan_see_one_snapshot(postgres: Postgres, monkeypatch: pytest.MonkeyPatch):
    """Rows arrive between the statements of a plan; the plan does not see them."""
    with loaded(postgres, {"t": {"x": [1]}}, {"t": {"x": "bigint"}}) as places:
        engine = PostgresEngine(postgres.url(), _book("x: {type: integer, bounds: [0, 9]}"), key=KEY, tables=places)
        connected = engine._server.connected

        @contextmanager
        def interrupted(self: Any, **options: Any) -> Iterator[Any]:
            with connected(**options) as connection:
                execute, asked = connection.execute, []

                def slow(query: Any, *values: Any) -> Any:
                    asked.append(query)
                    if len(asked) > 2:
                        postgres.sql(f"INSERT INTO {places['t']} VALUES (1)", user="curator")
                    return execute(query, *values)

                connection.execute = slow
                yield connection

        monkeypatch.setattr(type(engine._server), "connected", interrupted)
        found = engine._fetch_all([f"SELECT count(*) AS n FROM {places['t']}"] * 3)
        assert found is not None
        assert [table["n"].tolist() for table in found] == [[1], [1], [1]]


def test_stages_are_fenced_so_that_nothing_is_computed_twice(postgres: Postgres):
    import sqlglot

    query = sqlglot.parse_one("SELECT y + y FROM (SELECT x * 2 AS y FROM (SELECT x FROM t) AS a) AS b", read="postgres")
    assert fenced(query).sql("postgres") == (
        "SELECT y + y FROM (SELECT x * 2 AS y FROM (SELECT x FROM t) AS a OFFSET 0) AS b"
    )


_LINKED = """
unit: {id: who, groups: 9, rows_per_group: 9}
tables:
  people: {variables: {who: integer, town: {type: integer, bounds: [0, 99]}}}
  orders: {unit: buyer, variables: {buyer: integer, number: integer}}
  items: {links: ["part_of -> orders.number"], variables: {part_of: integer, price: {type: integer, bounds: [0, 9]}}}
  towns: {public: true, variables: {place: {type: integer, bounds: [0, 99]}, name: string}}
"""


def _joined(book: Codebook) -> GroupAgg:
    whole = Join(scan(book, "people"), scan(book, "orders"), (("who", "buyer"),))
    whole = Join(whole, scan(book, "items"), (("number", "part_of"),))
    whole = Join(whole, scan(book, "towns"), (("town", "place"),))
    chosen = Filter(whole, parse("name = 'town 3' AND price = 3", schema=schema(whole)))
    aggregates = (
        ("units", Units()),
        ("rows", RowCount(9)),
        ("price", Total(Column("price"), Fraction(0), Fraction(81))),
    )
    return GroupAgg(chosen, (KeyColumn("name", Column("name")),), Bounding(groups=9), aggregates)


def test_joins_read_each_side_once_whatever_the_planner_expects(postgres: Postgres):
    """Loops within loops over stages that are taken for one row kept TPC-H 8 and 9 from ending."""
    book = Codebook.from_yaml(_LINKED)
    rows: Stored = {
        "people": {"who": list(range(40)), "town": [i % 7 for i in range(40)]},
        "orders": {"buyer": [i % 50 for i in range(90)], "number": list(range(90))},
        "items": {"part_of": [i % 95 for i in range(200)], "price": [i % 12 for i in range(200)]},
        "towns": {"place": list(range(6)), "name": [f"town {i}" for i in range(6)]},
    }
    kinds = {
        table: {name: "text" if name == "name" else "integer" for name in columns} for table, columns in rows.items()
    }
    with loaded(postgres, rows, kinds) as places:
        for table in places.values():
            postgres.sql(f"ANALYZE {table}", user="curator")
        engine, plan = PostgresEngine(postgres.url(), book, key=KEY, tables=places), _joined(book)
        assert as_values(engine.run(plan)) == as_values(ReferenceEngine(rows, book, key=KEY).run(plan))
        (statement,) = engine.statements(plan)
        assert "Nested Loop" in _explained(engine, statement, enable_nestloop="on")
        assert "Nested Loop" not in _explained(engine, statement)


def _explained(engine: PostgresEngine, statement: str, **settings: str) -> str:
    with engine._server.connected(application="tests", settings={**engine._settings, **settings}) as connection:
        return "\n".join(line for (line,) in connection.execute(f"EXPLAIN {statement}".encode()).fetchall())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"port": "1"}, "cannot be reached or refused the login"),
        ({PASSWORD: f"{PASSWORD}no"}, "cannot be reached or refused the login"),
        ({"/shop": "/nowhere"}, "cannot be reached or refused the login"),
    ],
)
def test_a_connection_that_fails_says_where_and_not_who(postgres: Postgres, change: dict[str, str], told: str):
    url = postgres.url()
    for old, new in change.items():
        url = url.replace(str(postgres.port) if old == "port" else old, new)
    with pytest.raises(InvalidArgument, match=told) as refusal:
        connect(url, _book("x: string"), key=KEY)
    assert PASSWORD not in str(refusal.value)
    assert "curator" not in str(refusal.value)
    assert refusal.value.__context__ is None


@pytest.mark.parametrize("password", ["open/secret", "12/secret", "12/se:cret", "open?/secret", "12?secret/more"])
def test_a_password_that_is_not_escaped_is_not_taken_for_a_place(postgres: Postgres, password: str):
    """`/` ends the host, so the rest of a URL with one in its password would be read as places, which are shown."""
    url = f"postgresql://curator:{password}@127.0.0.1:{postgres.port}/shop"
    with pytest.raises(InvalidArgument, match=r"cannot be read; .*special characters in a password") as refusal:
        connect(url, _book("x: string"), key=KEY)
    for part in ("curator", "open", "secret", "se:cret"):
        assert part not in str(refusal.value)


def test_from_a_url_to_a_charged_answer(postgres: Postgres, tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    """Data and ledger in PostgreSQL, a read-only role for the data; nothing shows the password."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    rows = {"orders": {"customer": [i % 50 for i in range(500)], "amount": [float(i % 40) for i in range(500)]}}
    book = {
        "unit": {"id": "customer", "groups": 1, "rows_per_group": 10},
        "table": "orders",
        "variables": {"customer": "integer", "amount": {"type": "number", "bounds": [0, 100], "step": 0.01}},
    }
    with loaded(postgres, rows, {"orders": {"customer": "bigint", "amount": "double"}}) as places:
        schema = places["orders"].partition(".")[0]
        postgres.sql(
            f"GRANT USAGE ON SCHEMA {schema} TO reader", f"GRANT SELECT ON {places['orders']} TO reader", user="curator"
        )
        shop = dp.Dataset(postgres.url("reader"), tables=[places["orders"]], codebook=book)
        ledger = postgres.url(ledger=postgres.fresh("ledger"))
        session = shop.session(dp.budget(epsilon=1), ledger=ledger)
        release = session.sql("SELECT COUNT(*) AS n FROM orders", epsilon=0.5)
        assert abs(release.table[0]["n"] - 500) < 2000
        again = shop.session(dp.budget(epsilon=1), ledger=ledger)
        assert again.spent.loss * 2 == 1
        assert again.sql("SELECT COUNT(*) AS n FROM orders", epsilon=0.5).table == release.table
        shown = repr(shop) + repr(session) + repr(release) + repr(shop._engine) + shop.name
        shown += "".join(Ledger.existing(ledger).export()).replace('"ledger"', "")
        assert PASSWORD not in shown
        assert "reader" not in shown
