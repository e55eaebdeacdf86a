"""The codebook: what is publicly known about the data, and the only source of schema.

No type, key, bound or size is ever read from private cells. A codebook names the unit, the tables, their variables,
the links that lead each private table to the unit, and the tables that are public.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from deniable.errors import InvalidArgument
from deniable.exact.guards import rational
from deniable.plan.codebook_text import from_record, from_yaml
from deniable.plan.html_card import html_card, html_lines, html_table
from deniable.plan.tables import FORMAT, Link, SamplingDesign, Table
from deniable.plan.unit import MOST_JOINED, Unit, row_unit
from deniable.plan.variable import Impute, Outside, Type, Variable

_LISTED = 8
_PROSE = {"description", "provenance"}
"""What is said for readers alone."""


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
                for link in paths.get(table.name, ())[:1]:
                    _checked_link(table, link, self[link.table])
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
        return _record(self)

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
        return from_record(record, Codebook)

    @staticmethod
    def from_yaml(text: str, *, source: str = "codebook") -> Codebook:
        """The codebook written in YAML `text`; a mistake is refused with its line."""
        return from_yaml(text, Codebook, source=source)

    @staticmethod
    def load(path: str | Path) -> Codebook:
        """The codebook in a YAML file."""
        if "\n" in str(path):
            raise InvalidArgument(
                "this is the text of a codebook, not a file: read it with dp.Codebook.from_yaml(text)"
            )
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError:
            raise InvalidArgument(
                f"no codebook can be read at {str(path)!r}; `deniable codebook init` drafts one"
            ) from None
        return Codebook.from_yaml(text, source=str(path))

    def to_yaml(self) -> str:
        """The codebook as YAML text."""
        return yaml.safe_dump(self.to_record(), sort_keys=False, allow_unicode=True, width=120)

    def __str__(self) -> str:
        return self.to_yaml()

    def _repr_html_(self) -> str:
        names = ["table", "variable", "type", "what is known"]
        rows = [[t.name, each.name, each.type.value, _known(each)] for t in self.tables for each in t.variables]
        unit = "no unit is named yet" if self.unit is None else f"protects {_bounds(self.unit)}"
        return html_card(html_lines([f"{self.name}: {unit}"]), html_table(names, rows, keys=4))


def _known(variable: Variable) -> str:
    """The public facts of a variable, in a few words."""
    if variable.categories is not None:
        listed = ", ".join(variable.categories[:_LISTED])
        return listed + (f", … ({len(variable.categories)})" if len(variable.categories) > _LISTED else "")
    ends = "" if variable.lower is None else f"{variable.lower} to {variable.upper}"
    step = f"step {variable.step}" if variable.step is not None else ""
    return ", ".join(part for part in (ends, step, "constant for the unit" if variable.of_unit else "") if part)


def _bounds(unit: Unit) -> str:
    total = "" if unit.total is None else f", total={unit.total}"
    joined = "" if unit.joined == MOST_JOINED else f", joined={unit.joined}"
    return f"{unit} (groups={unit.groups}, rows={unit.rows}{total}{joined})"


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
    _checked_apart(table.name, table[table.unit], "an identifier")
    if unit.period is None:
        return
    if table.period is None or table[table.period].type not in (Type.DATE, Type.TIMESTAMP):
        raise InvalidArgument(
            f"table {table.name} needs a date or timestamp column for the unit's period; add period: <column>"
        )


def _checked_link(table: Table, link: Link, parent: Table) -> None:
    """Refuse a link whose ends are not read as they are, or not alike."""
    column, key = table[link.column], parent[link.key]
    _checked_apart(table.name, column, "the column of a link to the unit")
    _checked_apart(parent.name, key, "the key of a link to the unit")
    if column.type is not key.type:
        raise InvalidArgument(
            f"{table.name}.{column.name} is {_one(column.type)} and {parent.name}.{key.name} {_one(key.type)}; use one type"
        )


def _one(type: Type) -> str:
    return f"an {type.value}" if type is Type.INTEGER else f"a {type.value}"


def _checked_apart(table: str, variable: Variable, what: str) -> None:
    """Refuse what would read the cells of several people as one: whose rows they are then hangs on who else is there."""
    if variable.type not in (Type.INTEGER, Type.STRING) or variable.step not in (None, 1):
        raise InvalidArgument(f"{table}.{variable.name}: {what} must be an integer or a string, without a step")
    clamped = variable.lower is not None and variable.outside is Outside.CLAMP
    found = [
        (isinstance(variable.missing, Impute), "missing: impute", "leave it out: rows without one are left out"),
        (variable.other is not None, "other", "leave it out: rows with other values are left out"),
        (clamped, "bounds that clamp", "add outside: missing, or leave the bounds out"),
    ]
    for wrong, said, rewrite in found:
        if wrong:
            raise InvalidArgument(
                f"{table}.{variable.name}: {what} has no {said}, which would make one of several people; {rewrite}"
            )


def _checked_alike(codebook: Codebook) -> None:
    carriers = [table for table in codebook.tables if not table.public and table.unit is not None]
    for column in ("unit", "period"):
        types = {table[getattr(table, column)].type.value for table in carriers if getattr(table, column) is not None}
        if len(types) > 1:
            raise InvalidArgument(
                f"the {column} is a {' in one table and a '.join(sorted(types))} in another; use one type"
            )


# Written ---------------------------------------------------------------------------------------------------------------


def _record(codebook: Codebook) -> dict[str, Any]:
    """Plain JSON values, defaults left out."""
    record: dict[str, Any] = {"format": FORMAT}
    record |= _said(name=codebook.name, description=codebook.description)
    if codebook.unit is not None:
        record["unit"] = _unit_record(codebook.unit)
    if codebook.sampling is not None:
        sampling = codebook.sampling
        record["sampling"] = _said(
            design=sampling.design,
            fraction=None if sampling.fraction is None else _plain_number(sampling.fraction),
            population=sampling.population,
            frame=sampling.frame,
            secrecy=sampling.secrecy,
        )
    record |= _said(earlier_releases=list(codebook.earlier), datasheet=dict(codebook.sections))
    record["tables"] = {table.name: _table_record(table) for table in codebook.tables}
    return record


def _said(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, "", False, [], (), {})}


def _unit_record(unit: Unit) -> Any:
    if unit.is_row:
        return "changed rows" if unit == row_unit(changed=True) else "rows"
    period = {"column": unit.period.column, "length": unit.period.length.value} if unit.period else None
    joined = None if unit.joined == MOST_JOINED else unit.joined
    bounds = {"groups": unit.groups, "rows_per_group": unit.rows, "rows": unit.total, "rows_per_join": joined}
    return _said(id=unit.id, **bounds, period=period, unique=unit.unique, label=unit.called)


def _table_record(table: Table) -> dict[str, Any]:
    record = _said(
        description=table.description,
        unit=table.unit,
        period=table.period,
        links=[str(link) for link in table.links],
        public=table.public,
    )
    record["variables"] = {variable.name: _variable_record(variable) for variable in table.variables}
    return record


def _variable_record(variable: Variable) -> dict[str, Any]:
    record: dict[str, Any] = {"type": variable.type.value}
    if variable.lower is not None:
        record |= {"bounds": [_plain_value(variable.lower), _plain_value(variable.upper)]}
    record |= _said(
        step=None if variable.step is None else _plain_number(variable.step),
        categories=list(variable.categories or ()),
        bins=[_plain_number(edge) for edge in variable.bins or ()],
        outside="missing" if variable.outside is Outside.MISSING else None,
        of_unit=variable.of_unit or None,
        provenance=variable.provenance,
        description=variable.description,
    )
    if variable.other is not None:
        record["other"] = variable.other
    if isinstance(variable.missing, Impute):
        record |= {"missing": {"impute": _plain_value(variable.missing.value)}}
    return record


def _plain_number(value: Fraction) -> int | str:
    return value.numerator if value.denominator == 1 else str(value)


def _plain_value(value: Any) -> Any:
    if isinstance(value, Fraction | Decimal | float):
        return _plain_number(rational(value=value))
    return value.isoformat(*([" "] if isinstance(value, datetime) else [])) if isinstance(value, date) else value
