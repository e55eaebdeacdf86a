"""How many rows of one unit a join of private tables pairs: the same rows on every engine, chosen from the unit's own alone."""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from collections.abc import Collection
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import duckdb
import pytest

import deniable as dp
from deniable.engines import duckdb_profile, reference
from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.order import OrderKey
from deniable.engines.reference import ReferenceEngine
from deniable.engines.reference_bounding import Owned
from deniable.engines.sql import relations, sql_statement
from deniable.errors import InvalidArgument
from deniable.plan.canonical import identity, record
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column
from deniable.plan.nodes import (
    Bounding,
    Distinct,
    Filter,
    GroupAgg,
    Histogram,
    Join,
    JoinKind,
    KeyColumn,
    Project,
    Relation,
    RowCount,
    Total,
    Union,
    UnitAgg,
    UnitRows,
    Units,
    UnitSummary,
    UnitValue,
    scan,
)
from deniable.plan.relation import Shape, entering, shape
from deniable.plan.sensitivity import sensitivities
from deniable.plan.translate import parse
from deniable.plan.unit import MOST_JOINED
from deniable.release.dataset import terms_of
from tests.engines.everywhere import ENGINES, KEY, placed, servers_of
from tests.engines.random_plans import as_values, cells
from tests.engines.sql_schemas import World

MANY = 10**6


def _book(most: int | None = 3, id_type: str = "integer") -> Codebook:
    limit = {} if most is None else {"rows_per_join": most}
    return Codebook.from_record(
        {
            "unit": {"id": "p", "groups": 3, "rows_per_group": 2, **limit},
            "tables": {
                "log": {
                    "variables": {
                        "p": id_type,
                        "k": {"type": "integer", "bounds": [0, 9]},
                        "x": {"type": "integer", "bounds": [-5, 5]},
                        "word": "string",
                    }
                },
                "notes": {
                    "variables": {"p": id_type, "k": {"type": "integer", "bounds": [0, 9]}, "y": {"type": "boolean"}}
                },
                "names": {
                    "public": True,
                    "variables": {"key": {"type": "integer", "bounds": [0, 9]}, "name": "string"},
                },
            },
        }
    )


def _relations(book: Codebook) -> dict[str, Relation]:
    log, names = scan(book, "log"), scan(book, "names")
    notes = Project(scan(book, "notes"), (("q", Column("p")), ("key_2", Column("k")), ("y", Column("y"))))
    third = Project(scan(book, "notes"), (("r", Column("p")), ("z", Column("y"))))
    again = Project(log, (("q", Column("p")), ("y", parse("x > 0"))))
    by_key = UnitAgg(
        scan(book, "notes"), (("q", Column("p")), ("key_2", Column("k"))), (UnitValue("n", UnitSummary.ROWS),)
    )
    by_key = Project(by_key, (("q", Column("q")), ("y", parse("n > 1"))))
    on, differ = (("p", "q"),), parse("k <> key_2")
    pair = Join(log, notes, on)
    return {
        "inner": pair,
        "left": Join(log, notes, (*on, ("k", "key_2")), JoinKind.LEFT),
        "chain": Join(pair, third, (("p", "r"),)),
        "itself": Join(log, again, on),
        "some": Join(log, notes, on, JoinKind.SEMI, differ),
        "none": Join(log, notes, on, JoinKind.ANTI, differ),
        "filtered": Filter(Join(Filter(log, parse("x < 4")), notes, on), parse("k < 9")),
        "united": Join(Union((log, log)), notes, on),
        "summarised": Join(log, by_key, on),
        "named": Join(Join(log, names, (("k", "key"),)), notes, on),
    }


def _plan(source: Relation, **bounds: int) -> GroupAgg:
    numbers = (
        ("units", Units()),
        ("rows", RowCount(MANY)),
        ("sum", Total(Column("x"), Fraction(-MANY), Fraction(MANY))),
        ("words", Distinct(Column("word"), 9)),
        ("bins", Histogram(parse("bin(x, -5, 0, 5)"), 2, 900)),
    )
    truth = (("true", RowCount(MANY, parse("case when y then 1 end"))),) if "y" in shape(source).columns else ()
    return GroupAgg(
        source, (KeyColumn("k", Column("k"), tuple(range(10))),), Bounding(groups=3, **bounds), numbers + truth
    )


