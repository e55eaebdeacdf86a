"""What may be computed from a release: a small closed language over released columns and keys, with interval arithmetic.

Everything here sees noisy values only, so it is free. A value computed from several noisy ones carries the interval that
holds when all of theirs do; a value for which no interval can be said carries none. Nothing here can fail on values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, TypeAlias, assert_never


@dataclass(frozen=True, slots=True)
class Field:
    """A released column or a key, by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, text, truth value, date, or NULL (None)."""

    value: Any


LEVEL = "(level)"
"""The field that holds which grouping set a row belongs to."""


class CellOperator(Enum):
    """Arithmetic and comparison."""

    PLUS = "+"
    MINUS = "-"
    TIMES = "*"
    DIVIDE = "/"
    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="


@dataclass(frozen=True, slots=True)
class Operation:
    """Two values and an operator; NULL when either is, and when a divisor is zero."""

    operator: CellOperator
    left: Value
    right: Value


class Function(Enum):
    """Functions of released values."""

    NEGATE = "-"
    ABSOLUTE = "abs"
    ROUND = "round"
    FLOOR = "floor"
    CEILING = "ceil"
    ROOT = "sqrt"
    COALESCE = "coalesce"
    NULL_IF = "nullif"
    LEAST = "least"
    GREATEST = "greatest"
    ALL = "and"
    ANY = "or"
    OPPOSITE = "not"
    MISSING = "is null"
    AMONG = "in"
    CHOOSE = "case"


@dataclass(frozen=True, slots=True)
class Apply:
    """A function of values; CHOOSE takes condition, result, condition, result, ..., otherwise."""

    function: Function
    arguments: tuple[Value, ...]


Value: TypeAlias = Field | Constant | Operation | Apply


class Cell(NamedTuple):
    """A value with the ends of its interval, both None when there is none."""

    value: Any
    low: Any = None
    high: Any = None


NULL = Cell(None)


def fields(value: Value) -> frozenset[str]:
    """The names a value reads."""
    match value:
        case Field(name):
            return frozenset((name,))
        case Constant():
            return frozenset()
        case Operation(_, left, right):
            return fields(left) | fields(right)
        case Apply(_, arguments):
            return frozenset().union(*(fields(each) for each in arguments))
        case _:
            assert_never(value)


def evaluate(value: Value, row: Mapping[str, Cell]) -> Cell:
    """The value on one row of a release."""
    match value:
        case Field(name):
            return row[name]
        case Constant(constant):
            exact = isinstance(constant, int | float) and not isinstance(constant, bool)
            return Cell(constant, constant, constant) if exact else Cell(constant)
        case Operation(operator, left, right):
            return _operation(operator, evaluate(left, row), evaluate(right, row))
        case Apply(function, arguments):
            return _FUNCTIONS[function]([evaluate(each, row) for each in arguments])
        case _:
            assert_never(value)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    """A number that JSON can hold; what left the floats is NULL."""
    return None if isinstance(value, float) and math.isnan(value) else value


_ARITHMETIC: dict[CellOperator, Callable[[Any, Any], Any]] = {
    CellOperator.PLUS: lambda a, b: a + b,
    CellOperator.MINUS: lambda a, b: a - b,
    CellOperator.TIMES: lambda a, b: a * b,
    CellOperator.DIVIDE: lambda a, b: a / b,
}
_COMPARISONS: dict[CellOperator, Callable[[Any, Any], bool]] = {
    CellOperator.EQUAL: lambda a, b: a == b,
    CellOperator.NOT_EQUAL: lambda a, b: a != b,
    CellOperator.LESS: lambda a, b: a < b,
    CellOperator.AT_MOST: lambda a, b: a <= b,
    CellOperator.MORE: lambda a, b: a > b,
    CellOperator.AT_LEAST: lambda a, b: a >= b,
}


def _operation(operator: CellOperator, left: Cell, right: Cell) -> Cell:
    if left.value is None or right.value is None:
        return NULL
    if operator in _COMPARISONS:
        try:
            return Cell(bool(_COMPARISONS[operator](left.value, right.value)))
        except TypeError:
            return NULL
    if not (_number(left.value) and _number(right.value)):
        return NULL
    value = _computed(operator, left.value, right.value)
    if value is None or None in (left.low, left.high, right.low, right.high):
        return Cell(value)
    return Cell(value, *_ends(operator, left, right))


def _computed(operator: CellOperator, left: Any, right: Any) -> Any:
    if operator is CellOperator.DIVIDE and right == 0:
        return None
    try:
        return _plain(_ARITHMETIC[operator](left, right))
    except OverflowError:
        return None


def _ends(operator: CellOperator, left: Cell, right: Cell) -> tuple[Any, Any]:
    if operator is CellOperator.PLUS:
        corners = [_computed(operator, left.low, right.low), _computed(operator, left.high, right.high)]
    elif operator is CellOperator.MINUS:
        corners = [_computed(operator, left.low, right.high), _computed(operator, left.high, right.low)]
    elif operator is CellOperator.DIVIDE and right.low <= 0 <= right.high:
        corners = [None]
    else:
        corners = [_computed(operator, a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
    if None in corners:
        return -math.inf, math.inf
    return min(corners), max(corners)


def _rising(change: Callable[[Any], Any]) -> Callable[[list[Cell]], Cell]:
    """A function that keeps order: ends go to ends."""

    def applied(arguments: list[Cell]) -> Cell:
        cell = arguments[0]
        if not _number(cell.value):
            return NULL
        if cell.low is None or cell.high is None:
            return Cell(change(cell.value))
        return Cell(*(change(each) for each in cell))

    return applied


def _finite(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: x if isinstance(x, float) and math.isinf(x) else change(x)


def _round(arguments: list[Cell]) -> Cell:
    digits = int(arguments[1].value) if len(arguments) > 1 else 0
    return _rising(_finite(lambda x: _half_away(x, digits)))(arguments[:1])


def _half_away(x: Any, digits: int) -> Any:
    scaled = abs(x) * 10**digits if digits >= 0 else abs(x) / 10**-digits
    if isinstance(scaled, float) and (math.isinf(scaled) or scaled > 2**52):
        return x
    whole = math.floor(scaled + 0.5 if isinstance(scaled, float) else scaled)
    number = whole / 10**digits if digits > 0 else whole * 10**-digits
    return math.copysign(number, x) if isinstance(number, float) else (number if x >= 0 else -number)


def _negate(arguments: list[Cell]) -> Cell:
    cell = arguments[0]
    if not _number(cell.value):
        return NULL
    return Cell(-cell.value) if cell.low is None else Cell(-cell.value, -cell.high, -cell.low)


def _absolute(arguments: list[Cell]) -> Cell:
    cell = arguments[0]
    if not _number(cell.value):
        return NULL
    if cell.low is None:
        return Cell(abs(cell.value))
    low = 0 if cell.low <= 0 <= cell.high else min(abs(cell.low), abs(cell.high))
    return Cell(abs(cell.value), low, max(abs(cell.low), abs(cell.high)))


def _root(x: Any) -> Any:
    return math.inf if x >= 1e300 else math.sqrt(max(x, 0))


def _extreme(pick: Callable[..., Any]) -> Callable[[list[Cell]], Cell]:
    def applied(arguments: list[Cell]) -> Cell:
        present = [cell for cell in arguments if cell.value is not None]
        if not present or not all(_number(cell.value) for cell in present):
            return NULL
        value = pick(cell.value for cell in present)
        if any(cell.low is None for cell in present) or len(present) != len(arguments):
            return Cell(value)
        return Cell(value, pick(cell.low for cell in present), pick(cell.high for cell in present))

    return applied


def _coalesce(arguments: list[Cell]) -> Cell:
    return next((cell for cell in arguments if cell.value is not None), NULL)


def _null_if(arguments: list[Cell]) -> Cell:
    left, right = arguments
    return NULL if left.value is not None and left.value == right.value else left


def _all(arguments: list[Cell]) -> Cell:
    values = [cell.value for cell in arguments]
    return Cell(False) if False in values else Cell(None if None in values else True)


def _any(arguments: list[Cell]) -> Cell:
    values = [cell.value for cell in arguments]
    return Cell(True) if True in values else Cell(None if None in values else False)


def _opposite(arguments: list[Cell]) -> Cell:
    return Cell(None if arguments[0].value is None else not arguments[0].value)


def _among(arguments: list[Cell]) -> Cell:
    value, *others = (cell.value for cell in arguments)
    return Cell(None if value is None else value in others)


def _choose(arguments: list[Cell]) -> Cell:
    """The interval of a CASE would have to know how sure its condition is: it has none."""
    for index in range(0, len(arguments) - 1, 2):
        if arguments[index].value is True:
            return Cell(arguments[index + 1].value)
    return Cell(arguments[-1].value)


_FUNCTIONS: dict[Function, Callable[[list[Cell]], Cell]] = {
    Function.NEGATE: _negate,
    Function.ABSOLUTE: _absolute,
    Function.ROUND: _round,
    Function.FLOOR: _rising(_finite(math.floor)),
    Function.CEILING: _rising(_finite(math.ceil)),
    Function.ROOT: _rising(_root),
    Function.COALESCE: _coalesce,
    Function.NULL_IF: _null_if,
    Function.LEAST: _extreme(min),
    Function.GREATEST: _extreme(max),
    Function.ALL: _all,
    Function.ANY: _any,
    Function.OPPOSITE: _opposite,
    Function.MISSING: lambda arguments: Cell(arguments[0].value is None),
    Function.AMONG: _among,
    Function.CHOOSE: _choose,
}
