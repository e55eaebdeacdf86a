"""The value of an expression on one row, in exact rational arithmetic: what every engine must agree with."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from datetime import date, datetime
from fractions import Fraction
from math import ceil, floor
from typing import Any, assert_never

from deniable.engines.cells import Cell
from deniable.plan.analysis import facts, promoted
from deniable.plan.expression import (
    Absolute,
    And,
    Arithmetic,
    Bin,
    Case,
    CharacterCount,
    Clamp,
    Coalesce,
    Column,
    Compare,
    Comparison,
    DatePart,
    DaysBetween,
    Divide,
    Expression,
    Fold,
    Greatest,
    In,
    IsNull,
    Least,
    Like,
    Literal,
    Modulo,
    Not,
    Operator,
    Or,
    Part,
    Round,
    Substring,
    ToDate,
    Truncate,
)
from deniable.plan.facts import Facts
from deniable.plan.rewriting import common_grid, cross_multiplied, listed
from deniable.plan.semantics import folded, folded_ascii, rounded, rounded_quotient, truncated_date, truncated_timestamp
from deniable.plan.unit import Length

Row = Mapping[str, Cell]


def evaluate(expression: Expression, row: Row, schema: Mapping[str, Facts]) -> Cell:
    """The value on this row; numbers are exact Fractions, None is missing."""
    match expression:
        case Column(name):
            return row[name]
        case Literal(constant):
            return Fraction(constant) if isinstance(constant, int) and not isinstance(constant, bool) else constant
        case Compare(comparison, left, right) if (exact := cross_multiplied(comparison, left, right)) is not None:
            return evaluate(exact, row, schema)
        case In(value, among) if (exact := listed(value, among)) is not None:
            return evaluate(exact, row, schema)
        case Compare(comparison, left, right):
            sides = [evaluate(side, row, schema) for side in promoted(left, right, schema)]
            return None if None in sides else _compared(comparison, *sides)
        case And(parts):
            return _all([evaluate(part, row, schema) for part in parts])
        case Or(parts):
            return _negated(_all([_negated(evaluate(part, row, schema)) for part in parts]))
        case Not(value):
            return _negated(evaluate(value, row, schema))
        case IsNull(value):
            return evaluate(value, row, schema) is None
        case Case(branches, otherwise):
            for condition, result in branches:
                if evaluate(condition, row, schema) is True:
                    return evaluate(result, row, schema)
            return None if otherwise is None else evaluate(otherwise, row, schema)
        case Coalesce(parts):
            return next((cell for part in parts if (cell := evaluate(part, row, schema)) is not None), None)
        case Least(parts) | Greatest(parts):
            present: list[Any] = [cell for part in parts if (cell := evaluate(part, row, schema)) is not None]
            return (min if isinstance(expression, Least) else max)(present, default=None)
        case Arithmetic(_, left, right) | Divide(left, right) | DaysBetween(left, right):
            sides = [evaluate(side, row, schema) for side in (left, right)]
            return None if None in sides else _of_two(expression, *sides)
        case Fold(case, value):
            text = evaluate(value, row, schema)
            change = folded_ascii if facts(value, schema).categories is None else folded
            return change(text, case) if isinstance(text, str) else None
        case Clamp(value, lower, upper):
            number = evaluate(value, row, schema)
            assert number is None or isinstance(number, Fraction)
            finer = common_grid(expression, facts(value, schema))
            if finer is not None:
                return evaluate(finer, row, schema)
            return None if number is None else clamped(number, lower, upper, facts(value, schema).step)
        case _:
            inner: Any = evaluate(expression.value, row, schema)
            return None if inner is None else _of_one(expression, inner)


def _compared(comparison: Comparison, left: Any, right: Any) -> bool:
    match comparison:
        case Comparison.EQUAL:
            return bool(left == right)
        case Comparison.NOT_EQUAL:
            return bool(left != right)
        case Comparison.LESS:
            return bool(left < right)
        case Comparison.AT_MOST:
            return bool(left <= right)
        case Comparison.MORE:
            return bool(left > right)
        case Comparison.AT_LEAST:
            return bool(left >= right)


def _all(parts: list[Cell]) -> bool | None:
    return False if False in parts else None if None in parts else True


def _negated(value: Cell) -> bool | None:
    return None if value is None else not value


def _of_two(expression: Arithmetic | Divide | DaysBetween, left: Any, right: Any) -> Cell:
    match expression:
        case DaysBetween():
            return Fraction((right - left).days)
        case Divide(_, divisor, step):
            if right == 0:
                return None
            if isinstance(divisor, Literal):
                return Fraction(left / right)
            quotient = left / right / step
            return rounded_quotient(quotient.numerator, quotient.denominator) * step
        case Arithmetic(Operator.ADD):
            return Fraction(left + right)
        case Arithmetic(Operator.SUBTRACT):
            return Fraction(left - right)
        case Arithmetic(Operator.MULTIPLY):
            return Fraction(left * right)
    raise AssertionError("every operator is above")


_OfOne = Modulo | In | Like | Absolute | Round | Bin | DatePart | Truncate | ToDate | Substring | CharacterCount


def _of_one(expression: _OfOne, value: Any) -> Cell:
    match expression:
        case Modulo(_, by):
            return Fraction(abs(value) % by * (-1 if value < 0 else 1))
        case In(_, among):
            return any(value == literal.value for literal in among)
        case Like(_, pattern):
            return re.fullmatch(_like_pattern(pattern), value, re.DOTALL) is not None
        case Absolute():
            return Fraction(abs(value))
        case Round(rounding, _, step):
            steps = value / step
            return rounded(rounding, steps.numerator, steps.denominator) * step
        case Bin(_, edges):
            return _binned(value, edges)
        case DatePart(part, _):
            return Fraction(_part(part, value))
        case Truncate(_, length):
            return _truncated(value, length)
        case ToDate():
            return value.date() if isinstance(value, datetime) else value
        case Substring(_, start, length):
            return str(value[start - 1 : start - 1 + length])
        case CharacterCount():
            return Fraction(len(value))
        case _:
            assert_never(expression)


def clamped(value: Fraction, lower: Fraction, upper: Fraction, step: Fraction) -> Fraction:
    """The value limited to the grid points within [lower, upper]."""
    return min(max(value, ceil(lower / step) * step), floor(upper / step) * step)


def _like_pattern(pattern: str) -> str:
    return "".join(".*" if char == "%" else "." if char == "_" else re.escape(char) for char in pattern)


def _binned(value: Fraction, edges: tuple[Fraction, ...]) -> Fraction | None:
    if not edges[0] <= value <= edges[-1]:
        return None
    return Fraction(min(bisect_right(edges, value), len(edges) - 1) - 1)


def _part(part: Part, value: date) -> int:
    match part:
        case Part.YEAR:
            return value.year
        case Part.QUARTER:
            return (value.month - 1) // 3 + 1
        case Part.MONTH:
            return value.month
        case Part.DAY:
            return value.day
        case Part.WEEKDAY:
            return value.isoweekday() % 7
        case Part.HOUR | Part.MINUTE:
            assert isinstance(value, datetime)
            return value.hour if part is Part.HOUR else value.minute


def _truncated(value: date, length: Length) -> date:
    if isinstance(value, datetime):
        return truncated_timestamp(value, length)
    return truncated_date(value, length)
