"""Rows of a frame as dictionaries, for functions of one row at a time: map them, or keep some of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from deniable.core import (
    ChangeOne,
    Distance,
    Domain,
    Frame,
    IdentifierDistance,
    Metric,
    Rows,
    Space,
    SymmetricDistance,
    Transformation,
)
from deniable.core.cells import table
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.transformations.column_arrays import canonical, lists
from deniable.transformations.row_metrics import deterministic, same, times

Row = dict[str, Any]


def row_dicts(data: Any, frame: Frame) -> list[Row]:
    """Each row by column, as a user's function may see it: equal cells look alike."""
    columns = table(data, frame.columns)
    shown = [canonical(columns[name], domain) for name, domain in frame.columns.items()]
    return [dict(zip(frame.columns, cells, strict=True)) for cells in zip(*shown, strict=True)]


def mapped(
    space: Space, frame: Frame, function: Callable[[Any], Any], to: Domain | Mapping[str, Domain], default: Any
) -> Transformation:
    """`function` of every row, into rows of one domain or into the columns of another frame; who owns a row does not change."""
    who = space.metric.identifier if isinstance(space.metric, IdentifierDistance) else None
    if isinstance(to, Frame):
        to = to.columns
    if not isinstance(to, Mapping):
        if who is not None:
            raise SpaceMismatch(
                "a person may have any number of rows here: map to columns (a mapping), or truncate_rows"
            )
        one = _guarded(function, lambda value: value in to, default)
        rows = deterministic(lambda data: [one(row) for row in row_dicts(data, frame)])
        return Transformation(space, Space(Rows(to, frame.size), space.metric), rows, same)
    return _to_columns(space, frame, function, to, default, who)


def _to_columns(
    space: Space, frame: Frame, function: Callable[[Any], Any], to: Mapping[str, Domain], default: Any, who: str | None
) -> Transformation:
    if who in to:
        raise InvalidArgument(f"{who!r} names people and stays as it is; leave it out of `to`")

    def fits(value: Any) -> bool:
        return isinstance(value, Mapping) and all(value[name] in domain for name, domain in to.items())

    if not fits(default):
        raise InvalidArgument(f"default must be a row with the columns {sorted(to)}, got {default!r}")
    one, owner = _guarded(function, fits, default), {} if who is None else {who: frame.columns[who]}

    def columns(data: Any) -> dict[str, list[Any]]:
        found = [one(row) for row in row_dicts(data, frame)]
        new = {name: [row[name] for row in found] for name in to}
        return new if who is None else {who: lists(data, frame)[who], **new}

    target = Space(Frame({**owner, **to}, frame.size), space.metric)
    return Transformation(space, target, deterministic(columns), same)


def _guarded(function: Callable[[Any], Any], fits: Callable[[Any], bool], default: Any) -> Callable[[Row], Any]:
    def one(row: Row) -> Any:
        try:
            value = function(row)
            return value if fits(value) else default
        except Exception:
            return default

    if not fits(default):
        raise InvalidArgument(f"default must be a member of the domain mapped to, got {default!r}")
    return one


def kept(space: Space, frame: Frame, holds: Callable[[Any], bool]) -> Transformation:
    """The rows on which `holds` is true; a public size is lost."""
    metric: Metric
    stability: Callable[[Distance], Distance]
    match space.metric:
        case ChangeOne():
            metric, stability = SymmetricDistance(), times(2)
        case SymmetricDistance() | IdentifierDistance():
            metric, stability = space.metric, same
        case _:
            raise SpaceMismatch(f"rows of a frame are kept under a data-set metric without order, got {space.metric!r}")

    def chosen(data: Any) -> dict[str, list[Any]]:
        stays = [holds(row) for row in row_dicts(data, frame)]
        columns = lists(data, frame)
        return {
            name: [cell for cell, stay in zip(column, stays, strict=True) if stay] for name, column in columns.items()
        }

    return Transformation(space, Space(Frame(frame.columns), metric), deterministic(chosen), stability)
