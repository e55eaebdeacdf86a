"""The data of a command in words of the shell: a file, several, a pattern, or `name=file` for each table."""

from __future__ import annotations

from glob import glob, has_magic
from pathlib import Path
from typing import Any

from deniable.cli.locations import place
from deniable.engines.places import is_url
from deniable.errors import InvalidArgument
from deniable.plan.codebook import Codebook


def sources(word: str, codebook: Codebook) -> Any:
    """What `visits.csv`, `2023.csv,2024.csv.gz`, `'parts/*.parquet'` or `visits=v.csv,people=p.csv` stands for."""
    found = place(word)
    here = not is_url(found) and Path(found).exists()
    if is_url(found) or (here and len(codebook.tables) == 1):
        return found
    parts = [found] if here else [part.strip() for part in found.split(",") if part.strip()]
    named = [part.partition("=") for part in parts if "=" in part and not Path(part).exists()]
    if named:
        if len(named) < len(parts):
            raise InvalidArgument(f"name every file or none: visits=v.csv,people=p.csv; got {word!r}")
        return _by_name([(name.strip(), path.strip()) for name, _, path in named], codebook)
    files = [path for part in parts for path in _matched(part)]
    if len(codebook.tables) > 1:
        return _by_name([(table_name(path), path) for path in files], codebook)
    return files[0] if len(files) == 1 else files


def first_files(word: str) -> dict[str, str]:
    """The file that each table of a draft is made of, by the table's name: of a pattern the first."""
    parts = [word] if Path(word).exists() else [part.strip() for part in word.split(",") if part.strip()]
    found: dict[str, str] = {}
    for part in parts or [word]:
        name, _, path = ("", "", part) if Path(part).exists() else part.rpartition("=")
        first = _matched(path.strip())[0]
        found.setdefault(name.strip() or table_name(first), first)
    return found


def table_name(path: str) -> str:
    """The table a file is named after."""
    return Path(path).name.partition(".")[0]


def _matched(part: str) -> list[str]:
    if not has_magic(part):
        return [part]
    found = sorted(glob(part))
    if not found:
        raise InvalidArgument(f"no file is called like {part!r}")
    return found


def _by_name(pairs: list[tuple[str, str]], codebook: Codebook) -> dict[str, list[str]]:
    tables = [table.name for table in codebook.tables]
    found: dict[str, list[str]] = {}
    for name, path in pairs:
        if name not in tables:
            raise InvalidArgument(
                f"the codebook has no table {name!r}; name each file after its table: "
                f"{','.join(f'{table}={table}.csv' for table in tables)}"
            )
        found.setdefault(name, []).extend(_matched(path))
    absent = [table for table in tables if table not in found]
    if absent:
        raise InvalidArgument(
            f"no file is given for table {absent[0]}: {','.join(f'{table}={table}.csv' for table in tables)}"
        )
    return found
