"""Corners that random plans meet by luck, walked in full: ends of bounds, caps of every kind together, rows per unit, kept rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.reference import ReferenceEngine
from deniable.errors import InvalidArgument
from deniable.plan import codebook as plan_codebook
from deniable.plan import facts as plan_facts
from deniable.plan import relation as plan_relation
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column
from deniable.plan.nodes import (
    Bounding,
    ByHash,
    ByOrder,
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
    Units,
    UnitSummary,
    UnitValue,
    scan,
)
from deniable.plan.relation import shape
from deniable.plan.sensitivity import sensitivities
from deniable.plan.translate import parse
from tests.engines.random_plans import KEY, UNITS, as_values, cells, codebook, relations, tables
from tests.laws.test_expression_facts import fits

REALS = [index / 20 for index in range(-30, 31)]
WHOLES = list(range(-30, 31))
OFF_GRID = {
    "{type: number, bounds: [0, 1], step: 0.35}": REALS,
    "{type: number, bounds: [-0.8, 1], step: 0.35}": REALS,
    "{type: number, bounds: [-0.8, 1], step: 0.35, outside: missing}": REALS,
    "{type: number, bounds: [-1.3, -0.2], step: 0.5}": REALS,
    "{type: integer, bounds: [-12, 25], step: 10}": WHOLES,
    "{type: integer, bounds: [3, 18], step: 5, outside: missing}": WHOLES,
}
STORED = {"as they are": lambda cell: cell, "as text": str, "as reals": float}


@pytest.mark.parametrize("how", STORED)
@pytest.mark.parametrize("declared", OFF_GRID)
def test_bounds_off_the_grid_keep_every_cell_inside(declared: str, how: str) -> None:
    """Every engine reads the same grid point, between the ends the sensitivity rests on."""
    book = Codebook.from_yaml(f"{{unit: rows, table: t, variables: {{row: integer, v: {declared}}}}}")
    column = [STORED[how](cell) for cell in OFF_GRID[declared]]  # type: ignore[operator]
    rows = {"t": {"row": list(range(len(column))), "v": column}}
    known = book["t"]["v"].facts()
    wide = Total(Column("v"), Fraction(-100), Fraction(100))
    plan = GroupAgg(
        scan(book),
        (KeyColumn("row", Column("row")),),
        Bounding(groups=1),
        (("v", wide), ("n", RowCount(1)), ("u", Units())),
    )
    duckdb, reference = DuckDBEngine(rows, book, key=KEY, threads=1), ReferenceEngine(rows, book, key=KEY)
    found = as_values(duckdb.run(plan))
    duckdb.close()
    assert found == as_values(reference.run(plan))
    low, high = known.ends
    assert all(min(low, 0) <= value <= max(high, 0) for value in found["v"])
    assert {low, high} <= set(found["v"])
    assert max(map(abs, found["v"])) <= sensitivities(plan)["v"].linf


DATES = [
    "{type: date, bounds: [2020-02-29, 2020-12-31]}",
    "{type: date, bounds: [2020-02-29, 2020-12-31], outside: missing}",
    "{type: timestamp, bounds: [2020-02-29 12:00:00, 2020-12-31 23:59:59]}",
    "{type: timestamp, bounds: [2020-02-29 12:00:00, 2020-12-31 23:59:59], outside: missing}",
]
MOMENTS = [
    datetime(1, 1, 1), datetime(2020, 2, 28, 23, 59, 59), datetime(2020, 2, 29), datetime(2020, 2, 29, 12), datetime(2020, 7, 4),
    datetime(2020, 12, 31), datetime(2020, 12, 31, 23, 59, 59), datetime(2021, 1, 1), datetime(2031, 5, 5), datetime(9999, 12, 31),
]  # fmt: skip


@pytest.mark.parametrize("how", ["timestamps", "dates", "text"])
@pytest.mark.parametrize("declared", DATES)
def test_dates_on_both_sides_of_their_bounds(declared: str, how: str) -> None:
    book = Codebook.from_yaml(f"{{unit: rows, table: t, variables: {{row: integer, d: {declared}}}}}")
    written: dict[str, list[Any]] = {
        "timestamps": MOMENTS,
        "dates": [date(moment.year, moment.month, moment.day) for moment in MOMENTS],
        "text": [moment.isoformat(" ") for moment in MOMENTS],
    }
    rows = {"t": {"row": list(range(len(MOMENTS))), "d": written[how]}}
    plan = GroupAgg(
        scan(book),
        tuple(KeyColumn(n, Column(n), keep_missing=True) for n in ("row", "d")),
        Bounding(groups=1),
        (("u", Units()),),
    )
    duckdb, reference = DuckDBEngine(rows, book, key=KEY, threads=1), ReferenceEngine(rows, book, key=KEY)
    found = as_values(duckdb.run(plan))
    duckdb.close()
    assert found == as_values(reference.run(plan))
    lower, upper = book["t"]["d"].lower, book["t"]["d"].upper
    assert all(value is None or lower <= value <= upper for value in found["keys"]["d"])  # type: ignore[operator]
    assert found["groups"] == len(MOMENTS)


HEAVY = Codebook.from_yaml(
    "{unit: {id: p, groups: 1, rows_per_group: 1}, table: t, variables: "
    "{p: integer, k: {type: integer, bounds: [0, 9]}, x: {type: integer, bounds: [0, 9]}}}"
)
PEOPLE = {
    "p": [1] * 24 + [2] * 8 + [3, 3, 4],
    "k": [index % 5 for index in range(24)] + [index % 3 for index in range(8)] + [0, 1, 0],
    "x": [(index * 7) % 10 for index in range(35)],
}
MEASURED = {
    "all rows": (("n", RowCount(99)), ("x", Total(Column("x"), Fraction(0), Fraction(999)))),
    "few rows": (("n", RowCount(2)), ("x", Total(Column("x"), Fraction(0), Fraction(20)))),
    "values": (("d", Distinct(Column("x"), 9)), ("h", Histogram(Column("x"), 10, 99))),
}
CAPS = [
    Bounding(groups=groups, rows_per_group=in_group, rows_per_unit=in_all, choice=choice)
    for groups, in_group, in_all, choice in product(
        (1, 3), (None, 2), (None, 4), (ByHash(), ByOrder(Column("x"), last=True))
    )
]


def _capped(bounding: Bounding, measured: str) -> GroupAgg:
    key = KeyColumn("k", Column("k"))
    return GroupAgg(scan(HEAVY), (key,), bounding, (("u", Units()), *MEASURED[measured]))


@pytest.mark.parametrize("measured", MEASURED)
def test_caps_of_groups_and_rows_hold_together(measured: str) -> None:
    """All caps at once: the same rows are kept by both engines, and person 1 never has more than the caps allow."""
    duckdb, reference = (make({"t": PEOPLE}, HEAVY, key=KEY) for make in (DuckDBEngine, ReferenceEngine))
    alone = ReferenceEngine({"t": {name: column[:24] for name, column in PEOPLE.items()}}, HEAVY, key=KEY)
    for bounding in CAPS:
        plan = _capped(bounding, measured)
        assert as_values(duckdb.run(plan)) == as_values(reference.run(plan)), bounding
        kept = alone.run(plan)
        assert kept.groups <= bounding.groups
        if measured == "all rows":
            counts = kept.columns["n"].tolist()
            assert max(counts) <= (bounding.rows_per_group or 99)
            assert sum(counts) <= (bounding.rows_per_unit or 99)
    duckdb.close()


def test_kept_rows_serve_no_plan_with_other_bounds() -> None:
    """After any preparation every plan gets what it would get from the rows themselves."""
    some = [caps for caps in CAPS if isinstance(caps.choice, ByHash)] + CAPS[-1:]
    asked = [_capped(caps, "all rows") for caps in some]
    reference = ReferenceEngine({"t": PEOPLE}, HEAVY, key=KEY)
    wanted = [as_values(reference.run(plan)) for plan in asked]
    duckdb = DuckDBEngine({"t": PEOPLE}, HEAVY, key=KEY, threads=1)
    for first in asked:
        duckdb.prepare(first)
    other = replace(asked[0], source=Filter(asked[0].source, parse("x > 4", schema=HEAVY["t"].schema)))
    assert len(duckdb._connection().kept) == len(asked)
    assert [as_values(duckdb.run(plan)) for plan in asked] == wanted
    assert as_values(duckdb.run(other)) == as_values(reference.run(other))
    duckdb.close()


@pytest.mark.parametrize("prepared", range(0, len(CAPS), 5))
def test_one_kept_table_is_not_read_for_another_plan(prepared: int) -> None:
    reference = ReferenceEngine({"t": PEOPLE}, HEAVY, key=KEY)
    duckdb = DuckDBEngine({"t": PEOPLE}, HEAVY, key=KEY, threads=1)
    duckdb.prepare(_capped(CAPS[prepared], "all rows"))
    for caps in CAPS[::2]:
        plan = _capped(caps, "all rows")
        assert as_values(duckdb.run(plan)) == as_values(reference.run(plan)), (CAPS[prepared], caps)
    duckdb.close()


UNIQUE = Codebook.from_yaml(
    """
