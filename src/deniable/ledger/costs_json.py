"""Costs as plain JSON and back, without losing a digit: what the ledger writes down and a receipt shows.

Every record of the closed union is written field by field: exact numbers as text ("3/2"), whole numbers as numbers, choices by
their name. Reading goes through the records' own constructors, so a damaged or forged record is refused, never repaired.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from fractions import Fraction
from functools import cache
from typing import Any, get_args, get_type_hints

from deniable.cost import Cost
from deniable.errors import InvalidArgument
from deniable.ledger.numbers import fits_json, number_from_text, number_text, short

_TYPES: dict[str, type] = {kind.__name__: kind for kind in get_args(Cost)}


def cost_record(cost: Cost) -> dict[str, Any]:
    """This cost as a JSON-able dictionary; `cost_from_record` gives the same cost back."""
    kind = type(cost)
    if _TYPES.get(kind.__name__) is not kind:
        raise InvalidArgument(f"a cost is one of the records in deniable.cost, got {short(cost)}")
    values = {field.name: _written(getattr(cost, field.name)) for field in fields(cost)}
    return {"type": kind.__name__, **values}


def cost_from_record(record: object) -> Cost:
    """The cost that `cost_record` wrote; anything else is refused."""
    if not isinstance(record, Mapping) or record.get("type") not in _TYPES:
        raise InvalidArgument(f"a cost record names one of {', '.join(_TYPES)}, got {short(record)}")
    kind = _TYPES[record["type"]]
    hints = _field_types(kind)
    if set(record) != {"type", *hints}:
        raise InvalidArgument(f"a {kind.__name__} record has the fields {', '.join(hints)}, got {short(record)}")
    cost: Cost = kind(**{name: _read(record[name], hint) for name, hint in hints.items()})
    return cost


@cache
def _field_types(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _written(value: Any) -> Any:
    match value:
        case Fraction():
            return number_text(value)
        case Enum():
            return value.name
        case tuple():
            return [_written(item) for item in value]
        case bool():
            raise InvalidArgument(f"a cost holds no flags, got {value!r}")
        case int():
            return value if fits_json(value) else number_text(value)
        case None:
            return None
        case _:
            return cost_record(value)  # refuses whatever is no cost


def _read(value: Any, hint: Any) -> Any:
    if hint is Fraction:
        return number_from_text(value)
    if hint is int:
        return _whole(value)
    if hint == Cost:
        return cost_from_record(value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _choice(value, hint)
    inner = get_args(hint)
    if type(None) in inner:
        return None if value is None else _read(value, next(kind for kind in inner if kind is not type(None)))
    if not isinstance(value, list):
        raise InvalidArgument(f"a list was expected in a cost record, got {short(value)}")
    return tuple(_read(item, kind) for item, kind in zip(value, _each(inner, len(value)), strict=True))


def _each(inner: tuple[Any, ...], length: int) -> tuple[Any, ...]:
    """The type of every item: `tuple[X, ...]` repeats X, `tuple[X, Y]` is itself."""
    if inner[-1] is Ellipsis:
        return (inner[0],) * length
    if len(inner) != length:
        raise InvalidArgument(f"a list of {len(inner)} items was expected in a cost record, got {length}")
    return inner


def _whole(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    number = number_from_text(value)
    if number.denominator != 1:
        raise InvalidArgument(f"a whole number was expected in a cost record, got {short(value)}")
    return number.numerator


def _choice(value: object, kind: type[Enum]) -> Enum:
    if not isinstance(value, str) or value not in kind.__members__:
        raise InvalidArgument(f"{kind.__name__} is one of {', '.join(kind.__members__)}, got {short(value)}")
    return kind[value]
