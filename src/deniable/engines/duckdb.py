"""DuckDB, embedded: the default engine. It reads Parquet, pandas, Polars, Arrow and plain columns in place; text files are
read once, when they are opened, into Parquet in a private folder.

The connection is closed to the world before the first query: no extension is loaded, no file but the bound ones is read,
no setting changes any more, temporary files go to a private folder that is removed. An engine error is replaced by one
constant text, because DuckDB's own words quote cells.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import duckdb
from sqlglot import exp

from deniable.engines.conformance import conform
from deniable.engines.duckdb_profile import DuckDBProfile, without_unsound_optimizers
from deniable.engines.limit import HOUR, limit_seconds, stoppable
from deniable.engines.results import Fetched
from deniable.engines.sources import MemoryTable, ParquetFiles, PrivateFolder, TableSource, table_sources
from deniable.engines.sql.groups import Groups
from deniable.engines.sql.relations import Source
from deniable.engines.sql.sql_statement import Kept
from deniable.engines.sql.stored_cells import Physical
from deniable.engines.sql_engine import SqlEngine
from deniable.errors import EngineFailed, InvalidArgument
from deniable.exact.guards import Real, integer
from deniable.plan.codebook import Codebook
from deniable.plan.nodes import Distinct, GroupAgg, Histogram, Relation
from deniable.plan.relation import schema
from deniable.plan.sensitivity import sensitivities
from deniable.plan.sql_trees import Tree, call, cast, column, text
from deniable.plan.tables import Table

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

_ONCE = "deniable_kept_once"
"""The bounded rows of one plan, while its statements run."""


class DuckDBEngine(SqlEngine):
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
        super().__init__(codebook, DuckDBProfile(), key=key)
        self._seconds = float(limit_seconds(time_limit))
        self._settings = dict(_SETTINGS)
        if threads is not None:
            self._settings["threads"] = str(integer(least=1, threads=threads))
        if memory is not None:
            if not re.fullmatch(r"\d+(\.\d+)? ?([KMGT]i?)?B", str(memory), re.IGNORECASE):
                raise InvalidArgument(f"memory is a size such as '2GB', got {memory!r}")
            self._settings["memory_limit"] = memory
        self._folder = PrivateFolder()
        self._tables = table_sources(source, codebook, self._folder.path)
        self._opened: _Opened | None = None
        self._bounding = ""
        self._connection()
        self._profile.lacking = conform(self.name, self._profile, self._execute)

    @property
    def name(self) -> str:
        """The engine and its version, public."""
        return f"DuckDB {duckdb.__version__}"

    @property
    def files(self) -> tuple[Path, ...]:
        """The files the curator named."""
        return tuple(
            Path(path) for source in self._tables.values() if isinstance(source, ParquetFiles) for path in source.given
        )

    @property
    def in_memory(self) -> bool:
        """Whether the rows are in this process's memory already."""
        return all(isinstance(source, MemoryTable) for source in self._tables.values())

    def look(self) -> None:
        """Refuse when the data cannot be reached: closed, or a file gone or replaced. All of it is public."""
        if not self._tables:
            raise InvalidArgument("the data set is closed; nothing was spent, open it again")
        for source in self._tables.values():
            if isinstance(source, ParquetFiles):
                source.look()

    def prepare(self, plan: GroupAgg) -> None:
        """Keep the plan's bounded rows until the data set is closed: later plans with its source, keys and bounds are faster.

        They are as they were now: open the data set again when the data changes.
        """
        sensitivities(plan)
        with self._alone():
            opened = self._connection()
            if any(rows.serves(plan) for rows in opened.kept):
                return
            groups = Groups(plan, self._relations(), self._profile, self._key)
            kept, statement = groups.bounded(f"deniable_kept_{len(opened.kept)}")
            written = f"CREATE TEMP TABLE {kept.table} AS {statement.text(self._profile)}"
            self._do(written)
            opened.kept.append(kept)

    def exactly(self, relation: Relation, question: str) -> list[tuple[Any, ...]]:
        """The exact answer to a question in SQL about `rows`, the rows of a relation as they are read, units beside them.

        Guarantee: none. For the curator's check of the data alone; no session calls it.
        """
        with self._alone():
            tree = self._relations().select(relation, schema(relation))
            written = f"WITH rows AS ({tree.sql(dialect=self._profile.dialect)}) {question}"
            return self._stoppable(lambda connection: connection.execute(written).fetchall())

    def close(self) -> None:
        """Let go of the data and remove temporary files."""
        with self._alone():
            if self._opened is not None:
                self._opened.close()
            self._opened = None
            self._tables = {}
            self._folder.close()

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

    def _sources(self) -> Mapping[str, Source]:
        return self._connection().sources

    def _kept(self, plan: GroupAgg) -> Kept | None:
        """Bounded rows kept before; or kept for this plan alone, if several statements would choose among all rows again."""
        self._bounding = ""
        kept = next((rows for rows in self._connection().kept if rows.serves(plan)), None)
        several = any(isinstance(aggregate, Distinct | Histogram) for _, aggregate in plan.aggregates)
        groups = Groups(plan, self._relations(), self._profile, self._key)
        if kept is not None or not (several and groups.capped):
            return kept
        kept, rows = groups.bounded(_ONCE)
        self._bounding = self._text(rows)
        return kept

    def _fetch_all(self, texts: Sequence[str]) -> list[Fetched] | None:
        bounding, self._bounding = self._bounding, ""
        try:
            if not bounding:
                return [self._fetch(written) for written in texts]
            try:
                self._do(f"CREATE OR REPLACE TEMP TABLE {_ONCE} AS {bounding}")
                return [self._fetch(written) for written in texts]
            finally:
                self._do(f"DROP TABLE IF EXISTS {_ONCE}")
        except EngineFailed:
            return None

    def _do(self, written: str) -> None:
        self._stoppable(lambda connection: connection.execute(written))

    def _fetch(self, written: str) -> Fetched:
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
            case MemoryTable(data):
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
        without_unsound_optimizers(self.connection)
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
