"""Cells as SQL reads them: the rules of `engines.cell_rules`, one expression per variable and kind of source column."""

from __future__ import annotations

from datetime import date, datetime
from enum import Enum
from math import ceil, floor

from sqlglot import exp

from deniable.engines.cell_rules import (
    FALSE_TEXTS,
    INTEGER_TEXT,
    NUMBER_TEXT,
    TIME_TEXT,
    TRUE_TEXTS,
    float_ends,
    imputed,
)
from deniable.engines.sql.expressions import constant
from deniable.plan.functions.calendar import ToDate
from deniable.plan.profile import Profile
from deniable.plan.sql_trees import (
    BIGGEST,
    SMALLEST,
    Tree,
    add,
    bigint,
    binary,
    both,
    call,
    case,
    cast,
    clamped,
    missing,
    multiply,
    null,
    number,
    scaled,
    subtract,
    text,
    within,
)
from deniable.plan.variable import (
    FIRST_DATE,
    FIRST_TIMESTAMP,
    GRID_LIMIT,
    LAST_DATE,
    LAST_TIMESTAMP,
    Outside,
    Type,
    Variable,
)

_TYPES = {
    Type.INTEGER: "BIGINT",
    Type.NUMBER: "BIGINT",
    Type.DECIMAL: "BIGINT",
    Type.BOOLEAN: "BOOLEAN",
    Type.STRING: "TEXT",
    Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMP",
}
_SHORT_INTEGER = "^-?[0-9]{1,18}$"
_LARGEST_REAL = 1.7976931348623157e308


class Physical(Enum):
    """What kind of column a source holds; from the source's schema, never from its cells."""

    TEXT = "text"
    INTEGER = "integer"
    WIDE = "wide integer"
    REAL = "real"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    OTHER = "other"


def read(cell: Tree, variable: Variable, physical: Physical, profile: Profile) -> Tree:
    """The cell as the variable declares it; never an error, whatever the column holds."""
    value = _typed(cell, variable, physical, profile)
    if value is None:
        value = null(_TYPES[variable.type])
    filled = _filled(variable)
    if filled is None:
        return value
    if variable.type in (Type.NUMBER, Type.DECIMAL) and isinstance(value, exp.Case):
        value.set("default", filled)  # on the grid nothing is missing but what the only condition leaves out
        return value
    return exp.Coalesce(this=value, expressions=[filled])


def stored(cell: Tree, type: Type, profile: Profile) -> Tree:
    """A cell of text as a column of this type keeps it, nothing clamped yet: what `engines.cell_rules.raw` does in Python."""
    match type:
        case Type.INTEGER:
            short = profile.matches(cell, _SHORT_INTEGER)
            return case([(short, bigint(cell.copy()))], _present(_integer(cell, Physical.TEXT, profile)))
        case Type.NUMBER | Type.DECIMAL:
            return _present(_real(cell, Physical.TEXT, profile))
        case Type.BOOLEAN:
            return _present(_boolean(cell, Physical.TEXT))
        case Type.STRING:
            return cell
        case Type.DATE:
            return _text_date(cell, profile)
        case Type.TIMESTAMP:
            return _text_timestamp(cell, profile)


def _present(tree: Tree | None) -> Tree:
    assert tree is not None
    return tree


def _filled(variable: Variable) -> Tree | None:
    """What stands for a missing cell, as engines hold it."""
    filled = imputed(variable)
    if filled is None:
        return None
    if variable.type.numeric:
        return number(int(filled / variable.facts().step))  # type: ignore[operator]
    return constant(filled)


def _typed(cell: Tree, variable: Variable, physical: Physical, profile: Profile) -> Tree | None:
    match variable.type:
        case Type.INTEGER:
            whole = _integer(cell, physical, profile)
            return None if whole is None else _whole_within(whole, variable, profile)
        case Type.NUMBER | Type.DECIMAL:
            real = _real(cell, physical, profile)
            return None if real is None else _on_grid(real, variable, physical, profile)
        case Type.BOOLEAN:
            return _boolean(cell, physical)
        case Type.STRING:
            words = _text(cell, physical)
            return None if words is None else _category(words, variable, profile)
        case Type.DATE:
            return _date(cell, variable, physical, profile)
        case Type.TIMESTAMP:
            return _timestamp(cell, variable, physical, profile)


