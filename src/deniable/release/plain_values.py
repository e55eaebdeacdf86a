"""Answers of any mechanism as JSON and back, exactly: numbers, texts, lists, arrays, and the records of this package.

What a user's own function makes of an answer may be anything; what cannot be written here cannot be stored, so it is refused.
"""

from __future__ import annotations

import importlib
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np

from deniable.errors import InvalidArgument
from deniable.ledger.numbers import fits_json, number_from_text, number_text

_OURS = "deniable."


def value_record(value: Any) -> Any:
    """A value as JSON; `value_from_record` gives an equal one back."""
    match value:
        case None | bool() | str():
            return value
        case Enum():
            return {"choice": _path(type(value)), "name": value.name}
        case int():
            return value if fits_json(value) else {"integer": number_text(value)}
        case float():
            return value if isfinite(value) else {"float": str(value)}
        case Fraction():
            return {"fraction": number_text(value)}
        case datetime():
            return {"timestamp": value.isoformat()}
        case date():
            return {"date": value.isoformat()}
        case bytes():
            return {"bytes": value.hex()}
        case list():
            return [value_record(item) for item in value]
        case tuple():
            return {"tuple": [value_record(item) for item in value]}
        case dict():
            return {"dict": [[value_record(key), value_record(item)] for key, item in value.items()]}
        case np.generic():
            return value_record(value.item())
        case np.ndarray():
            return {"array": value_record(value.tolist()), "type": value.dtype.str}
        case _ if is_dataclass(value) and not isinstance(value, type):
            parts = {field.name: value_record(getattr(value, field.name)) for field in fields(value) if field.init}
            return {"record": _path(type(value)), "fields": parts}
        case _:
            raise InvalidArgument(f"a {type(value).__name__} cannot be stored; return numbers, texts, lists or arrays")


def value_from_record(record: Any) -> Any:
    """The value `value_record` wrote; anything else is refused."""
    if isinstance(record, list):
        return [value_from_record(item) for item in record]
    if not isinstance(record, dict):
        return record
    match record:
        case {"integer": text}:
            return int(number_from_text(text))
        case {"float": text}:
            return float(text)
        case {"fraction": text}:
            return number_from_text(text)
        case {"timestamp": text}:
            return datetime.fromisoformat(text)
        case {"date": text}:
            return date.fromisoformat(text)
        case {"bytes": text}:
            return bytes.fromhex(text)
        case {"tuple": items}:
            return tuple(value_from_record(item) for item in items)
        case {"dict": pairs}:
            return {value_from_record(key): value_from_record(item) for key, item in pairs}
        case {"array": items, "type": kind}:
            return np.array(value_from_record(items), dtype=np.dtype(kind))
        case {"choice": path, "name": name}:
            return _ours(path, Enum)[name]
        case {"record": path, "fields": parts}:
            return _ours(path, object)(**{name: value_from_record(part) for name, part in parts.items()})
        case _:
            raise InvalidArgument("this is not a stored value; restore the ledger from a backup")


def _path(kind: type) -> str:
    path = f"{kind.__module__}:{kind.__qualname__}"
    if not path.startswith(_OURS) or "<" in path:
        raise InvalidArgument(f"a {kind.__name__} cannot be stored; return numbers, texts, lists or arrays")
    return path


def _ours(path: str, kind: type) -> Any:
    """A record or choice of this package, by its place in it; nothing else is ever imported."""
    module, _, name = path.partition(":")
    found: Any = importlib.import_module(module) if module.startswith(_OURS) else None
    for part in name.split("."):
        found = getattr(found, part, None)
    if not (isinstance(found, type) and issubclass(found, kind) and (is_dataclass(found) or issubclass(found, Enum))):
        raise InvalidArgument("this stored value names no record of this package; restore the ledger from a backup")
    return found
