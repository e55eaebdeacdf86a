"""What a mechanism of the calculus released in a session: its answer, drawn once, with its error, cost and receipt.

An answer is written as JSON and read back exactly: numbers, texts, lists, arrays, and the records of this package. What a
user's own function makes of an answer may be anything; what cannot be written here cannot be stored, so it is refused.
"""

from __future__ import annotations

import html
import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from math import isfinite
from typing import Any, TypeAlias

import numpy as np

from deniable.core.mechanism import Accuracy, Mechanism
from deniable.cost import Cost
from deniable.errors import InvalidArgument
from deniable.ledger.numbers import fits_json, number_from_text, number_text
from deniable.ledger.receipt import Receipt
from deniable.ledger.store import Packed
from deniable.release.release_facts import ReleaseFacts
from deniable.release.release_table import ReleaseTable, extended_release_table, release_table

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


VALUE_KINDS = ("value", "model", "score")
"""What a stored answer of a mechanism may be: a plain value, or a fitted model or a score, which are shown as themselves."""

Stated: TypeAlias = "Accuracy | tuple[Stated, ...] | None"
"""The error of an answer; of each entry where the answer is a tuple."""


@dataclass(frozen=True, slots=True)
class ValueRelease:
    """The answer of one mechanism and everything needed to trust it.

    `accuracy` is how close the answer is to what it randomises, where the mechanism states that.
    Guarantee: stated in `guarantee`; charged before it was drawn, as `receipt` shows.
    """

    value: Any
    accuracy: Stated
    guarantee: str
    facts: ReleaseFacts
    receipt: Receipt

    @property
    def cost(self) -> Cost:
        """What it cost, as a record."""
        return self.receipt.cost

    @classmethod
    def from_packed(cls, packed: Packed, receipt: Receipt) -> ValueRelease:
        """The release that was stored as this record."""
        record = packed.release
        return cls(
            value_from_record(record["value"]),
            _accuracy(record["accuracy"]),
            record["guarantee"],
            ReleaseFacts.from_record(packed.facts),
            receipt,
        )

    def shown(self) -> Any:
        """What a session hands out: a model or a score as itself, with this release behind it; anything else as this release."""
        return self if _kind(self.value) == "value" else self.value.with_release(self)

    def release_table(self) -> ReleaseTable:
        """The table a reader needs to judge this release."""
        return release_table(self.facts)

    def extended_table(self) -> ReleaseTable:
        """Every fact about this release, with what the ledger knows."""
        return extended_release_table(self.facts.with_receipt(self.receipt))

    def to_json(self) -> str:
        """Everything in it, as JSON text."""
        record = value_packed(self.value, self.accuracy, self.guarantee, self.facts)
        whole = {"release": record.release, "facts": record.facts, "receipt": self.receipt.to_record()}
        return json.dumps(whole, sort_keys=True)

    def __str__(self) -> str:
        if isinstance(self.accuracy, tuple):
            parts = zip(self.value, self.accuracy, strict=True)
            lines = [_with_error(value, error) for value, error in parts]
        else:
            lines = [_with_error(self.value, self.accuracy)]
        return "\n".join([*lines, self.guarantee, str(self.receipt)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def _with_error(value: Any, error: Stated) -> str:
    """What people read: 12 ± 3, or 12 and in words how far off it may be where that is no distance of values; part by part."""
    if isinstance(error, tuple):
        return f"({'; '.join(map(_with_error, value, error))})"
    said = "" if error is None else str(error)
    return f"{value}{' ' if said.startswith('±') else ', ' if said else ''}{said}"


def value_packed(value: Any, accuracy: Stated, guarantee: str, facts: ReleaseFacts) -> Packed:
    """An answer as it is stored; refused when it cannot be written exactly."""
    record = {"kind": _kind(value), "value": value_record(value), "accuracy": _stated(accuracy), "guarantee": guarantee}
    return Packed(record, facts.to_record())


def _kind(value: Any) -> str:
    """What an answer is: a record of this package may say so itself."""
    said = getattr(type(value), "kind", "value")
    return said if said in VALUE_KINDS else "value"


def _stated(accuracy: Stated) -> Any:
    if isinstance(accuracy, tuple):
        return [_stated(each) for each in accuracy]
    if accuracy is None:
        return None
    numbers = {"error": number_text(accuracy.error), "confidence": number_text(accuracy.confidence)}
    return {**numbers, "measure": accuracy.measure}


def accuracy_of(mechanism: Mechanism, confidence: Fraction, *, simultaneous: bool = False) -> Stated:
    """What a mechanism states about its error, entry by entry where its answer is a tuple; None where it states nothing."""
    try:
        return mechanism.accuracy(confidence=confidence, simultaneous=simultaneous)
    except InvalidArgument:
        return None


def _accuracy(record: Mapping[str, Any] | list[Any] | None) -> Stated:
    if isinstance(record, list):
        return tuple(_accuracy(each) for each in record)
    if record is None:
        return None
    return Accuracy(number_from_text(record["error"]), number_from_text(record["confidence"]), record["measure"])
