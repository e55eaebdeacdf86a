"""The table space: what a codebook allows, with the distance of its unit. Its element is held by an engine and never seen.

`column_rows` and `frame_rows` are the transformations from it to spaces in memory; every mechanism of the calculus follows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from deniable.core.distance import Linear
from deniable.core.domain import Booleans, Categories, Domain, Frame, Lattice, Rows, Tables
from deniable.core.metric import IdentifierDistance, SymmetricDistance, UnitDistance
from deniable.core.space import Space
from deniable.core.transformation import Transformation
from deniable.cost import Neighbours
from deniable.engines.engine import (
    Engine,
    Integers,
    Result,
    RowEngine,
    RowTable,
    SparseTable,
    TableEngine,
    VectorEngine,
)
from deniable.engines.unit_rows import checked_rows, checked_vector
from deniable.errors import EngineFailed, InvalidArgument, QueryRefused
from deniable.exact.guards import integer
from deniable.plan.analysis import checked_facts
from deniable.plan.canonical import record
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Case, Compare, Comparison, Expression, IsNull, Literal, Not
from deniable.plan.facts import Facts, Kind, date_of
from deniable.plan.functions.calendar import DaysBetween
from deniable.plan.nodes import MOST_ENTRIES, ByOrder, Filter, GroupAgg, Relation, UnitRows, UnitVector, scan
from deniable.plan.relation import schema, shape
from deniable.plan.translate import parse
from deniable.plan.unit_tables import UnitTables

UNIT = "unit"
"""What the column of unit labels is called in a frame."""


class PrivateTables:
    """The element of the table space: an engine and what is public about the tables it holds."""

    def __init__(self, engine: Engine, codebook: Codebook) -> None:
        self._engine, self.tables = engine, _tables(codebook)

    def run(self, plan: GroupAgg) -> Result:
        """The plan's integers."""
        return self._engine.run(plan)

    def rows(self, plan: UnitRows) -> RowTable:
        """The plan's bounded rows."""
        if not isinstance(self._engine, RowEngine):
            raise EngineFailed
        return self._engine.rows(plan)

    def vector(self, plan: UnitVector) -> Integers:
        """The plan's joint vector."""
        if not isinstance(self._engine, VectorEngine):
            raise EngineFailed
        return self._engine.vector(plan)

    def counts(self, plan: UnitTables) -> list[SparseTable]:
        """The plan's tables of counts."""
        if not isinstance(self._engine, TableEngine):
            raise EngineFailed
        return self._engine.tables(plan)

    @property
    def at_hand(self) -> bool:
        """Whether rows can only be handed out, or are in memory already."""
        return not self.distributed and (not isinstance(self._engine, TableEngine) or self._engine.in_memory)

    @property
    def distributed(self) -> bool:
        """Whether vectors are added up where the rows are, instead of handing rows out."""
        return isinstance(self._engine, VectorEngine) and self._engine.distributed

    def __repr__(self) -> str:
        return f"PrivateTables({self.tables.name!r})"


class RemoteRows:
    """The bounded rows of a plan, left where the engine holds them: vectors are added up there."""

    def __init__(self, tables: PrivateTables, plan: UnitRows) -> None:
        self._tables, self._plan = tables, plan

    def table(self) -> RowTable:
        """The rows, handed out after all."""
        return self._tables.rows(self._plan)

    def adds_up(self, features: Sequence[Expression], entries: tuple[tuple[int, ...], ...], *, norm: int) -> bool:
        """Whether a vector can be added up there, exactly; it depends on what is public alone."""
        if len(entries) > MOST_ENTRIES:
            return False
        try:
            checked_vector(UnitVector(self._plan, tuple(features), entries, norm))
        except QueryRefused:
            return False
        return True

    def vector(self, features: Sequence[Expression], entries: tuple[tuple[int, ...], ...], *, norm: int) -> Integers:
        """A joint vector of these rows; see `UnitVector`."""
        return self._tables.vector(UnitVector(self._plan, tuple(features), entries, norm))

    def __repr__(self) -> str:
        return "RemoteRows(private)"


def table_space(codebook: Codebook) -> Space:
    """The tables of a codebook; neighbours add or remove (or, for changed rows, replace) one of its units.

    Guarantee: none of its own; it fixes who is protected in everything built on it.
    """
    return Space(_tables(codebook), UnitDistance())


def _tables(codebook: Codebook) -> Tables:
    name = codebook.name or codebook.tables[0].name
    return Tables(name, hashlib.sha256(codebook.identity().encode()).hexdigest())


