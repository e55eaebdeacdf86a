"""A unit's bounded rows as cells: the one reading of the data that all measurements of a synthesizer share.

Guarantee: one unit is in at most `rows` of them, bounded once for all tables that are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.core.transformation import Transformation
from deniable.cost import Neighbours
from deniable.engines.table_space import UNIT, PrivateTables, frame_rows
from deniable.errors import InvalidArgument
from deniable.exact.guards import integer, shown
from deniable.kernels.unit_sensitivity import Sensitivity
from deniable.noise import system_entropy
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Case, Column, Compare, Comparison, Expression, IsNull, Literal
from deniable.plan.facts import date_of
from deniable.plan.functions.calendar import DaysBetween, ToDate
from deniable.plan.functions.numeric import Clamp
from deniable.plan.functions.several import Coalesce
from deniable.plan.nodes import ByOrder, Relation, UnitRows
from deniable.plan.relation import schema, shape
from deniable.plan.translate import parse
from deniable.synth.attribute import Attribute, Attributes
from deniable.synth.measured.cells_of_codebook import private_rows
from deniable.synth.measured.engine_cells import EngineCells


@dataclass(frozen=True, slots=True)
class CellRows:
    """Rows of cells, one column of whole numbers for each attribute, and whose they are where units have several rows.

    Private: only mechanisms may look at it.
    """

    columns: tuple[NDArray[np.int64], ...]
    labels: NDArray[np.int64] | None = None

    def table(self, places: tuple[int, ...], sizes: tuple[int, ...]) -> NDArray[np.int64]:
        """How many rows fall into each cell of these columns, as one flat table with the last column fastest.

        Of no column it is the number of rows.
        """
        if not places:
            return np.array([len(self.columns[0])], dtype=np.int64)
        return np.bincount(flat(self.columns, places, sizes), minlength=int(np.prod(sizes)))

    def fetch(self, levels: Iterable[tuple[int, ...]]) -> None:
        """Tables that will be asked for: there is nothing to fetch, the rows are here."""

    def mapped(self, cells: Sequence[Sequence[int] | NDArray[np.int64] | None]) -> CellRows:
        """Every cell of a column replaced by what `cells` of that column has in its place; None leaves a column as it is.

        Row by row, so one unit moves as many rows as before.
        """
        pairs = zip(cells, self.columns, strict=True)
        return CellRows(tuple(c if each is None else np.asarray(each, dtype=np.int64)[c] for each, c in pairs))


def flat(columns: Any, places: tuple[int, ...], sizes: tuple[int, ...]) -> NDArray[np.int64]:
    """The number of every row's cell in the table of several columns."""
    codes: NDArray[np.int64] = np.zeros(len(columns[places[0]]), dtype=np.int64)
    for place, size in zip(places, sizes, strict=True):
        codes = codes * size + columns[place]
    return codes


@dataclass(frozen=True, slots=True)
class Contribution:
    """How far one unit moves a table of counts: it has at most `rows` rows, and neighbours differ in `moves` units' rows."""

    rows: int
    moves: int = 1

    @property
    def table(self) -> Sensitivity:
        """How far one unit moves a table: all its rows may be in one cell."""
        most = self.rows * self.moves
        return Sensitivity(l0=most, l1=most, linf=self.rows)

    @property
    def total(self) -> Sensitivity:
        """How far one unit moves one number that each of its rows moves by at most one."""
        return self.totals(1)

    def totals(self, count: int) -> Sensitivity:
        """How far one unit moves several such numbers, which all may move alike."""
        most = self.rows * self.moves
        return Sensitivity(l0=count, l1=most * count, linf=most)


Cells: TypeAlias = CellRows | EngineCells
"""What tables of cells are counted from."""
Read = Callable[[Any], CellRows]
MOST_BYTES = 1 << 30
"""Rows that would take more memory than this stay with their engine, which counts the tables."""


@dataclass(frozen=True, slots=True)
class CellReading:
    """How rows of a table become cells: handed out as rows, or counted as tables where they are. Both give the same integers."""

    frame: Transformation
    plan: UnitRows
    attributes: Attributes

    def __call__(self, data: Any) -> CellRows:
        """The rows, handed out."""
        if isinstance(data, CellRows):
            return data
        found = self.frame.function(data, system_entropy())  # reading draws nothing
        cells = [each.encode(found[f"c{place}"]) for place, each in enumerate(self.attributes.columns)]
        return CellRows(tuple(cells), found.get(UNIT))

    def tables(self, data: Any) -> Cells:
        """What tables are counted from: the rows, unless they are on a cluster or too many for memory."""
        if not isinstance(data, PrivateTables):
            return data if isinstance(data, EngineCells) else self(data)
        if data.at_hand:
            return self(data)
        engine = EngineCells(data, self.plan, self.attributes)
        if data.distributed:
            return engine
        rows = int(engine.table((), ())[0])
        return engine if rows * len(self.attributes.columns) * 8 > MOST_BYTES else self(data)