def _trimmed(cell: Tree) -> Tree:
    return exp.Trim(this=cell.copy())


def _integer(cell: Tree, physical: Physical, profile: Profile) -> Tree | None:
    match physical:
        case Physical.INTEGER:
            return bigint(cell)
        case Physical.WIDE:
            return case([(within(cell, number(SMALLEST), number(BIGGEST)), bigint(cell.copy()))])
        case Physical.REAL:
            # 2**63 is the first double that does not fit; below it lies the last that does.
            fits = both(
                binary(exp.GTE, cell, profile.real(float(SMALLEST))),
                binary(exp.LT, cell.copy(), profile.real(float(-SMALLEST))),
                binary(exp.EQ, exp.Floor(this=cell.copy()), cell.copy()),
            )
            return case([(fits, bigint(cell.copy()))])
        case Physical.DECIMAL:
            fits = both(
                within(cell, number(SMALLEST), number(BIGGEST)),
                binary(exp.EQ, exp.Floor(this=cell.copy()), cell.copy()),
            )
            return case([(fits, bigint(cell.copy()))])
        case Physical.BOOLEAN:
            return bigint(cell)
        case Physical.TEXT:
            digits = call("SPLIT_PART", _trimmed(cell), text("."), number(1))
            wide = case([(profile.matches(cell, INTEGER_TEXT), cast(digits, profile.wide))])
            return case([(within(wide, number(SMALLEST), number(BIGGEST)), bigint(wide.copy()))])
        case _:
            return None


def _whole_within(whole: Tree, variable: Variable, profile: Profile) -> Tree:
    known = variable.facts()
    if not known.bounded:
        return whole
    low, high = known.ends
    step = known.step.numerator
    if variable.outside is Outside.MISSING:
        lower, upper = variable.bounds
        first, last = ceil(lower), floor(upper)
        whole = case([(within(whole, number(first), number(last)), whole.copy())])
    if step == 1:
        return clamped(whole, low, high)
    near = clamped(whole, (low - 1) * step, (high + 1) * step)
    shift = low - 2
    steps = subtract(add(scaled(near, 2), number(step)), number(2 * step * shift))
    return clamped(add(profile.quotient(steps, number(2 * step)), number(shift)), low, high)


def _real(cell: Tree, physical: Physical, profile: Profile) -> Tree | None:
    match physical:
        case Physical.INTEGER | Physical.WIDE | Physical.DECIMAL | Physical.REAL:
            return cast(cell, "DOUBLE")
        case Physical.BOOLEAN:
            return cast(bigint(cell), "DOUBLE")
        case Physical.TEXT:
            return case([(profile.matches(cell, NUMBER_TEXT), cast(_trimmed(cell), "DOUBLE"))])
        case _:
            return None


def _on_grid(real: Tree, variable: Variable, physical: Physical, profile: Profile) -> Tree:
    """Finite, clamped as a double, put on the grid by one rounding, and clamped again as an integer."""
    known = variable.facts()
    low, high = known.ends if known.bounded else (1 - GRID_LIMIT, GRID_LIMIT - 1)
    bottom, top = (profile.real(end) for end in float_ends(variable))
    if variable.outside is Outside.MISSING and known.bounded:
        finite = within(real, bottom, top)
    elif physical is Physical.INTEGER:
        finite = exp.Not(this=missing(real))
    else:
        finite = within(real, profile.real(-_LARGEST_REAL), profile.real(_LARGEST_REAL))
    raised = exp.Greatest(this=real.copy(), expressions=[bottom.copy()], ignore_nulls=True)
    value: Tree = exp.Least(this=raised, expressions=[top.copy()], ignore_nulls=True)
    if known.step.denominator != 1:
        value = multiply(value, profile.real(float(known.step.denominator)))
    if known.step.numerator != 1:
        value = binary(exp.Div, value, profile.real(float(known.step.numerator)))
    steps = bigint(exp.Floor(this=add(value, profile.real(0.5))))
    return case([(finite, profile.limited(steps, low, high))])


