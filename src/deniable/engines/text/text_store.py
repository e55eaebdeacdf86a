"""The rows of a text file, taken once: typed by the codebook and kept as Parquet in a private folder.

What is read is what the file held at that moment; later changes to it change no answer.

Guarantee: what one row holds decides that row alone; a file whose quotes are out of place is refused here, before any session.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from deniable.engines.duckdb_profile import DuckDBProfile
from deniable.engines.sql.stored_cells import stored
from deniable.engines.text.file import Header, TextFile, opened
from deniable.engines.text.scan import FEED, Scanned, scanned
from deniable.engines.text.text_rows import APART, LONGEST, Taken, taken
from deniable.errors import InvalidArgument
from deniable.plan.sql_trees import column
from deniable.plan.variable import Variable

CHUNK = 1 << 25
"""Bytes that are split at a time; memory follows this, not the file."""

LONGEST_ROW = 1 << 28
"""Bytes of one row; a longer one is taken for a quote that was never closed."""


def parts(file: TextFile, known: Header, variables: Sequence[Variable], folder: Path) -> tuple[str, ...]:
    """The Parquet files, new in `folder`, that hold the file's rows: a typed column for each variable."""
    import duckdb  # when a text file is opened: most processes open none

    chosen = [known.names.index(variable.name) for variable in variables]
    writer = _Writer(variables, chosen, len(known.names), folder)
    try:
        with opened(file) as bytes_:
            bytes_.read(known.size)
            for rows in _scans(bytes_, known):
                writer.add(taken(rows, width=len(known.names), chosen=chosen))
            return writer.finish()
    except InvalidArgument as refused:
        raise InvalidArgument(_told(file, str(refused))) from None
    except duckdb.Error:  # its words may quote cells
        raise InvalidArgument(f"{file.name}: its rows could not be kept; is there room in {folder.parent}?") from None


def _told(file: TextFile, why: str) -> str:
    if not why.startswith("line "):
        return why
    return (
        f"{file.name}, {why}; write a quote inside a cell twice and the cell in quotes, or open the file as "
        f"dp.TextFile({file.name!r}, quotes=False) if its quotes are plain characters"
    )


def _scans(bytes_: BinaryIO, known: Header) -> Iterator[Scanned]:
    """The rows, some at a time; a row that is cut is kept for the next turn."""
    rest, line, size = b"", 1 + known.lines, CHUNK
    while True:
        fresh = bytes_.read(size)
        whole = len(fresh) < size
        rest += fresh
        if whole and rest and not rest.endswith(b"\n"):
            rest += b"\n"
        found = scanned(np.frombuffer(rest, dtype=np.uint8), known.dialect, line=line, whole=whole)
        if len(found.ends):
            yield found
        line += int(np.count_nonzero(found.data == FEED))
        rest = rest[len(found.data) :]
        if whole:
            return
        if len(rest) > LONGEST_ROW:
            raise InvalidArgument(f"line {line:,}: a quote is opened here and not closed within {LONGEST_ROW:,} bytes")
        size = max(CHUNK, len(rest))


class _Writer:
    """Writes what was taken as Parquet, a file for each turn."""

    def __init__(self, variables: Sequence[Variable], chosen: list[int], width: int, folder: Path) -> None:
        self._variables, self._width, self._folder = variables, width, folder
        self._names = [f"c{index}" for index in range(width)]
        self._chosen = [self._names[index] for index in chosen]
        self._paths: list[str] = []
        import duckdb

        self._connection = duckdb.connect(":memory:", config={"autoload_known_extensions": "false"})
        self._connection.execute("SET enable_progress_bar=false")
        self._connection.execute("SET preserve_insertion_order=false")

    def add(self, rows: Taken) -> None:
        """Write one more file."""
        lines = self._folder / "lines"
        with lines.open("wb") as file:
            file.write(bytes([APART]).join(name.encode() for name in self._names) + b"\n")
            file.write(rows.plain.tobytes())
        columns = ", ".join(f"'{name}': 'VARCHAR'" for name in self._names)
        source = (
            f"SELECT {', '.join(self._chosen)} FROM read_csv({_literal(lines)}, columns={{{columns}}}, header=true, "
            f"auto_detect=false, delim='{chr(APART)}', quote='', escape='', nullstr='', new_line='\\n', "
            f"max_line_size={2 * LONGEST})"
        )
        if rows.careful:
            self._connection.register("careful", self._frame(rows.careful))
            texts = ", ".join(f"CAST({name} AS VARCHAR) AS {name}" for name in self._chosen)
            source += f" UNION ALL SELECT {texts} FROM careful"
        self._copy(source)
        lines.unlink()

    def finish(self) -> tuple[str, ...]:
        """The files; one without rows if there was none."""
        if not self._paths:
            nothing = ", ".join(f"CAST(NULL AS VARCHAR) AS {name}" for name in self._chosen)
            self._copy(f"SELECT {nothing} WHERE false")
        self._connection.close()
        return tuple(self._paths)

    def _copy(self, source: str) -> None:
        profile, path = DuckDBProfile(), self._folder / f"part-{len(self._paths)}.parquet"
        typed = ", ".join(
            f"{stored(column(name), variable.type, profile).sql(dialect='duckdb')} AS {_identifier(variable.name)}"
            for name, variable in zip(self._chosen, self._variables, strict=True)
        )
        self._connection.execute(f"COPY (SELECT {typed} FROM ({source})) TO {_literal(path)} (FORMAT parquet)")
        self._paths.append(str(path))

    def _frame(self, careful: list[list[str | None]]) -> dict[str, np.ndarray]:
        frame = {}
        for index, name in enumerate(self._chosen):
            cells = np.empty(len(careful), dtype=object)
            cells[:] = [row[index] for row in careful]
            frame[name] = cells
        return frame


def _literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
