"""Features: what a plan may use or not, so that an engine may do without. All that is not named here every plan rests on.

SQL that rests on a feature an engine lacks is never written: `Profile.allow` refuses it where it would be.
"""

from __future__ import annotations

from deniable.engines.sql.physical import Physical
from deniable.plan.expression import (
    Absolute,
    Bin,
    CharacterCount,
    DatePart,
    DaysBetween,
    Divide,
    Expression,
    Fold,
    Like,
    Literal,
    Modulo,
    Round,
    Substring,
    ToDate,
    Truncate,
)
from deniable.plan.variable import Type


def function_feature(expression: Expression) -> str | None:
    """The feature an expression is itself, whatever is inside it."""
    match expression:
        case DatePart(part):
            return f"the {part.value} of a date"
        case Truncate(_, length):
            return f"a date cut to its {length.value}"
        case Round(rounding):
            return f"rounding to {rounding.value}"
        case Divide(_, right) if isinstance(right, Literal):
            return None  # a change of grid: nothing is divided
        case _:
            return _NAMES.get(type(expression))


_NAMES: dict[type[Expression], str] = {
    Absolute: "absolute values",
    Bin: "bins",
    CharacterCount: "the length of a text",
    DaysBetween: "days between dates",
    Divide: "division by a column",
    Fold: "upper and lower case",
    Like: "LIKE",
    Modulo: "remainders",
    Substring: "substrings",
    ToDate: "the date of a timestamp",
}


def cell_feature(declared: Type, physical: Physical) -> str | None:
    """The feature that reading a column is: texts declared to be something else, and timestamps declared to be dates."""
    if physical is Physical.TIMESTAMP and declared is Type.DATE:
        return _NAMES[ToDate]
    if physical is not Physical.TEXT or declared is Type.STRING:
        return None
    kind = Type.NUMBER if declared is Type.DECIMAL else declared
    return f"texts read as {kind.value}"
