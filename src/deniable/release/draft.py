"""A first codebook from column names, and from a Parquet file's types: no cell is read, so a person states unit and bounds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from deniable.engines.parquet import parquet_columns
from deniable.engines.text.file import TextFile, header, is_text
from deniable.errors import InvalidArgument
from deniable.plan.variable import Type

_HEAD = """\
# A draft made from column names; no value was looked at. Replace every ??? by what is publicly known:
# from documentation, not from data.
# types: integer, number, decimal, boolean, string, date, timestamp (every column of a text file is drafted as string)
# numbers to be added up need bounds: [lower, upper]; text used as a key should list its categories: [...]
format: 1
name: {name}
unit:
  id: ???                # the column that names the person (or household, device, ...) to protect;
                         # where every row is another person and none names them: unit: rows, and nothing else
  groups: ???            # how many groups one of them may touch in one query
  rows_per_group: ???    # how many rows one of them may add to each
tables:
"""

_SEVERAL = """\
# a table whose column for the unit has another name says so: unit: column; one without it says by which column its rows
# belong to another table's: links: [column -> table.column]; one about nobody says public: true
"""
_NUMBERS = {Type.INTEGER, Type.NUMBER, Type.DECIMAL}


def drafted(files: Mapping[str, str | os.PathLike[str]]) -> str:
    """The text of a draft codebook: one table for each Parquet or CSV file, under its name."""
    tables = [_table(name, column_types(Path(path))) for name, path in files.items()]
    return _HEAD.format(name=_quoted(next(iter(files)))) + (_SEVERAL if len(tables) > 1 else "") + "".join(tables)


def _table(name: str, columns: Mapping[str, Type]) -> str:
    variables = "".join(f"      {_quoted(column)}: {_line(kind)}\n" for column, kind in columns.items())
    return f"  {_quoted(name)}:\n    variables:\n{variables}"


def column_types(path: Path) -> dict[str, Type]:
    """The names of a file's columns and what they may hold: a CSV's first line says nothing of types, so all are text."""
    if not path.is_file():
        raise InvalidArgument(f"there is no file {str(path)!r}; give a Parquet or CSV file")
    found = dict.fromkeys(header(TextFile(path)).names, Type.STRING) if is_text(path) else parquet_columns(path)
    columns = {name: kind for name, kind in found.items() if name}  # pandas writes its row numbers without a name
    if not columns:
        raise InvalidArgument(f"{str(path)!r} has no columns")
    return columns


def _line(kind: Type) -> str:
    return f'{{type: {kind.value}, bounds: "???"}}' if kind in _NUMBERS else f"{{type: {kind.value}}}"


def _quoted(name: str) -> str:
    plain = name.replace("_", "").replace("-", "")
    return (
        name if plain.isalnum() and plain.isascii() and not name[0].isdigit() else '"' + name.replace('"', '\\"') + '"'
    )
