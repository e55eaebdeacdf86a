"""The reference engine: plain Python, one row at a time, slow and plainly right. It is what all engines are judged by."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor, prod
from typing import Any, assert_never

import numpy as np

from deniable.engines.cell_rules import Cell, read
from deniable.engines.engine import Integers, KeyValue, Result, RowTable, SparseTable
from deniable.engines.evaluate import evaluate
from deniable.engines.order import OrderKey, order_key, rank, start, words
from deniable.engines.reference_bounding import Identity, Members, Owned, first_rows, grouped_rows, unit_words
from deniable.engines.results import Place, assembled, held, key_rank
from deniable.engines.unit_rows import checked_rows, checked_tables, checked_vector, cut_part, labels, row_table
from deniable.errors import InvalidArgument, QueryRefused
from deniable.plan.analysis import facts, summary_facts
from deniable.plan.codebook import Codebook
from deniable.plan.expression import Column
from deniable.plan.facts import LARGEST, Facts, Kind
from deniable.plan.functions.calendar import Truncate
from deniable.plan.nodes import (
    Aggregate,
    Distinct,
    Filter,
    GroupAgg,
    Histogram,
    Join,
    JoinKind,
    Project,
    Relation,
    RowCount,
    Scan,
    Total,
    Union,
    UnitAgg,
    UnitRows,
    Units,
    UnitSummary,
    UnitValue,
    UnitVector,
    ValueTable,
)
from deniable.plan.provenance import read_below, sources_of
from deniable.plan.relation import Shape, entering, schema, shape
from deniable.plan.sensitivity import checked, sensitivities, total_ends
from deniable.plan.tables import Link, Table
from deniable.plan.unit_tables import UnitTables


class ReferenceEngine:
    """Runs plans over columns held in memory as Python values."""

    def __init__(
        self, tables: Mapping[str, Mapping[str, Sequence[object]]], codebook: Codebook, *, key: bytes | int
    ) -> None:
        self._codebook, self._key = codebook, order_key(key)
        self._tables = {}
        for table in codebook.tables:
            if table.name not in tables:
                raise InvalidArgument(f"no data was given for table {table.name}")
            self._tables[table.name] = _rows(tables[table.name], table)

    @property
    def name(self) -> str:
        """The engine, public."""
        return "reference"

    @property
    def distributed(self) -> bool:
        """The rows are here."""
        return False

    def run(self, plan: GroupAgg) -> Result:
        """The plan's integers."""
        sensitivities(plan)
        below = checked(plan)
        kept = grouped_rows(plan, below, self._relation(plan.source, plan.reads), self._key)
        cells = {name: _aggregated(aggregate, kept, below, self._key) for name, aggregate in plan.aggregates}
        return assembled(plan, list(kept), cells)

    def rows(self, plan: UnitRows) -> RowTable:
        """The bounded rows of a plan."""
        below = checked_rows(plan)
        kept = grouped_rows(plan.bounded, below, self._relation(plan.source, plan.bounded.reads), self._key)
        owned = [(unit, cells) for members in kept.values() for unit, rows in members for cells in rows]
        identities = [tuple(map(held, unit, below.identity)) for unit, _ in owned]
        units = labels(identities, below.identity, self._key) if below.identity else None
        columns = {}
        for name, expression in plan.columns:
            known = facts(expression, below.columns)
            values = [held(evaluate(expression, cells, below.columns), known) for _, cells in owned]
            absent = [value is None for value in values]
            columns[name] = np.ma.array(
                [0 if value is None else value for value in values], mask=absent, dtype=np.int64
            )
        return row_table(units, columns)

    def vector(self, plan: UnitVector) -> Integers:
        """The joint vector of a plan."""
        below, columns = checked_vector(plan)
        rows = plan.rows.bounded
        kept = grouped_rows(rows, below, self._relation(rows.source, rows.reads), self._key)
        parts = [
            cut_part(_unit_part(plan, rows, below, columns), plan.norm) for each in kept.values() for _, rows in each
        ]
        sums = [sum(part[place] for part in parts) for place in range(len(plan.entries))]
        return np.array([min(max(entry, -LARGEST), LARGEST) for entry in sums], dtype=np.int64)

    @property
    def in_memory(self) -> bool:
        """The rows are here."""
        return True

    def tables(self, plan: UnitTables) -> list[SparseTable]:
        """The tables of a plan, row by row."""
        checked_tables(plan)
        columns = self.rows(plan.rows).columns.values()
        cut = [[bisect_right(cuts, value) for value in c.tolist()] for c, cuts in zip(columns, plan.cuts, strict=True)]
        found = []
        for level in plan.levels:
            counts = Counter(zip(*(cut[place] for place in level), strict=True) if level else [()] * len(cut[0]))
            cells = tuple(np.array([key[k] for key in counts], dtype=np.int64) for k in range(len(level)))
            found.append(SparseTable(cells, np.array(list(counts.values()), dtype=np.int64)))
        return found

    def look(self) -> None:
        """Refuse when the data is let go of; nothing is run."""
        if not self._tables:
            raise InvalidArgument("the data set is closed; nothing was spent, open it again")

    def public(self, relation: Relation) -> Mapping[str, tuple[KeyValue, ...]]:
        """The rows of a public relation, sorted."""
        known = shape(relation)
        if not known.public:
            raise QueryRefused("private", "this relation holds private rows", rewrite="ask for aggregates in a session")
        rows = [
            tuple(held(row.cells[name], fact) for name, fact in known.columns.items())
            for row in self._relation(relation, known.columns)
        ]
        rows.sort(key=key_rank)
        return {name: tuple(row[index] for row in rows) for index, name in enumerate(known.columns)}

    def close(self) -> None:
        """Let go of the data."""
        self._tables.clear()

    def _relation(self, relation: Relation, names: Collection[str]) -> list[Owned]:
        """The rows of a relation; `names` are the columns that are read of it, by which a join's sides are limited."""
        below = [
            self._relation(source, read)
            for source, read in zip(sources_of(relation), read_below(relation, names), strict=True)
        ]
        match relation:
            case Scan(codebook, table):
                return self._scan(codebook, codebook[table])
            case ValueTable(_, columns, rows):
                return [Owned((), _read_cells(columns, row)) for row in rows or ()]
            case Filter(source, condition):
                known = schema(source)
                return [row for row in below[0] if evaluate(condition, row.cells, known) is True]
            case Project(source, columns):
                known = schema(source)
                return [
                    Owned(row.unit, {name: evaluate(expression, row.cells, known) for name, expression in columns})
                    for row in below[0]
                ]
            case Join():
                return self._join(relation, *self._sides(relation, names, below))
            case Union():
                if (unit := shape(relation).unit) is not None and unit.is_row:
                    below = [[Owned((index, *row.unit), row.cells) for row in part] for index, part in enumerate(below)]
                return [row for part in below for row in part]
            case UnitAgg():
                return self._unit_agg(relation, below[0])
            case _:
                assert_never(relation)

    def _sides(self, join: Join, names: Collection[str], below: list[list[Owned]]) -> list[list[Owned]]:
        """Both sides of a join, with the rows of one unit that may enter."""
        limited = zip((join.left, join.right), below, read_below(join, names), entering(join), strict=True)
        return [
            rows if most is None else first_rows(shape(side), rows, read, most, self._key)
            for side, rows, read, most in limited
        ]

    def _scan(self, codebook: Codebook, table: Table) -> list[Owned]:
        rows = self._tables[table.name]
        if table.public:
            return [Owned((), cells) for cells in rows]
        unit = codebook.unit
        assert unit is not None
        if unit.is_row:
            return [Owned((index,), cells) for index, cells in enumerate(rows)]
        owner, path = codebook.owner(table.name), codebook.path(table.name)
        if not path:
            owned = [Owned(_identity(cells, owner, codebook), cells) for cells in rows]
            return [row for row in owned if None not in row.unit]
        owners = self._owners(codebook, path, owner)
        return [Owned(unit, cells) for cells in rows for unit in owners.get(cells[path[0].column], ())]

    def _owners(self, codebook: Codebook, path: Sequence[Link], owner: Table) -> dict[Cell, dict[Identity, None]]:
        """The units each key of a path's first table belongs to, each once, however many parent rows say so."""
        owners: dict[Cell, dict[Identity, None]] = {}
        for place in range(len(path) - 1, -1, -1):
            last, below = place + 1 == len(path), owners
            owners = defaultdict(dict)
            for parent in self._tables[codebook[path[place].table].name]:
                unit = _identity(parent, owner, codebook) if last else ()
                units = ([] if None in unit else [unit]) if last else below.get(parent[path[place + 1].column], {})
                if parent[path[place].key] is not None:
                    owners[parent[path[place].key]].update(dict.fromkeys(units))
        return dict(owners)

    def _join(self, join: Join, left: list[Owned], right: list[Owned]) -> list[Owned]:
        private = not shape(join.left).public and not shape(join.right).public
        blank: dict[str, Cell] = (
            {} if join.kind in (JoinKind.SEMI, JoinKind.ANTI) else dict.fromkeys(schema(join.right))
        )
        joined = []
        both = schema(join.left) | schema(join.right)
        for row in left:
            met = [other for other in right if _meets(row, other, join.on, private)]
            if join.condition is not None:
                met = [each for each in met if evaluate(join.condition, {**row.cells, **each.cells}, both) is True]
            match join.kind:
                case JoinKind.SEMI | JoinKind.ANTI:
                    joined += [row] if bool(met) is (join.kind is JoinKind.SEMI) else []
                case JoinKind.INNER | JoinKind.LEFT:
                    joined += [Owned(row.unit or other.unit, {**row.cells, **other.cells}) for other in met]
                    if not met and join.kind is JoinKind.LEFT:
                        joined.append(Owned(row.unit, {**row.cells, **blank}))
        return joined

    def _unit_agg(self, node: UnitAgg, below: list[Owned]) -> list[Owned]:
        known = schema(node.source)
        groups: dict[tuple[Identity, tuple[Cell, ...]], list[Owned]] = defaultdict(list)
        for row in below:
            groups[row.unit, tuple(evaluate(expression, row.cells, known) for _, expression in node.keys)].append(row)
        result = []
        for (unit, key), rows in groups.items():
            cells = dict(zip((name for name, _ in node.keys), key, strict=True))
            cells |= {value.name: _summary(value, rows, known) for value in node.values}
            result.append(Owned(unit, cells))
        return result


