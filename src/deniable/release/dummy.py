"""Made-up rows from the codebook alone: to rehearse queries for free, and to show how bounds trade bias for noise.

Values are uniform within what the codebook declares; they know nothing of the data.
"""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from typing import Any

from deniable.noise import Entropy, system_entropy, uniforms_below
from deniable.plan.codebook import Codebook
from deniable.plan.facts import Kind, date_of, timestamp_of
from deniable.plan.tables import Table
from deniable.plan.variable import Variable

_UNBOUNDED = 1000
"""Numbers and texts without declared values are drawn from so many."""


def dummy_tables(codebook: Codebook, rows: int) -> dict[str, dict[str, list[Any]]]:
    """Every table of the codebook with that many made-up rows; links point at rows that exist."""
    entropy = system_entropy()
    return {table.name: _table(codebook, table, rows, entropy) for table in codebook.tables}


def _table(codebook: Codebook, table: Table, rows: int, entropy: Entropy) -> dict[str, list[Any]]:
    linked = {link.column for link in table.links}
    keys = {link.key for other in codebook.tables for link in other.links if link.table == table.name}
    columns: dict[str, list[Any]] = {}
    for variable in table.variables:
        if variable.name in keys:
            columns[variable.name] = [_identifier(variable, number) for number in range(rows)]
        elif variable.name in linked:
            columns[variable.name] = [_identifier(variable, int(n)) for n in uniforms_below(rows, rows, entropy)]
        else:
            columns[variable.name] = _column(variable, rows, entropy)
    return columns


def _identifier(variable: Variable, number: int) -> int | str:
    return number if variable.type.numeric else f"id{number}"


def _column(variable: Variable, rows: int, entropy: Entropy) -> list[Any]:
    known = variable.facts()
    match known.kind:
        case Kind.BOOLEAN:
            return [bool(n) for n in uniforms_below(2, rows, entropy)]
        case Kind.STRING:
            values = known.categories or tuple(f"value{n}" for n in range(_UNBOUNDED))
            return [values[int(n)] for n in uniforms_below(len(values), rows, entropy)]
        case Kind.NUMBER:
            low, high = known.ends if known.bounded else (0, _UNBOUNDED - 1)
            return [_number(low + int(n), known.step) for n in uniforms_below(high - low + 1, rows, entropy)]
        case Kind.DATE | Kind.TIMESTAMP:
            low, high = known.ends
            return [_moment(known.kind, low + int(n)) for n in uniforms_below(high - low + 1, rows, entropy)]


def _number(steps: int, step: Fraction) -> int | float:
    value = steps * step
    return int(value) if value.denominator == 1 else float(value)


def _moment(kind: Kind, count: int) -> date | datetime:
    return date_of(count) if kind is Kind.DATE else timestamp_of(count)
