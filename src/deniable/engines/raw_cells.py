"""The cells of a source as they were given, each value once with how often it occurs: for the curator's check of the data.

Nothing here is private, and nothing here is reached by a session.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import duckdb

from deniable.engines.sources import ParquetFiles, PrivateFolder, by_table, table_source
from deniable.engines.text.file import TextFile
from deniable.errors import InvalidArgument
from deniable.plan.codebook import Codebook
from deniable.plan.tables import Table
from deniable.plan.variable import Type, Variable

Counts: TypeAlias = Mapping[str, Mapping[Any, int]]
"""For every variable, its cells as given and how often each occurs."""


def raw_counts(source: Any, codebook: Codebook) -> dict[str, Counts]:
    """The cells of every table of the codebook, counted by value."""
    given = by_table(source, codebook)
    return {table.name: _counts(given[table.name], table) for table in codebook.tables}


def _counts(source: Any, table: Table) -> Counts:
    if _is_files(source):
        return _file_counts(source, table)
    return {variable.name: _counted(_column(source, variable.name)) for variable in table.variables}


def _is_files(source: Any) -> bool:
    parts = source if isinstance(source, list | tuple) and source else [source]
    return all(isinstance(part, str | os.PathLike | TextFile) for part in parts)


def _file_counts(source: Any, table: Table) -> Counts:
    """Of text files every cell is text; of Parquet files it is what the file says."""
    as_text = replace(table, variables=tuple(_plain_text(variable) for variable in table.variables))
    folder = PrivateFolder()
    try:
        found = table_source(source, as_text, folder.path)
        assert isinstance(found, ParquetFiles)
        with duckdb.connect(":memory:") as connection:
            connection.execute("SET enable_progress_bar=false")
            rows = connection.read_parquet(list(found.paths))
            kinds = {name: str(kind) for name, kind in zip(rows.columns, rows.types, strict=True)}
            return {each.name: _distinct(rows, each.name, kinds[each.name]) for each in table.variables}
    finally:
        folder.close()


def _plain_text(variable: Variable) -> Variable:
    return Variable(name=variable.name, type=Type.STRING)


def _distinct(rows: duckdb.DuckDBPyRelation, name: str, kind: str) -> dict[Any, int]:
    """Moments with a zone are taken as the engine reads them, in UTC."""
    cell = '"' + name.replace('"', '""') + '"'
    if kind == "TIMESTAMP WITH TIME ZONE":
        cell = f"TRY(make_timestamp(epoch_us({cell})))"
    return _counted_pairs(rows.aggregate(f"{cell}, count(*)", cell).fetchall())


def _column(source: Any, name: str) -> Iterable[Any]:
    """The cells of one column of a frame or mapping, as Python values."""
    if isinstance(source, Mapping):
        return list(source[name])
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):
        source = source.collect()
    if not hasattr(source, "__getitem__"):
        raise InvalidArgument(f"the data check reads files, frames and columns, got {type(source).__name__}")
    column = source[name]
    for read in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, read):
            return list(getattr(column, read)())
    return list(column)


def _counted(cells: Iterable[Any]) -> dict[Any, int]:
    return _counted_pairs(Counter(_hashable(cell) for cell in cells).items())


def _counted_pairs(pairs: Iterable[tuple[Any, int]]) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for cell, times in pairs:
        kept = None if _absent(cell) else _hashable(cell)
        found[kept] = found.get(kept, 0) + times
    return found


def _absent(cell: Any) -> bool:
    """A cell that holds nothing: missing, empty text, not a number."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, str | float) and (cell == "" or cell != cell)


def _hashable(cell: Any) -> Any:
    try:
        hash(cell)
    except TypeError:
        return repr(cell)
    return cell