unit: {id: p, unique: true, groups: 2, rows_per_group: 2}
tables:
  t: {unit: p, variables: {p: integer, k: {type: integer, bounds: [0, 9]}, x: {type: integer, bounds: [0, 10]}}}
  w: {public: true, variables: {z: {type: integer, bounds: [0, 9]}}}
"""
)
NEVER = Codebook.from_yaml(
    """
unit: {id: p, unique: true, groups: 2, rows_per_group: 2}
tables:
  t:
    unit: p
    variables:
      p: integer
      k: {type: integer, bounds: [0, 9], missing: never}
      x: {type: integer, bounds: [0, 10], missing: never}
  w: {public: true, variables: {z: {type: integer, bounds: [0, 9], missing: never}}}
"""
)
"""The same tables with columns that are never missing, unless a join makes them so."""
ONE_EACH = {"t": {"p": [1, 2, 3], "k": [0, 1, 1], "x": [10, 10, 3]}, "w": {"z": [0, 0, 1, 1, 1]}}


def _unique_relations(book: Codebook = UNIQUE) -> Iterator[Relation]:
    t, w = scan(book, "t"), scan(book, "w")
    other = Project(t, (("q", Column("p")), ("y", Column("x"))))
    yield from (t, Filter(t, parse("x > 4", schema=book["t"].schema)), Union((t, t)), Union((t, t, t)))
    for kind in JoinKind:
        yield Join(t, w, (("k", "z"),), kind)
        yield Join(t, other, (("p", "q"),), kind)
        yield Join(Union((t, t)), other, (("p", "q"),), kind)
    yield Join(Union((t, t)), Union((other, other)), (("p", "q"),))
    for source in (t, Union((t, t)), Join(t, w, (("k", "z"),))):
        for keys in ((), (("k", Column("k")),), (("p", Column("p")),), (("x", Column("x")), ("k", Column("k")))):
            yield UnitAgg(source, keys, (UnitValue("n", UnitSummary.ROWS),))


def _most(engine: ReferenceEngine, relation: Relation) -> int:
    """The rows of the unit that has most, as the reference engine counts them."""
    return max(Counter(row.unit for row in engine._relation(relation, shape(relation).columns)).values(), default=0)


def test_no_unit_has_more_rows_than_the_plan_says() -> None:
    engine, bounded = ReferenceEngine(ONE_EACH, UNIQUE, key=KEY), 0
    for relation in _unique_relations():
        most = shape(relation).most_rows
        bounded += most is not None
        assert most is None or _most(engine, relation) <= most, relation
    assert bounded >= 15


@pytest.mark.parametrize("kind", list(UNITS))
@settings(max_examples=25, suppress_health_check=[*HealthCheck])
@given(data=st.data())
def test_no_unit_of_random_rows_has_more_than_the_plan_says(kind: str, data: st.DataObject) -> None:
    book = codebook(kind)
    engine = ReferenceEngine(data.draw(tables(kind)), book, key=KEY)
    for _ in range(4):
        relation = data.draw(relations(book))
        most = shape(relation).most_rows
        assert most is None or _most(engine, relation) <= most


def _misfits(engine: ReferenceEngine, relation: Relation) -> list[tuple[str, Any]]:
    """Cells that the relation's stated facts do not allow: missing where none may be, or outside the interval or its grid."""
    stated = shape(relation).columns
    return [
        (name, cell)
        for row in engine._relation(relation, shape(relation).columns)
        for name, cell in row.cells.items()
        if not fits(cell, stated[name])
    ]


