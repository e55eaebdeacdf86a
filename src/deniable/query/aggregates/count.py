"""Counts: of rows, of units (people), of distinct values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
from sqlglot import exp

from deniable.exact.guards import integer
from deniable.plan import nodes as plan
from deniable.plan.expression import Case, Expression, Literal
from deniable.query.aggregates.aggregate import (
    Aggregate,
    CommandForm,
    Error,
    Forecast,
    Of,
    Output,
    Registration,
    SliceAnswer,
    SqlCall,
)
from deniable.query.aggregates.measuring import Measuring
from deniable.query.columns import AnswerColumn, Noisy, even_column, interval_column


@dataclass(frozen=True, slots=True)
class Plain(Output):
    """A noisy count or sum as it is."""

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def answer(self, name: str, drawn: SliceAnswer, error: str) -> AnswerColumn:
        """The numbers with their intervals: whole numbers for a count."""
        return _plain(name, drawn.columns[self.column], drawn.beta, error)

    def error(self, forecast: Forecast) -> Error:
        """The same for every group: that of the noise."""
        return Error(forecast.shown_error(self.column), "")


def _plain(name: str, column: Noisy, beta: Fraction, error: str) -> AnswerColumn:
    if column.is_measured:
        half, shown, grain = column.shown_error(beta), column.shown(), column.shown_in
        if grain == 1:
            return even_column(name, "number", shown.tolist(), int(half), error)
        return even_column(name, "number", (shown.astype(np.float64) * float(grain)).tolist(), float(half), error)
    found = interval_column(name, "number", column.around(beta), error)
    whole = column.shown_in == 1 and all(value == floor(value) for value in found.values)
    if not whole or found.lower is None or found.upper is None:
        return found
    ends = (tuple(map(floor, found.lower)), tuple(map(ceil, found.upper)))
    return replace(found, values=tuple(map(int, found.values)), lower=ends[0], upper=ends[1])


@dataclass(frozen=True, slots=True)
class Count(Aggregate):
    """Rows, or rows where `of` is not missing; one unit counts at most `most` times in a group (None: the query's rows)."""

    of: Of | None = None
    most: int | None = None

    def measure(self, measuring: Measuring) -> Output:
        """One count."""
        return Plain(measuring.count(None if self.of is None else measuring.read(self.of), self.most))

    def clip_note(self, name: str, rows: int) -> str | None:
        """How often one unit counts, where the aggregate says so itself."""
        if self.most is None:
            return None
        return f"it counts at most {self.most} time{'s' if self.most > 1 else ''} in {name}"


@dataclass(frozen=True, slots=True)
class CountUnits(Aggregate):
    """Units (people) with a row in the group, or with a row where `of` is not missing."""

    of: Of | None = None

    def measure(self, measuring: Measuring) -> Output:
        """One count of units."""
        return Plain(measuring.add(plan.Units(None if self.of is None else measuring.read(self.of))))


@dataclass(frozen=True, slots=True)
class CountDistinct(Aggregate):
    """Distinct values of a column in the group."""

    of: Of

    def measure(self, measuring: Measuring) -> Output:
        """One count of values."""
        return Plain(measuring.add(plan.Distinct(measuring.read(self.of), measuring.rows)))


def count(of: Of | None = None, *, most: int | None = None) -> Count:
    """Rows in the group, or rows where `of` is not missing.

    A unit with more rows in a group than the query's `rows` counts as so many, spread evenly over all it has; with `most` its
    count is cut off there instead.
    Guarantee: one unit is counted at most `most` times (by default the query's `rows`) in each of at most `groups` groups;
    integer noise on an integer.
    """
    return Count(of, None if most is None else integer(most=most, least=1))


def count_distinct(of: Of | None = None) -> CountUnits | CountDistinct:
    """Distinct units (people) in the group; with a column, distinct values of it.

    Guarantee: one unit moves the number of units by one, and the number of values by at most `rows`, in each of its groups.
    """
    return CountUnits() if of is None else CountDistinct(of)


def is_all_rows(node: exp.Expression | None) -> bool:
    """Whether COUNT's argument stands for every row: *, or a constant."""
    return node is None or isinstance(node, exp.Star | exp.Literal)


def counted(call: SqlCall, node: exp.Expression | None) -> Expression | None:
    """What COUNT counts: rows of the FILTER, or rows with a value."""
    if node is None or is_all_rows(node):
        return None if call.condition is None else Case(((call.condition, Literal(1)),))
    return call.of(node)


def _sql_count(call: SqlCall) -> Any:
    if call.node.expressions:
        raise call.refusal("aggregate", "COUNT takes one column", "count one column or *")
    if isinstance(call.node.this, exp.Distinct):
        return call.answer(_sql_distinct(call, call.node.this))
    return call.answer(Count(counted(call, call.node.this)))


def _sql_distinct(call: SqlCall, node: exp.Distinct) -> Aggregate:
    if len(node.expressions) != 1 or node.args.get("on"):
        raise call.refusal("aggregate", "COUNT(DISTINCT ...) takes one column", "count them singly")
    of = call.read(node.expressions[0])
    if call.is_unit(of):
        lacking = call.may_lack_unit()
        if call.condition is not None:
            return CountUnits(Case(((call.condition, of if lacking else Literal(1)),)))
        return CountUnits(of if lacking else None)
    return CountDistinct(of if call.condition is None else Case(((call.condition, of),)))


def _sql_count_if(call: SqlCall) -> Any:
    asked = Case(((call.read(call.node.this), Literal(1)),))
    return call.answer(Count(asked if call.condition is None else Case(((call.condition, asked),))))


_DISTINCT: Callable[..., Aggregate] = count_distinct
REGISTRATION = Registration(
    sql={exp.Count: _sql_count, exp.CountIf: _sql_count_if},
    command={"count": CommandForm(count, (0, 1)), "count_distinct": CommandForm(_DISTINCT, (0, 1))},
    sql_names=("COUNT",),
)
