"""What a Parquet file says of its columns: names and types, from its schema alone, no row is read. And answers as Parquet.

DuckDB is loaded when a file is read or written, and not before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from deniable.errors import InvalidArgument
from deniable.plan.variable import Type

_TYPES = {
    "BOOLEAN": Type.BOOLEAN,
    "DATE": Type.DATE,
    "DECIMAL": Type.DECIMAL,
    "DOUBLE": Type.NUMBER,
    "FLOAT": Type.NUMBER,
    **dict.fromkeys(
        ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
        Type.INTEGER,
    ),
}


def parquet_columns(path: Path) -> dict[str, Type]:
    """The columns of a Parquet file and the type of the codebook each would be read as; text where nothing else fits."""
    import duckdb

    try:
        with duckdb.connect() as connection:
            described = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
    except duckdb.Error:
        raise InvalidArgument(f"{str(path)!r} cannot be read as Parquet; give a Parquet or CSV file") from None
    return {str(row[0]): _type(str(row[1])) for row in described}


def _type(name: str) -> Type:
    if name.startswith("TIMESTAMP"):
        return Type.TIMESTAMP
    return _TYPES.get(name.partition("(")[0], Type.STRING)


def write_parquet(columns: Mapping[str, Sequence[Any]], path: Path) -> None:
    """Write columns of plain values that are public, each as the narrowest type that holds all of them."""
    import duckdb

    names = ", ".join(f"{_identifier(name)} {_column_type(values)}" for name, values in columns.items())
    rows = list(zip(*columns.values(), strict=True))
    try:
        with duckdb.connect(":memory:") as connection:
            connection.execute(f"CREATE TABLE answer ({names})")
            if rows:
                connection.executemany(f"INSERT INTO answer VALUES ({', '.join('?' * len(columns))})", rows)
            connection.table("answer").write_parquet(str(path))
    except duckdb.Error:
        raise InvalidArgument(f"cannot write {path}; is there such a folder, and room in it?") from None


def write_arrays(columns: Mapping[str, Any], path: Path) -> None:
    """Write arrays that are public, such as made-up data, with the types they have."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        connection.register("arrays", dict(columns))
        connection.table("arrays").write_parquet(str(path))


def write_rows(columns: Mapping[str, Sequence[Any]], types: Mapping[str, str], path: Path) -> None:
    """Write columns of plain values that are public as Parquet, or as CSV where the file is called so, each as its type."""
    import duckdb

    arrays = {name: np.array(columns[name], dtype=object) for name in types}
    cells = ", ".join(f"CAST({_identifier(name)} AS {kind}) AS {_identifier(name)}" for name, kind in types.items())
    try:
        with duckdb.connect(":memory:") as connection:
            connection.register("arrays", arrays)
            rows = connection.sql(f"SELECT {cells} FROM arrays")
            rows.write_csv(str(path)) if path.suffix == ".csv" else rows.write_parquet(str(path))
    except duckdb.Error:
        raise InvalidArgument(f"cannot write {path}; is there such a folder, and room in it?") from None


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


_PLAIN: dict[frozenset[type], str] = {
    frozenset([bool]): "BOOLEAN",
    frozenset([int]): "BIGINT",
    frozenset([float]): "DOUBLE",
    frozenset([int, float]): "DOUBLE",
    frozenset([date]): "DATE",
    frozenset([datetime]): "TIMESTAMP",
    frozenset(): "DOUBLE",
}


def _column_type(values: Sequence[Any]) -> str:
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, list | tuple) for value in present):
        return _column_type([part for value in present for part in value]) + "[]"
    return _PLAIN.get(frozenset(map(type, present)), "VARCHAR")
