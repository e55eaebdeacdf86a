"""Random rows as a server stores them: every column of some type, the same values for the server and the reference."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from math import isfinite
from typing import Any

from hypothesis import strategies as st

from deniable.engines.cell_rules import raw
from deniable.plan.codebook import Codebook
from deniable.plan.variable import Type

Rows = dict[str, dict[str, list[Any]]]
Kinds = dict[str, dict[str, str]]

_KINDS = {
    Type.INTEGER: ["bigint", "text", "double", "numeric", "boolean"],
    Type.NUMBER: ["double", "text", "bigint", "numeric"],
    Type.DECIMAL: ["numeric", "double", "text"],
    Type.BOOLEAN: ["boolean", "text", "bigint"],
    Type.STRING: ["text", "bigint", "boolean", "date"],
    Type.DATE: ["date", "timestamp", "text"],
    Type.TIMESTAMP: ["timestamp", "zoned", "date", "text"],
}


def kinds(book: Codebook) -> st.SearchStrategy[Kinds]:
    """A type for every column; the first of each list is the usual one."""
    tables = {
        table.name: st.fixed_dictionaries({v.name: st.sampled_from(_KINDS[v.type]) for v in table.variables})
        for table in book.tables
    }
    return st.fixed_dictionaries(tables)


def stored(rows: Rows, chosen: Kinds) -> Rows:
    """What is left of the cells in columns of these types."""
    return {
        table: {name: [_stored(cell, chosen[table][name]) for cell in column] for name, column in columns.items()}
        for table, columns in rows.items()
    }


def _stored(cell: Any, kind: str) -> Any:
    match kind:
        case "text":
            return _text(cell)
        case "bigint":
            return raw(cell, Type.INTEGER)
        case "double":
            return raw(cell, Type.NUMBER)
        case "numeric":
            value = raw(cell, Type.NUMBER)
            fits = isinstance(value, float) and isfinite(value) and abs(value) < 10**30
            return round(Decimal(repr(value)), 4) if fits else None
        case "boolean":
            truth = raw(cell, Type.BOOLEAN)
            return None if truth is None else bool(truth)
        case "date":
            day = raw(cell, Type.DATE)
            return day.date() if isinstance(day, datetime) else None
        case "timestamp":
            return raw(cell, Type.TIMESTAMP)
        case "zoned":
            moment = raw(cell, Type.TIMESTAMP)
            return moment.replace(tzinfo=UTC) if isinstance(moment, datetime) else None
    raise AssertionError(kind)


def _text(cell: Any) -> str | None:
    if isinstance(cell, str):
        return cell if cell.isprintable() or cell.isascii() else None
    if isinstance(cell, datetime | date):
        return cell.isoformat()
    return str(cell) if isinstance(cell, int | float) else None