def test_every_cell_of_a_relation_is_what_its_facts_say() -> None:
    engine = ReferenceEngine(ONE_EACH | {"w": {"z": [0, 5]}}, NEVER, key=KEY)
    found = 0
    for relation in _unique_relations(NEVER):
        assert _misfits(engine, relation) == []
        found += any(None in row.cells.values() for row in engine._relation(relation, shape(relation).columns))
    assert found  # rows that a LEFT JOIN found no partner for


@pytest.mark.parametrize("kind", list(UNITS))
@settings(max_examples=25, suppress_health_check=[*HealthCheck])
@given(data=st.data())
def test_every_cell_of_random_relations_is_what_their_facts_say(kind: str, data: st.DataObject) -> None:
    book = codebook(kind)
    engine = ReferenceEngine(data.draw(tables(kind)), book, key=KEY)
    for _ in range(4):
        assert _misfits(engine, data.draw(relations(book))) == []


def test_a_left_join_that_forgets_what_it_did_not_find_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the right side's columns keep their facts, as in an inner join."""
    monkeypatch.setattr(plan_facts.Facts, "with_null", lambda self, nullable: self)
    engine = ReferenceEngine(ONE_EACH | {"w": {"z": [0, 5]}}, NEVER, key=KEY)
    t, w = scan(NEVER, "t"), scan(NEVER, "w")
    assert _misfits(engine, Join(t, w, (("k", "z"),), JoinKind.LEFT)) != []


