"""The curator's check of the data against its codebook: exact, free, and not private.

Guarantee: none. What is said here is about cells and people; it is for whoever holds the data anyway. No session can
reach it, it charges nothing and it is not stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date, datetime
from math import isfinite
from typing import Any

from deniable.engines.cell_rules import raw
from deniable.engines.duckdb import DuckDBEngine
from deniable.engines.raw_cells import Counts, raw_counts
from deniable.engines.sql.relations import UNIT
from deniable.exact.figures import counted, plural
from deniable.noise import system_entropy
from deniable.plan.codebook import Codebook
from deniable.plan.nodes import scan
from deniable.plan.tables import Table
from deniable.plan.variable import Outside, Type, Variable

BANNER = (
    "NOT PRIVATE. For the curator alone: what follows is exact and quotes cells of the data. Do not publish it or pass it on.\n"
    "Bounds that are chosen by looking at it are not public facts: take them from what is known without the data, or choose "
    "them privately with query.choose_bounds()."
)
EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Misfit:
    """Cells of one column that do not fit: how many, and the most frequent of them."""

    cells: int = 0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnCheck:
    """One column: how many cells are empty, cannot be read, lie outside the bounds, or are no category."""

    name: str
    empty: int
    unreadable: Misfit
    outside: Misfit
    uncategorized: Misfit
    clamped: bool

    def lines(self, rows: int) -> Iterator[str]:
        """What is to be said about it."""
        told = "are clamped" if self.clamped else "become missing"
        for what, found in (
            ("cannot be read as declared and become missing", self.unreadable),
            (f"lie outside the bounds and {told}", self.outside),
            ("are none of the categories", self.uncategorized),
        ):
            if found.cells:
                yield f"{self.name}: {_share(found.cells, rows)} {what}, e.g. {', '.join(found.examples)}"
        if self.empty:
            yield f"{self.name}: {_share(self.empty, rows)} are empty"


@dataclass(frozen=True, slots=True)
class KeyCheck:
    """A column as a group key: how many units have more groups, or more rows in their fullest group, than they may."""

    name: str
    over_groups: int
    over_rows: int


@dataclass(frozen=True, slots=True)
class UnitCheck:
    """The units of one table against their bounds."""

    units: int
    most_rows: int
    over_rows: int
    keys: tuple[KeyCheck, ...]
    constant: tuple[str, ...]
    broken: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class TableCheck:
    """One table: its rows, those without a unit, rows that are there twice, its columns and its units."""

    name: str
    rows: int
    without_unit: int
    duplicates: int
    columns: tuple[ColumnCheck, ...]
    units: UnitCheck | None


@dataclass(frozen=True, slots=True)
class DataCheck:
    """What the curator should know before anybody asks; print it, but nowhere public."""

    tables: tuple[TableCheck, ...]
    rows_per_group: int | None
    groups: int | None
    label: str

    @property
    def findings(self) -> tuple[str, ...]:
        """What to look at, table by table; not private."""
        return tuple(f"{table.name}: {line}" for table in self.tables for line in self._lines(table))

    def __str__(self) -> str:
        sizes = [f"{table.name}: {counted(table.rows, 'row')}{_units(table, self.label)}" for table in self.tables]
        found = self.findings or ("everything fits the codebook",)
        return "\n".join([BANNER, "", *sizes, "", *(f"- {line}" for line in found)])

    __repr__ = __str__

    def to_record(self) -> dict[str, Any]:
        """The same as plain values, with the warning first."""
        return {"warning": BANNER, **asdict(self)}

    def _lines(self, table: TableCheck) -> Iterator[str]:
        if table.without_unit:
            yield f"without a {self.label}, and so never counted: {counted(table.without_unit, 'row')}"
        if table.duplicates:
            yield f"alike in every declared column with an earlier row: {counted(table.duplicates, 'row')}"
        for column in table.columns:
            yield from column.lines(table.rows)
        if table.units is not None:
            yield from self._unit_lines(table.units)

    def _unit_lines(self, found: UnitCheck) -> Iterator[str]:
        many, rows, groups = plural(self.label), self.rows_per_group, self.groups
        if found.over_rows:
            yield (
                f"{_share(found.over_rows, found.units, many)} have more than {counted(rows or 0, 'row')} in all "
                f"(the most is {found.most_rows:,}): asked without groups, their rows weigh less"
            )
        for key in found.keys:
            by = f"by {key.name}:"
            if key.over_groups:
                yield f"{by} {_share(key.over_groups, found.units, many)} are in more than {counted(groups or 0, 'group')}"
            if key.over_rows:
                most = counted(rows or 0, "row")
                yield f"{by} {_share(key.over_rows, found.units, many)} have more than {most} in a group"
        for name, units in found.broken:
            yield f"{name} is declared of_unit, but {_share(units, found.units, many)} have several values of it"
        for name in found.constant:
            yield f"{name} is the same in all rows of each {self.label}: if that is so by its nature, declare of_unit: true"


def data_check(source: Any, codebook: Codebook) -> DataCheck:
    """Hold files, a frame or columns against their codebook, exactly. For the curator alone.

    Guarantee: none; see the module.
    """
    raws = raw_counts(source, codebook)
    engine = DuckDBEngine(source, codebook, key=system_entropy().bits(256))
    try:
        tables = tuple(_table(engine, codebook, table, raws[table.name]) for table in codebook.tables)
    finally:
        engine.close()
    unit = codebook.unit
    return DataCheck(tables, unit.rows if unit else None, unit.groups if unit else None, unit.label if unit else "row")


def _table(engine: DuckDBEngine, codebook: Codebook, table: Table, counts: Counts) -> TableCheck:
    rows = max((sum(cells.values()) for cells in counts.values()), default=0)
    columns = tuple(column_check(variable, counts[variable.name]) for variable in table.variables)
    source = scan(codebook, table.name)
    owned = codebook.unit is not None and not codebook.unit.is_row and not table.public
    names = ", ".join(_quoted(variable.name) for variable in table.variables)
    ((kept, distinct),) = engine.exactly(
        source, f"SELECT (SELECT count(*) FROM rows), (SELECT count(*) FROM (SELECT DISTINCT {names} FROM rows))"
    )
    units = _unit_check(engine, codebook, table) if owned else None
    return TableCheck(table.name, rows, rows - kept if owned else 0, kept - distinct, columns, units)


def column_check(variable: Variable, counts: Mapping[Any, int]) -> ColumnCheck:
    """One column's cells, as given, against what is declared of it."""
    unreadable: dict[Any, int] = {}
    outside: dict[Any, int] = {}
    unknown: dict[Any, int] = {}
    for cell, times in counts.items():
        if cell is None:
            continue
        value = raw(cell, variable.type)
        if value is None or (isinstance(value, float) and not isfinite(value)):
            unreadable[cell] = times
        elif _outside(value, variable):
            outside[cell] = times
        elif variable.categories is not None and value not in variable.categories:
            unknown[cell] = times
    return ColumnCheck(
        variable.name,
        counts.get(None, 0),
        _misfit(unreadable),
        _misfit(outside),
        _misfit(unknown),
        variable.outside is Outside.CLAMP,
    )


