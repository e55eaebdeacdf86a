"""What a Parquet file says of its columns: names and types, from its schema alone. No row is read."""

from __future__ import annotations

from pathlib import Path

import duckdb

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
