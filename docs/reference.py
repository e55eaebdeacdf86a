"""The page of every public name, made from the façade and the docstrings when the site is built."""

from __future__ import annotations

import inspect
from typing import Any

import deniable as dp


def entry(name: str) -> str:
    """One public name: how it is called and what its docstring says."""
    value = getattr(dp, name)
    try:
        call = f"dp.{name}{inspect.signature(value)}" if callable(value) else f"dp.{name}"
    except (TypeError, ValueError):
        call = f"dp.{name}"
    return f"## dp.{name}\n\n```text\n{call}\n```\n\n{inspect.getdoc(value) or ''}\n"


def reference() -> str:
    """The whole page, in Markdown."""
    names = sorted((name for name in dp.__all__ if name != "__version__"), key=str.lower)
    return "# Reference\n\n`import deniable as dp`\n\n" + "\n".join(map(entry, names))


def on_files(files: Any, config: Any) -> Any:
    """Called by mkdocs: add the page to those found in the folder."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "reference.md", content=reference()))
    return files