def cell_rows(
    codebook: Codebook, table: str | Relation, attributes: Attributes, *, rows: int | None, order: ByOrder | None = None
) -> tuple[CellReading, Contribution, str]:
    """How to read the rows as cells, how far one unit moves them, and the text that identifies the reading.

    Of a unit with more than `rows` rows those that come first in `order` are kept; by the keyed order if there is none.
    """
    source = private_rows(codebook, table)
    most, unit = unit_rows(source, rows), shape(source).unit
    assert unit is not None
    nullable = {name: fact.nullable for name, fact in schema(source).items()}
    named = {f"c{place}": _read(each, nullable[each.name]) for place, each in enumerate(attributes.columns)}
    frame = frame_rows(codebook, source, named, rows=most, order=order)
    moves = 2 if unit.neighbours is Neighbours.REPLACE else 1
    reading = CellReading(frame, UnitRows(source, tuple(named.items()), most, order), attributes)
    return reading, Contribution(1 if unit.is_row else most, moves), frame.recipe or ""


def unit_rows(source: Relation, rows: int | None) -> int:
    """How many rows of one unit are kept: `rows`, or as many as the codebook allows it; never more than it can have here."""
    below = shape(source)
    unit = below.unit
    if unit is None:
        raise InvalidArgument("these rows have no unit, so there is nobody to protect")
    allowed = (unit.groups or 0) * (unit.rows or 0) or below.most_rows or 0
    most = allowed if rows is None else integer(rows=rows, least=1)
    if not most:
        raise InvalidArgument("say rows=, how many rows of one unit are kept; the codebook bounds no unit")
    return 1 if unit.is_row else min(most, below.most_rows or most)


def row_order(codebook: Codebook, table: str | Relation, first: str | None, last: str | None) -> ByOrder | None:
    """The order in which a unit's rows are kept, the first or the last by an expression in text; None if neither is given."""
    if first is None and last is None:
        return None
    if first is not None and last is not None:
        raise InvalidArgument("say first= or last=, the column to order a unit's rows by: one of them")
    source, by = private_rows(codebook, table), last if first is None else first
    unit = shape(source).unit
    if unit is not None and unit.is_row:
        raise InvalidArgument(
            f"{'last' if first is None else 'first'}= has nothing to choose: every row is a unit of its own"
        )
    if not isinstance(by, str):
        raise InvalidArgument(f"first= and last= take a column or an expression as text, got {shown(by)}")
    return ByOrder(parse(by, schema=schema(source)), last=first is None)


def _read(attribute: Attribute, nullable: bool) -> Expression:
    """A column as a whole number that is never missing: its grid point, or its place in the list of categories."""
    column, absent = Column(attribute.name), Literal(attribute.absent * attribute.step)
    match attribute.type:
        case "string":
            named = attribute.labels[:-1] if attribute.open else attribute.labels
            whens: list[Expression] = [Compare(Comparison.EQUAL, column, Literal(label)) for label in named]
            return _open_places(whens, attribute, column) if attribute.open else _places(whens, attribute)
        case "boolean":
            return _places([Compare(Comparison.EQUAL, column, Literal(value)) for value in (False, True)], attribute)
        case "date" | "timestamp":
            day = ToDate(column) if attribute.type == "timestamp" else column
            days = DaysBetween(Literal(date_of(0)), day)
            point: Expression = Clamp(days, Fraction(attribute.edges[0]), Fraction(attribute.edges[-1] - 1))
        case _:
            point = column
    return Coalesce((point, absent)) if nullable else point


def _open_places(whens: list[Expression], attribute: Attribute, column: Column) -> Expression:
    """Values that were kept by their place, all others in the last place that holds a value; missing ones apart."""
    last = Literal(Fraction(attribute.present - 1))
    numbered = [(when, Literal(Fraction(place))) for place, when in enumerate(whens)]
    if attribute.missing:
        numbered.append((IsNull(column), Literal(Fraction(attribute.size - 1))))
    return Case(tuple(numbered), last) if numbered else last


def _places(whens: Sequence[Expression], attribute: Attribute) -> Case:
    numbered = tuple((when, Literal(Fraction(place))) for place, when in enumerate(whens))
    return Case(numbered, Literal(Fraction(attribute.size - 1)))