def _read_cells(columns: Sequence[tuple[str, Facts]], row: Sequence[object]) -> dict[str, Cell]:
    """A row of values as cells: numbers come off the grid."""
    return {
        name: value * known.step if isinstance(value, int) and known.kind is Kind.NUMBER else value  # type: ignore[misc]
        for (name, known), value in zip(columns, row, strict=True)
    }


def _rows(columns: Mapping[str, Sequence[object]], table: Table) -> list[dict[str, Cell]]:
    absent = [variable.name for variable in table.variables if variable.name not in columns]
    if absent:
        raise InvalidArgument(f"table {table.name}: the data has no column {', '.join(absent)}")
    read_columns = [[read(cell, variable) for cell in columns[variable.name]] for variable in table.variables]
    if len({len(column) for column in read_columns}) > 1:
        raise InvalidArgument(f"table {table.name}: its columns have different lengths")
    names = [variable.name for variable in table.variables]
    return [dict(zip(names, cells, strict=True)) for cells in zip(*read_columns, strict=True)]


def _identity(owner_row: dict[str, Cell], owner: Table, codebook: Codebook) -> Identity:
    assert owner.unit is not None
    assert codebook.unit is not None
    if codebook.unit.period is None:
        return (owner_row[owner.unit],)
    assert owner.period is not None
    cut = Truncate(Column(owner.period), codebook.unit.period.length)
    return (owner_row[owner.unit], evaluate(cut, owner_row, owner.schema))


