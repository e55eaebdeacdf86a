"""Conditions on single columns, `{"sex": "F", "age": (30, 40)}`, as what they allow of every cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidArgument
from deniable.exact.guards import rational, shown
from deniable.synth.attribute import Attribute, Attributes

_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Condition:
    """What a column may be: some of its labels, or grid points from `low` to `high`; `missing` when missing values are wanted."""

    labels: frozenset[str] = frozenset()
    low: int | None = None
    high: int | None = None
    missing: bool = False

    def share(self, attribute: Attribute) -> NDArray[np.float64]:
        """The share of every cell that fits: within a cell, values are taken to be equally likely."""
        if self.missing:
            present = [0.0] * attribute.present
        elif attribute.labels:
            present = [float(label in self.labels) for label in attribute.labels]
        else:
            present = [self._overlap(*ends) for ends in zip(attribute.edges, attribute.edges[1:], strict=False)]
        return np.array([*present, *([float(self.missing)] if attribute.missing else [])])

    def _overlap(self, start: int, stop: int) -> float:
        low = start if self.low is None else max(self.low, start)
        high = stop - 1 if self.high is None else min(self.high, stop - 1)
        return max(high - low + 1, 0) / (stop - start)


def conditions(where: Mapping[str, Any], attributes: Attributes) -> dict[int, Condition]:
    """Conditions as a caller writes them: a value, a list of categories, a pair (lowest, highest), or None for missing."""
    if not isinstance(where, Mapping):
        raise InvalidArgument(f'where must name columns, such as {{"sex": "F", "age": (30, 40)}}, got {where!r}')
    return {
        attributes.place(name): condition(attributes.columns[attributes.place(name)], value)
        for name, value in where.items()
    }


def condition(attribute: Attribute, value: Any) -> Condition:
    """One condition; refused where the column cannot have the value."""
    if value is None:
        if not attribute.missing:
            raise InvalidArgument(f"{attribute.name} is never missing")
        return Condition(missing=True)
    if attribute.labels:
        return Condition(labels=frozenset(_label(attribute, each) for each in _several(value)))
    ends = value if isinstance(value, tuple) and len(value) == 2 else (value, value)
    low, high = (None if end is None else point(attribute, end) for end in ends)
    return between(low, high)


def between(low: Fraction | None, high: Fraction | None) -> Condition:
    """Grid points from `low` to `high`, both in steps."""
    return Condition(low=None if low is None else ceil(low), high=None if high is None else floor(high))


def point(attribute: Attribute, value: Any) -> Fraction:
    """A written number, date or moment in steps of the column's grid."""
    if attribute.type in ("date", "timestamp"):
        if isinstance(value, str):
            try:
                value = datetime.fromisoformat(value)
            except ValueError:
                raise InvalidArgument(f"{attribute.name}: {shown(value)} is not a date such as 2020-02-29") from None
        if not isinstance(value, date):
            raise InvalidArgument(f"{attribute.name}: {shown(value)} is not a date")
        return Fraction(((value.date() if isinstance(value, datetime) else value) - _EPOCH).days)
    return rational(**{attribute.name: value}) / attribute.step


def value_of(attribute: Attribute, value: Any) -> Any:
    """A written value as frames hold it; refused where the codebook does not have it."""
    if value is None:
        if not attribute.missing:
            raise InvalidArgument(f"{attribute.name} is never missing")
        return None
    if attribute.labels:
        label = _label(attribute, value)
        return label == "true" if attribute.type == "boolean" else label
    at = point(attribute, value)
    if at.denominator != 1 or not attribute.edges[0] <= at < attribute.edges[-1]:
        low, high = attribute.cell_label(0).split("..")[0], attribute.cell_label(attribute.present - 1).split("..")[-1]
        raise InvalidArgument(
            f"{attribute.name} is from {low} to {high} in the codebook, on its grid; got {shown(value)}"
        )
    match attribute.type:
        case "integer":
            return int(at * attribute.step)
        case "date":
            return _EPOCH + timedelta(days=int(at))
        case "timestamp":
            return datetime.combine(_EPOCH + timedelta(days=int(at)), time())
        case _:
            return float(at * attribute.step)


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | set | frozenset) else [value]


def _label(attribute: Attribute, value: Any) -> str:
    label = str(value).lower() if attribute.type == "boolean" else value
    if label not in attribute.labels:
        raise InvalidArgument(f"{attribute.name} is one of {', '.join(attribute.labels)}, got {shown(value)}")
    return str(label)
