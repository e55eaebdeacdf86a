"""The façade's types: `python -m docs.stub` writes src/deniable/__init__.pyi from the table of public names.

At run time the façade is lazy, so a type checker or an editor cannot follow it; this file tells them what each name is.
"""

from __future__ import annotations

from pathlib import Path

import deniable as dp

STUB = Path(dp.__file__).with_suffix(".pyi")


def line(name: str, place: str) -> str:
    """The import that gives a public name its type."""
    module, _, attribute = place.partition(":")
    if not attribute:
        module, _, attribute = module.rpartition(".")
    return f"from {module} import {attribute} as {name}"


def stub() -> str:
    """The whole file."""
    head = ['"""Made by `python -m docs.stub` from the table in `__init__.py`."""', ""]
    imports = sorted(
        line(name, place) for name, place in {"__version__": "deniable.version:__version__", **dp._PUBLIC}.items()
    )
    names = [f'    "{name}",' for name in sorted(dp.__all__)]
    return "\n".join([*head, *imports, "", "__all__ = [", *names, "]", ""])


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