def _meets(row: Owned, other: Owned, on: Iterable[tuple[str, str]], private: bool) -> bool:
    if private and row.unit != other.unit:
        return False
    return all(row.cells[a] is not None and row.cells[a] == other.cells[b] for a, b in on)


_OWN_VALUES = (UnitSummary.LEAST, UnitSummary.GREATEST, UnitSummary.MEDIAN, UnitSummary.QUANTILE, UnitSummary.MODE)
"""Summaries that are one of the column's own values."""


def _summary(value: UnitValue, rows: list[Owned], known: dict[str, Facts]) -> Cell:
    found = [] if value.of is None else [evaluate(value.of, row.cells, known) for row in rows]
    present: list[Any] = [cell for cell in found if cell is not None]
    match value.summary:
        case UnitSummary.ROWS:
            result: Any = Fraction(len(rows))
        case UnitSummary.COUNT:
            result = Fraction(len(present))
        case UnitSummary.DISTINCT:
            result = Fraction(len(set(present)))
        case UnitSummary.SUM:
            result = sum(present, Fraction(0)) if present else None
        case UnitSummary.LEAST:
            result = min(present, default=None)
        case UnitSummary.GREATEST:
            result = max(present, default=None)
        case UnitSummary.MEDIAN | UnitSummary.QUANTILE:
            share = Fraction(1, 2) if value.share is None else value.share
            result = sorted(present)[max(ceil(share * len(present)), 1) - 1] if present else None
        case UnitSummary.MODE:
            times = Counter(present)
            result = min(times, key=lambda cell: (-times[cell], cell), default=None)
    if not isinstance(result, Fraction):
        return result  # type: ignore[no-any-return]
    step = summary_facts(value, known).step
    lower = 1 - LARGEST if value.lower is None else ceil(value.lower / step)
    upper = LARGEST - 1 if value.upper is None else floor(value.upper / step)
    if value.summary in _OWN_VALUES and value.lower is None:
        return result
    return min(max(result, lower * step), upper * step)