def table_rows(
    codebook: Codebook,
    table: str | None,
    *,
    column: str | None,
    columns: Sequence[str] | Mapping[str, str] | None,
    where: str | None,
    rows: int | None,
) -> Transformation:
    """The rows of a table as one column of values or as a frame; expressions are text, as in queries."""
    if (column is None) == (columns is None):
        raise InvalidArgument("say column= for the values of one column, or columns= for a frame, one of them")
    source: Relation = scan(codebook, table)
    if where is not None:
        source = Filter(source, parse(where, schema=schema(source)))
    most = rows_per_unit(source) if rows is None else integer(rows=rows, least=1)
    if column is not None:
        return column_rows(codebook, source, parse(column, schema=schema(source)), rows=most)
    assert columns is not None
    named = columns if isinstance(columns, Mapping) else {name: name for name in columns}
    read = {name: parse(text, schema=schema(source)) for name, text in named.items()}
    return frame_rows(codebook, source, read, rows=most)


def rows_per_unit(source: Relation) -> int:
    """As many rows as the codebook allows one unit in all groups together."""
    known = shape(source)
    if known.most_rows is not None:
        return known.most_rows
    unit = known.unit
    bounds = [] if unit is None else [unit.total, unit.groups * unit.rows if unit.groups and unit.rows else None]
    stated = [most for most in bounds if most is not None]
    if not stated:
        raise InvalidArgument("say rows=, how many rows of one unit are kept; the codebook bounds no unit")
    return min(stated)


def column_rows(codebook: Codebook, source: Relation, of: Expression, *, rows: int) -> Transformation:
    """The values of one expression, at most `rows` of one unit; rows in which it is missing are left out.

    Guarantee: one unit moves at most `rows` rows (twice as many where a unit is replaced).
    """
    here = _present(source, of)
    known = _facts(of, schema(here))
    plan = UnitRows(here, (("value", _coded(of, known)),), rows)
    checked_rows(plan)
    target = Space(Rows(_domain(known, nullable=False)), SymmetricDistance())

    def function(data: Any, _: Any) -> Any:
        table = _read(data, plan)
        return _decoded(table.columns["value"], known)

    return Transformation(
        table_space(codebook), target, function, Linear(Fraction(rows * _moves(source))), recipe=_recipe(plan)
    )


def frame_rows(
    codebook: Codebook,
    source: Relation,
    columns: Mapping[str, Expression],
    *,
    rows: int,
    order: ByOrder | None = None,
) -> Transformation:
    """Several columns of every row, at most `rows` rows of one unit, with the unit's label beside them as `unit`.

    Of a unit with more rows those are kept that come first in a public `order`, or in the keyed one.

    Guarantee: one unit moves what belongs to one label. Where every row is a unit of its own there is no label, and one unit
    moves one row (two where it is replaced).
    """
    if UNIT in columns:
        raise InvalidArgument(f"{UNIT!r} is the column of unit labels; call the column something else")
    known = {name: _facts(of, schema(source)) for name, of in columns.items()}
    plan = UnitRows(source, tuple((name, _coded(of, known[name])) for name, of in columns.items()), rows, order)
    labelled = bool(checked_rows(plan).identity)
    domains: dict[str, Domain] = {name: _domain(fact, nullable=fact.nullable) for name, fact in known.items()}
    labels: dict[str, Domain] = {UNIT: Lattice()} if labelled else {}
    metric = IdentifierDistance(UNIT) if labelled else SymmetricDistance()

    def function(data: Any, _: Any) -> dict[str, Any]:
        table = _read(data, plan)
        frame = {} if table.units is None else {UNIT: table.units}
        return frame | {
            name: _with_missing(_decoded(table.columns[name], fact), table.missing[name])
            for name, fact in known.items()
        }

    return Transformation(
        table_space(codebook),
        Space(Frame({**labels, **domains}), metric),
        function,
        Linear(Fraction(_moves(source))),
        recipe=_recipe(plan),
    )


def coded_rows(codebook: Codebook, source: Relation, columns: Mapping[str, Expression], *, rows: int) -> Transformation:
    """Several columns of every complete row as whole numbers on public grids, at most `rows` rows of one unit.

    A category is its place in the codebook's list, false and true are 0 and 1, a date is days. Rows in which one of the columns
    is missing are left out. The answer is a `RowTable`, in whose columns nothing is missing; where the rows are too many for one
    machine, it is `RemoteRows`.

    Guarantee: one unit moves what belongs to one label; where every row is a unit of its own, one row (two where it is replaced).
    """
    here = source
    for of in columns.values():
        here = _present(here, of)
    known = {name: _facts(of, schema(here)) for name, of in columns.items()}
    plan = UnitRows(here, tuple((name, _coded(of, known[name])) for name, of in columns.items()), rows)
    labelled = bool(checked_rows(plan).identity)
    codes: dict[str, Domain] = {name: Lattice(fact.step, *_code_ends(fact)) for name, fact in known.items()}
    labels: dict[str, Domain] = {UNIT: Lattice()} if labelled else {}
    metric = IdentifierDistance(UNIT) if labelled else SymmetricDistance()
    return Transformation(
        table_space(codebook),
        Space(Frame({**labels, **codes}), metric),
        lambda data, _: _coded_table(data, plan),
        Linear(Fraction(_moves(source))),
        recipe=_recipe(plan),
    )