FOUND_FOR_SOME = Codebook.from_yaml(
    """
unit: {id: p, groups: 5, rows_per_group: 9, rows_per_join: 5}
tables:
  t: {variables: {p: integer, k: {type: integer, bounds: [0, 9]}}}
  u: {variables: {p: integer, z: {type: integer, bounds: [0, 9]}}}
"""
)
"""Person 1 has two rows in the first table, and for one of them a row in the second."""
SOME_FOUND = {"t": {"p": [1, 1, 2], "k": [3, 4, 3]}, "u": {"p": [1, 2], "z": [3, 3]}}


def _grouped_by_the_other_sides_unit() -> UnitAgg:
    """One row for each person and each identifier that a LEFT JOIN found, or did not find, beside the person's rows."""
    other = Project(scan(FOUND_FOR_SOME, "u"), (("whose", Column("p")), ("z", Column("z"))))
    joined = Join(scan(FOUND_FOR_SOME, "t"), other, (("p", "whose"), ("k", "z")), JoinKind.LEFT)
    rows = UnitValue("rows", UnitSummary.ROWS, None, Fraction(0), Fraction(5))
    return UnitAgg(joined, (("whose", Column("whose")),), (rows,))


def _rows_a_person_takes_along(relation: Relation) -> dict[str, int]:
    """How far each count moves when person 1 goes."""
    plan = GroupAgg(relation, (), Bounding(groups=1), (("n", RowCount(9)), ("units", Units())))
    gone = {name: {c: [v for v, p in zip(cells, table["p"], strict=True) if p != 1] for c, cells in table.items()}
            for name, table in SOME_FOUND.items()}  # fmt: skip
    moved = {}
    for make in (ReferenceEngine, DuckDBEngine):
        here, there = (make(rows, FOUND_FOR_SOME, key=KEY).run(plan) for rows in (SOME_FOUND, gone))
        moved = {name: abs(cells(here, name).get((), 0) - cells(there, name).get((), 0)) for name in ("n", "units")}
    return moved


def test_a_units_own_column_behind_a_left_join_is_not_one_for_all_its_rows() -> None:
    """Such a column is the unit in some rows and missing in others, so a unit has two rows of the summary, and both count."""
    relation = _grouped_by_the_other_sides_unit()
    assert _most(ReferenceEngine(SOME_FOUND, FOUND_FOR_SOME, key=KEY), relation) == 2
    assert shape(relation).most_rows != 1
    plan = GroupAgg(relation, (), Bounding(groups=1), (("n", RowCount(9)), ("units", Units())))
    moved = _rows_a_person_takes_along(relation)
    assert moved == {"n": 2, "units": 1}
    assert all(moved[name] <= bound.l1 for name, bound in sensitivities(plan).items())


