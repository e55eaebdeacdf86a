"""The codebook: what is publicly known about the data, and the only source of schema.

No type, key, bound or size is ever read from private cells. A codebook names the unit, the tables, their variables,
the links that lead each private table to the unit, and the tables that are public.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from deniable.errors import InvalidArgument
from deniable.exact.guards import probability
from deniable.plan.facts import Facts
from deniable.plan.memo import remembered
from deniable.plan.unit import Unit
from deniable.plan.variable import Type, Variable

FORMAT = 1
"""The version of the codebook format this code reads and writes."""


SECTIONS = ("motivation", "composition", "collection", "preprocessing", "uses", "distribution", "maintenance")
"""The seven sections of a datasheet for a data set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingDesign:
    """How the people in the data were chosen: for the reader of a release; it never lowers a price.

    `frame` is the list they were drawn from, `secrecy` what is or is not done to keep secret who was drawn.
    """

    design: str
    fraction: Fraction | None = None
    population: str = ""
    frame: str = ""
    secrecy: str = ""

    def __post_init__(self) -> None:
        if self.fraction is not None:
            object.__setattr__(self, "fraction", probability(fraction=self.fraction))


@dataclass(frozen=True, slots=True)
class Link:
    """`column` of this table names the row of `table` whose `key` equals it; a row belongs to its parent row's unit."""

    column: str
    table: str
    key: str

    def __str__(self) -> str:
        return f"{self.column} -> {self.table}.{self.key}"


_PROSE = {"description", "provenance"}
"""What is said for readers alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table: its variables, and how its rows belong to a unit.

    A private table carries the unit in column `unit` (and its period in `period`), or reaches it along `links`.
    A `public` table holds nothing private: it is read freely and joined freely.
    """

    name: str
    variables: tuple[Variable, ...]
    unit: str | None = None
    period: str | None = None
    links: tuple[Link, ...] = ()
    public: bool = False
    description: str = ""

    def __post_init__(self) -> None:
        names = [variable.name for variable in self.variables]
        folded = [name.lower() for name in names]
        twice = sorted({name for name in names if folded.count(name.lower()) > 1})
        if twice:
            raise InvalidArgument(f"table {self.name}: variables declared twice: {', '.join(twice)}")
        if self.public and (self.unit or self.links):
            raise InvalidArgument(f"table {self.name} is public, so it has no unit and no links")
        for column in [self.unit, self.period, *(link.column for link in self.links)]:
            if column is not None and column not in names:
                raise InvalidArgument(f"table {self.name} has no variable {column!r}; it has {', '.join(names)}")

    def __getitem__(self, name: str) -> Variable:
        for variable in self.variables:
            if variable.name == name:
                return variable
        known = ", ".join(variable.name for variable in self.variables)
        raise InvalidArgument(f"table {self.name} has no variable {name!r}; it has {known}")

    def __contains__(self, name: object) -> bool:
        return any(variable.name == name for variable in self.variables)

    @property
    def schema(self) -> dict[str, Facts]:
        """The public facts of every variable."""
        return _schema(self)


@remembered
def _schema(table: Table) -> dict[str, Facts]:
    return {variable.name: variable.facts() for variable in table.variables}


