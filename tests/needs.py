"""What a test needs from the machine. Elsewhere a missing tool skips the test; with CI=true it fails it."""

from __future__ import annotations

import os
import shutil
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest


def without(what: str) -> NoReturn:
    """Skip a test for which something is missing, or fail it in CI."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is missing, and with CI=true nothing may be left out; `python3 dev.py test` installs it")
    pytest.skip(f"{what} is missing; `python3 dev.py test` installs it")


def require(tool: str) -> Path:
    """The path of a program, PostgreSQL's and Java's own folders included: `require("pg_ctl")`, `require("java")`."""
    java = os.environ.get("JAVA_HOME")
    hidden = [*sorted(Path("/usr/lib/postgresql").glob("*/bin")), *([Path(java) / "bin"] if java else [])]
    found = shutil.which(tool) or shutil.which(tool, path=os.pathsep.join(map(str, hidden)))
    return Path(found) if found else without(tool)


def require_module(name: str) -> ModuleType:
    """An optional Python package: `require_module("pyspark")`."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        without(f"the Python package {name}")
