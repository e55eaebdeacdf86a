"""DuckDB, embedded: the default engine. It reads Parquet, pandas, Polars, Arrow and plain columns in place; text files are
read once, when they are opened, into Parquet in a private folder.

The connection is closed to the world before the first query: no extension is loaded, no file but the bound ones is read,
no setting changes any more, temporary files go to a private folder that is removed. An engine error is replaced by one
constant text, because DuckDB's own words quote cells.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import duckdb
from sqlglot import exp

from deniable.engines.conformance import conform
from deniable.engines.engine import KeyValue, Result, RowTable
from deniable.engines.fetched import Fetched, fetched_result, python_values
from deniable.engines.folder import PrivateFolder
from deniable.engines.limit import HOUR, limit_seconds, stoppable
from deniable.engines.order import order_key
from deniable.engines.sources import Frame, ParquetFiles, TableSource, table_sources
from deniable.engines.sql.build import Tree, call, cast, column, text
from deniable.engines.sql.groups import Groups, Statement, statements
from deniable.engines.sql.kept import Kept
from deniable.engines.sql.physical import Physical
from deniable.engines.sql.profile import DuckDBProfile
from deniable.engines.sql.relations import Relations, Source
from deniable.engines.unit_rows import checked_rows, fetched_rows
from deniable.errors import EngineFailed, InvalidArgument, QueryRefused
from deniable.exact.guards import Real, integer
from deniable.plan.codebook import Codebook, Table
from deniable.plan.nodes import GroupAgg, Relation, UnitRows
from deniable.plan.relation import shape
from deniable.plan.sensitivity import sensitivities

Found = TypeVar("Found")

_SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
    "preserve_insertion_order": "false",
}
_KINDS = {
    **dict.fromkeys(
        ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"], Physical.INTEGER
    ),
    **dict.fromkeys(["UBIGINT", "HUGEINT", "UHUGEINT"], Physical.WIDE),
    **dict.fromkeys(["FLOAT", "DOUBLE"], Physical.REAL),
    **dict.fromkeys(["VARCHAR", "UUID"], Physical.TEXT),
    "BOOLEAN": Physical.BOOLEAN,
    "DATE": Physical.DATE,
    "TIMESTAMP": Physical.TIMESTAMP,
}


class DuckDBEngine:
    """Runs plans inside this process; `time_limit` is in seconds and public: every statement has as long.

    Guarantee: contributions are bounded after the last step that multiplies rows; no error depends on the data.
    """

    def __init__(
        self,
        source: Any,
        codebook: Codebook,
        *,
        key: bytes | int,
        threads: int | None = None,
        memory: str | None = None,
        time_limit: Real = HOUR,
    ) -> None:
        self._seconds = float(limit_seconds(time_limit))
        self._codebook, self._key = codebook, order_key(key)
        self._profile = DuckDBProfile()
        self._settings = dict(_SETTINGS)
        if threads is not None:
            self._settings["threads"] = str(integer(least=1, threads=threads))
        if memory is not None:
            self._settings["memory_limit"] = memory
        self._folder = PrivateFolder()
        self._tables = table_sources(source, codebook, self._folder.path)
        self._lock, self._process = threading.Lock(), os.getpid()
        self._opened: _Opened | None = None
        self._connection()
        self._profile.lacking = conform(self.name, self._profile, self._fetch)

    @property
    def name(self) -> str:
        """The engine and its version, public."""
        return f"DuckDB {duckdb.__version__}"

    def __repr__(self) -> str:
        return f"DuckDBEngine({', '.join(table.name for table in self._codebook.tables)})"

    @property
    def files(self) -> tuple[Path, ...]:
        """The files the curator named."""
        return tuple(
            Path(path) for source in self._tables.values() if isinstance(source, ParquetFiles) for path in source.given
        )

    def look(self) -> None:
        """Refuse when the data cannot be reached: closed, or a file gone or replaced. All of it is public."""
        if not self._tables:
            raise InvalidArgument("the data set is closed; nothing was spent, open it again")
        for source in self._tables.values():
            if isinstance(source, ParquetFiles):
                source.look()

    def check(self, plan: GroupAgg) -> None:
        """Refuse a plan that uses what this version computes differently; nothing is run."""
        if self._profile.lacking:
            with self._alone():
                self._statements(plan)

    def run(self, plan: GroupAgg) -> Result:
        """The plan's integers."""
        sensitivities(plan)
        with self._alone():
            kept = next((rows for rows in self._connection().kept if rows.serves(plan)), None)
            first, further = self._statements(plan, kept)
            main = self._fetch(first)
            others = {name: self._fetch(statement) for name, statement in further.items()}
        return fetched_result(plan, main, others)

    def rows(self, plan: UnitRows) -> RowTable:
        """The bounded rows of a plan."""
        checked_rows(plan)
        with self._alone():
            relations = Relations(self._connection().sources, self._profile)
            statement = Groups(plan.bounded, relations, self._profile, self._key).rows()
            return fetched_rows(plan, self._fetch(statement), statement.cells, self._key)

    def prepare(self, plan: GroupAgg) -> None:
        """Keep the plan's bounded rows until the data set is closed: later plans with its source, keys and bounds are faster.

        They are as they were now: open the data set again when the data changes.
        """
        sensitivities(plan)
        with self._alone():
            opened = self._connection()
            if any(rows.serves(plan) for rows in opened.kept):
                return
            groups = Groups(plan, Relations(opened.sources, self._profile), self._profile, self._key)
            kept, statement = groups.bounded(f"deniable_kept_{len(opened.kept)}")
            written = f"CREATE TEMP TABLE {kept.table} AS {statement.text(self._profile)}"
            self._stoppable(lambda connection: connection.execute(written))
            opened.kept.append(kept)

    def statements(self, plan: GroupAgg) -> list[str]:
        """The SQL a plan runs, for explanations; it holds the order key, so it is for the curator alone."""
        main, further = self._statements(plan)
        return [statement.text(self._profile) for statement in (main, *further.values())]

    def public(self, relation: Relation) -> Mapping[str, tuple[KeyValue, ...]]:
        """The rows of a relation over public tables only, sorted."""
        known = shape(relation)
        if not known.public:
            raise QueryRefused("private", "this relation holds private rows", rewrite="ask for aggregates in a session")
        with self._alone():
            tree = Relations(self._connection().sources, self._profile).select(relation, known.columns)
            table = self._fetch(Statement(tree, tuple(known.columns)))
        columns = [python_values(table[name], known.columns[name].kind) for name in known.columns]
        rows = sorted(zip(*columns, strict=True), key=lambda row: [(value is not None, value) for value in row])
        return {name: tuple(row[index] for row in rows) for index, name in enumerate(known.columns)}

    def close(self) -> None:
        """Let go of the data and remove temporary files."""
        with self._alone():
            if self._opened is not None:
                self._opened.close()
            self._opened = None
            self._tables = {}
            self._folder.close()

    def _statements(self, plan: GroupAgg, kept: Kept | None = None) -> tuple[Statement, dict[str, Statement]]:
        relations = Relations(self._connection().sources, self._profile)
        return statements(plan, relations, self._profile, self._key, kept)

    def _connection(self) -> _Opened:
        """The open connection; a forked process opens its own."""
        if self._opened is not None and self._opened.process != os.getpid():
            self._opened.abandon()
            self._opened = None
        if self._opened is None:
            if not self._tables:
                raise InvalidArgument("the engine is closed; open the data set again")
            self._opened = _Opened(self._tables, self._codebook, self._settings)
        return self._opened

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One query at a time; a lock that another thread held when this process was forked is replaced."""
        if self._process != os.getpid():
            self._process, self._lock = os.getpid(), threading.Lock()
        with self._lock:
            yield

    def _fetch(self, statement: Statement) -> Fetched:
        written = statement.text(self._profile)
        return self._stoppable(lambda connection: dict(connection.execute(written).fetchnumpy()))

    def _stoppable(self, work: Callable[[duckdb.DuckDBPyConnection], Found]) -> Found:
        connection = self._connection().connection
        try:
            return stoppable(lambda: work(connection), connection.interrupt, seconds=self._seconds)
        except (duckdb.Error, MemoryError, RuntimeError, ValueError, OverflowError):
            raise EngineFailed from None


class _Opened:
    """One hardened connection with its tables bound."""

    def __init__(self, tables: Mapping[str, TableSource], codebook: Codebook, settings: Mapping[str, str]) -> None:
        self.process, self.kept = os.getpid(), list[Kept]()
        self._folder = PrivateFolder()
        try:
            self.connection = duckdb.connect(":memory:", config={**settings, "temp_directory": str(self._folder.path)})
            self.sources = {
                table.name: self._bind(i, tables[table.name], table) for i, table in enumerate(codebook.tables)
            }
            self._lock_down(tables)
        except duckdb.Error:
            raise EngineFailed from None

    def close(self) -> None:
        """Close the connection and remove its folder; in a fork, where its threads are gone, only let go of it."""
        if self.process != os.getpid():
            self.abandon()
            return
        self.connection.close()
        self._folder.close()

    def abandon(self) -> None:
        """Keep the parent's connection alive for ever: closing it here would wait for threads that were not forked."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.connection))

    def _bind(self, index: int, source: TableSource, table: Table) -> Source:
        name = f"deniable_table_{index}"
        match source:
            case ParquetFiles():
                files = ", ".join(_quoted(path) for path in source.paths)
                self._view(name, f"read_parquet([{files}])", table)
            case Frame(data):
                self.connection.register(name, data)
        described = self.connection.execute(f"DESCRIBE {name}").fetchall()
        types = {str(row[0]): str(row[1]) for row in described}
        cells = {}
        for variable in table.variables:
            if variable.name not in types or sum(k.lower() == variable.name.lower() for k in types) > 1:
                raise InvalidArgument(f"table {table.name}: the data has no single column {variable.name!r}")
            cells[variable.name] = _cell(variable.name, types[variable.name])
        return Source(exp.to_table(name), cells, isinstance(source, ParquetFiles) and source.from_text)

    def _view(self, name: str, function: str, table: Table) -> None:
        try:
            self.connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {function}")
        except duckdb.Error:
            raise InvalidArgument(f"table {table.name}: its file cannot be read as what its name says") from None

    def _lock_down(self, tables: Mapping[str, TableSource]) -> None:
        allowed = [path for source in tables.values() if isinstance(source, ParquetFiles) for path in source.paths]
        self.connection.execute(f"SET allowed_paths=[{', '.join(_quoted(path) for path in allowed)}]")
        self.connection.execute("SET enable_progress_bar=false")  # how far a query has come tells about the data
        self.connection.execute("SET enable_external_access=false")
        self.connection.execute("SET lock_configuration=true")


def _cell(name: str, type_name: str) -> tuple[Tree, Physical]:
    """The raw cell of a column, made one of the kinds the reading rules know."""
    cell = column(name)
    if type_name in _KINDS:
        return (cast(cell, "TEXT") if type_name == "UUID" else cell), _KINDS[type_name]
    if type_name.startswith("ENUM"):
        return cast(cell, "TEXT"), Physical.TEXT
    if type_name.startswith("DECIMAL"):
        width, scale = (int(part) for part in type_name[8:-1].split(","))
        if scale:
            return cast(cell, "DOUBLE"), Physical.REAL
        return (cast(cell, "BIGINT"), Physical.INTEGER) if width <= 18 else (cast(cell, "INT128"), Physical.WIDE)
    if type_name.startswith("TIMESTAMP"):
        return call("TRY", call("make_timestamp", call("epoch_us", cell))), Physical.TIMESTAMP
    return cell, Physical.OTHER


def _quoted(value: str) -> str:
    return text(value).sql(dialect="duckdb")