def _outside(value: Any, variable: Variable) -> bool:
    if variable.lower is None or variable.upper is None:
        return False
    if variable.type is Type.DATE and isinstance(value, datetime):
        value = value.date()
    low: Any = variable.lower
    high: Any = variable.upper
    if isinstance(value, datetime) and not isinstance(low, datetime) and isinstance(low, date):
        value = value.date()
    return not low <= value <= high


def _misfit(found: Mapping[Any, int]) -> Misfit:
    often = sorted(found, key=lambda cell: (-found[cell], str(cell)))[:EXAMPLES]
    return Misfit(sum(found.values()), tuple(repr(cell) if isinstance(cell, str) else str(cell) for cell in often))


def _unit_check(engine: DuckDBEngine, codebook: Codebook, table: Table) -> UnitCheck:
    unit, source = codebook.unit, scan(codebook, table.name)
    assert unit is not None
    ids = [f"{UNIT}0", *([f"{UNIT}1"] if unit.period is not None else [])]
    by = ", ".join(_quoted(name) for name in ids)
    rows, groups = unit.rows or 0, unit.groups or 0
    others = [variable for variable in table.variables if variable.name != codebook.owner(table.name).unit]
    several = "".join(f", count(*) FILTER (WHERE d{i} > 1)" for i in range(len(others)))
    values = "".join(
        f", count(DISTINCT {_quoted(variable.name)}) + max(CAST({_quoted(variable.name)} IS NULL AS INTEGER)) AS d{i}"
        for i, variable in enumerate(others)
    )
    over = f"count(*) FILTER (WHERE n > {rows})" if unit.rows else "0"
    ((units, most, over_rows, *changing),) = engine.exactly(
        source,
        f"SELECT count(*), coalesce(max(n), 0), {over}{several} FROM (SELECT count(*) AS n{values} FROM rows GROUP BY {by})",
    )
    keys = tuple(
        _key_check(engine, source, by, variable.name, groups, rows) for variable in others if _is_key(variable)
    )
    found = dict(zip((variable.name for variable in others), changing, strict=True))
    constant = tuple(v.name for v in others if most > 1 and not found[v.name] and not v.of_unit)
    broken = tuple((v.name, found[v.name]) for v in others if v.of_unit and found[v.name])
    return UnitCheck(units, most, over_rows, keys, constant, broken)


def _is_key(variable: Variable) -> bool:
    return variable.categories is not None or variable.type is Type.BOOLEAN


def _key_check(engine: DuckDBEngine, source: Any, by: str, name: str, groups: int, rows: int) -> KeyCheck:
    inner = f"SELECT {by}, count(*) AS n FROM rows GROUP BY {by}, {_quoted(name)}"
    per_unit = f"SELECT count(*) AS g, max(n) AS m FROM ({inner}) GROUP BY {by}"
    over = [f"count(*) FILTER (WHERE {what} > {most})" if most else "0" for what, most in (("g", groups), ("m", rows))]
    ((over_groups, over_rows),) = engine.exactly(source, f"SELECT {over[0]}, {over[1]} FROM ({per_unit})")
    return KeyCheck(name, over_groups, over_rows)


def _units(table: TableCheck, label: str) -> str:
    return "" if table.units is None else f" of {counted(table.units.units, label)}"


def _share(part: int, whole: int, of: str = "cells") -> str:
    return f"{part:,} of {whole:,} {of} ({100 * part / max(whole, 1):.3g} %)"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