@dataclass(frozen=True, slots=True, kw_only=True)
class Codebook:
    """Everything public about a data set; the only source of schema and bounds.

    `earlier` lists what other releases have already made public about these people; `sections` is what a datasheet says, by
    its seven headings (`SECTIONS`).
    """

    tables: tuple[Table, ...]
    unit: Unit | None = None
    sampling: SamplingDesign | None = None
    name: str = ""
    description: str = ""
    earlier: tuple[str, ...] = ()
    sections: tuple[tuple[str, str], ...] = ()
    schemas: frozenset[str] = field(default=frozenset(), compare=False)
    """Names that may stand before a table's in SQL, lower case; where the metadata came from, nothing that is read."""
    _paths: Mapping[str, tuple[Link, ...]] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        if not self.tables:
            raise InvalidArgument("a codebook needs at least one table")
        names = [table.name.lower() for table in self.tables]
        if len(set(names)) != len(names):
            raise InvalidArgument(f"tables must have different names, got {', '.join(names)}")
        if self.unit is not None:
            object.__setattr__(self, "tables", tuple(_carrying(table, self.unit) for table in self.tables))
            paths = {table.name: _path(self, table) for table in self.tables if not table.public}
            object.__setattr__(self, "_paths", paths)
            for table in self.tables:
                _checked_unit(table, self.unit)
            _checked_alike(self)

    def __getitem__(self, name: str) -> Table:
        for table in self.tables:
            if table.name.lower() == name.lower():
                return table
        known = ", ".join(table.name for table in self.tables)
        raise InvalidArgument(f"the codebook has no table {name!r}; it has {known}")

    def with_unit(self, unit: Unit) -> Codebook:
        """This codebook with its unit given in Python; stating it twice differently is refused."""
        if self.unit is None:
            return replace(self, unit=unit)
        if self.unit != unit:
            raise InvalidArgument(
                f"the codebook protects {_bounds(self.unit)}, the call says {_bounds(unit)}; state one"
            )
        return self

    def path(self, table: str) -> tuple[Link, ...]:
        """The links from a private table to the table that carries its unit; empty when it carries the unit itself."""
        if self.unit is None:
            raise InvalidArgument("the codebook names no unit; add unit: {id: ..., groups: ..., rows_per_group: ...}")
        return self._paths[self[table].name]

    def owner(self, table: str) -> Table:
        """The table whose column carries the unit of this table's rows."""
        path = self.path(table)
        return self[path[-1].table] if path else self[table]

    def to_record(self) -> dict[str, Any]:
        """The codebook as plain JSON values, defaults left out; `from_record` reads it back."""
        from deniable.plan.codebook_text import to_record

        return to_record(self)

    def identity(self) -> str:
        """One text that two codebooks share exactly when they say the same; it is public, so it may be hashed."""
        return json.dumps(self.to_record(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)

    def binding(self) -> dict[str, Any]:
        """What prices and meanings rest on, by name: types, bounds, categories, grids, missing values, units and links.

        Descriptions, provenance and what a datasheet says are left out; so a codebook may be described better and gain
        columns without becoming another one.
        """
        tables = self.to_record()["tables"]
        found: dict[str, Any] = {}
        for name, table in tables.items():
            found[f"table {name}"] = {key: value for key, value in table.items() if key not in _PROSE | {"variables"}}
            for variable, facts in table["variables"].items():
                found[f"{name}.{variable}"] = {key: value for key, value in facts.items() if key not in _PROSE}
        return found

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> Codebook:
        """The codebook a record describes; unknown fields are refused."""
        from deniable.plan.codebook_text import from_record

        return from_record(record)

    @staticmethod
    def from_yaml(text: str, *, source: str = "codebook") -> Codebook:
        """The codebook written in YAML `text`; a mistake is refused with its line."""
        from deniable.plan.codebook_text import from_yaml

        return from_yaml(text, source=source)

    @staticmethod
    def load(path: str | Path) -> Codebook:
        """The codebook in a YAML file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError:
            raise InvalidArgument(
                f"no codebook can be read at {str(path)!r}; `deniable codebook init` drafts one"
            ) from None
        return Codebook.from_yaml(text, source=str(path))

    def to_yaml(self) -> str:
        """The codebook as YAML text."""
        from deniable.plan.codebook_text import to_yaml

        return to_yaml(self)


def _bounds(unit: Unit) -> str:
    return f"{unit} (groups={unit.groups}, rows={unit.rows})"


def _carrying(table: Table, unit: Unit) -> Table:
    """A private table that has the unit's own columns carries the unit without saying so again."""
    if table.public or unit.is_row:
        return table
    column = table.unit
    if column is None and not table.links and unit.id in table:
        column = unit.id
    period = table.period
    if period is None and unit.period is not None and column is not None and unit.period.column in table:
        period = unit.period.column
    return replace(table, unit=column, period=period)


def _path(codebook: Codebook, table: Table) -> tuple[Link, ...]:
    assert codebook.unit is not None
    if codebook.unit.is_row or table.unit is not None:
        return ()
    found = list(_paths_from(codebook, table, ()))
    if len(found) == 1:
        return found[0]
    if found:
        shown = " or ".join(", then ".join(map(str, path)) for path in found)
        raise InvalidArgument(f"table {table.name} reaches the unit twice ({shown}); say unit: or leave one link")
    raise InvalidArgument(
        f"table {table.name} has no column for the unit {codebook.unit.id!r} and no link that leads to one; "
        "add unit: <column>, links: [column -> table.key], or public: true"
    )


def _paths_from(codebook: Codebook, table: Table, walked: tuple[Link, ...]) -> list[tuple[Link, ...]]:
    paths = []
    for link in table.links:
        if any(link.table == done.table for done in walked):
            raise InvalidArgument(f"table {table.name}: its links run in a circle through {link.table}")
        parent = codebook[link.table]
        if parent.public:
            continue
        if link.key not in parent:
            raise InvalidArgument(f"table {table.name} links to {parent.name}.{link.key}, which is not declared")
        if parent.unit is not None:
            paths.append((*walked, link))
        else:
            paths += _paths_from(codebook, parent, (*walked, link))
    return paths


def _checked_unit(table: Table, unit: Unit) -> None:
    if table.public or unit.is_row or table.unit is None:
        return
    carrier = table[table.unit]
    if carrier.type not in (Type.INTEGER, Type.STRING) or carrier.step not in (None, 1):
        raise InvalidArgument(
            f"{table.name}.{table.unit}: an identifier must be an integer or a string, without a step"
        )
    if unit.period is None:
        return
    if table.period is None or table[table.period].type not in (Type.DATE, Type.TIMESTAMP):
        raise InvalidArgument(
            f"table {table.name} needs a date or timestamp column for the unit's period; add period: <column>"
        )


def _checked_alike(codebook: Codebook) -> None:
    carriers = [table for table in codebook.tables if not table.public and table.unit is not None]
    for column in ("unit", "period"):
        types = {table[getattr(table, column)].type.value for table in carriers if getattr(table, column) is not None}
        if len(types) > 1:
            raise InvalidArgument(
                f"the {column} is a {' in one table and a '.join(sorted(types))} in another; use one type"
            )