def _world(book: Codebook) -> World:
    """Unit 1 has many rows, some alike and some with holes; others fewer than are limited."""
    people = [1] * 14 + [2] * 5 + [3] * 2 + [4]
    texts = book["log"]["p"].type.value == "string"
    named = [f"n{person}" if texts else person for person in people]
    count = len(people)
    log = {
        "p": named,
        "k": [index % 4 for index in range(count)],
        "x": [None if index % 5 == 0 else index % 7 - 3 for index in range(count)],
        "word": [("a", "b", "é", None)[index % 4] for index in range(count)],
    }
    notes = {
        "p": named[::-1],
        "k": [index % 3 for index in range(count)],
        "y": [(True, False, None)[index % 3] for index in range(count)],
    }
    names = {"key": [0, 0, 1, 3], "name": ["a", "b", "c", "d"]}
    kind = "VARCHAR" if texts else "BIGINT"
    types = {
        "log": {"p": kind, "k": "BIGINT", "x": "BIGINT", "word": "VARCHAR"},
        "notes": {"p": kind, "k": "BIGINT", "y": "BOOLEAN"},
        "names": {"key": "BIGINT", "name": "VARCHAR"},
    }
    return World(book.to_record(), {"log": log, "notes": notes, "names": names}, types)


@pytest.mark.parametrize("id_type", ["integer", "string"])
@pytest.mark.parametrize("engine", ENGINES[1:])
def test_every_engine_pairs_the_same_rows(request: pytest.FixtureRequest, engine: str, id_type: str) -> None:
    book = _book(id_type=id_type)
    world = _world(book)
    ours = ReferenceEngine(world.tables, book, key=KEY)
    theirs: Any = placed(engine, world, servers_of(request))._engine
    for name, relation in _relations(book).items():
        plan = _plan(relation, **({"rows_per_unit": 4} if name == "chain" else {}))
        assert as_values(theirs.run(plan)) == as_values(ours.run(plan)), name
    rows = UnitRows(_relations(book)["inner"], (("k", Column("k")), ("x", Column("x"))), 5)
    first, second = ours.rows(rows), theirs.rows(rows)
    for name in first.columns:
        assert first.columns[name].tolist() == second.columns[name].tolist()


def test_what_is_limited_and_what_is_not() -> None:
    book = _book()
    log, names = scan(book, "log"), scan(book, "names")
    notes = Project(scan(book, "notes"), (("q", Column("p")), ("y", Column("y"))))
    once = UnitAgg(scan(book, "notes"), (("q", Column("p")),), (UnitValue("n", UnitSummary.ROWS),))
    on = (("p", "q"),)
    assert entering(Join(log, notes, on)) == entering(Join(log, notes, on, JoinKind.LEFT)) == (3, 3)
    assert entering(Join(log, notes, on, JoinKind.SEMI, parse("x > 0 and y"))) == (3, 3)
    assert (
        entering(Join(log, notes, on, JoinKind.SEMI)) == entering(Join(log, notes, on, JoinKind.ANTI)) == (None, None)
    )
    assert entering(Join(log, names, (("k", "key"),))) == (None, None)
    assert entering(Join(log, once, on)) == (3, None)
    assert shape(Join(log, notes, on)).most_rows == 9
    assert shape(Join(log, once, on)).most_rows == 3
    assert entering(Join(scan(_book(None), "log"), Project(scan(_book(None), "notes"), (("q", Column("p")),)), on)) == (
        MOST_JOINED, MOST_JOINED,
    )  # fmt: skip


# The neighbour law, by enumeration ---------------------------------------------------------------------------------------


_TWO = [chosen for size in range(3) for chosen in combinations_with_replacement((0, 1), size)]
_STATES = list(product([*_TWO, (0, 0, 1), (0, 1, 1)], _TWO))
"""What one unit may have: the keys of its rows in each of two tables."""