def test_a_left_join_that_leaves_units_as_they_were_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the right side's unit column counts as present in every row, as in an inner join."""
    monkeypatch.setattr(plan_relation, "_optional", lambda anchors: anchors)
    relation = _grouped_by_the_other_sides_unit()
    assert shape(relation).most_rows == 1 < _rows_a_person_takes_along(relation)["n"]


def _one_for_several(facts: str) -> Codebook:
    """A codebook whose identifier is read so that several people have the same one."""
    text = f"{{type: integer, {facts}}}" if "other" not in facts else f"{{type: string, categories: [x, y], {facts}}}"
    return Codebook.from_yaml(
        "{unit: {id: p, groups: 1, rows_per_group: 1}, tables: {v: {variables: "
        f"{{p: {text}, k: {{type: string, categories: [a, b]}}}}}}}}}}"
    )


ONE_FOR_SEVERAL = {
    "bounds: [1, 3]": [3, 7],
    "missing: {impute: 3}": [3, None],
    "other: rest": ["v", "w"],
}
"""How an identifier could be read, and two people that it makes one."""


@pytest.mark.parametrize("facts", ONE_FOR_SEVERAL)
def test_an_identifier_is_never_read_as_anothers(facts: str) -> None:
    with pytest.raises(InvalidArgument, match=r"p: an identifier has no .*, which would make one of several people"):
        _one_for_several(facts)


