"""Public tables alone in an empty DuckDB database that can reach no file and no network, for one statement about them.

The engine's own words are never shown. Time, memory and rows are limited, so nobody's machine is held up for free.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from threading import Timer
from typing import Any

from deniable.engines.duckdb_profile import without_unsound_optimizers
from deniable.engines.engine import Engine
from deniable.errors import QueryRefused
from deniable.plan.codebook import Codebook
from deniable.plan.facts import Facts, Kind
from deniable.plan.nodes import Scan
from deniable.plan.relation import schema

SECONDS = 30.0
MEMORY = "1GB"
MOST_ROWS = 1_000_000
"""What one public query may take; these are public constants, so a refusal says nothing about private tables."""
CHECK_SECONDS = 5.0
"""What it may take on tables without rows, which are asked to see whether it can be read: others wait for that."""

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "threads": "1",
    "temp_directory": "",
}


@dataclass(frozen=True, slots=True)
class ReleasedTable:
    """A released table by its columns, for a query on public tables to read beside them."""

    facts: Mapping[str, Facts]
    columns: Mapping[str, Sequence[Any]]


def public_rows(
    written: str,
    codebook: Codebook,
    tables: tuple[str, ...],
    engine: Engine | None,
    released: Mapping[str, ReleasedTable] | None = None,
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The names and rows of a statement over public and released tables; without an engine public ones are empty."""
    import duckdb  # a web process has prices to show long before somebody asks about a public table

    seconds = CHECK_SECONDS if engine is None else SECONDS
    with duckdb.connect(":memory:", config=_CONFIG) if engine is not None else _kept(os.getpid()).cursor() as database:
        for name in tables:
            scan = Scan(codebook, name)
            known = schema(scan)
            _load(database, name, known, dict.fromkeys(known, ()) if engine is None else engine.public(scan))
        for name, table in (released or {}).items():
            _load_released(database, name, table)
        if engine is not None:
            _limit(database)
        try:
            names, rows = _fetched(database, written, seconds)
        except (duckdb.InterruptException, duckdb.OutOfMemoryException):
            raise _over_limits(seconds) from None
        except duckdb.Error:
            raise QueryRefused("public-query", "the engine cannot answer this query on the public tables") from None
    if len(rows) > MOST_ROWS:
        raise _over_limits(seconds)
    return names, [tuple(map(_native, row)) for row in rows]


def _limit(database: Any) -> None:
    without_unsound_optimizers(database)
    database.execute(f"SET memory_limit = '{MEMORY}'")
    database.execute("SET lock_configuration = true")


@cache
def _kept(_process: int) -> Any:
    """A database of this process for looks at tables without rows: to make one takes ten times as long as the look.

    Guarantee: tables are temporary, so each connection sees its own and leaves none behind.
    """
    import duckdb

    database = duckdb.connect(":memory:", config=_CONFIG)
    _limit(database)
    return database


def _fetched(database: Any, text: str, seconds: float) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Names and rows of a statement, one row more than is answered; interrupted when it takes too long."""
    timer = Timer(seconds, database.interrupt)
    timer.daemon = True
    timer.start()
    try:
        cursor = database.execute(text)
        return [entry[0] for entry in cursor.description], cursor.fetchmany(MOST_ROWS + 1)
    finally:
        timer.cancel()


def _over_limits(seconds: float) -> QueryRefused:
    return QueryRefused(
        "public-limit",
        f"a query on public tables may take {seconds:g} seconds, {MEMORY} of memory and {MOST_ROWS:,} rows",
        rewrite="aggregate or filter more, or ask the public tables in your own database",
    )


def _load(database: Any, name: str, columns: Mapping[str, Facts], cells: Mapping[str, tuple[Any, ...]]) -> None:
    quoted = ", ".join(f"{_quoted(column)} {_type(known)}" for column, known in columns.items())
    database.execute(f"CREATE TEMP TABLE {_quoted(name)} ({quoted})")
    values = [_numbers(cells[column], known) for column, known in columns.items()]
    if values and values[0]:
        lists = ", ".join(f"unnest(CAST(? AS {_type(known)}[]))" for known in columns.values())
        database.execute(f"INSERT INTO {_quoted(name)} SELECT {lists}", values)


def _load_released(database: Any, name: str, table: ReleasedTable) -> None:
    """A released table, its values as they were released."""
    types = {each: _released_type(known, table.columns[each]) for each, known in table.facts.items()}
    declared = ", ".join(f"{_quoted(column)} {kind}" for column, kind in types.items())
    database.execute(f"CREATE TEMP TABLE {_quoted(name)} ({declared})")
    values = [list(table.columns[column]) for column in types]
    if values and values[0]:
        lists = ", ".join(f"unnest(CAST(? AS {kind}[]))" for kind in types.values())
        database.execute(f"INSERT INTO {_quoted(name)} SELECT {lists}", values)


def _released_type(known: Facts, values: Sequence[Any]) -> str:
    if known.kind is not Kind.NUMBER:
        return _type(known)
    whole = all(value is None or (isinstance(value, int) and abs(value) < 2**63) for value in values)
    return "BIGINT" if whole and known.step.denominator == 1 else "DOUBLE"


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
    digits = _digits(known.step)
    if digits is None:
        return [None if value is None else float(value * known.step) for value in values]
    if digits == 0:
        return [None if value is None else int(value * known.step) for value in values]
    scaled = known.step * 10**digits
    return [None if value is None else Decimal(int(value * scaled)).scaleb(-digits) for value in values]


def _native(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float) and value != value:
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return value if hasattr(value, "isoformat") else str(value)
