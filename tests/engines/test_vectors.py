"""Joint vectors: the same integers on every engine, no unit beyond the length, and regressions where rows stay on a cluster."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deniable as dp
from deniable.engines import reference
from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.reference import ReferenceEngine
from deniable.engines.table_space import PrivateTables, RemoteRows
from deniable.engines.unit_rows import checked_vector, cut_part
from deniable.errors import InvalidArgument, QueryRefused
from deniable.models import LinearRegression
from deniable.models.linear import products, products_square
from deniable.models.unit_totals import PrivateRows, root_up
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column, Expression, Literal
from deniable.plan.nodes import MOST_ENTRIES, UnitRows, UnitVector, scan, triangle
from deniable.plan.relation import schema
from deniable.plan.translate import parse
from deniable.testing import Seeded
from tests.engines.everywhere import ENGINES, placed, servers_of
from tests.engines.random_plans import KEY, UNITS, codebook, tables
from tests.engines.sql_schemas import World
from tests.engines.test_neighbours import _units, _without

_LOOSE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
FEATURES: tuple[Expression, ...] = (Literal(2), Column("minutes"), Column("urgent"), Column("off"))
ENTRIES = {"products": triangle(len(FEATURES)), "sums": tuple((place,) for place in range(len(FEATURES)))}


def _plan(book: Codebook, entries: str, norm: int) -> UnitVector:
    source = scan(book, "visits")
    texts = {"minutes": "minutes", "off": "off", "urgent": "case when urgent then 1 when not urgent then -1 end"}
    columns = tuple((name, parse(text, schema=schema(source))) for name, text in texts.items())
    return UnitVector(UnitRows(source, columns, 3), FEATURES, ENTRIES[entries], norm)


@pytest.mark.parametrize("kind", UNITS)
@settings(max_examples=10, suppress_health_check=_LOOSE)
@given(data=st.data())
def test_engines_add_up_the_same_vector(kind: str, data: st.DataObject) -> None:
    book, rows = codebook(kind), data.draw(tables(kind=kind))
    norm = data.draw(st.sampled_from([1, 7, 300, 20_011, 10**6]))
    for entries in ENTRIES:
        plan = _plan(book, entries, norm)
        expected = ReferenceEngine(rows, book, key=KEY).vector(plan)
        assert DuckDBEngine(rows, book, key=KEY).vector(plan).tolist() == expected.tolist()


def _moved(book: Codebook, rows: Any, gone: list[bool], plan: UnitVector) -> int:
    """The squared length by which the vector moves when these rows leave."""
    neighbour = {**rows, "visits": _without(rows["visits"], gone)}
    here, there = (ReferenceEngine(part, book, key=KEY).vector(plan) for part in (rows, neighbour))
    return sum(int(entry) ** 2 for entry in here - there)


@pytest.mark.parametrize("kind", ["integer", "period", "rows"])
@settings(max_examples=20, suppress_health_check=_LOOSE)
@given(data=st.data(), norm=st.sampled_from([1, 50, 5_000, 60_000]))
def test_one_unit_moves_the_vector_by_no_more_than_its_length(kind: str, data: st.DataObject, norm: int) -> None:
    book, rows = codebook(kind), data.draw(tables(kind=kind))
    units = _units(book, rows["visits"])
    for unit in {unit for unit in units if unit is not None}:
        assert _moved(book, rows, [each == unit for each in units], _plan(book, "products", norm)) <= norm**2


def test_a_vector_that_is_not_cut_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: rows are added up as they are."""
    book = codebook("integer")
    visits = {variable.name: [None, None] for variable in book["visits"].variables}
    visits |= {"patient": [1, 2], "minutes": [50, 60], "off": [1, 1], "urgent": [True, True]}
    rows = {table.name: {variable.name: [] for variable in table.variables} for table in book.tables}
    rows |= {"visits": visits}
    plan = _plan(book, "products", 100)
    assert _moved(book, rows, [True, False], plan) <= 100**2
    monkeypatch.setattr(reference, "cut_part", lambda part, norm: list(part))
    assert _moved(book, rows, [True, False], plan) > 100**2


@given(part=st.lists(st.integers(-(2**28), 2**28), min_size=1, max_size=6), norm=st.integers(1, 2**30))
def test_a_cut_part_has_at_most_the_length_and_keeps_signs(part: list[int], norm: int) -> None:
    cut = cut_part(part, norm)
    assert sum(entry**2 for entry in cut) <= norm**2
    assert all(abs(new) <= abs(old) and new * old >= 0 for new, old in zip(cut, part, strict=True))
    if sum(entry**2 for entry in part) <= norm**2:
        assert cut == part


_WORLD = World(
    {
        "unit": {"id": "who", "groups": 1, "rows_per_group": 2},
        "table": "t",
        "variables": {
            "who": "string",
            "ward": {"type": "string", "categories": ["a", "b", "é"]},
            "cost": {"type": "number", "bounds": [-2, 7], "step": 0.25},
            "urgent": "boolean",
            "wage": {"type": "integer", "bounds": [0, 99]},
        },
    },
    {
        "t": {
            "who": [f"person {i * i % 37}" if i % 13 else None for i in range(90)],
            "ward": [["a", "b", "é", "z", None][i % 5] for i in range(90)],
            "cost": [None if i % 7 == 3 else i / 9 - 3 for i in range(90)],
            "urgent": [[True, False, None][i % 3] for i in range(90)],
            "wage": [(i * 7) % 120 for i in range(90)],
        }
    },
    {"t": {"who": "VARCHAR", "ward": "VARCHAR", "cost": "DOUBLE", "urgent": "BOOLEAN", "wage": "BIGINT"}},
)


