"""How an answer is stored: columns, groups and cells as JSON, and read back exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from itertools import chain
from math import isfinite
from typing import Any

from deniable.query import AnswerColumn, CompiledQuery, DrawnSlice
from deniable.query.columns import even_column
from deniable.query.keys import KeySet
from deniable.query.sql.stage import AnswerTable


def column_record(column: AnswerColumn) -> dict[str, Any]:
    """An answered column as JSON-able values; intervals that are all as wide are stored as that one number."""
    told = {"name": column.name, "kind": column.kind, "values": cell_records(column.values), "error": column.error}
    if column.measured is not None:
        told |= {"measured": cell_records(column.measured)}
    if column.off is not None:
        told |= {"off": cell_records(column.off), "unit": column.unit}
    if column.bins is not None:
        told |= {"bins": list(column.bins)}
    if column.edges is not None:
        told |= {"edges": list(column.edges)}
    if column.within is not None and isfinite(column.within):
        return told | {"within": column.within}
    return told | {
        "lower": None if column.lower is None else cell_records(column.lower),
        "upper": None if column.upper is None else cell_records(column.upper),
    }


def column_from_record(record: Mapping[str, Any]) -> AnswerColumn:
    """The column `column_record` wrote."""
    if "within" in record:
        return even_column(
            record["name"], record["kind"], cells_from_records(record["values"]), record["within"], record["error"]
        )
    ends = [None if record[end] is None else cells_from_records(record[end]) for end in ("lower", "upper")]
    measured = cells_from_records(record["measured"]) if "measured" in record else None
    values = cells_from_records(record["values"])
    return AnswerColumn(
        record["name"],
        record["kind"],
        values,
        ends[0],
        ends[1],
        record["error"],
        measured=measured,
        off=cells_from_records(record["off"]) if "off" in record else None,
        unit=record.get("unit", ""),
        bins=tuple(record["bins"]) if "bins" in record else None,
        edges=tuple(record["edges"]) if "edges" in record else None,
    )


_PLAIN = frozenset((int, str, bool, type(None)))
"""Cells of these types are JSON as they are, and so are finite numbers."""


def cell_records(values: Sequence[Any]) -> list[Any]:
    """A column of cells as JSON."""
    kinds = set(map(type, values))
    if kinds <= _PLAIN or (kinds == {float} and all(map(isfinite, values))):
        return list(values)
    return [cell_record(value) for value in values]


def cells_from_records(values: Sequence[Any]) -> tuple[Any, ...]:
    """The cells `cell_records` wrote."""
    if set(map(type, values)) <= _PLAIN | {float}:
        return tuple(values)
    return tuple(cell_from_record(value) for value in values)


def layout_record(compiled: CompiledQuery, parts: tuple[DrawnSlice, ...]) -> dict[str, Any]:
    """Keys and groups of all slices, and where there are several the level of each group and whether it stands for others."""
    groups = parts[0].groups if len(parts) == 1 else tuple(chain.from_iterable(part.groups for part in parts))
    record: dict[str, Any] = {"keys": list(compiled.keys.names), **_group_records(compiled.keys, groups)}
    if len(parts) > 1:
        record["levels"] = [list(level) for level in compiled.plan.grouping]
        record["level"] = [part.part.place for part in parts for _ in part.groups]
        record["other"] = [part.part.other for part in parts for _ in part.groups]
    return record


def _group_records(keys: KeySet, groups: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    """Groups as they are stored: every key as people read it, one column for each key."""
    if not keys.names:
        return {"groups": [[] for _ in groups]}
    columns = ([group[i] for group in groups] for i in range(len(keys.names)))
    return {"key_values": [cell_records(keys.read_all(i, column)) for i, column in enumerate(columns)]}


def cell_record(value: Any) -> Any:
    """A cell as JSON: dates and timestamps are tagged, lists stay lists, an infinite end is a tagged text."""
    if isinstance(value, datetime):
        return {"timestamp": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, list | tuple):
        return [cell_record(item) for item in value]
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return {"infinite": "+" if value > 0 else "-"}
    return value


def cell_from_record(value: Any) -> Any:
    """The cell `cell_record` wrote."""
    if isinstance(value, dict):
        if "timestamp" in value:
            return datetime.fromisoformat(value["timestamp"])
        if "infinite" in value:
            return float(value["infinite"] + "inf")
        return date.fromisoformat(value["date"])
    return [cell_from_record(item) for item in value] if isinstance(value, list) else value


def groups_from_record(record: Mapping[str, Any]) -> tuple[tuple[Any, ...], ...]:
    """The groups of a record, stored by key or one by one."""
    if "key_values" in record:
        return tuple(zip(*map(cells_from_records, record["key_values"]), strict=True))
    return tuple(map(cells_from_records, record["groups"]))


def table_record(shown: AnswerTable, confidence: float, guarantee: str, notes: list[str]) -> dict[str, Any]:
    """A table after stages of post-processing, as it is stored."""
    levels: dict[str, Any] = {"levels": [list(level) for level in shown.levels], "level": list(shown.level)}
    return {
        **(levels if shown.levels else {}),
        "keys": list(shown.keys),
        "groups": [[cell_record(part) for part in group] for group in shown.groups],
        "columns": [column_record(column) for column in shown.columns],
        "confidence": confidence,
        "guarantee": guarantee,
        "notes": notes,
    }