def _counts(book: Codebook, relation: Relation, first: Any, second: Any) -> Counter[Any]:
    """Rows and units by key, of two units with these rows."""
    log = [(unit, k) for unit, (keys, _) in enumerate((first, second)) for k in keys]
    notes = [(unit, k) for unit, (_, keys) in enumerate((first, second)) for k in keys]
    tables = {
        "log": {
            "p": [unit for unit, _ in log],
            "k": [k for _, k in log],
            "x": [place % 3 for place in range(len(log))],
            "word": ["a"] * len(log),
        },
        "notes": {"p": [unit for unit, _ in notes], "k": [k for _, k in notes], "y": [True] * len(notes)},
        "names": {"key": [], "name": []},
    }
    aggregates = (("units", Units()), ("rows", RowCount(MANY)))
    plan = GroupAgg(relation, (KeyColumn("k", Column("k"), (0, 1)),), Bounding(groups=2), aggregates)
    found = ReferenceEngine(tables, book, key=KEY).run(plan)
    bound = sensitivities(plan)["rows"]
    assert bound.linf <= book.unit.joined**2  # type: ignore[union-attr]
    return Counter({(key, name): value for name, _ in aggregates for key, value in cells(found, name).items()})


def _violations(most: int, kind: JoinKind) -> int:
    """How often what two units give is not what each gives alone, or one gives more than the limits let it."""
    book = _book(most)
    notes = Project(scan(book, "notes"), (("q", Column("p")), ("k2", Column("k"))))
    joined = Join(scan(book, "log"), notes, (("p", "q"),), kind)
    nothing = ((), ())
    alone = {state: _counts(book, joined, state, nothing) for state in _STATES}
    others = {state: _counts(book, joined, nothing, state) for state in (((0,), (1,)), ((0, 1, 1), (0, 0)))}
    wrong = sum(
        sum(value for (_, name), value in found.items() if name == "rows") > most**2 for found in alone.values()
    )
    for first, (second, beside) in product(_STATES, others.items()):
        wrong += _counts(book, joined, first, second) != alone[first] + beside
    return wrong


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("kind", [JoinKind.INNER, JoinKind.LEFT])
def test_a_unit_brings_its_own_rows_whoever_else_is_there(most: int, kind: JoinKind) -> None:
    assert _violations(most, kind) == 0


def test_a_limit_over_all_units_together_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def over_all(below: Shape, rows: list[Owned], read: Collection[str], most: int, key: OrderKey) -> list[Owned]:
        return rows[:most]

    monkeypatch.setattr(reference, "first_rows", over_all)
    assert _violations(2, JoinKind.INNER) > 0


def test_a_limit_that_is_forgotten_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "entering", lambda join: (None, None))
    assert _violations(1, JoinKind.INNER) > 0


# One unit of n rows in both tables: n * n pairs ----------------------------------------------------------------------------


def _one_unit(count: int) -> dict[str, dict[str, Any]]:
    return {
        "log": {"p": [1] * count, "k": [1] * count, "x": list(range(count)), "word": ["a"] * count},
        "notes": {"p": [1] * count, "k": [1] * count, "y": [True] * count},
        "names": {"key": [1], "name": ["a"]},
    }


_SIZES = ("operator_cardinality", "intermediate_rows")
"""What DuckDB calls the rows an operator puts out, by version."""


def _largest_step(tables: Any, book: Codebook, plan: GroupAgg) -> int:
    """The most rows any operator of the engine's own statement put out."""
    engine = DuckDBEngine(tables, book, key=KEY, threads=1)
    opened: duckdb.DuckDBPyConnection = engine._connection().connection
    (statement, *_) = engine.statements(plan)
    text = opened.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}").fetchall()[0][1]
    engine.close()

    def sizes(node: Any) -> list[int]:
        parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        own = [int(node[name]) for name in _SIZES if name in node] if isinstance(node, dict) else []
        return own + [size for part in parts for size in sizes(part)]

    return max(sizes(json.loads(text)))


