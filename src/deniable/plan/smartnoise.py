"""SmartNoise metadata as a codebook: the same public facts in another spelling.

A table's `max_ids` (or `max_contributions`) bounds all rows of one id, so it bounds the groups one id touches and its rows in
each. `row_privacy` makes every row its own unit. What has no counterpart here (`rows`, `clamp_counts`, `censor_dims`,
`sample_max_ids`, `use_dpsu`) is left out and named in the description: sizes are private, counts are not clamped, rare keys are
always hidden and contributions always bounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import yaml

from deniable.errors import InvalidArgument
from deniable.plan.codebook import Codebook

_TYPES = {
    "int": "integer",
    "integer": "integer",
    "float": "number",
    "double": "number",
    "string": "string",
    "bool": "boolean",
    "boolean": "boolean",
    "datetime": "timestamp",
}
_TABLE_OPTIONS = {
    "row_privacy",
    "rows",
    "max_ids",
    "max_contributions",
    "sample_max_ids",
    "censor_dims",
    "clamp_counts",
    "clamp_columns",
    "use_dpsu",
}


def from_smartnoise(text: str) -> Codebook:
    """The codebook that SmartNoise metadata (YAML) describes; what it leaves open must be added by hand."""
    try:
        loaded = yaml.safe_load(text)
    except yaml.YAMLError:
        raise InvalidArgument("this is not YAML that can be read safely; export the metadata again") from None
    tables = _tables(loaded)
    if not tables:
        raise InvalidArgument("no table was found; SmartNoise metadata is database: schema: table: columns")
    units = {name: _unit(name, table) for name, table in tables.items()}
    if len({str(unit) for unit in units.values()}) != 1:
        raise InvalidArgument("the tables name different ids or bounds; import them one by one")
    record = {
        "format": 1,
        "unit": next(iter(units.values())),
        "tables": {name: {"variables": _variables(name, table)} for name, table in tables.items()},
    }
    return replace(Codebook.from_record(record), schemas=_schemas(loaded))


def _tables(loaded: Any) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for database in _members(loaded):
        for schema in _members(database):
            for name, table in schema.items():
                if isinstance(table, Mapping):
                    found[str(name)] = table
    return found


def _schemas(loaded: Any) -> frozenset[str]:
    return frozenset(str(name).lower() for database in _members(loaded) for name in database)


def _members(node: Any) -> list[Mapping[str, Any]]:
    return [value for value in node.values() if isinstance(value, Mapping)] if isinstance(node, Mapping) else []


def _columns(table: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {
        str(name): column
        for name, column in table.items()
        if name not in _TABLE_OPTIONS and isinstance(column, Mapping)
    }


def _unit(name: str, table: Mapping[str, Any]) -> Any:
    if table.get("row_privacy"):
        return "rows"
    ids = [column for column, facts in _columns(table).items() if facts.get("private_id")]
    if len(ids) != 1:
        raise InvalidArgument(
            f"table {name} needs exactly one column with private_id: true, or row_privacy; it has {ids}"
        )
    most = table.get("max_ids", table.get("max_contributions", 1))
    return {"id": ids[0], "groups": most, "rows_per_group": most}


def _variables(name: str, table: Mapping[str, Any]) -> dict[str, Any]:
    return {column: _variable(name, column, facts) for column, facts in _columns(table).items()}


def _variable(table: str, column: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    kind = _TYPES.get(str(facts.get("type", "")).lower())
    if kind is None:
        raise InvalidArgument(
            f"{table}.{column}: type {facts.get('type')!r} is unknown; use one of {sorted(set(_TYPES))}"
        )
    record: dict[str, Any] = {"type": kind}
    if facts.get("private_id"):  # an identifier is taken as it is
        return record
    if facts.get("lower") is not None and facts.get("upper") is not None and kind in ("integer", "number"):
        record["bounds"] = [facts["lower"], facts["upper"]]
    elif kind == "number":
        record["step"] = 0.01
    if facts.get("missing_value") is not None and kind in ("integer", "number"):
        record["missing"] = {"impute": facts["missing_value"]}
    return record
