"""Telling a server from a file, and where in it the codebook's tables are."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from deniable.errors import InvalidArgument
from deniable.plan.codebook import Codebook

SCHEMES = ("postgresql://", "postgres://")
_URL = re.compile(r"\s*(?:postgres\w*:|[a-z][\w+.-]+:/)", re.IGNORECASE)


def is_postgres(source: object) -> bool:
    """Whether a source is the URL of a PostgreSQL database."""
    return isinstance(source, str) and source.startswith(SCHEMES)


def is_url(place: str | os.PathLike[str]) -> bool:
    """Whether this is a URL, well written or not: it names no file, and may hold a password that nobody should be shown."""
    return _URL.match(os.fspath(place)) is not None


def is_spark(source: object) -> bool:
    """Whether a source is a Spark session, a Spark DataFrame, or a mapping of DataFrames."""
    if isinstance(source, Mapping):
        return bool(source) and all(is_spark(part) for part in source.values())
    return type(source).__module__.partition(".")[0] == "pyspark"


def table_places(codebook: Codebook, tables: Sequence[str] | Mapping[str, str] | None) -> dict[str, str]:
    """Where each table of the codebook is: under its own name, under the last part of a given one, or as mapped."""
    names = [table.name for table in codebook.tables]
    if tables is None:
        given = {name: name for name in names}
    elif isinstance(tables, Mapping):
        given = dict(tables)
    elif isinstance(tables, str):
        raise InvalidArgument(f"tables must be a list of names, got {tables!r}; write [{tables!r}]")
    elif len(names) == len(tables) == 1:
        given = {names[0]: tables[0]}
    else:
        given = {entry.rpartition(".")[2]: entry for entry in tables}
    if set(given) != set(names):
        raise InvalidArgument(f"the codebook has tables {', '.join(names)}, got {', '.join(given)}; name each one")
    return given