@pytest.mark.parametrize("name", ["inner", "chain", "itself"])
def test_what_is_paired_does_not_grow_with_the_rows_of_a_unit(name: str) -> None:
    """Without the limit 600 rows of one person in two tables are 360,000 pairs; with it, 9 and what was scanned."""
    book, count = _book(), 600
    plan = GroupAgg(_relations(book)[name], (), Bounding(groups=1), (("rows", RowCount(10**9)),))
    tables = _one_unit(count)
    engine = DuckDBEngine(tables, book, key=KEY, threads=1)
    assert engine.run(plan).columns["rows"].tolist() == [9]
    engine.close()
    assert _largest_step(tables, book, plan) <= count


def test_a_join_without_its_limit_is_seen_to_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relations, "entering", lambda join: (None, None))
    book = _book()
    plan = GroupAgg(_relations(book)["inner"], (), Bounding(groups=1), (("rows", RowCount(10**9)),))
    assert _largest_step(_one_unit(600), book, plan) == 360_000


_LINKED = Codebook.from_record(
    {
        "unit": {"id": "p", "groups": 1, "rows_per_group": 1},
        "tables": {
            "people": {"unit": "p", "variables": {"p": "integer", "house": "integer"}},
            "orders": {"links": ["house_of -> people.house"], "variables": {"house_of": "integer", "order": "integer"}},
            "lines": {"links": ["order_of -> orders.order"], "variables": {"order_of": "integer"}},
        },
    }
)


@pytest.mark.parametrize("engine", [ReferenceEngine, DuckDBEngine])
def test_a_parent_that_stands_often_does_not_multiply_its_children(engine: Any) -> None:
    """A line belongs to a unit once, however many rows on the way say so; a key of two people gives both their rows."""
    people = {"p": [1] * 20 + [2, None], "house": [7] * 20 + [8, 7]}
    orders = {"house_of": [7] * 30 + [8, None], "order": [5] * 31 + [5]}
    tables = {"people": people, "orders": orders, "lines": {"order_of": [5] * 40 + [None, 6]}}
    opened = engine(tables, _LINKED, key=KEY)
    counts = (("units", Units()), ("rows", RowCount(MANY)))
    plan = GroupAgg(scan(_LINKED, "lines"), (), Bounding(groups=1), counts)
    assert {name: column.tolist() for name, column in opened.run(plan).columns.items()} == {"units": [2], "rows": [80]}
    opened.close()


# What readers and the ledger see ---------------------------------------------------------------------------------------------


def test_the_limit_binds_what_is_stored_and_is_said() -> None:
    few, more, free = (_relations(_book(most)) for most in (3, 4, None))
    texts = {identity(_plan(each["inner"])) for each in (few, more, free)}
    assert len(texts) == 3
    looked_up = Join(scan(_book(3), "log"), scan(_book(3), "names"), (("k", "key"),))
    assert "rows of a unit" not in str(record(looked_up))
    session = dp.Dataset(_one_unit(20), codebook=_book()).session(dp.budget(epsilon=3))
    asked = "SELECT COUNT(*) AS n FROM log JOIN notes ON log.p = notes.p"
    said = str(session.sql(f"EXPLAIN DP {asked}", epsilon=1))
    assert "(and the same unit, at most 3 rows of one from each side)" in said
    assert "A join of private tables takes at most 3 rows of one p from each side" in " ".join(
        session.sql(asked, epsilon=1).notes
    )


def test_the_codebook_says_it_and_a_ledger_may_amend_it() -> None:
    book = _book(7)
    assert Codebook.from_yaml(book.to_yaml()) == book
    assert "rows_per_join" not in _book(None).to_yaml()
    assert book.unit == dp.unit("p", groups=3, rows=2, joined=7)
    terms = [terms_of(each, dataset="d", budget=dp.budget(epsilon=1)).unit for each in (_book(None), _book(7))]
    assert terms[0] != terms[1] == "one p, groups: 3, rows: 2, joined: 7"
    for bad in (0, -1, 1.5, "3", None):
        with pytest.raises(InvalidArgument):
            dp.unit("p", groups=1, rows=1, joined=bad)  # type: ignore[arg-type]


