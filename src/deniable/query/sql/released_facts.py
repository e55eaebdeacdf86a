"""What is known of the columns of a released table before it is released: kinds, grids and bounds from public facts alone.

Released values are put on these grids and within these bounds before a later stage reads them, so whatever they are, a later
stage's sensitivities and the width of its integers are decided beforehand. And, once it is released, which measurements it shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from deniable.errors import QueryRefused
from deniable.plan.analysis import facts
from deniable.plan.expression import Expression
from deniable.plan.facts import Facts, Kind, common_step, days, hull, microseconds
from deniable.plan.nodes import ValueTable
from deniable.plan.relation import schema
from deniable.query.aggregates import BinnedCounts, Count, CountDistinct, CountUnits, Mean, Quantile, Sum, TopK
from deniable.query.aggregates.count import Plain
from deniable.query.columns import AnswerColumn
from deniable.query.compile import CompiledQuery
from deniable.query.keys import key_set
from deniable.query.linear_noise import ReleasedNumber
from deniable.query.price import Price
from deniable.query.sql.post import Apply, CellOperator, Constant, Field, Function, Operation, Value, fields

if TYPE_CHECKING:
    from deniable.query.sql.staging import StagePart

_WIDEST = 2**54
"""Bounds of a released number in steps of its grid: far beyond every table, and 2**8 below what an engine computes with."""

_FINE = 2**24
"""How much finer than the column's own grid a released mean is kept."""

_TRUTHS = {Function.ALL, Function.ANY, Function.OPPOSITE, Function.MISSING, Function.AMONG}
_PICKED = {Function.COALESCE, Function.LEAST, Function.GREATEST, Function.NULL_IF}
_ARITHMETIC = {CellOperator.PLUS, CellOperator.MINUS, CellOperator.TIMES, CellOperator.DIVIDE}


def released_facts(statement: Any) -> dict[str, Facts]:
    """The columns a statement's release has once its own post-processing is done: keys first."""
    query = statement.query
    keys = key_set(query)
    known = schema(query.source)
    found = {
        name: Facts(Kind.STRING) if labels is not None else each.with_null(query.levels is not None)
        for name, each, labels in zip(keys.names, keys.facts, keys.labels, strict=True)
    }
    found |= {name: _aggregate(aggregate, known, name) for name, aggregate in query.aggregates}
    for stage in statement.stages:
        found = {new: found[old] for new, old in stage.keys} | {name: _value(of, found) for name, of in stage.columns}
    return found


def _facts(of: str | Expression, known: Mapping[str, Facts]) -> Facts:
    assert not isinstance(of, str), "SQL is read already"
    return facts(of, known)


def _aggregate(aggregate: Any, known: Mapping[str, Facts], name: str) -> Facts:
    match aggregate:
        case BinnedCounts() | TopK():
            raise QueryRefused(
                "compact", f"{name} is a list of values, which no later stage reads", rewrite="group by bins instead"
            )
        case Mean(of):
            return _mean(_facts(of, known))
        case Quantile(of):
            return _facts(of, known).with_null(True)
        case Sum(of):
            return _wide(_facts(of, known).step)
        case Count() | CountUnits() | CountDistinct():
            return _wide(Fraction(1))
        case _:
            return _wide(Fraction(1, _FINE))


def _wide(step: Fraction) -> Facts:
    return Facts(Kind.NUMBER, True, step, -_WIDEST, _WIDEST)


def _mean(of: Facts) -> Facts:
    if not of.bounded:
        return _wide(of.step / 2**10)
    low, high = of.ends
    size = _FINE
    while size > 1 and max(abs(low), abs(high)) * size >= _WIDEST:
        size //= 2
    return Facts(Kind.NUMBER, True, of.step / size, low * size, high * size)


def _value(value: Value, known: Mapping[str, Facts]) -> Facts:
    match value:
        case Field(name):
            return known[name] if name in known else _wide(Fraction(1))
        case Constant(constant):
            return _constant(constant)
        case Operation(operator, left, right) if operator in _ARITHMETIC:
            return _computed([_value(left, known), _value(right, known)])
        case Operation():
            return Facts(Kind.BOOLEAN)
        case Apply(function) if function in _TRUTHS:
            return Facts(Kind.BOOLEAN)
        case Apply(function, arguments) if function in _PICKED:
            return hull([_value(each, known) for each in arguments if each != Constant(None)]).with_null(True)
        case Apply(Function.CHOOSE, arguments):
            results = [*arguments[1:-1:2], arguments[-1]]
            return hull([_value(each, known) for each in results if each != Constant(None)]).with_null(True)
        case Apply(_, arguments):
            return _computed([_value(each, known) for each in arguments[:1]])