def column_facts(
    codebook: Codebook,
    table: str | None,
    names: Sequence[str],
    *,
    listed: Mapping[str, Sequence[str]] | None = None,
    searched: Sequence[str] = (),
) -> dict[str, Facts]:
    """The public facts of these columns of a table, each with bounds or categories; refused by name where one has none.

    Text columns whose values are `listed` need no declared categories, numbers whose bounds are `searched` none of those.
    """
    source = scan(codebook, table)
    known = schema(source)
    for name in names:
        if name not in known:
            raise InvalidArgument(f"table {source.table} has no column {name!r}; it has {', '.join(known)}")
        fact = known[name]
        if fact.kind is Kind.TIMESTAMP:
            raise InvalidArgument(f"column {name!r} is a moment; leave it out, or declare it as a date")
        if fact.kind is Kind.STRING and fact.categories is None and name not in (listed or {}):
            raise InvalidArgument(
                f"column {name!r} has no categories; declare them in the codebook, list values= that are public or were shown by "
                "a charged query, or leave it out of features="
            )
        if fact.kind is Kind.NUMBER and not fact.bounded and name not in searched:
            raise InvalidArgument(
                f"column {name!r} has no bounds; declare them in the codebook, or say bounds='private': they are then found within "
                "the same charge, for about a tenth of it (price shows it)"
            )
    return {name: known[name] for name in names}


def _code_ends(known: Facts) -> tuple[int, int]:
    if known.kind is Kind.STRING:
        assert known.categories is not None
        return 0, max(len(known.categories) - 1, 0)
    return (0, 1) if known.kind is Kind.BOOLEAN else known.ends


def _moves(source: Relation) -> int:
    """How many units one step of the unit distance adds and removes."""
    unit = shape(source).unit
    return 2 if unit is not None and unit.neighbours is Neighbours.REPLACE else 1


def _read(data: Any, plan: UnitRows) -> RowTable:
    if not isinstance(data, PrivateTables):
        raise EngineFailed
    return data.rows(plan)


def _coded_table(data: Any, plan: UnitRows) -> RowTable | RemoteRows:
    return RemoteRows(data, plan) if isinstance(data, PrivateTables) and data.distributed else _read(data, plan)


def _recipe(plan: UnitRows) -> str:
    return f"rows({json.dumps(record(plan), sort_keys=True)})"


def _facts(of: Expression, columns: dict[str, Facts]) -> Facts:
    known = checked_facts(of, columns)
    if known.kind is Kind.STRING and known.categories is None:
        raise QueryRefused(
            "no-categories",
            "a text column without declared categories has no public list of values",
            rewrite="declare its categories in the codebook",
        )
    if known.kind is Kind.TIMESTAMP:
        raise QueryRefused("timestamp", "rows hold dates, not moments", rewrite="write CAST(x AS DATE), or hour(x)")
    return known


def _present(source: Relation, of: Expression) -> Relation:
    return Filter(source, Not(IsNull(of))) if _facts(of, schema(source)).nullable else source


def _coded(of: Expression, known: Facts) -> Expression:
    """The expression as a whole number: a category by its place in the list, false and true as 0 and 1, a date in days."""
    match known.kind:
        case Kind.STRING:
            assert known.categories is not None
            whens = [
                (Compare(Comparison.EQUAL, of, Literal(value)), place) for place, value in enumerate(known.categories)
            ]
            return Case(tuple((when, Literal(Fraction(place))) for when, place in whens), None)
        case Kind.BOOLEAN:
            return Case(((of, Literal(Fraction(1))), (Not(of), Literal(Fraction(0)))), None)
        case Kind.DATE:
            return DaysBetween(Literal(date_of(0)), of)
        case _:
            return of


def _domain(known: Facts, *, nullable: bool) -> Domain:
    if known.kind is Kind.STRING:
        assert known.categories is not None
        return Categories((*known.categories, None) if nullable else known.categories)
    if known.kind is Kind.BOOLEAN:
        return Booleans(missing=nullable)
    return Lattice(known.step, known.lower, known.upper, missing=nullable)


def _decoded(codes: Any, known: Facts) -> Any:
    if known.kind is Kind.STRING:
        assert known.categories is not None
        return np.array(known.categories, dtype=object)[codes]
    return codes.astype(bool) if known.kind is Kind.BOOLEAN else codes


def _with_missing(values: Any, absent: Any) -> Any:
    if not absent.any():
        return values
    cells = values.astype(object)
    cells[absent] = None
    return cells
