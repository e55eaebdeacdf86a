"""What the checks of the documentation share: the repository's files, read once."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from types import ModuleType

ROOT = Path(__file__).parents[2]


def rows(page: str) -> list[list[str]]:
    """The body rows of every Markdown table of a page, cell by cell."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row for row in cells if row[0] != "id" and not set(row[0]) <= set("-: ")]


def quoted(text: str) -> list[str]:
    """What stands between backticks in a cell or on a page, fenced blocks left out."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL))


@cache
def _definitions(path: str) -> frozenset[str]:
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    names = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names.update(f"{node.name}::{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef))
    return frozenset(names)


def is_a_test(reference: str) -> bool:
    """Whether `tests/path.py::name` (or `::Class::name`, a `[parameter]` ignored) is a test in the tree."""
    path, _, name = reference.partition("::")
    name = name.partition("[")[0]
    return name.rpartition("::")[2].startswith("test_") and name in _definitions(path)


def resolved(name: str) -> object:
    """What `dp.name.name` or `deniable.module.name` stands for; raises when it stands for nothing.

    Modules are imported for `deniable.` names only: a `dp.` name is what a user reaches.
    """
    first, *rest = name.split(".")
    if first not in {"dp", "deniable"}:
        raise ValueError(f"a public name starts with dp. or deniable., got {name!r}")
    value: object = import_module("deniable")
    for part in rest:
        if first == "deniable" and not hasattr(value, part) and isinstance(value, ModuleType):
            value = import_module(f"{value.__name__}.{part}")
        else:
            value = getattr(value, part)
    return value


def pages() -> list[str]:
    """Every Markdown page of the project."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def blocks(page: str) -> list[tuple[int, str]]:
    """The Python blocks of a page, each with the number of its first line."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.finditer(r"^( *)```python[^\n]*\n(.*?)^\1```", text, flags=re.MULTILINE | re.DOTALL)
    return [(text[: match.start(2)].count("\n"), dedent(match[2])) for match in found]