def _computed(parts: list[Facts]) -> Facts:
    """A number computed from released ones: on a grid finer than theirs."""
    numbers = [each.step for each in parts if each.kind is Kind.NUMBER]
    shared = common_step(numbers or [Fraction(1)])
    return _wide(shared if shared <= Fraction(1, 2**20) else shared / 2**10)


def _constant(value: Any) -> Facts:
    match value:
        case bool():
            return Facts(Kind.BOOLEAN)
        case int():
            return _wide(Fraction(1))
        case float():
            return _wide(Fraction(1, _FINE))
        case str():
            return Facts(Kind.STRING)
        case datetime():
            return Facts(Kind.TIMESTAMP)
        case date():
            return Facts(Kind.DATE)
        case _:
            return _wide(Fraction(1))


def held_value(value: Any, known: Facts) -> object:
    """A released value as engines hold it: on the grid and within the bounds that were declared for it; never an error.

    Guarantee: what comes out lies within `known`, whatever goes in.
    """
    if value is None or value != value:
        return None
    match known.kind:
        case Kind.NUMBER if isinstance(value, int | float | Fraction) and not isinstance(value, bool):
            return _on_grid(value, known)
        case Kind.BOOLEAN if isinstance(value, bool):
            return value
        case Kind.STRING if isinstance(value, str):
            return value if known.categories is None or value in known.categories else None
        case Kind.DATE if isinstance(value, date) and not isinstance(value, datetime):
            return value if _inside(days(value), known) else None
        case Kind.TIMESTAMP if isinstance(value, datetime):
            return value if _inside(microseconds(value), known) else None
        case _:
            return None


def _inside(count: int, known: Facts) -> bool:
    return (known.lower is None or known.lower <= count) and (known.upper is None or count <= known.upper)


def _on_grid(value: Any, known: Facts) -> int:
    low = -_WIDEST if known.lower is None else known.lower
    high = _WIDEST if known.upper is None else known.upper
    if value in (float("inf"), float("-inf")):
        return high if value > 0 else low
    return min(max(round(Fraction(value) / known.step), low), high)


def filled(table: ValueTable, rows: list[tuple[Any, ...]]) -> ValueTable:
    """The table with the rows that were released, each value within its column's facts."""
    kinds = [known for _, known in table.columns]
    held = tuple(tuple(map(held_value, row, kinds)) for row in rows)
    return ValueTable(table.name, table.columns, held)


# What its numbers are ------------------------------------------------------------------------------------------------


def released_numbers(
    stage: StagePart, name: str, column: AnswerColumn, compiled: CompiledQuery, price: Price
) -> list[ReleasedNumber]:
    """The cells of a released column: with their noise where the column shows one measurement as it is."""
    assert column.lower is not None
    assert column.upper is not None
    ends = list(zip(column.values, column.lower, column.upper, strict=True))
    measured = _measurement(stage, name, compiled)
    if measured is None:
        return [ReleasedNumber((low, high), value) for value, low, high in ends]
    key = compiled.slices[0].key(measured)
    step, grain = price.allocation.step(key, compiled.steps[measured]), compiled.grains[measured]
    noise, rounding = price.allocation.noises[key], float(grain) / 2 if grain != step else 0.0
    return [
        ReleasedNumber((low, high), value, noise, step, rounding, (stage.name, measured, row))
        for row, (value, low, high) in enumerate(ends)
    ]


def _measurement(stage: StagePart, name: str, compiled: CompiledQuery) -> str | None:
    """The measured column that a released one shows as it is; None where it is computed, chosen or fitted."""
    for step in reversed(stage.statement.stages):
        value = dict(step.columns).get(name)
        if not isinstance(value, Field):
            return None
        name = value.name
    output = dict(compiled.outputs).get(name)
    fitted = len(compiled.slices) > 1 or compiled.whole or compiled.other is not None
    return None if fitted or not isinstance(output, Plain) else output.column


def steady_rows(stage: StagePart, compiled: CompiledQuery) -> bool:
    """Whether the noise of what a released stage shows has no part in which rows it has, and in which order."""
    used = Counter(column for _, output in compiled.outputs for column in output.columns)
    apart = {name for name, output in compiled.outputs if isinstance(output, Plain) and used[output.column] == 1}
    keys = frozenset(compiled.keys.names)
    shown = {name for step in stage.statement.stages for _, value in step.columns for name in fields(value)}
    for step in stage.statement.stages:
        free = keys | (apart - shown)
        read = [*([] if step.where is None else [step.where]), *(term.value for term in step.order)]
        if step.limit is not None or step.offset or not all(fields(each) <= free for each in read):
            return False
        keys, apart = frozenset(new for new, _ in step.keys), set()
    return not compiled.keys.observed
