"""A small total language for filters and derived columns: every expression has a value (perhaps missing) on every row.

The union is closed. Numbers are exact integers on a public grid; nothing here can fail on data: dividing by zero gives
a missing value, and what could overflow is refused from the declared bounds before any row is read.
Truth is three-valued, as in SQL.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from deniable.plan.unit import Length


@dataclass(frozen=True, slots=True)
class Column:
    """The value of a column."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: an exact number, a truth value, a text, a date or a timestamp."""

    value: bool | int | Fraction | str | date | datetime

    def __post_init__(self) -> None:
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            object.__setattr__(self, "value", Fraction(self.value))


class Operator(Enum):
    """Exact arithmetic."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left` plus, minus or times `right`, exact on the common grid; missing when either is."""

    operator: Operator
    left: Expression
    right: Expression


QUOTIENT_STEP = Fraction(1, 2**20)
"""The grid of a quotient of two expressions where nothing else is said."""


@dataclass(frozen=True, slots=True)
class Divide:
    """`left / right`, missing when `right` is zero.

    By a constant it is exact. By an expression it is rounded to `step`, halves away from zero; a comparison sees the exact
    quotient unless a step was asked for (`plan/rewriting.py`).
    """

    left: Expression
    right: Expression
    step: Fraction = QUOTIENT_STEP


@dataclass(frozen=True, slots=True)
class Modulo:
    """The remainder of a whole number by a positive whole constant; it has the sign of `value`, as in SQL."""

    value: Expression
    by: int


class Comparison(Enum):
    """How two values are compared."""

    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="


@dataclass(frozen=True, slots=True)
class Compare:
    """Whether `left` stands so to `right`; unknown when either is missing. Text knows only equal and not equal."""

    comparison: Comparison
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class And:
    """True when all parts are; false when one is false; else unknown."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True when one part is; false when all are false; else unknown."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite; unknown stays unknown."""

    value: Expression


@dataclass(frozen=True, slots=True)
class IsNull:
    """Whether the value is missing; never unknown itself."""

    value: Expression


@dataclass(frozen=True, slots=True)
class In:
    """Whether the value is one of these constants; unknown when it is missing."""

    value: Expression
    among: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Like:
    """Whether a text matches `pattern`: `%` any run of characters, `_` any one; case matters."""

    value: Expression
    pattern: str


@dataclass(frozen=True, slots=True)
class Case:
    """The value of the first branch whose condition is true, else `otherwise`, else missing."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None = None


@dataclass(frozen=True, slots=True)
class Coalesce:
    """The first value that is not missing."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Least:
    """The smallest value that is not missing."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Greatest:
    """The largest value that is not missing."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Clamp:
    """The value limited to [lower, upper]; missing stays missing. This is how an unbounded number gets bounds."""

    value: Expression
    lower: Fraction
    upper: Fraction


@dataclass(frozen=True, slots=True)
class Absolute:
    """The value without its sign."""

    value: Expression


class Rounding(Enum):
    """Which multiple of the step a value goes to."""

    FLOOR = "floor"
    CEILING = "ceiling"
    NEAREST = "nearest"


@dataclass(frozen=True, slots=True)
class Round:
    """The value moved to a multiple of `step`: the one below, the one above, or the nearest (halves away from zero)."""

    rounding: Rounding
    value: Expression
    step: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class Bin:
    """The number (from 0) of the bin [edge, next edge) a value falls in; the last bin holds its right edge.

    A value below the first or above the last edge, and a missing one, is missing.
    """

    value: Expression
    edges: tuple[Fraction, ...]


class Part(Enum):
    """A whole-number part of a date or timestamp; weekday is 0 on Sunday."""

    YEAR = "year"
    QUARTER = "quarter"
    MONTH = "month"
    DAY = "day"
    WEEKDAY = "weekday"
    HOUR = "hour"
    MINUTE = "minute"


@dataclass(frozen=True, slots=True)
class DatePart:
    """One part of a date or timestamp."""

    part: Part
    value: Expression


@dataclass(frozen=True, slots=True)
class Truncate:
    """A date or timestamp cut down to the start of its hour, day, week (Monday), month, quarter or year."""

    value: Expression
    length: Length


@dataclass(frozen=True, slots=True)
class ToDate:
    """The date of a timestamp."""

    value: Expression


@dataclass(frozen=True, slots=True)
class DaysBetween:
    """Whole days from date `start` to date `end`; negative when `end` is earlier."""

    start: Expression
    end: Expression


class LetterCase(Enum):
    """Which letters."""

    LOWER = "lower"
    UPPER = "upper"


@dataclass(frozen=True, slots=True)
class Fold:
    """A text with its letters in one case: all of them where categories are declared, else the ASCII ones, as on every engine."""

    case: LetterCase
    value: Expression


@dataclass(frozen=True, slots=True)
class Substring:
    """`length` characters of a text from position `start`, which counts from 1."""

    value: Expression
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class CharacterCount:
    """How many characters (Unicode code points) a text has."""

    value: Expression


Expression: TypeAlias = (
    Column
    | Literal
    | Arithmetic
    | Divide
    | Modulo
    | Compare
    | And
    | Or
    | Not
    | IsNull
    | In
    | Like
    | Case
    | Coalesce
    | Least
    | Greatest
    | Clamp
    | Absolute
    | Round
    | Bin
    | DatePart
    | Truncate
    | ToDate
    | DaysBetween
    | Fold
    | Substring
    | CharacterCount
)
"""Every expression there is; a new one fails type checking until analysis, both engines and the records know it."""


def between(value: Expression, lower: Expression, upper: Expression) -> Expression:
    """Whether `lower <= value <= upper`."""
    return And((Compare(Comparison.AT_LEAST, value, lower), Compare(Comparison.AT_MOST, value, upper)))


def null_if(value: Expression, other: Expression) -> Expression:
    """`value`, but missing where it equals `other`."""
    return Case(((Not(Coalesce((Compare(Comparison.EQUAL, value, other), Literal(False)))), value),))


def children(expression: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside this one, in order."""
    match expression:
        case Column() | Literal():
            return ()
        case Arithmetic(_, left, right) | Divide(left, right) | Compare(_, left, right) | DaysBetween(left, right):
            return (left, right)
        case And(parts) | Or(parts) | Coalesce(parts) | Least(parts) | Greatest(parts):
            return parts
        case Case(branches, otherwise):
            inner = tuple(side for branch in branches for side in branch)
            return inner if otherwise is None else (*inner, otherwise)
        case In(value, among):
            return (value, *among)
        case Round(_, value) | DatePart(_, value) | Fold(_, value):
            return (value,)
        case _:
            return (expression.value,)


def columns(expression: Expression) -> frozenset[str]:
    """The names of all columns the expression reads."""
    if isinstance(expression, Column):
        return frozenset((expression.name,))
    return frozenset().union(*(columns(child) for child in children(expression)))


def depth(expression: Expression) -> int:
    """How deeply the expression is nested."""
    return 1 + max((depth(child) for child in children(expression)), default=0)
