"""A first codebook from column names alone: no cell is read, so every type and bound is left for a person to state."""

from __future__ import annotations

import os
from pathlib import Path

from deniable.engines.text.file import TextFile, header, is_text
from deniable.errors import InvalidArgument

_HEAD = """\
# A draft made from column names alone; no value was looked at. Fill in what is publicly known, from documentation, not from data.
# types: integer, number, decimal, boolean, string, date, timestamp
# numbers to be added up need bounds: [lower, upper]; text used as a key should list its categories: [...]
format: 1
name: {name}
unit:
  id: {first}            # the column that names the person (or household, device, ...) to protect
  groups: 1              # how many groups one of them may touch in one query
  rows_per_group: 1      # how many rows one of them may add to each
tables:
  {name}:
    variables:
"""


def drafted(path: str | os.PathLike[str]) -> str:
    """The text of a draft codebook for a Parquet or CSV file."""
    names = column_names(Path(path))
    head = _HEAD.format(name=_quoted(Path(path).name.partition(".")[0]), first=_quoted(names[0]))
    return head + "".join(f"      {_quoted(name)}: {{type: string}}\n" for name in names)


def column_names(path: Path) -> list[str]:
    """The names of a file's columns: a CSV's first line, a Parquet file's schema."""
    if not path.is_file():
        raise InvalidArgument(f"there is no file {str(path)!r}; give a Parquet or CSV file")
    names = list(header(TextFile(path)).names) if is_text(path) else _parquet_names(path)
    if not names:
        raise InvalidArgument(f"{str(path)!r} has no columns")
    return names


def _parquet_names(path: Path) -> list[str]:
    import duckdb

    try:
        with duckdb.connect() as connection:
            found = connection.execute("SELECT name FROM parquet_schema(?) WHERE num_children IS NULL", [str(path)])
            return [str(row[0]) for row in found.fetchall()]
    except duckdb.Error:
        raise InvalidArgument(f"{str(path)!r} cannot be read as Parquet; give a Parquet or CSV file") from None


def _quoted(name: str) -> str:
    plain = name.replace("_", "").replace("-", "")
    return (
        name if plain.isalnum() and plain.isascii() and not name[0].isdigit() else '"' + name.replace('"', '\\"') + '"'
    )