@pytest.mark.parametrize("facts", ONE_FOR_SEVERAL)
def test_identifiers_that_make_one_of_two_people_are_caught(facts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: without the refusal, one of them decides which group is kept of the other."""
    monkeypatch.setattr(plan_codebook, "_checked_apart", lambda *_: None)
    book, people = _one_for_several(facts), ONE_FOR_SEVERAL[facts]
    plan = GroupAgg(
        scan(book, "v"), (KeyColumn("k", Column("k"), ("a", "b")),), Bounding(groups=1), (("n", RowCount(1)),)
    )
    farthest = 0
    for secret in range(2**200, 2**200 + 12):
        both, one = (
            cells(ReferenceEngine({"v": {"p": who, "k": ["a", "b"][-len(who) :]}}, book, key=secret).run(plan), "n")
            for who in (people, people[1:])
        )
        farthest = max(farthest, sum(abs(both.get(k, 0) - one.get(k, 0)) for k in both.keys() | one.keys()))
    assert farthest == 2 > sensitivities(plan)["n"].l1


@pytest.mark.parametrize(
    "column",
    [
        "order: {type: integer, bounds: [1, 3]}, id: integer",
        "order: integer, id: {type: integer, missing: {impute: 1}}",
    ],
)
def test_a_link_to_the_unit_is_never_read_as_anothers(column: str) -> None:
    child, parent = column.split(", id: ")
    text = (
        f"{{unit: {{id: p, groups: 1, rows_per_group: 1}}, tables: {{orders: {{variables: {{p: integer, id: {parent}}}}}, "
        f"items: {{links: [order -> orders.id], variables: {{{child}}}}}}}}}"
    )
    with pytest.raises(InvalidArgument, match="of a link to the unit has no"):
        Codebook.from_yaml(text)


def _linked(child: str, parent: str) -> Codebook:
    """Items whose order is someone's, by a column of these facts on either side."""
    return Codebook.from_yaml(
        f"{{unit: {{id: p, groups: 1, rows_per_group: 1}}, tables: {{orders: {{variables: {{p: integer, id: {parent}}}}}, "
        f"items: {{links: [order -> orders.id], variables: {{order: {child}, k: {{type: string, categories: [a, b]}}}}}}}}}}"
    )


_COARSE = "{type: integer, bounds: [0, 90], step: 10, outside: missing}"


@pytest.mark.parametrize(
    ("child", "parent", "words"),
    [
        ("{type: number, step: 1}", "{type: number, step: 1}", "must be an integer or a string, without a step"),
        ("integer", "{type: decimal, step: 1}", "must be an integer or a string, without a step"),
        (_COARSE, "integer", "must be an integer or a string, without a step"),
        ("integer", "date", "must be an integer or a string, without a step"),
        ("string", "integer", "is a string and orders.id an integer; use one type"),
    ],
)
def test_a_link_to_the_unit_is_never_rounded(child: str, parent: str, words: str) -> None:
    """A key that is rounded is another one's too, and on two grids each engine would match other rows."""
    with pytest.raises(InvalidArgument, match=words):
        _linked(child, parent)


@pytest.mark.parametrize(("facts", "keys"), [("{type: number, step: 1}", (0.6, 1.4)), (_COARSE, (11, 14))])
def test_links_that_round_two_peoples_keys_to_one_are_caught(
    facts: str, keys: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: without the refusal, the items of one person are another's too, and go with either."""
    monkeypatch.setattr(plan_codebook, "_checked_link", lambda *_: None)
    book, farthest = _linked(facts, facts), 0
    kinds = KeyColumn("k", Column("k"), ("a", "b"))
    plan = GroupAgg(scan(book, "items"), (kinds,), Bounding(groups=1), (("n", RowCount(1)),))
    for secret in range(2**200, 2**200 + 12):
        both, one = (
            cells(
                ReferenceEngine(
                    {
                        "orders": {"p": [1, 2][:n], "id": [*keys][:n]},
                        "items": {"order": [*keys][:n], "k": ["a", "b"][:n]},
                    },
                    book,
                    key=secret,
                ).run(plan),
                "n",
            )
            for n in (2, 1)
        )
        farthest = max(farthest, sum(abs(both.get(k, 0) - one.get(k, 0)) for k in both.keys() | one.keys()))
    assert farthest > sensitivities(plan)["n"].l1


def test_a_unique_unit_moves_unions_by_at_most_the_triple() -> None:
    """Person 1 goes: the union of the table with itself loses two rows."""
    without = {**ONE_EACH, "t": {name: column[1:] for name, column in ONE_EACH["t"].items()}}
    total = ("x", Total(Column("x"), Fraction(0), Fraction(1000)))
    for times in (1, 2, 3):
        source = Union((scan(UNIQUE, "t"),) * times) if times > 1 else scan(UNIQUE, "t")
        plan = GroupAgg(source, (), Bounding(groups=2), (total, ("n", RowCount(9)), ("u", Units())))
        here, there = (ReferenceEngine(rows, UNIQUE, key=KEY).run(plan) for rows in (ONE_EACH, without))
        for name, bound in sensitivities(plan).items():
            moved = abs(cells(here, name)[()] - cells(there, name)[()])
            assert moved <= bound.l1, (times, name)
            assert moved == {"x": 10 * times, "n": times, "u": 1}[name]


def test_the_group_of_missing_keys_is_counted() -> None:
    """Person 1 is in the declared group and in that of the missing keys, and leaves both."""
    book = Codebook.from_yaml(
        "{unit: {id: p, groups: 5, rows_per_group: 9}, table: t, variables: {p: integer, k: string}}"
    )
    everyone = {"p": [1, 1, 1, 2], "k": ["a", None, "zz", "a"]}
    without = {"p": [2], "k": ["a"]}
    for domain, keep, groups in product([("a",), ("a", "zz")], [False, True], [1, 5]):
        key = KeyColumn("k", Column("k"), domain, keep_missing=keep)
        plan = GroupAgg(scan(book), (key,), Bounding(groups=groups), (("u", Units()), ("n", RowCount(2))))
        here, there = (ReferenceEngine({"t": rows}, book, key=KEY).run(plan) for rows in (everyone, without))
        for name, bound in sensitivities(plan).items():
            before, after = cells(here, name), cells(there, name)
            moved = [abs(before.get(cell, 0) - after.get(cell, 0)) for cell in {*before, *after}]
            moved = [change for change in moved if change]
            assert len(moved) == min(len(domain) + keep, groups) == bound.l0
            assert sum(moved) <= bound.l1
