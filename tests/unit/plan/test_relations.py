"""Relations: what is refused from the plan, and the triples of plans worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from deniable.errors import InvalidArgument, QueryRefused
from deniable.kernels.unit_sensitivity import Sensitivity
from deniable.plan.canonical import identity
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
    Units,
    UnitSummary,
    UnitValue,
    scan,
)
from deniable.plan.relation import derive, shape
from deniable.plan.sensitivity import sensitivities
from deniable.plan.translate import parse
from deniable.plan.unit import MOST_JOINED

TABLES = """
tables:
  log:
    variables: {who: integer, order: integer, v: {type: integer, bounds: [-2, 10]}, k: {type: integer, bounds: [0, 3]}}
  lines: {LINKvariables: {order_of: integer, n: {type: integer, bounds: [0, 5]}}}
  places: {public: true, variables: {place: integer, town: string}}
"""
BOOK = Codebook.from_yaml(
    "unit: {id: who, groups: 2, rows_per_group: 3}" + TABLES.replace("LINK", "links: [order_of -> log.order], ")
)
ROWS = Codebook.from_yaml("unit: rows" + TABLES.replace("LINK", ""))
CHANGED = Codebook.from_yaml("unit: changed rows" + TABLES.replace("LINK", ""))
LOG, LINES, PLACES = (scan(BOOK, name) for name in ("log", "lines", "places"))
RENAMED = Project(LOG, (("who_2", Column("who")), ("v_2", Column("v"))))


@pytest.mark.parametrize(
    ("build", "code"),
    [
        (lambda: Join(LOG, RENAMED, (("v", "v_2"),)), "join-not-on-unit"),
        (lambda: Join(LOG, RENAMED, ()), "join-not-on-unit"),
        (lambda: Join(LOG, LOG, (("who", "who"),)), "ambiguous-column"),
        (lambda: Join(PLACES, LOG, (("place", "v"),), JoinKind.LEFT), "public-kept-by-private"),
        (lambda: Join(PLACES, LOG, (("place", "v"),), JoinKind.SEMI), "public-kept-by-private"),
        (lambda: Join(LOG, PLACES, (("v", "town"),)), "type-mismatch"),
        (lambda: Join(LOG, PLACES, (), JoinKind.LEFT), "join-without-keys"),
        (lambda: Join(scan(ROWS, "log"), scan(ROWS, "lines"), (("order", "order_of"),)), "join-of-rows"),
        (lambda: Union((scan(ROWS, "log"), scan(ROWS, "log"))), "bad-union"),
        (lambda: Union((LOG, PLACES)), "bad-union"),
        (lambda: Filter(LOG, Column("v")), "type-mismatch"),
        (lambda: Filter(LOG, parse("nope > 1")), "unknown-column"),
        (lambda: Project(LOG, (("a", Column("v")), ("A", Column("k")))), "ambiguous-column"),
        (lambda: UnitAgg(PLACES, (), (UnitValue("n", UnitSummary.ROWS),)), "no-unit"),
        (lambda: UnitAgg(LOG, (), (UnitValue("n", UnitSummary.SUM, Column("who")),)), "unbounded"),
    ],
)
def test_unsound_relations_are_refused(build: Callable[[], Relation], code: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        shape(build())
    assert refused.value.code == code


def test_sound_joins_are_accepted() -> None:
    for relation in (
        Join(LOG, RENAMED, (("who", "who_2"),)),
        Join(LINES, LOG, (("order_of", "order"),)),
        Join(LINES, Project(LINES, (("o2", Column("order_of")),)), (("order_of", "o2"),)),
        Join(LOG, PLACES, (("v", "place"),), JoinKind.LEFT),
        Join(PLACES, LOG, (("place", "v"),)),
    ):
        private = PLACES not in (relation.left, relation.right)
        assert shape(relation).most_rows == (MOST_JOINED**2 if private else None)
        assert not shape(relation).public


def _plan(relation: Relation, *, groups: int = 2, keys: tuple[KeyColumn, ...] | None = None, **bounds: int) -> GroupAgg:
    aggregates = (
        ("units", Units()),
        ("rows", RowCount(3)),
        ("sum", Total(Column("v"), Fraction(-6), Fraction(30))),
        ("high", Total(Column("v"), Fraction(5), Fraction(30))),
        ("distinct", Distinct(Column("k"), 9)),
        ("bins", Histogram(parse("bin(v, -2, 0, 10)"), 2, 4)),
    )
    default = (KeyColumn("k", Column("k"), (0, 1, 2)),)
    return GroupAgg(relation, default if keys is None else keys, Bounding(groups=groups, **bounds), aggregates)  # type: ignore[arg-type]


def _triples(plan: GroupAgg) -> dict[str, tuple[int, int, int]]:
    return {name: (bound.l0, bound.l1, bound.linf) for name, bound in sensitivities(plan).items()}


def test_triples_of_clipped_plans() -> None:
    assert _triples(_plan(LOG)) == {
        "units": (2, 2, 1), "rows": (2, 6, 3), "sum": (2, 60, 30), "high": (2, 60, 30), "distinct": (2, 8, 4), "bins": (4, 8, 4),
    }  # fmt: skip


def test_triples_of_sampled_plans() -> None:
    assert _triples(_plan(LOG, rows_per_group=2, rows_per_unit=3)) == {
        "units": (2, 2, 1), "rows": (2, 3, 2), "sum": (2, 30, 20), "high": (2, 40, 20), "distinct": (2, 3, 2), "bins": (4, 3, 2),
    }  # fmt: skip


def test_triples_of_single_and_changed_rows() -> None:
    assert _triples(_plan(scan(ROWS, "log"))) == {
        "units": (1, 1, 1), "rows": (1, 1, 1), "sum": (1, 10, 10), "high": (1, 10, 10), "distinct": (1, 1, 1), "bins": (1, 1, 1),
    }  # fmt: skip
    assert _triples(_plan(scan(CHANGED, "log"))) == {
        "units": (2, 2, 1), "rows": (2, 2, 1), "sum": (2, 20, 12), "high": (2, 20, 10), "distinct": (2, 2, 1), "bins": (2, 2, 1),
    }  # fmt: skip
    alone = _triples(_plan(scan(CHANGED, "log"), keys=()))
    assert alone["sum"] == (1, 12, 12), "without keys a changed row moves the sum by the width of its interval"


def test_a_domain_smaller_than_the_cap_lowers_it() -> None:
    assert _triples(_plan(LOG, groups=7))["units"] == (3, 3, 1)
    assert _triples(_plan(LOG, groups=7, keys=()))["units"] == (1, 1, 1)


def test_the_squared_distance_is_the_smaller_bound() -> None:
    assert Sensitivity(l0=4, l1=3, linf=2).l2_squared == 6
    assert Sensitivity(l0=2, l1=60, linf=30).l2_squared == 1800
    assert Sensitivity(l0=2, l1=60, linf=30, squares=900).l2_squared == 900


@pytest.mark.parametrize(
    "build",
    [
        lambda: GroupAgg(LOG, (KeyColumn("k", Column("k")),), Bounding(groups=1), (("n", RowCount(1)),)),
        lambda: GroupAgg(LOG, (), Bounding(groups=1), ()),
        lambda: GroupAgg(LOG, (), Bounding(groups=1), (("n", Units()), ("n", RowCount(1)))),
        lambda: Bounding(groups=0),
        lambda: RowCount(0),
        lambda: Total(Column("v"), Fraction(1), Fraction(0)),
        lambda: Histogram(Column("v"), 2, 2**20),
    ],
)
def test_bad_plans_are_refused(build: Callable[[], object]) -> None:
    with pytest.raises(InvalidArgument):
        build()


@pytest.mark.parametrize(
    ("plan", "code"),
    [
        (GroupAgg(PLACES, (), Bounding(groups=1), (("n", Units()),)), "public-query"),
        (GroupAgg(LOG, (), Bounding(groups=1), (("s", Total(Column("who"), Fraction(0), Fraction(1))),)), "unbounded"),
        (GroupAgg(LOG, (), Bounding(groups=1), (("h", Histogram(Column("v"), 3, 1)),)), "bad-histogram"),
        (GroupAgg(LOG, (KeyColumn("k", Column("k"), ("a",)),), Bounding(groups=1), (("n", Units()),)), "type-mismatch"),
    ],
)
def test_plans_that_do_not_fit_are_refused(plan: GroupAgg, code: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        sensitivities(plan)
    assert refused.value.code == code


def test_equal_plans_have_one_identity() -> None:
    one = _plan(Filter(Filter(LOG, parse("v > 1")), parse("k = 2")))
    other = _plan(Filter(LOG, parse("2 = k and 1 < v")))
    assert identity(one) == identity(other)
    assert identity(one) != identity(_plan(LOG))
    assert identity(one) != identity(_plan(one.source, groups=1))


def test_derive_keeps_and_replaces_columns() -> None:
    relation = derive(LOG, twice=parse("v * 2"), k=parse("k + 1"))
    assert list(shape(relation).columns) == ["who", "order", "v", "k", "twice"]
    assert shape(relation).columns["twice"].interval == (-4, 20)
