"""Where tables come from: files, frames of the known libraries, plain columns. Of those only schemas are looked at here.

The rows of text files are taken when the data set is opened and kept in a private folder. A column whose cells are of mixed
types is turned into a typed one cell by cell, by the rules every engine shares, so one odd cell never changes how the others
are read.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeAlias

import numpy as np

from deniable.engines.cell_rules import raw
from deniable.engines.places import is_url
from deniable.engines.text.file import KINDS, TextFile, header, is_text
from deniable.engines.text.text_store import parts
from deniable.errors import InvalidArgument
from deniable.plan.codebook import Codebook
from deniable.plan.tables import Table
from deniable.plan.variable import Type, Variable

Stamp: TypeAlias = tuple[int, int, int]
"""What tells a file from one that took its place: its size, its time and its number on the disk."""


def stamp_of(path: str) -> Stamp | None:
    """A file's stamp; None if there is no such file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    """Parquet files of one schema; `given` are the files the curator named, which for text are others than `paths`."""

    paths: tuple[str, ...]
    given: tuple[str, ...]
    from_text: bool = False
    stamps: tuple[Stamp, ...] = ()

    def look(self) -> None:
        """Refuse a file that is gone or was replaced since it was opened; that is public, and nothing is spent."""
        for path, stamp in zip(self.paths, self.stamps, strict=True):
            now = stamp_of(path)
            if now is None:
                raise InvalidArgument(f"the file {Path(path).name} is gone; nothing was spent, open the data set again")
            if now != stamp:
                raise InvalidArgument(
                    f"the file {Path(path).name} was replaced after it was opened; nothing was spent, open the data set again"
                )


@dataclass(frozen=True, slots=True, eq=False)
class MemoryTable:
    """Something an embedded engine can read in place: a pandas or Arrow table, or a mapping of NumPy columns."""

    data: Any


TableSource: TypeAlias = ParquetFiles | MemoryTable


def table_sources(source: Any, codebook: Codebook, folder: Path) -> dict[str, TableSource]:
    """The source of every table of the codebook; rows of text files are kept in `folder`, which must be private."""
    given = by_table(source, codebook)
    return {table.name: table_source(given[table.name], table, folder) for table in codebook.tables}


def by_table(source: Any, codebook: Codebook) -> dict[str, Any]:
    """The source of every table by its name, as it was given."""
    names = [table.name for table in codebook.tables]
    if (
        isinstance(source, Mapping)
        and set(names) <= {str(name) for name in source}
        and not _columns_of(source, codebook)
    ):
        return {name: source[name] for name in names}
    if len(names) != 1:
        raise InvalidArgument(
            f"the codebook has tables {', '.join(names)}: give one source for each, {_example(names)}"
        )
    return {names[0]: source}


def _columns_of(source: Mapping[str, Any], codebook: Codebook) -> bool:
    return len(codebook.tables) == 1 and all(variable.name in source for variable in codebook.tables[0].variables)


def table_source(source: Any, table: Table, folder: Path) -> TableSource:
    """The source of one table; refuses what is not readable or lacks a declared column."""
    if isinstance(source, str | os.PathLike | TextFile):
        return _files([source], table, folder)
    if isinstance(source, list | tuple) and source and all(isinstance(p, str | os.PathLike | TextFile) for p in source):
        return _files(source, table, folder)
    if isinstance(source, Mapping):
        return MemoryTable(_numpy_columns(source, table))
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


def _files(given: Sequence[str | os.PathLike[str] | TextFile], table: Table, folder: Path) -> TableSource:
    paths = [Path(entry.path if isinstance(entry, TextFile) else entry) for entry in given]
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
    if all(isinstance(entry, TextFile) or is_text(path) for entry, path in zip(given, paths, strict=True)):
        return _text([e if isinstance(e, TextFile) else TextFile(e) for e in given], paths, table, folder)
    kinds = {path.suffix.lower() for path in paths}
    if kinds <= {".parquet", ".pq"}:
        return _parquet([str(path.resolve()) for path in paths], paths)
    raise InvalidArgument(
        f"table {table.name}: expected .parquet files or text files ({', '.join(KINDS)}, each also .gz), "
        f"got {', '.join(sorted(kinds))}; dp.TextFile(path) names a text file that is called otherwise"
    )


def _parquet(paths: Sequence[str], given: Sequence[Path], *, from_text: bool = False) -> ParquetFiles:
    stamps = tuple(stamp for path in paths if (stamp := stamp_of(path)) is not None)
    return ParquetFiles(tuple(paths), tuple(str(path.resolve()) for path in given), from_text, stamps)