def _boolean(cell: Tree, physical: Physical) -> Tree | None:
    match physical:
        case Physical.BOOLEAN:
            return cell
        case Physical.INTEGER | Physical.WIDE | Physical.REAL | Physical.DECIMAL:
            one, zero = (binary(exp.EQ, cell.copy(), number(value)) for value in (1, 0))
        case Physical.TEXT:
            one, zero = (
                exp.In(this=_trimmed(cell), expressions=[text(word) for word in known])
                for known in (TRUE_TEXTS, FALSE_TEXTS)
            )
        case _:
            return None
    return case([(one, exp.true()), (zero, exp.false())])


def _text(cell: Tree, physical: Physical) -> Tree | None:
    match physical:
        case Physical.TEXT:
            return cell
        case Physical.INTEGER | Physical.WIDE:
            return cast(cell, "TEXT")
        case Physical.REAL | Physical.DECIMAL:
            whole = both(
                binary(exp.GT, cell, number(-(2**53))),
                binary(exp.LT, cell.copy(), number(2**53)),
                binary(exp.EQ, exp.Floor(this=cell.copy()), cell.copy()),
            )
            return case([(whole, cast(bigint(cell.copy()), "TEXT"))])
        case Physical.BOOLEAN:
            return case([(cell, text("true")), (exp.Not(this=cell.copy()), text("false"))])
        case Physical.DATE:
            readable = within(cell, constant(FIRST_DATE), constant(LAST_DATE))
            return case([(readable, cast(cell.copy(), "TEXT"))])
        case _:
            return None


def _category(words: Tree, variable: Variable, profile: Profile) -> Tree:
    if variable.categories is None:
        return words
    known = profile.one_of(words, variable.categories)
    if variable.other is None:
        return case([(known, words.copy())])
    return case([(known, words.copy()), (exp.Not(this=missing(words.copy())), text(variable.other))])


def _date(cell: Tree, variable: Variable, physical: Physical, profile: Profile) -> Tree | None:
    match physical:
        case Physical.DATE:
            value: Tree = case([(within(cell, constant(FIRST_DATE), constant(LAST_DATE)), cell.copy())])
        case Physical.TIMESTAMP:
            readable = within(cell, constant(FIRST_TIMESTAMP), constant(LAST_TIMESTAMP))
            value = case([(readable, cast(cell.copy(), "DATE"))])
        case Physical.TEXT:
            value = _text_date(cell, profile)
        case _:
            return None
    return _time_within(value, variable)


def _timestamp(cell: Tree, variable: Variable, physical: Physical, profile: Profile) -> Tree | None:
    match physical:
        case Physical.DATE:
            readable = within(cell, constant(FIRST_DATE), constant(LAST_DATE))
            value: Tree = case([(readable, cast(cell.copy(), "TIMESTAMP"))])
        case Physical.TIMESTAMP:
            value = case([(within(cell, constant(FIRST_TIMESTAMP), constant(LAST_TIMESTAMP)), cell.copy())])
        case Physical.TEXT:
            value = _text_timestamp(cell, profile)
        case _:
            return None
    return _time_within(value, variable)


def _text_date(cell: Tree, profile: Profile) -> Tree:
    day = call("SUBSTR", _trimmed(cell), number(1), number(10))
    return case([(profile.matches(cell, TIME_TEXT), cast(day, "DATE"))])


def _text_timestamp(cell: Tree, profile: Profile) -> Tree:
    plain = call("REPLACE", call("REPLACE", _trimmed(cell), text("T"), text(" ")), text("Z"), text(""))
    return case([(profile.matches(cell, TIME_TEXT), cast(plain, "TIMESTAMP"))])


def _time_within(value: Tree, variable: Variable) -> Tree:
    lower, upper = variable.lower, variable.upper
    if lower is None or upper is None:
        return value
    assert isinstance(lower, date | datetime)
    if variable.outside is Outside.MISSING:
        return case([(within(value, constant(lower), constant(upper)), value.copy())])
    below, above = binary(exp.LT, value, constant(lower)), binary(exp.GT, value.copy(), constant(upper))
    return case([(below, constant(lower)), (above, constant(upper))], value.copy())


def cell_feature(declared: Type, physical: Physical) -> str | None:
    """The feature that reading a column is: texts declared to be something else, and timestamps declared to be dates."""
    if physical is Physical.TIMESTAMP and declared is Type.DATE:
        return ToDate.feature
    if physical is not Physical.TEXT or declared is Type.STRING:
        return None
    kind = Type.NUMBER if declared is Type.DECIMAL else declared
    return f"texts read as {kind.value}"
