"""Stages of post-processing over a whole release: which columns, which rows (HAVING), in which order, how many.

Rows are sorted stably from the public order of the keys, so equal values never show the order of the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cmp_to_key
from math import inf
from typing import Any

from deniable.query.columns import AnswerColumn
from deniable.query.sql.post import LEVEL, Cell, Field, Value, evaluate, fields

_PLACE = "\0place"
"""Where a row stood before this stage."""


@dataclass(frozen=True, slots=True)
class Ordering:
    """One term of ORDER BY."""

    value: Value
    descending: bool = False
    missing_first: bool = False


@dataclass(frozen=True, slots=True)
class Stage:
    """One SELECT above the private boundary. `keys` are released keys under their new names."""

    keys: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, Value], ...]
    where: Value | None = None
    order: tuple[Ordering, ...] = ()
    limit: int | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """A release as post-processing sees it."""

    keys: tuple[str, ...]
    groups: tuple[tuple[Any, ...], ...]
    columns: tuple[AnswerColumn, ...]
    levels: tuple[tuple[str, ...], ...] = ()
    level: tuple[int, ...] = ()
    scalars: Mapping[str, Cell] = field(default_factory=dict)
    """Values of earlier stages, beside every row."""

    def rows(self) -> list[dict[str, Cell]]:
        """Each group with its cells by name."""
        found: list[dict[str, Cell]] = []
        for index, group in enumerate(self.groups):
            row = {**self.scalars, **{name: Cell(part) for name, part in zip(self.keys, group, strict=True)}}
            for column in self.columns:
                sure = column.lower is not None and column.upper is not None
                ends = (column.lower[index], column.upper[index]) if sure else (None, None)  # type: ignore[index]
                row[column.name] = Cell(column.values[index], *ends)
            row[LEVEL], row[_PLACE] = Cell(self.level[index] if self.level else 0), Cell(index)
            found.append(row)
        return found


def applied(stage: Stage, released: AnswerTable, confidence: Fraction) -> AnswerTable:
    """The release after one stage."""
    rows = released.rows()
    if stage.where is not None:
        rows = [row for row in rows if evaluate(stage.where, row).value is True]
    for term in reversed(stage.order):
        rows = _sorted(rows, term)
    rows = rows[stage.offset : None if stage.limit is None else stage.offset + stage.limit]
    groups = tuple(tuple(row[old].value for _, old in stage.keys) for row in rows)
    known = {column.name: column for column in released.columns}
    noisy = frozenset(known) | frozenset(released.scalars)
    columns = tuple(_column(name, value, rows, known, noisy, confidence) for name, value in stage.columns)
    if not released.levels:
        return AnswerTable(tuple(new for new, _ in stage.keys), groups, columns, scalars=released.scalars)
    levels = tuple(tuple(new for new, old in stage.keys if old in level) for level in released.levels)
    return AnswerTable(
        tuple(new for new, _ in stage.keys),
        groups,
        columns,
        levels,
        tuple(row[LEVEL].value for row in rows),
        released.scalars,
    )


def identity(stage: Stage, keys: Sequence[str], columns: Sequence[str]) -> bool:
    """Whether a stage changes nothing."""
    return (
        stage.keys == tuple((name, name) for name in keys)
        and stage.columns == tuple((name, Field(name)) for name in columns)
        and stage.where is None
        and not stage.order
        and stage.limit is None
        and not stage.offset
    )


def _sorted(rows: list[dict[str, Cell]], term: Ordering) -> list[dict[str, Cell]]:
    values = [evaluate(term.value, row).value for row in rows]
    present = [index for index, value in enumerate(values) if value is not None]
    missing = [index for index, value in enumerate(values) if value is None]
    sign = -1 if term.descending else 1

    def compare(a: int, b: int) -> Any:
        left, right = values[a], values[b]
        try:
            return sign * ((left > right) - (left < right))
        except TypeError:
            return 0

    present.sort(key=cmp_to_key(compare))
    order = [*missing, *present] if term.missing_first else [*present, *missing]
    return [rows[index] for index in order]


def _column(
    name: str,
    value: Value,
    rows: Sequence[dict[str, Cell]],
    known: dict[str, AnswerColumn],
    released: frozenset[str],
    confidence: Fraction,
) -> AnswerColumn:
    cells = [evaluate(value, row) for row in rows]
    values = tuple(cell.value for cell in cells)
    sure = bool(cells) and all(cell.low is not None and cell.high is not None for cell in cells)
    lower = tuple(cell.low for cell in cells) if sure else None
    upper = tuple(cell.high for cell in cells) if sure else None
    if isinstance(value, Field) and value.name not in released - frozenset(known):
        kind, error = (known[value.name].kind, known[value.name].error) if value.name in known else ("key", "exact")
        if value.name in known and not cells and known[value.name].lower is not None:
            lower, upper = (), ()
        return replace(
            AnswerColumn(name, kind, values, lower, upper, error), **_choice_error(known.get(value.name), rows)
        )
    noisy = len(fields(value) & released)
    if not noisy:
        return AnswerColumn(name, "key", values, None, None, "exact")
    sureness = max(Fraction(0), 1 - noisy * (1 - confidence))
    if sure:  # an interval that goes on for ever says nothing
        values = tuple(None if cell.low == -inf and cell.high == inf else cell.value for cell in cells)
    error = f"interval by arithmetic, holds with probability {float(sureness):g}" if sure else "no interval is said"
    return AnswerColumn(name, "computed", values, lower, upper, error)


def _choice_error(column: AnswerColumn | None, rows: Sequence[dict[str, Cell]]) -> dict[str, Any]:
    """The errors of private choices and the names of bins, for the rows that are left."""
    if column is None:
        return {}
    off = None if column.off is None else tuple(column.off[row[_PLACE].value] for row in rows)
    return {"off": off, "unit": column.unit, "bins": column.bins}