def _joined_within_one_another(times: int) -> str:
    """A statement of so many joins, each a sub-query of the next, over tables a to h."""
    inner = "(SELECT p AS p0, k AS k0 FROM a) q0"
    for place in range(1, times):
        here, below, name = f"t{place}", f"q{place - 1}", "abcdefgh"[place % 8]
        matched = f"{here}.p = {below}.p{place - 1} AND {here}.k = {below}.k{place - 1}"
        inner = f"(SELECT {here}.p AS p{place}, {here}.k AS k{place} FROM {name} {here} LEFT JOIN {inner} ON {matched}) q{place}"
    return f"SELECT COUNT(*) AS n FROM h v JOIN {inner} ON v.p = q{times - 1}.p{times - 1}"


def test_joins_within_one_another_are_written_however_deep_they_are() -> None:
    """Python's own limit on nested calls ended such a question after its charge, whatever the data were."""
    variables = {"p": "integer", "k": {"type": "integer", "bounds": [0, 9]}}
    book = {"name": "deep", "unit": {"id": "p", "groups": 2, "rows_per_group": 2, "rows_per_join": 5},
            "tables": {name: {"variables": variables} for name in "abcdefgh"}}  # fmt: skip
    data = dp.Dataset({name: {"p": [1, 2], "k": [3, 4]} for name in "abcdefgh"}, codebook=book)
    session, before = data.session(dp.budget(epsilon=10**6)), sys.getrecursionlimit()
    answer = session.sql(_joined_within_one_another(9), epsilon=1000)
    assert answer.table[0]["n"] == 2
    assert sys.getrecursionlimit() == before


def test_the_limit_on_nested_calls_is_put_back_by_the_last_of_several_writers() -> None:
    before, met = sys.getrecursionlimit(), threading.Barrier(3)
    found: list[int] = []

    def write() -> None:
        with sql_statement._nested():
            met.wait(60)
            found.append(sys.getrecursionlimit())
            met.wait(60)

    threads = [threading.Thread(target=write) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [sql_statement._FRAMES] * 3
    assert sys.getrecursionlimit() == before


def _repeated_rows() -> tuple[Codebook, GroupAgg, dict[str, dict[str, list[Any]]]]:
    """A LEFT JOIN that repeats rows and of which no column is read, two rows of each unit, and a number of distinct values."""
    cell, wide = ({"type": "integer", "bounds": [0, most]} for most in (9, 99))
    book = Codebook.from_record(
        {"unit": {"id": "p", "groups": 3, "rows_per_group": 2},
         "tables": {"t": {"variables": {"p": "integer", "k": cell, "x": wide}}, "u": {"public": True, "variables": {"z": cell}}}}
    )  # fmt: skip
    joined = Join(scan(book, "t"), scan(book, "u"), (("k", "z"),), JoinKind.LEFT)
    measured = (("units", Units()), ("rows", RowCount(2)), ("values", Distinct(Column("x"), 1)))
    kept = Bounding(groups=3, rows_per_unit=2)
    plan = GroupAgg(joined, (KeyColumn("k", Column("k"), None),), kept, measured)
    people = range(40)
    rows = {
        "t": {
            "p": [p for p in people for _ in range(3)],
            "k": [1, 2, 3] * 40,
            "x": [p for p in people for _ in range(3)],
        },
        "u": {"z": [1, 1, 1, 1]},
    }
    return book, plan, rows


def test_rows_that_a_join_repeats_are_kept_alike_for_every_number() -> None:
    book, plan, rows = _repeated_rows()
    wanted = as_values(ReferenceEngine(rows, book, key=KEY).run(plan))
    assert as_values(DuckDBEngine(rows, book, key=KEY, threads=1).run(plan)) == wanted


def test_an_engine_that_removes_joins_below_distinct_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: DuckDB with all of its optimizers, and rows chosen for each number apart, as in public tables."""
    monkeypatch.setattr(duckdb_profile, "_UNSOUND", ())
    monkeypatch.setattr(DuckDBEngine, "_kept", lambda engine, plan: None)
    if "join_elimination" not in {name for (name,) in duckdb.sql("SELECT name FROM duckdb_optimizers()").fetchall()}:
        pytest.skip("this version of DuckDB removes no joins")
    book, plan, rows = _repeated_rows()
    wanted = as_values(ReferenceEngine(rows, book, key=KEY).run(plan))
    assert as_values(DuckDBEngine(rows, book, key=KEY, threads=1).run(plan)) != wanted