def _aggregated(aggregate: Aggregate, kept: dict[Place, Members], below: Shape, key: OrderKey) -> list[Any]:
    """One number per group (a dictionary of bins for a Histogram)."""
    return [_in_group(aggregate, members, below, key) for members in kept.values()]


def _in_group(aggregate: Aggregate, members: Members, below: Shape, key: OrderKey) -> Any:
    value: Callable[[dict[str, Cell]], Cell] = lambda cells: (  # noqa: E731
        True if aggregate.of is None else evaluate(aggregate.of, cells, below.columns)
    )
    match aggregate:
        case Units():
            return len({unit for unit, rows in members if any(value(cells) is not None for cells in rows)})
        case RowCount(most, _, spread):
            counts = [(sum(value(cells) is not None for cells in rows), len(rows)) for _, rows in members]
            if spread is None:
                return sum(min(most, count) for count, _ in counts)
            return sum(min(most * spread.scale, spread.part(count, n)) for count, n in counts)
        case Total(of):
            known = facts(of, below.columns)
            sums = [_unit_total(aggregate, known, [value(cells) for cells in rows]) for _, rows in members]
            return min(max(sum(sums), -LARGEST), LARGEST)
        case Distinct(of, most):
            known = facts(of, below.columns)
            brought: set[Cell] = set()
            for unit, rows in members:
                state = start(unit_words(below, unit, key), key)
                values = {value(cells) for cells in rows} - {None}
                brought |= set(sorted(values, key=lambda v: rank(state, words(v, known, key), key))[:most])
            return len(brought)
        case Histogram():
            bins: dict[int, int] = defaultdict(int)
            for _, rows in members:
                found = sorted(int(cell) for cells in rows if isinstance(cell := value(cells), Fraction))
                for position, place in enumerate(found):
                    before, after = (aggregate.spread.up_to(end, len(rows)) for end in (position, position + 1))
                    bins[place] += after - before
            return dict(bins)
        case _:
            assert_never(aggregate)


def _unit_part(plan: UnitVector, rows: list[dict[str, Cell]], below: Shape, columns: dict[str, Facts]) -> list[int]:
    """What one unit's rows add to every entry."""
    part = [0] * len(plan.entries)
    for cells in rows:
        codes: dict[str, Cell] = {}
        for name, of in plan.rows.columns:
            count = held(evaluate(of, cells, below.columns), facts(of, below.columns))
            codes[name] = Fraction(count) if isinstance(count, int) else None
        found = [evaluate(feature, codes, columns) for feature in plan.features]
        for place, entry in enumerate(plan.entries):
            factors = [value for feature in entry if isinstance(value := found[feature], Fraction)]
            part[place] += int(prod(factors)) if len(factors) == len(entry) else 0
    return part


def _unit_total(aggregate: Total, known: Facts, values: list[Cell]) -> int:
    present = [value / known.step for value in values if isinstance(value, Fraction)]
    if not present:
        return 0
    low, high = total_ends(aggregate, known)
    total = int(sum(present))
    return min(max(aggregate.spread.part(total, len(values)) if aggregate.spread else total, low), high)
