"""One entry of an epsilon registry: what a publisher tells about one release, in a form that other releases can be compared with.

The fields are those proposed for a public registry: use and flow, granularity, loss and its variant, period, budget, mechanism,
implementation and justification. The schema below is the whole format; an entry is checked against it before it is written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

FORMAT = "deniable registry entry 1"

_TEXT = {"type": "string", "minLength": 1}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": FORMAT,
    "type": "object",
    "additionalProperties": False,
    "required": [
        "format",
        "use",
        "unit",
        "neighbours",
        "epsilon",
        "delta",
        "variant",
        "mechanisms",
        "implementation",
        "justification",
    ],
    "properties": {
        "format": {"const": FORMAT},
        "use": _TEXT,
        "dataset": {"type": "string"},
        "unit": _TEXT,
        "neighbours": _TEXT,
        "contribution": {"type": "string"},
        "epsilon": {"type": "string", "pattern": "^[0-9]+(/[0-9]+)?$"},
        "delta": {"type": "string", "pattern": "^[0-9]+(/[0-9]+)?$"},
        "variant": _TEXT,
        "period": {"type": "string"},
        "budget_spent": {"type": "string"},
        "budget_left": {"type": "string"},
        "mechanisms": {"type": "array", "items": _TEXT, "minItems": 1},
        "accuracy": {"type": "array", "items": _TEXT},
        "implementation": _TEXT,
        "justification": _TEXT,
        "decided_by": {"type": "string"},
        "flow": {"type": "object", "additionalProperties": _TEXT},
        "receipt": {"type": "string"},
        "url": {"type": "string"},
    },
}
"""The format as a JSON Schema; `registry_problems` checks what it uses of that language."""


def registry_problems(entry: object, schema: Mapping[str, Any] = SCHEMA, where: str = "entry") -> list[str]:
    """Everything in which an entry departs from the schema, in words; none means that it fits."""
    problems: list[str] = []
    kind = schema.get("type")
    if "const" in schema and entry != schema["const"]:
        return [f"{where} must be {schema['const']!r}"]
    if kind == "object":
        if not isinstance(entry, Mapping):
            return [f"{where} must be a mapping"]
        problems += [f"{where} needs {name}" for name in schema.get("required", ()) if name not in entry]
        for name, value in entry.items():
            inner = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if inner in (None, False):
                problems.append(f"{where} has the unknown field {name}")
            else:
                problems += registry_problems(value, inner, f"{where}.{name}")
    elif kind == "array":
        if not isinstance(entry, list) or len(entry) < schema.get("minItems", 0):
            return [f"{where} must be a list of at least {schema.get('minItems', 0)}"]
        problems += [
            each for at, item in enumerate(entry) for each in registry_problems(item, schema["items"], f"{where}[{at}]")
        ]
    elif kind == "string":
        if not isinstance(entry, str) or len(entry) < schema.get("minLength", 0):
            return [f"{where} must be a text of at least {schema.get('minLength', 0)} characters"]
        if "pattern" in schema and not re.search(schema["pattern"], entry):
            return [f"{where} must look like {schema['pattern']}, got {entry!r}"]
    return problems
