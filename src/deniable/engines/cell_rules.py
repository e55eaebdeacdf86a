"""How one raw cell is read as its variable declares: total, and the same in Python and in SQL.

A cell that does not fit its declaration is missing; a number outside its bounds is clamped or missing, as declared.
The texts below are the whole grammar of cells that come as text (CSV, mixed columns); SQL uses the same patterns.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import floor, isfinite
from typing import TypeAlias

from deniable.plan.variable import GRID_LIMIT, Impute, Outside, Type, Variable

Cell: TypeAlias = Fraction | bool | str | date | datetime | None
"""A cell once read: an exact number, a truth value, text, a date, a timestamp, or missing."""

INTEGER_TEXT = r"^ *[+-]?[0-9]{1,30}(\.0*)? *$"
NUMBER_TEXT = r"^ *[+-]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][+-]?[0-9]{1,2})? *$"
_YEAR = "([0-9]{3}[1-9]|[0-9]{2}[1-9][0-9]|[0-9][1-9][0-9]{2}|[1-9][0-9]{3})"
_LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)"
_DATE = (
    f"({_YEAR}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    f"|02-(0[1-9]|1[0-9]|2[0-8]))|{_LEAP}-02-29)"
)
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?"
TIME_TEXT = f"^ *{_DATE}([ T]{_CLOCK}Z?)? *$"
TRUE_TEXTS = ("true", "True", "TRUE", "t", "T", "yes", "Yes", "YES", "y", "Y", "1")
FALSE_TEXTS = ("false", "False", "FALSE", "f", "F", "no", "No", "NO", "n", "N", "0")

_INTEGER, _NUMBER, _TIME = (
    re.compile(pattern.replace("$", r"\Z")) for pattern in (INTEGER_TEXT, NUMBER_TEXT, TIME_TEXT)
)


def read(cell: object, variable: Variable) -> Cell:
    """The cell as the variable declares it; never raises, whatever the cell is."""
    value = _typed(_plain(cell), variable)
    return imputed(variable) if value is None else value


def imputed(variable: Variable) -> Cell:
    """What a missing cell of the variable reads as."""
    if not isinstance(variable.missing, Impute):
        return None
    value = variable.canonical(variable.missing.value)
    if variable.type.numeric and isinstance(value, int):
        return value * variable.facts().step
    assert isinstance(value, bool | str | date | datetime)
    return value


def raw(cell: object, type: Type) -> int | float | str | datetime | None:
    """A cell of a mixed Python column as one storable value, nothing clamped yet: what a typed column would hold."""
    plain = _plain(cell)
    if plain is None:
        return None
    match type:
        case Type.INTEGER:
            return _integer(plain)
        case Type.NUMBER | Type.DECIMAL:
            return _double(plain)
        case Type.BOOLEAN:
            truth = _boolean(plain)
            return None if truth is None else int(truth)
        case Type.STRING:
            return _text(plain)
        case Type.DATE | Type.TIMESTAMP:
            moment = _moment(plain)
            if moment is None or isinstance(moment, datetime):
                return moment
            return datetime(moment.year, moment.month, moment.day)


def _plain(cell: object) -> bool | int | float | Decimal | str | date | datetime | None:
    """The Python value behind a cell of any library; what we do not know is missing."""
    if cell is None or isinstance(cell, bool | int | float):
        return cell
    if isinstance(cell, Decimal):
        return cell if cell.is_finite() else None
    if isinstance(cell, date):
        return _plain_time(cell)
    if isinstance(cell, str):
        return cell if _encodable(cell) else None
    if type(cell).__module__ == "numpy" and hasattr(cell, "item"):
        if type(cell).__name__ == "datetime64":
            cell = cell.astype("datetime64[us]")  # type: ignore[attr-defined]
        inner = cell.item()
        return _plain(inner) if isinstance(inner, bool | int | float | str | date | None) else None
    return None


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _plain_time(value: date) -> date | datetime | None:
    if not isinstance(value, datetime):
        return value
    try:
        if value != value:
            return None
        if value.tzinfo is not None:
            value = value.astimezone(UTC)
        return datetime(value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
    except (ValueError, OverflowError, TypeError):
        return None


def _typed(cell: bool | int | float | Decimal | str | date | datetime | None, variable: Variable) -> Cell:
    if cell is None:
        return None
    match variable.type:
        case Type.INTEGER:
            return _within(_integer(cell), variable)
        case Type.NUMBER | Type.DECIMAL:
            return _number(cell, variable)
        case Type.BOOLEAN:
            return _boolean(cell)
        case Type.STRING:
            return _category(_text(cell), variable)
        case Type.DATE:
            moment = _moment(cell)
            return _time_within(moment.date() if isinstance(moment, datetime) else moment, variable)
        case Type.TIMESTAMP:
            moment = _moment(cell)
            if moment is not None and not isinstance(moment, datetime):
                moment = datetime(moment.year, moment.month, moment.day)
            return _time_within(moment, variable)


def _integer(cell: object) -> int | None:
    """A whole number that fits 64 bits."""
    count: int | None = None
    if isinstance(cell, int):
        count = int(cell)
    elif isinstance(cell, float | Decimal):
        count = int(cell) if isfinite(cell) and cell == floor(cell) else None
    elif isinstance(cell, str) and _INTEGER.match(cell):
        count = int(cell.strip(" ").partition(".")[0])
    return count if count is not None and -(2**63) <= count < 2**63 else None


def _within(count: int | None, variable: Variable) -> Fraction | None:
    known = variable.facts()
    if count is None or not known.bounded:
        return None if count is None else Fraction(count)
    step = known.step.numerator
    low, high = known.ends
    if variable.outside is Outside.MISSING and not variable.bounds[0] <= count <= variable.bounds[1]:
        return None
    # Far outside, the clamp comes first, so that doubling cannot overflow in 64 bits.
    count = min(max(count, (low - 1) * step), (high + 1) * step)
    return Fraction(min(max((2 * count + step) // (2 * step), low), high) * step)


def _number(cell: object, variable: Variable) -> Fraction | None:
    """A finite number, clamped as a double, put on the grid by one rounding, and clamped again as an integer."""
    value = _double(cell)
    if value is None or not isfinite(value):
        return None
    known = variable.facts()
    low, high = known.ends if known.bounded else (1 - GRID_LIMIT, GRID_LIMIT - 1)
    bottom, top = (float(end) for end in float_ends(variable))
    if variable.outside is Outside.MISSING and known.bounded and not bottom <= value <= top:
        return None
    scaled = min(max(value, bottom), top) * float(known.step.denominator) / float(known.step.numerator)
    return min(max(floor(scaled + 0.5), low), high) * known.step


def float_ends(variable: Variable) -> tuple[float, float]:
    """The bounds a number is clamped to before it is put on its grid, as doubles."""
    if variable.lower is None or variable.upper is None:
        step = variable.facts().step
        return float((1 - GRID_LIMIT) * step), float((GRID_LIMIT - 1) * step)
    lower, upper = variable.bounds
    return float(lower), float(upper)


def _double(cell: object) -> float | None:
    if isinstance(cell, str):
        return float(cell) if _NUMBER.match(cell) else None
    if isinstance(cell, int | float | Decimal):
        try:
            return float(cell)
        except OverflowError:
            return None
    return None


def _boolean(cell: object) -> bool | None:
    if isinstance(cell, str):
        word = cell.strip(" ")
        return True if word in TRUE_TEXTS else False if word in FALSE_TEXTS else None
    if isinstance(cell, bool | int | float | Decimal):
        return True if cell == 1 else False if cell == 0 else None
    return None


def _text(cell: object) -> str | None:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, int):
        return str(cell) if abs(cell) < 10**38 else None
    if isinstance(cell, float | Decimal):
        whole = isfinite(cell) and cell == floor(cell) and -(2**53) < cell < 2**53
        return str(int(cell)) if whole else None
    if isinstance(cell, date) and not isinstance(cell, datetime):
        return cell.isoformat()
    return None


def _category(text: str | None, variable: Variable) -> str | None:
    if text is None or variable.categories is None or text in variable.categories:
        return text
    return variable.other


def _moment(cell: object) -> date | datetime | None:
    if isinstance(cell, date):
        return cell
    if not (isinstance(cell, str) and _TIME.match(cell)):
        return None
    text = cell.strip(" ").removesuffix("Z")
    return date.fromisoformat(text) if len(text) == 10 else _timestamp(text)


def _timestamp(text: str) -> datetime:
    """`2024-01-31 23:59[:59[.123456]]`, its pattern already checked."""
    day, clock = date.fromisoformat(text[:10]), text[11:]
    seconds = Fraction(clock[6:] or 0)
    whole = int(clock[:2]) * 3600 + int(clock[3:5]) * 60
    return datetime(day.year, day.month, day.day) + timedelta(seconds=whole, microseconds=int(seconds * 10**6))


def _time_within(moment: date | datetime | None, variable: Variable) -> date | datetime | None:
    if moment is None or variable.lower is None:
        return moment
    lower, upper = variable.bounds
    nearest: date | datetime = min(max(moment, lower), upper)
    return nearest if nearest == moment or variable.outside is Outside.CLAMP else None
