"""The value of an expression on one row, in exact rational arithmetic: what every engine must agree with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, assert_never

from deniable.plan.analysis import facts, promoted
from deniable.plan.arithmetic import rounded_quotient
from deniable.plan.expression import (
    And,
    Arithmetic,
    Case,
    Column,
    Compare,
    Comparison,
    Divide,
    Expression,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Operator,
    Or,
)
from deniable.plan.facts import Facts
from deniable.plan.functions.scalar import Cell, ScalarFunction
from deniable.plan.rewriting import cross_multiplied, listed

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
        case Arithmetic(_, left, right) | Divide(left, right):
            sides = [evaluate(side, row, schema) for side in (left, right)]
            return None if None in sides else _of_two(expression, *sides)
        case In(value, among):
            inner = evaluate(value, row, schema)
            return None if inner is None else any(inner == literal.value for literal in among)
        case Like(value, pattern):
            inner = evaluate(value, row, schema)
            return None if inner is None else _is_like(str(inner), pattern)
        case ScalarFunction():
            return _of_function(expression, row, schema)
        case _:
            assert_never(expression)


def _of_function(function: ScalarFunction, row: Row, schema: Mapping[str, Facts]) -> Cell:
    arguments = function.arguments
    if function.regrids:
        exact = function.exact(*(facts(argument, schema) for argument in arguments))
        if exact is not None:
            return evaluate(exact, row, schema)
    cells = [evaluate(argument, row, schema) for argument in arguments]
    return None if function.strict and None in cells else function.evaluate(*cells)


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


def _of_two(expression: Arithmetic | Divide, left: Any, right: Any) -> Cell:
    match expression:
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


def _is_like(value: str, pattern: str) -> bool:
    written = "".join(".*" if char == "%" else "." if char == "_" else re.escape(char) for char in pattern)
    return re.fullmatch(written, value, re.DOTALL) is not None
