"""Where tables come from: files, frames of the known libraries, plain columns. Only schemas are looked at here.

A column whose cells are of mixed types is turned into a typed one cell by cell, by the rules every engine shares, so one
odd cell never changes how the others are read.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from deniable.engines.cells import raw
from deniable.engines.places import is_url
from deniable.errors import InvalidArgument
from deniable.plan.codebook import Codebook, Table
from deniable.plan.variable import Type, Variable


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """Parquet files of one schema."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file with a header; every cell is text until its variable says otherwise."""

    path: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Something an embedded engine can read in place: a pandas or Arrow table, or a mapping of NumPy columns."""

    data: Any


TableSource: TypeAlias = ParquetFiles | CsvFile | Frame


def table_sources(source: Any, codebook: Codebook) -> dict[str, TableSource]:
    """The source of every table of the codebook."""
    given = _by_table(source, codebook)
    return {table.name: table_source(given[table.name], table) for table in codebook.tables}


def _by_table(source: Any, codebook: Codebook) -> dict[str, Any]:
    names = [table.name for table in codebook.tables]
    if (
        isinstance(source, Mapping)
        and set(names) <= {str(name) for name in source}
        and not _columns_of(source, codebook)
    ):
        return {name: source[name] for name in names}
    if len(names) != 1:
        raise InvalidArgument(f"the codebook has tables {', '.join(names)}: give the data as {{name: source}} for each")
    return {names[0]: source}


def _columns_of(source: Mapping[str, Any], codebook: Codebook) -> bool:
    return len(codebook.tables) == 1 and all(variable.name in source for variable in codebook.tables[0].variables)


def table_source(source: Any, table: Table) -> TableSource:
    """The source of one table; refuses what is not readable or lacks a declared column."""
    if isinstance(source, str | os.PathLike):
        return _file(Path(source), table)
    if isinstance(source, list | tuple) and source and all(isinstance(part, str | os.PathLike) for part in source):
        return _files([Path(part) for part in source], table)
    if isinstance(source, Mapping):
        return Frame(_numpy_columns(source, table))
    library = type(source).__module__.split(".")[0]
    if library == "pandas":
        return _pandas(source, table)
    if library == "polars":
        return _polars(source, table)
    if library == "pyarrow":
        return _arrow(source, table)
    raise InvalidArgument(
        f"table {table.name}: expected a Parquet or CSV file, a pandas, Polars or Arrow table or a mapping of columns, "
        f"got {type(source).__name__}"
    )


def _file(path: Path, table: Table) -> TableSource:
    return _files([path], table)


def _files(paths: Sequence[Path], table: Table) -> TableSource:
    for path in paths:
        if is_url(path):
            raise InvalidArgument(
                f"table {table.name}: this URL names no file; a database is given as "
                "Dataset('postgresql://user@host/database', tables=[...], ...)"
            )
        if not path.is_file():
            raise InvalidArgument(
                f"table {table.name}: there is no file {str(path)!r}; give a Parquet or CSV file that exists"
            )
    kinds = {path.suffix.lower() for path in paths}
    if kinds <= {".parquet", ".pq"}:
        return ParquetFiles(tuple(str(path.resolve()) for path in paths))
    if kinds <= {".csv"} and len(paths) == 1:
        return _csv(paths[0], table)
    raise InvalidArgument(
        f"table {table.name}: expected .parquet files or one .csv file, got {', '.join(sorted(kinds))}"
    )


def _csv(path: Path, table: Table) -> CsvFile:
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as lines:
        names = tuple(next(csv.reader(lines), ()))
    if len({name.lower() for name in names}) != len(names) or not all(names):
        raise InvalidArgument(f"table {table.name}: the header of {path.name} needs names that differ")
    _checked_names(names, table)
    return CsvFile(str(path.resolve()), names)


def _checked_names(names: Sequence[str], table: Table) -> None:
    absent = [variable.name for variable in table.variables if variable.name not in names]
    if absent:
        raise InvalidArgument(f"table {table.name}: the data has no column {', '.join(absent)}")
    twice = [variable.name for variable in table.variables if list(names).count(variable.name) > 1]
    if twice:
        raise InvalidArgument(f"table {table.name}: the data has several columns named {', '.join(twice)}")


def _numpy_columns(columns: Mapping[Any, Any], table: Table) -> dict[str, Any]:
    _checked_names([str(name) for name in columns], table)
    read = {variable.name: numpy_column(columns[variable.name], variable) for variable in table.variables}
    if len({len(column) for column in read.values()}) > 1:
        raise InvalidArgument(f"table {table.name}: its columns have different lengths")
    return read


def numpy_column(cells: Any, variable: Variable) -> Any:
    """A column of any cells as one typed NumPy array; an array that is typed already is kept."""
    if isinstance(cells, np.ndarray) and cells.ndim == 1 and cells.dtype.kind in "iufb" and cells.dtype.itemsize <= 8:
        return cells.astype(np.float64) if cells.dtype == np.float16 else cells
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "M":
        return cells.astype("datetime64[us]")
    found = [raw(cell, variable.type) for cell in cells]
    absent = np.array([value is None for value in found], dtype=bool)
    match variable.type:
        case Type.INTEGER | Type.BOOLEAN:
            whole = np.array([0 if value is None else value for value in found], dtype=np.int64)
            return np.ma.array(whole, mask=absent)
        case Type.NUMBER | Type.DECIMAL:
            return np.array([np.nan if value is None else value for value in found], dtype=np.float64)
        case Type.DATE | Type.TIMESTAMP:
            return np.array(
                [np.datetime64("NaT") if value is None else value for value in found], dtype="datetime64[us]"
            )
        case Type.STRING:
            words = np.empty(len(found), dtype=object)
            words[:] = found
            return words


def _pandas(frame: Any, table: Table) -> Frame:
    if not hasattr(frame, "columns"):
        raise InvalidArgument(f"table {table.name}: expected a pandas DataFrame, got {type(frame).__name__}")
    _checked_names([str(name) for name in frame.columns], table)
    chosen = frame[[variable.name for variable in table.variables]]
    replaced = {
        variable.name: _masked_pandas(numpy_column(list(chosen[variable.name]), variable), variable)
        for variable in table.variables
        if chosen[variable.name].dtype == object
    }
    return Frame(chosen.assign(**replaced).reset_index(drop=True))


def _masked_pandas(column: Any, variable: Variable) -> Any:
    import pandas as pd

    if isinstance(column, np.ma.MaskedArray):
        return pd.arrays.IntegerArray(column.data.astype(np.int64), np.ma.getmaskarray(column).copy())
    return pd.array(column, dtype="string") if variable.type is Type.STRING else column


def _polars(frame: Any, table: Table) -> Frame:
    import polars as pl

    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, pl.DataFrame):
        raise InvalidArgument(f"table {table.name}: expected a Polars DataFrame, got {type(frame).__name__}")
    _checked_names(frame.columns, table)
    mixed = [variable for variable in table.variables if frame.schema[variable.name] == pl.Object]
    if not mixed:
        return Frame(frame.select([variable.name for variable in table.variables]).to_arrow())
    return Frame(_numpy_columns({v.name: frame[v.name].to_list() for v in table.variables}, table))


def _arrow(frame: Any, table: Table) -> Frame:
    import pyarrow as pa

    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if not isinstance(frame, pa.Table):
        raise InvalidArgument(f"table {table.name}: expected an Arrow table, got {type(frame).__name__}")
    _checked_names(frame.column_names, table)
    return Frame(frame.select([variable.name for variable in table.variables]))
