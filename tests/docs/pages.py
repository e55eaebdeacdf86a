"""What the checks of the documentation share: the repository's files, read once."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


def rows(page: str) -> list[list[str]]:
    """The body rows of every Markdown table of a page, cell by cell."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row for row in cells if row[0] != "id" and not set(row[0]) <= set("-: ")]


def quoted(cell: str) -> list[str]:
    """The entries of a cell, each between backticks."""
    return re.findall(r"`([^`]+)`", cell)


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