@pytest.mark.parametrize("engine", ENGINES)
def test_products_added_up_by_an_engine_are_those_of_its_rows(request: pytest.FixtureRequest, engine: str) -> None:
    book = Codebook.from_record(_WORLD.codebook)
    reading = LinearRegression("wage").reading(book)
    data = placed(engine, _WORLD, servers_of(request))._engine
    left = RemoteRows(PrivateTables(data, book), _rows_plan(reading))
    for norm in (root_up(products_square(reading)), 10**6):
        here = products(left, reading, norm=norm)
        rows = PrivateRows.of(left.table())
        assert here.tolist() == products(rows, reading, norm=norm).tolist()
        assert rows.count


def _rows_plan(reading: Any) -> UnitRows:
    """The plan of the rows a model reads, as an engine sees it."""
    seen: list[UnitRows] = []

    class Seeing(ReferenceEngine):
        def rows(self, plan: UnitRows) -> Any:
            seen.append(plan)
            return super().rows(plan)

    book = Codebook.from_record(_WORLD.codebook)
    reading.rows.function(PrivateTables(Seeing(_WORLD.tables, book, key=KEY), book), None)
    return seen[0]


class Cluster(ReferenceEngine):
    """An engine that hands out no rows."""

    @property
    def distributed(self) -> bool:
        return True

    def rows(self, plan: UnitRows) -> Any:
        raise AssertionError("rows were asked for")


@pytest.mark.parametrize("method", ["statistics", "functional"])
def test_a_regression_needs_no_rows_and_is_the_same_without(method: str) -> None:
    book = Codebook.from_record(_WORLD.codebook)
    model = LinearRegression("wage", rows=1, method=method)
    fitted = []
    for kind in (ReferenceEngine, Cluster):
        data = dp.Dataset(kind(_WORLD.tables, book, key=KEY), codebook=book, name="made up")
        session = data.session(dp.budget(epsilon=100, delta=1e-3), entropy=Seeded(4))
        fitted.append(model.fit(session, epsilon=50))
    assert fitted[0].weights == fitted[1].weights
    assert fitted[0].count == fitted[1].count > 10


def test_features_as_expressions_are_the_columns_of_the_model() -> None:
    book = Codebook.from_record(_WORLD.codebook)
    model = LinearRegression("wage")
    reading = model.reading(book)
    table = PrivateRows.of(
        reading.rows.function(PrivateTables(ReferenceEngine(_WORLD.tables, book, key=KEY), book), None)
    )
    _, columns = checked_vector(UnitVector(_rows_plan(reading), (Literal(1),), ((0,),), 1))
    for feature in (*reading.features, reading.target):
        assert feature is not None
        expected = feature.columns(table.codes[feature.name])
        for place, expression in enumerate(feature.expressions()):
            cells = [{feature.name: Fraction(int(code))} for code in table.codes[feature.name]]
            assert [reference.evaluate(expression, cell, columns) for cell in cells] == expected[:, place].tolist()


def test_vectors_that_could_leave_64_bits_are_refused_from_the_plan() -> None:
    book = codebook("integer")
    plan = _plan(book, "products", 10)
    wide = UnitVector(plan.rows, (Literal(isqrt(2**62)), Literal(2)), ((0, 1),), 1)
    with pytest.raises(QueryRefused, match="too-wide"):
        checked_vector(wide)
    with pytest.raises(QueryRefused, match="too-wide"):
        checked_vector(UnitVector(plan.rows, FEATURES, ENTRIES["sums"], 2**31))
    with pytest.raises(QueryRefused, match="bad-feature"):
        checked_vector(UnitVector(plan.rows, (Literal(Fraction(1, 2)),), ((0,),), 1))


@pytest.mark.parametrize("entries", [(), ((0, 1, 0),), ((4,),), ((),), ((0,),) * (MOST_ENTRIES + 1)])
def test_vectors_without_a_meaning_are_refused(entries: Any) -> None:
    plan = _plan(codebook("integer"), "sums", 1)
    with pytest.raises(InvalidArgument):
        UnitVector(plan.rows, FEATURES, entries, 1)
    with pytest.raises(InvalidArgument):
        UnitVector(plan.rows, FEATURES, ENTRIES["sums"], 0)


def test_a_vector_too_long_for_one_statement_is_made_of_rows() -> None:
    book = Codebook.from_record(_WORLD.codebook)
    rows = RemoteRows(
        PrivateTables(ReferenceEngine(_WORLD.tables, book, key=KEY), book),
        _rows_plan(LinearRegression("wage").reading(book)),
    )
    many = tuple(Literal(1) for _ in range(60))
    assert rows.adds_up(many[:3], triangle(3), norm=5)
    assert not rows.adds_up(many, triangle(60), norm=5)
    assert not rows.adds_up((Literal(2**40),), ((0, 0),), norm=5)
    assert isinstance(rows.table().columns["wage"], np.ndarray)
