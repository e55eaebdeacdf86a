"""An answer as people expect a table to be: it has a length, rows and columns, and goes into files."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self, overload

from deniable.engines.parquet import write_parquet
from deniable.errors import InvalidArgument


class AnswerRows:
    """Rows of a released table. A row is a dictionary; `answer[0]` is one, `answer["n"]` the column of that name."""

    @property
    def table(self) -> list[dict[str, Any]]:
        """One dictionary per group."""
        raise NotImplementedError

    def to_columns(self) -> dict[str, list[Any]]:
        """The table by columns."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.table)

    def __bool__(self) -> bool:
        return True  # an answer without groups is an answer

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.table)

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> list[dict[str, Any]]: ...
    @overload
    def __getitem__(self, place: str) -> list[Any]: ...

    def __getitem__(self, place: int | slice | str) -> Any:
        if not isinstance(place, str):
            return self.table[place]
        columns = self.to_columns()
        if place not in columns:
            raise InvalidArgument(f"no column {place!r} in this answer; it has {', '.join(columns)}")
        return columns[place]

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table as CSV (UTF-8), values and interval ends in columns of their own."""
        columns = self.to_columns()
        with _opened(path) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the table as Parquet, with types; no further package is needed."""
        write_parquet(self.to_columns(), Path(path))

    def to_file(self, path: str | os.PathLike[str]) -> Self:
        """Write the table as the file's name says: .csv, .parquet, or .json for everything in it."""
        ending = checked_ending(path)
        if ending == ".json":
            with _opened(path) as file:
                file.write(self.to_json() + "\n")
        elif ending in (".parquet", ".pq"):
            self.to_parquet(path)
        else:
            self.to_csv(path)
        return self

    def to_json(self) -> str:
        """Everything in it, as JSON text."""
        raise NotImplementedError


def checked_ending(path: str | os.PathLike[str]) -> str:
    """How the name of an answer's file ends; refuses, before anything is charged, what could not be written."""
    ending = Path(path).suffix.lower()
    if ending not in (".csv", ".parquet", ".pq", ".json"):
        raise InvalidArgument(f"an answer is written as .csv, .parquet or .json, got {Path(path).name!r}")
    if not Path(path).absolute().parent.is_dir():
        raise InvalidArgument(f"cannot write {os.fspath(path)}: there is no such folder")
    return ending


def _opened(path: str | os.PathLike[str]) -> Any:
    try:
        return Path(path).open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise InvalidArgument(f"cannot write {os.fspath(path)}: {error.strerror}") from None
