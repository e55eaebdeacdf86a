"""The same tables on every engine: Python cells in, stored as each engine stores them, one order key for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pytest

from deniable.engines import connect
from deniable.engines.engine import Engine
from deniable.engines.reference import ReferenceEngine
from deniable.plan.codebook import Codebook
from deniable.release.dataset import Dataset
from tests.engines.sql_schemas import World
from tests.needs import require_module
from tests.servers import POSTGRES, SPARK, Postgres

KEY = bytes(range(1, 33))
REMOTE = [pytest.param("PostgreSQL", marks=POSTGRES), pytest.param("Spark", marks=SPARK)]
ENGINES = ["reference", "DuckDB", *REMOTE]
"""Every engine, for `pytest.mark.parametrize`; the servers are started when first asked for."""

_POSTGRES = {"DOUBLE": "double precision", "VARCHAR": "text"}
_SPARK = {"VARCHAR": "string", "TIMESTAMP": "timestamp_ntz"}


@dataclass(frozen=True)
class Servers:
    """How to come by the servers; neither is started before it is asked for."""

    postgres: Callable[[], Postgres]
    spark: Callable[[], Any]


def servers_of(request: pytest.FixtureRequest) -> Servers:
    """The servers of this test run."""
    return Servers(lambda: request.getfixturevalue("postgres"), lambda: request.getfixturevalue("spark"))


def placed(engine: str, world: World, servers: Servers, *, name: str = "made up", key: bytes = KEY) -> Dataset:
    """A data set of these tables on one engine."""
    book = Codebook.from_record(world.codebook)
    return Dataset(_engine(engine, world, book, servers, key), codebook=book, name=name)


def _engine(engine: str, world: World, book: Codebook, servers: Servers, key: bytes) -> Engine:
    if engine == "reference":
        return ReferenceEngine(world.tables, book, key=key)
    if engine == "PostgreSQL":
        server = servers.postgres()
        return connect(server.url(), book, key=key, tables=in_postgres(server, world))
    if engine == "Spark":
        return connect(in_spark(servers.spark(), world), book, key=key)
    return connect(world.tables, book, key=key)


def in_postgres(server: Postgres, world: World) -> dict[str, str]:
    """The tables in a schema of their own; where each is."""
    schema = server.fresh("world")
    with require_module("psycopg").connect(server.url(), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        for table, columns in world.types.items():
            written = ", ".join(f'"{column}" {_POSTGRES.get(kind, kind)}' for column, kind in columns.items())
            connection.execute(f"CREATE TABLE {schema}.{table} ({written})")
            rows = list(zip(*(world.tables[table][column] for column in columns), strict=True))
            marks = ", ".join(["%s"] * len(columns))
            connection.cursor().executemany(f"INSERT INTO {schema}.{table} VALUES ({marks})", rows)
    return {table: f"{schema}.{table}" for table in world.types}


def in_parquet(folder: Path, world: World) -> dict[str, str]:
    """The tables as Parquet files, their columns of the world's types; where each is."""
    database, places = duckdb.connect(), {}
    for table, columns in world.types.items():
        places[table] = str(folder / f"{table}.parquet")
        written = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
        database.execute(f"CREATE TABLE {table} ({written})")
        rows = list(zip(*(world.tables[table][column] for column in columns), strict=True))
        database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", rows)
        database.execute(f"COPY {table} TO '{places[table]}' (FORMAT parquet)")
    return places


def in_spark(spark: Any, world: World) -> dict[str, Any]:
    """The tables as DataFrames, each cut into two parts so that both executors hold some."""
    made = {}
    for table, columns in world.types.items():
        schema = ", ".join(f"`{column}` {_SPARK.get(kind, kind)}" for column, kind in columns.items())
        cells = [[_spark(cell, kind) for cell in world.tables[table][column]] for column, kind in columns.items()]
        made[table] = spark.createDataFrame(list(zip(*cells, strict=True)), schema).coalesce(2).cache()
    return made


def _spark(cell: Any, kind: str) -> Any:
    if cell is None or not kind.startswith("DECIMAL"):
        return cell
    return Decimal(str(cell))


def parquet_in_postgres(server: Postgres, files: Mapping[str, str]) -> dict[str, str]:
    """Parquet files as tables of a schema of their own; where each is."""
    schema, database = server.fresh("parquet"), duckdb.connect()
    with require_module("psycopg").connect(server.url(), autocommit=True) as connection, TemporaryDirectory() as folder:
        connection.execute(f"CREATE SCHEMA {schema}")
        for table, path in files.items():
            columns = database.execute(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
            written = ", ".join(f'"{name}" {_POSTGRES.get(kind, kind)}' for name, kind, *_ in columns)
            connection.execute(f"CREATE TABLE {schema}.{table} ({written})")
            text = Path(folder, f"{table}.csv")
            database.execute(f"COPY (FROM '{path}') TO '{text}' (HEADER false)")
            with connection.cursor().copy(f"COPY {schema}.{table} FROM STDIN (FORMAT csv)") as copy:
                copy.write(text.read_bytes())
            connection.execute(f"ANALYZE {schema}.{table}")
    return {table: f"{schema}.{table}" for table in files}
