"""Small YAML files that people write: read as plain mappings, without tags that could build objects."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from deniable.errors import InvalidArgument


def yaml_record(path: str | os.PathLike[str], what: str) -> dict[str, Any]:
    """The mapping in a YAML file; a mistake is refused with its line."""
    import yaml

    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InvalidArgument(f"no {what} can be read at {str(path)!r}; give a YAML file") from None
    try:
        record = yaml.safe_load(text)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        raise InvalidArgument(f"the {what} {str(path)!r} is not valid YAML{where}") from None
    if not isinstance(record, dict):
        raise InvalidArgument(f"the {what} {str(path)!r} must be a mapping, got {type(record).__name__}")
    return record
