"""Engines: the same plan gives the same exact integers on each; see `engine.Engine`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deniable.engines.engine import Engine
from deniable.engines.limit import HOUR
from deniable.engines.places import is_postgres, is_spark
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real
from deniable.plan.codebook import Codebook


def connect(
    source: Any,
    codebook: Codebook,
    *,
    key: bytes | int,
    tables: Sequence[str] | Mapping[str, str] | None = None,
    time_limit: Real | None = None,
) -> Engine:
    """The engine for a source: a Parquet or CSV file, a pandas, Polars or Arrow table, columns, or tables by name; the
    `postgresql://` URL of a database; a Spark session or Spark DataFrames.

    `tables` says where a database or session keeps the codebook's tables, when not under the same names.
    `time_limit` is how many seconds a statement may take, an hour unless it is given.
    `key` is the secret of the keyed order (at least 128 bits), held by the curator's process.
    """
    limit = HOUR if time_limit is None else time_limit
    if is_postgres(source):
        from deniable.engines.postgres import PostgresEngine

        return PostgresEngine(source, codebook, key=key, tables=tables, time_limit=limit)
    if is_spark(source):
        from deniable.engines.spark import SparkEngine

        return SparkEngine(source, codebook, key=key, tables=tables, time_limit=limit)
    if tables is not None:
        raise InvalidArgument(
            "tables= goes with a PostgreSQL URL or a Spark session; give other sources as {name: source}"
        )
    from deniable.engines.duckdb import DuckDBEngine

    return DuckDBEngine(source, codebook, key=key, time_limit=limit)
