"""Queries on public tables only: answered exactly by DuckDB over the codebook's reading of those tables, free of charge.

The tables are copied into an empty database that can reach no file and no network, so the statement sees them and nothing
else. The engine's own words are never shown. Time, memory and rows are limited, so nobody's machine is held up for free.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from threading import Timer
from typing import Any

from sqlglot import exp

from deniable.engines.engine import Engine
from deniable.errors import QueryRefused
from deniable.plan.codebook import Codebook
from deniable.plan.facts import Facts, Kind
from deniable.plan.nodes import Scan
from deniable.plan.relation import schema
from deniable.query.sql.reading import Statement
from deniable.query.sql.source import refused

SECONDS = 30.0
MEMORY = "1GB"
MOST_ROWS = 1_000_000
"""What one public query may take; these are public constants, so a refusal says nothing about private tables."""

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "threads": "1",
    "temp_directory": "",
}
_DENIED = (exp.Anonymous, exp.Unnest, exp.Command, exp.Lateral, exp.GenerateSeries, exp.Into)
_MOMENTARY = ("Current", "Session", "Local", "Utc", "Systimestamp", "Uuid", "Rand")
_UNSTABLE = tuple(each for each in exp.ALL_FUNCTIONS if each.__name__.startswith(_MOMENTARY))
_BARE = frozenset({"user", "current_role", "current_schema", "current_catalog", "session_user"})
"""Functions, and words without parentheses, whose value depends on chance, the moment or who asks, not on the tables."""


@dataclass(frozen=True, slots=True)
class PublicRows:
    """The exact answer to a public query."""

    columns: dict[str, tuple[Any, ...]]

    @property
    def count(self) -> int:
        """How many rows."""
        return len(next(iter(self.columns.values()), ()))


def public_tables(statement: Statement, codebook: Codebook) -> tuple[str, ...] | None:
    """The public tables a statement reads; None when it reads a private one, or none at all."""
    known = {table.name.lower(): table for table in codebook.tables}
    named = {cte.alias.lower() for cte in statement.tree.find_all(exp.CTE)}
    found = []
    for node in statement.tree.find_all(exp.Table):
        plain = isinstance(node.this, exp.Identifier) and not node.args.get("db")
        if plain and node.name.lower() in named and node.name.lower() not in known:
            continue
        table = known.get(node.name.lower()) if plain else None
        if table is None or not table.public:
            return None
        found.append(table.name)
    return tuple(dict.fromkeys(found)) or None


def _unstable(node: exp.Expr, tables: tuple[str, ...], codebook: Codebook) -> bool:
    if not isinstance(node, exp.Column) or node.table or node.this.args.get("quoted"):
        return isinstance(node, _UNSTABLE)
    known = {variable.name.lower() for name in tables for variable in codebook[name].variables}
    return node.name.lower() in _BARE - known


def public_answer(statement: Statement, codebook: Codebook, tables: tuple[str, ...], engine: Engine) -> PublicRows:
    """The rows of a statement over public tables."""
    odd = statement.tree.find(*_DENIED)
    if odd is not None:
        raise refused(odd, statement.text, "unsupported", f"{type(odd).__name__} is not answered", "use plain SQL")
    unstable = next((node for node in statement.tree.walk() if _unstable(node, tables, codebook)), None)
    if unstable is not None:
        word = unstable.sql(dialect="duckdb").upper()
        message = f"{word} depends on chance, the moment or who asks"
        raise refused(unstable, statement.text, "unsupported", message, "write the value itself")
    import duckdb

    with duckdb.connect(":memory:", config=_CONFIG) as database:
        for name in tables:
            scan = Scan(codebook, name)
            _load(database, name, schema(scan), engine.public(scan))
        database.execute(f"SET memory_limit = '{MEMORY}'")
        database.execute("SET lock_configuration = true")
        try:
            names, rows = _fetched(database, statement.tree.sql(dialect="duckdb"))
        except (duckdb.InterruptException, duckdb.OutOfMemoryException):
            raise _over_limits() from None
        except duckdb.Error:
            raise QueryRefused("public-query", "the engine cannot answer this query on the public tables") from None
    if len(rows) > MOST_ROWS:
        raise _over_limits()
    if len({name.lower() for name in names}) != len(names):
        raise QueryRefused("ambiguous-column", f"columns with one name: {', '.join(names)}", rewrite="rename with AS")
    return PublicRows({name: tuple(_native(row[index]) for row in rows) for index, name in enumerate(names)})


def _fetched(database: Any, text: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Names and rows of a statement, one row more than is answered; interrupted when it takes too long."""
    timer = Timer(SECONDS, database.interrupt)
    timer.daemon = True
    timer.start()
    try:
        cursor = database.execute(text)
        return [entry[0] for entry in cursor.description], cursor.fetchmany(MOST_ROWS + 1)
    finally:
        timer.cancel()


def _over_limits() -> QueryRefused:
    return QueryRefused(
        "public-limit",
        f"a query on public tables may take {SECONDS:g} seconds, {MEMORY} of memory and {MOST_ROWS:,} rows",
        rewrite="aggregate or filter more, or ask the public tables in your own database",
    )


def _load(database: Any, name: str, columns: Mapping[str, Facts], cells: Mapping[str, tuple[Any, ...]]) -> None:
    quoted = ", ".join(f"{_quoted(column)} {_type(known)}" for column, known in columns.items())
    database.execute(f"CREATE TABLE {_quoted(name)} ({quoted})")
    values = [_numbers(cells[column], known) for column, known in columns.items()]
    if values and values[0]:
        lists = ", ".join(f"unnest(CAST(? AS {_type(known)}[]))" for known in columns.values())
        database.execute(f"INSERT INTO {_quoted(name)} SELECT {lists}", values)


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _type(known: Facts) -> str:
    kinds = {Kind.BOOLEAN: "BOOLEAN", Kind.STRING: "VARCHAR", Kind.DATE: "DATE", Kind.TIMESTAMP: "TIMESTAMP"}
    if known.kind is not Kind.NUMBER:
        return kinds[known.kind]
    digits = _digits(known.step)
    if digits is None:
        return "DOUBLE"
    return "BIGINT" if digits == 0 else f"DECIMAL({max(18, digits)}, {digits})"


def _digits(step: Fraction) -> int | None:
    """How many decimal digits a grid needs; None when no few do."""
    return next((count for count in range(10) if (step * 10**count).denominator == 1), None)


def _numbers(values: tuple[Any, ...], known: Facts) -> list[Any]:
    if known.kind is not Kind.NUMBER:
        return list(values)
    from decimal import Decimal

    digits = _digits(known.step)
    if digits is None:
        return [None if value is None else float(value * known.step) for value in values]
    if digits == 0:
        return [None if value is None else int(value * known.step) for value in values]
    scaled = known.step * 10**digits
    return [None if value is None else Decimal(int(value * scaled)).scaleb(-digits) for value in values]


def _native(value: Any) -> Any:
    from decimal import Decimal

    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float) and value != value:
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return value if hasattr(value, "isoformat") else str(value)
