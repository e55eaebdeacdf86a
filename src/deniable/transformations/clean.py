"""Making a column what its domain says: cast, impute, fill, drop, map, filter. Data never raises.

Rows of a frame are dictionaries for functions of one row at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from fractions import Fraction
from numbers import Number
from typing import Any

import numpy as np

from deniable.core import (
    Booleans,
    Categories,
    ChangeOne,
    Distance,
    Domain,
    Frame,
    Hamming,
    IdentifierDistance,
    InsertDelete,
    Lattice,
    Metric,
    Numbers,
    Rows,
    Space,
    SymmetricDistance,
    Texts,
    Transformation,
    missing,
    step,
)
from deniable.core.cells import cells, number, table
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, rational
from deniable.transformations.column_arrays import canonical, floats, lists
from deniable.transformations.row_metrics import deterministic, rows_of, rowwise, same, times, unsized

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


def _element(space: Space, who: str) -> Domain:
    return rows_of(space, who).element


@step
def map_rows(
    space: Space, function: Callable[[Any], Any], *, to: Domain | Mapping[str, Domain], default: Any, author: str
) -> Transformation:
    """Your own function of one row at a time. Where it raises, or leaves the domain `to`, the row becomes `default`.

    A row of a frame is a dictionary; `to` is then a domain, for rows, or a mapping of columns, for a frame. Where the frame names
    people the result is a frame, and whose row it is stays as it was.

    Guarantee: distances do not grow, because each output row depends on its own input row alone; `author` vouches that
    `function` keeps no state and looks at nothing else.
    """
    claims = (f"{author}: {getattr(function, '__name__', 'function')}",)
    if isinstance(space.domain, Frame):
        return replace(mapped(space, space.domain, function, to, default), claims=claims)
    element = _element(space, "map_rows")
    if isinstance(to, Mapping):
        raise InvalidArgument("rows are mapped to a domain; a mapping of columns is for frames")
    if default not in to:  # public, so it may raise
        raise InvalidArgument(f"default must be a member of {to!r}, got {default!r}")

    def one(row: Any) -> Any:
        try:
            value = function(row)
        except Exception:
            return default
        return value if value in to else default

    built = rowwise(space, to, lambda data: [one(row) for row in canonical(data, element)])
    return replace(built, claims=claims)


@step
def filter_rows(space: Space, predicate: Callable[[Any], bool], *, author: str) -> Transformation:
    """The rows on which your own `predicate` is true; a row on which it raises is left out. A row of a frame is a dictionary.

    Guarantee: distances do not grow under add/remove; with a public size, which is lost, each replaced row counts twice.
    `author` vouches that `predicate` keeps no state.
    """

    def holds(row: Any) -> bool:
        try:
            return bool(predicate(row))
        except Exception:
            return False

    name = f"{author}: {getattr(predicate, '__name__', 'predicate')}"
    if isinstance(space.domain, Frame):
        return replace(kept(space, space.domain, holds), claims=(name,))
    domain = rows_of(space, "filter_rows")
    target, stability = unsized(space, domain.element)
    chosen = deterministic(lambda data: [row for row in canonical(data, domain.element) if holds(row)])
    return Transformation(space, target, chosen, stability, (name,))


@step
def cast(space: Space, *, to: Domain) -> Transformation:
    """Read every cell as a number, whole number, truth value or text; a cell that cannot be read is missing.

    Guarantee: distances do not grow. The result may hold missing values whatever it was before: impute or drop them next.
    """
    _element(space, "cast")
    match to:
        case Numbers():
            return rowwise(space, Numbers(to.lower, to.upper, missing=True), _within(to))
        case Lattice():
            return rowwise(space, replace(to, missing=True), lambda data: [_steps(cell, to) for cell in cells(data)])
        case Booleans():
            return rowwise(space, Booleans(missing=True), lambda data: [_truth(cell) for cell in cells(data)])
        case Texts():
            return rowwise(space, Texts(missing=True), lambda data: [_text(cell) for cell in cells(data)])
        case _:
            raise SpaceMismatch(
                f"cast reads numbers, lattices, booleans and texts, not {to!r}; use categorize for categories"
            )


def _within(to: Numbers) -> Callable[[Any], Any]:
    wide = Numbers(to.lower, to.upper, missing=True)

    def read(data: Any) -> Any:
        values = np.array([_float(cell) for cell in cells(data)], dtype=np.float64)
        if to.lower is None and to.upper is None:
            return values
        return np.array([value if value in wide else np.nan for value in values.tolist()], dtype=np.float64)

    return read


def _float(cell: Any) -> float:
    if isinstance(cell, str):
        try:
            return float(cell)
        except ValueError:
            return float("nan")
    return float(cell) if isinstance(cell, bool) else number(cell)


def _steps(cell: Any, to: Lattice) -> int | None:
    value = _float(cell) if not isinstance(cell, int) else cell
    if missing(value) or value in (math.inf, -math.inf):
        return None
    count = Fraction(value) / to.step
    if count.denominator != 1 or count.numerator not in to:
        return None
    return count.numerator


def _text(cell: Any) -> str | None:
    """Equal numbers have equal texts, whatever their type: 1, 1.0 and Decimal("1.00") are all "1"."""
    if missing(cell) or isinstance(cell, str):
        return None if missing(cell) else str(cell)
    try:
        if isinstance(cell, float | int | Number) and not isinstance(cell, bool):
            value: Any = cell
            return str(int(value)) if int(value) == value else str(float(value))
        return str(cell)
    except Exception:  # infinities have no whole part; a cell whose text cannot be made is missing
        return str(float(cell)) if isinstance(cell, float) else None


def _truth(cell: Any) -> bool | None:
    words = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
    if missing(cell):
        return None
    return words.get((_text(cell) or "").strip().lower())


@step
def impute(space: Space, *, value: Real) -> Transformation:
    """Missing numbers (None, NaN, infinities) become `value`, which is public and so must not be taken from the data.

    Guarantee: distances do not grow; the result has no missing values.
    """
    element = _element(space, "impute")
    if not isinstance(element, Numbers):
        raise SpaceMismatch(f"impute works on numbers, got {element!r}; use fill for other columns")
    constant = rational(value=value)
    full = Numbers(element.lower, element.upper, missing=False)
    if float(constant) not in full:
        raise InvalidArgument(f"value must lie within {element!r}, got {value!r}")

    def filled(data: Any) -> Any:
        numbers = floats(data)
        return np.where(np.isfinite(numbers), numbers, float(constant))

    return rowwise(space, full, filled)


@step
def fill(space: Space, *, value: Hashable) -> Transformation:
    """Missing cells become `value`, a member of the column's domain.

    Guarantee: distances do not grow; the result has no missing values.
    """
    element = _element(space, "fill")
    if not isinstance(element, Lattice | Booleans | Texts):
        raise SpaceMismatch(f"fill works on lattices, booleans and texts, got {element!r}; use impute for numbers")
    full = replace(element, missing=False)
    if value not in full:
        raise InvalidArgument(f"value must be a member of {full!r}, got {value!r}")
    return rowwise(space, full, lambda data: [value if missing(cell) else cell for cell in cells(data)])


@step
def drop_missing(space: Space) -> Transformation:
    """Leave out the rows whose cell is missing; infinite numbers are left out too.

    Guarantee: distances do not grow under add/remove; with a public size, which is lost, each replaced row counts twice.
    """
    element = _element(space, "drop_missing")
    if isinstance(element, Numbers):
        target, stability = unsized(space, replace(element, missing=False))
        keep = deterministic(lambda data: (lambda v: v[np.isfinite(v)])(floats(data)))
    elif isinstance(element, Lattice | Booleans | Texts):
        target, stability = unsized(space, replace(element, missing=False))
        keep = deterministic(lambda data: [cell for cell in cells(data) if not missing(cell)])
    else:
        raise SpaceMismatch(f"{element!r} has no missing values to drop")
    return Transformation(space, target, keep, stability)


@step
def categorize(space: Space, *, values: tuple[Hashable, ...] | list[Hashable], other: Hashable) -> Transformation:
    """Keep the listed values; every other cell, missing ones included, becomes `other`. The list is public, never data.

    Guarantee: distances do not grow.
    """
    _element(space, "categorize")
    listed = tuple(dict.fromkeys((*values, other)))
    known = set(listed)

    def one(cell: Any) -> Hashable:
        try:
            return cell if cell in known else other
        except Exception:
            return other

    return rowwise(space, Categories(listed), lambda data: [one(cell) for cell in cells(data)])


@step
def unordered(space: Space) -> Transformation:
    """Forget the order of the rows: from an ordered metric to the unordered one it bounds.

    Guarantee: distances do not grow (symmetric <= insert-delete, change-one <= Hamming).
    """
    domain = rows_of(space, "unordered")
    match space.metric:
        case InsertDelete():
            return Transformation(space, Space(domain, SymmetricDistance()), deterministic(lambda data: data), same)
        case Hamming():
            return Transformation(space, Space(domain, ChangeOne()), deterministic(lambda data: data), same)
        case _:
            raise SpaceMismatch(f"{space.metric!r} ignores the order already")


@step
def unbounded(space: Space) -> Transformation:
    """Count a replaced row as one removed and one added: from change-one to symmetric distance.

    Guarantee: distance 2·d. The way back is sound only where the size is public or made so by `resize`.
    """
    domain = rows_of(space, "unbounded")
    match space.metric:
        case ChangeOne():
            target = Space(Rows(domain.element), SymmetricDistance())
        case Hamming():
            target = Space(Rows(domain.element), InsertDelete())
        case _:
            raise SpaceMismatch(f"{space.metric!r} already adds and removes rows")
    return Transformation(space, target, deterministic(lambda data: data), times(2))
