"""A small total language for filters and derived columns: every expression has a value (perhaps missing) on every row.

The union is closed. Numbers are exact integers on a public grid; nothing here can fail on data: dividing by zero gives
a missing value, and what could overflow is refused from the declared bounds before any row is read.
Truth is three-valued, as in SQL. Here are constants, columns and operators; functions are in `plan/functions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from typing import TypeAlias, assert_never

from deniable.plan.functions.scalar import ScalarFunction
from deniable.plan.memo import remembered


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

    def __eq__(self, other: object) -> bool:
        """The same value of the same kind: in Python True equals 1, and what is remembered of one is not true of the other."""
        return type(other) is Literal and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    @property
    def number(self) -> Fraction:
        """The value of a constant that is known to be a number."""
        assert isinstance(self.value, Fraction), "ask for its kind first"
        return self.value


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


Expression: TypeAlias = (
    Column | Literal | Arithmetic | Divide | Compare | And | Or | Not | IsNull | In | Like | Case | ScalarFunction
)
"""Every expression there is; functions are the rows of `plan/functions`."""


def between(value: Expression, lower: Expression, upper: Expression) -> Expression:
    """Whether `lower <= value <= upper`."""
    return And((Compare(Comparison.AT_LEAST, value, lower), Compare(Comparison.AT_MOST, value, upper)))


def children(expression: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside this one, in order."""
    match expression:
        case Column() | Literal():
            return ()
        case Arithmetic(_, left, right) | Divide(left, right) | Compare(_, left, right):
            return (left, right)
        case And(parts) | Or(parts):
            return parts
        case Case(branches, otherwise):
            inner = tuple(side for branch in branches for side in branch)
            return inner if otherwise is None else (*inner, otherwise)
        case In(value, among):
            return (value, *among)
        case Not(value) | IsNull(value) | Like(value):
            return (value,)
        case ScalarFunction():
            return expression.arguments
        case _:
            assert_never(expression)


@remembered
def columns(expression: Expression) -> frozenset[str]:
    """The names of all columns the expression reads."""
    if isinstance(expression, Column):
        return frozenset((expression.name,))
    return frozenset().union(*(columns(child) for child in children(expression)))


def depth(expression: Expression) -> int:
    """How deeply the expression is nested."""
    return 1 + max((depth(child) for child in children(expression)), default=0)
