"""Rows of cells as a table of values: the codebook's types, no value outside it; pandas, Polars, Arrow or plain lists."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidArgument
from deniable.synth.attribute import Attribute, Attributes
from deniable.synth.fitted.conditions import Condition
from deniable.synth.fitted.twin_randomness import WordSource, uniforms

_EPOCH = date(1970, 1, 1)
FORMS = ("pandas", "polars", "arrow", "dict")


def decoded(
    attributes: Attributes,
    cells: tuple[NDArray[np.int64], ...],
    source: WordSource,
    wanted: Mapping[int, Condition] | None = None,
) -> dict[str, list[Any]]:
    """Columns of values; within a cell every grid point (of those a condition wants) is equally likely."""
    wanted = wanted or {}
    return {
        column.name: _values(column, cells[place], source, wanted.get(place))
        for place, column in enumerate(attributes.columns)
    }


def _values(attribute: Attribute, cells: NDArray[np.int64], source: WordSource, wanted: Condition | None) -> list[Any]:
    absent = cells >= attribute.present
    inside = np.where(absent, 0, cells)
    if attribute.labels:
        labels: list[Any] = [False, True] if attribute.type == "boolean" else list(attribute.labels)
        values = np.array(labels, dtype=object)[inside]
    else:
        values = _points(attribute, inside, source, wanted)
    values[absent] = None
    return list(values.tolist())


def _points(
    attribute: Attribute, cells: NDArray[np.int64], source: WordSource, wanted: Condition | None
) -> NDArray[np.object_]:
    edges = np.array(attribute.edges, dtype=np.int64)
    low, high = edges[cells], edges[cells + 1] - 1
    if wanted is not None:
        low = low if wanted.low is None else np.maximum(low, wanted.low)
        high = high if wanted.high is None else np.minimum(high, wanted.high)
    points = np.minimum(low + np.floor(uniforms(cells.size, source) * (high - low + 1)).astype(np.int64), high)
    points = np.clip(points, edges[0], edges[-1] - 1)
    match attribute.type:
        case "integer":
            return (points * int(attribute.step)).astype(object)
        case "date" | "timestamp":
            days, place = np.unique(points, return_inverse=True)
            known = [_EPOCH + timedelta(days=int(day)) for day in days]
            whole = (
                [datetime(day.year, day.month, day.day) for day in known] if attribute.type == "timestamp" else known
            )
            return np.array(whole, dtype=object)[place]
        case _:
            top, bottom = attribute.step.numerator, attribute.step.denominator
            return (points * top / bottom).astype(object)


def framed(columns: dict[str, list[Any]], attributes: Attributes, form: str) -> Any:
    """The columns as the table type that is asked for."""
    try:
        return _framed(columns, attributes, form)
    except ModuleNotFoundError as missing:
        raise InvalidArgument(
            f"form {form!r} needs {missing.name}: pip install 'deniable[frames]', or form='dict'"
        ) from None


def stored_types(attributes: Attributes) -> dict[str, str]:
    """The type each column has in a file."""
    kinds = {
        "integer": "BIGINT",
        "boolean": "BOOLEAN",
        "number": "DOUBLE",
        "decimal": "DOUBLE",
        "date": "DATE",
        "timestamp": "TIMESTAMP",
    }
    return {each.name: kinds.get(each.type, "VARCHAR") for each in attributes.columns}


def _framed(columns: dict[str, list[Any]], attributes: Attributes, form: str) -> Any:
    match form:
        case "dict":
            return columns
        case "pandas":
            import pandas

            return pandas.DataFrame({each.name: _pandas(columns[each.name], each) for each in attributes.columns})
        case "polars":
            import polars

            return polars.DataFrame(columns, schema={each.name: _polars(each) for each in attributes.columns})
        case "arrow":
            import pyarrow

            fields = [(each.name, _arrow(each)) for each in attributes.columns]
            return pyarrow.table(columns, schema=pyarrow.schema(fields))
        case _:
            raise InvalidArgument(f"form must be one of {', '.join(FORMS)}, got {form!r}")


def _pandas(values: list[Any], attribute: Attribute) -> Any:
    import pandas

    kinds = {"integer": "Int64", "boolean": "boolean", "number": "Float64", "decimal": "Float64"}
    return pandas.array(values, dtype=kinds.get(attribute.type, "object"))


def _polars(attribute: Attribute) -> Any:
    import polars

    kinds: dict[str, Any] = {
        "integer": polars.Int64,
        "boolean": polars.Boolean,
        "number": polars.Float64,
        "decimal": polars.Float64,
        "date": polars.Date,
        "timestamp": polars.Datetime,
    }
    return kinds.get(attribute.type, polars.String)


def _arrow(attribute: Attribute) -> Any:
    import pyarrow

    kinds: dict[str, Any] = {
        "integer": pyarrow.int64(),
        "boolean": pyarrow.bool_(),
        "number": pyarrow.float64(),
        "decimal": pyarrow.float64(),
        "date": pyarrow.date32(),
        "timestamp": pyarrow.timestamp("us"),
    }
    return kinds.get(attribute.type, pyarrow.string())