def _text(files: Sequence[TextFile], given: Sequence[Path], table: Table, folder: Path) -> ParquetFiles:
    paths: list[str] = []
    for file in files:
        known = header(file, [variable.name for variable in table.variables])
        _checked_names(known.names, table, hint=_first_line)
        paths += parts(file, known, table.variables, Path(mkdtemp(dir=folder)))
    return _parquet(paths, given, from_text=True)


def _checked_names(
    names: Sequence[str],
    table: Table,
    hint: Callable[[Sequence[str], Sequence[str]], str] = lambda names, _: _columns(names),
) -> None:
    declared = [variable.name for variable in table.variables]
    absent = [name for name in declared if name not in names]
    if absent:
        near = [name for name in names if name.strip().lower() in {entry.strip().lower() for entry in absent}]
        said = f"; it has {', '.join(map(repr, near))}" if near else hint(names, declared)
        raise InvalidArgument(f"table {table.name}: the data has no column {', '.join(absent)}{said}")
    twice = [name for name in declared if list(names).count(name) > 1]
    if twice:
        raise InvalidArgument(f"table {table.name}: the data has several columns named {', '.join(twice)}")


def _columns(names: Sequence[str]) -> str:
    """What columns there are instead; names are public."""
    return f"; columns found: {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}"


def _first_line(names: Sequence[str], declared: Sequence[str]) -> str:
    """What the first line of a text file holds instead, where a declared name shows that it is a header and not somebody's row."""
    if set(names) & set(declared):
        return _columns(names)
    words = set(re.split(r"\W+", names[0])) if len(names) == 1 else set()
    if words & set(declared):
        return f"{_columns(names)}: is that one column, or is another separator meant? dp.TextFile(path, separator=';')"
    return "; its first line names none of the codebook's columns: does the file begin with a header?"


def _example(names: Sequence[str]) -> str:
    return "{" + ", ".join(f"'{name}': ..." for name in names) + "}"


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
                [np.datetime64("NaT", "us") if value is None else value for value in found], dtype="datetime64[us]"
            )
        case Type.STRING:
            words = np.empty(len(found), dtype=object)
            words[:] = found
            return words


def _pandas(frame: Any, table: Table) -> MemoryTable:
    if not hasattr(frame, "columns"):
        raise InvalidArgument(f"table {table.name}: expected a pandas DataFrame, got {type(frame).__name__}")
    _checked_names([str(name) for name in frame.columns], table)
    chosen = frame[[variable.name for variable in table.variables]]
    replaced = {
        variable.name: _masked_pandas(numpy_column(list(chosen[variable.name]), variable), variable)
        for variable in table.variables
        if chosen[variable.name].dtype == object
    }
    return MemoryTable(chosen.assign(**replaced).reset_index(drop=True))


def _masked_pandas(column: Any, variable: Variable) -> Any:
    import pandas as pd

    if isinstance(column, np.ma.MaskedArray):
        return pd.arrays.IntegerArray(column.data.astype(np.int64), np.ma.getmaskarray(column).copy())
    return pd.array(column, dtype="string") if variable.type is Type.STRING else column


def _polars(frame: Any, table: Table) -> MemoryTable:
    import polars as pl

    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, pl.DataFrame):
        raise InvalidArgument(f"table {table.name}: expected a Polars DataFrame, got {type(frame).__name__}")
    _checked_names(frame.columns, table)
    mixed = [variable for variable in table.variables if frame.schema[variable.name] == pl.Object]
    if not mixed:
        return MemoryTable(frame.select([variable.name for variable in table.variables]).to_arrow())
    return MemoryTable(_numpy_columns({v.name: frame[v.name].to_list() for v in table.variables}, table))


def _arrow(frame: Any, table: Table) -> MemoryTable:
    import pyarrow as pa

    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if not isinstance(frame, pa.Table):
        raise InvalidArgument(f"table {table.name}: expected an Arrow table, got {type(frame).__name__}")
    _checked_names(frame.column_names, table)
    return MemoryTable(frame.select([variable.name for variable in table.variables]))


class PrivateFolder:
    """A new folder for rows that are kept: only this user can read it, and it is removed when it is closed or forgotten.

    A forked process leaves its parent's alone.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="deniable-"))
        self._remove = weakref.finalize(self, _removed, self.path, os.getpid())

    def close(self) -> None:
        """Remove it with everything in it."""
        self._remove()


def _removed(folder: Path, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
