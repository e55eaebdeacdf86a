"""A variable of the codebook: the only place where its type, bounds, values and missing-value rule come from.

Nothing here is ever learned from cells. What a cell says that the declaration does not allow is made true on reading:
a number outside its bounds is clamped (or taken as missing), an unknown category becomes `other` or missing, and a cell
that cannot be read as its type is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

from deniable.errors import InvalidArgument
from deniable.exact.guards import positive, rational
from deniable.plan.facts import Facts, Kind, days, microseconds

Value: TypeAlias = bool | int | float | Decimal | Fraction | str | date | datetime
"""What a person may write for a cell: in categories, bounds, bins and imputed values."""

GRID_LIMIT = 2**51
"""Bounds in grid steps stay below this, so `floor(x * m + 0.5)` is one exact rounding in every engine."""

FIRST_DATE, LAST_DATE = date(1, 1, 1), date(9999, 12, 31)
FIRST_TIMESTAMP, LAST_TIMESTAMP = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)


class Type(Enum):
    """The types a codebook may declare."""

    INTEGER = "integer"
    NUMBER = "number"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    STRING = "string"
    DATE = "date"
    TIMESTAMP = "timestamp"

    @property
    def numeric(self) -> bool:
        """Whether values of this type are numbers on a grid."""
        return self in (Type.INTEGER, Type.NUMBER, Type.DECIMAL)


class Outside(Enum):
    """What happens to a number or date outside its declared bounds."""

    CLAMP = "clamp"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Drop:
    """A missing cell stays missing: aggregates of the variable skip it, and as a group key its row is left out."""


@dataclass(frozen=True, slots=True)
class Impute:
    """A missing cell reads as `value`, one of the variable's own values; text may make it a category of its own."""

    value: Value


Missing: TypeAlias = Drop | Impute


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One column and everything publicly known about it.

    `lower`/`upper` bound numbers, dates and timestamps; `step` is the grid numbers are rounded to (integers: 1 unless
    declared; numbers: chosen from the bounds unless declared; decimals: a power of ten, required); `categories` are the
    values text may take, `other` the category for all others; `bins` are edges for grouping a number. `of_unit` says that all
    rows of a unit have the same value: grouping by it then puts a unit into one group, also one that breaks the word.
    `provenance` says where the bounds come from, for the reader of a release.
    """

    name: str
    type: Type
    lower: Value | None = None
    upper: Value | None = None
    step: Fraction | None = None
    categories: tuple[str, ...] | None = None
    other: str | None = None
    bins: tuple[Fraction, ...] | None = None
    missing: Missing = Drop()
    outside: Outside = Outside.CLAMP
    of_unit: bool = False
    provenance: str = ""
    description: str = ""

    def __post_init__(self) -> None:
        _name(self.name)
        _checked_fields(self)
        if self.type.numeric:
            _checked_number(self)
        elif self.type in (Type.DATE, Type.TIMESTAMP):
            _checked_time(self)
        elif self.type is Type.STRING:
            _checked_text(self)
        if isinstance(self.missing, Impute):
            _checked_imputed(self, self.missing.value)

    def facts(self) -> Facts:
        """What holds for every cell of this variable once it has been read.

        Guarantee: reading (`engines`) makes these true for every data set, so sensitivities may rest on them.
        """
        nullable = not isinstance(self.missing, Impute)
        match self.type:
            case Type.INTEGER | Type.NUMBER | Type.DECIMAL:
                lower, upper = _grid_ends(self)
                return Facts(Kind.NUMBER, nullable, _step(self), lower, upper)
            case Type.BOOLEAN:
                return Facts(Kind.BOOLEAN, nullable)
            case Type.STRING:
                return Facts(Kind.STRING, nullable, categories=self.values)
            case Type.DATE:
                low, high = (FIRST_DATE, LAST_DATE) if self.lower is None else self.bounds
                return Facts(Kind.DATE, nullable, lower=days(low), upper=days(high))
            case Type.TIMESTAMP:
                first, last = (FIRST_TIMESTAMP, LAST_TIMESTAMP) if self.lower is None else self.bounds
                return Facts(Kind.TIMESTAMP, nullable, lower=microseconds(first), upper=microseconds(last))

    @property
    def bounds(self) -> tuple[Any, Any]:
        """Both bounds: numbers, dates or moments, as the type says; only of a variable that has them."""
        assert self.lower is not None, "ask for its bounds first"
        return self.lower, self.upper

    @property
    def values(self) -> tuple[str, ...] | None:
        """Every value text may take, `other` and the imputed category included; None when any text may occur."""
        if self.categories is None:
            return None
        extra = [self.other] if self.other is not None else []
        extra += [self.missing.value] if isinstance(self.missing, Impute) else []  # type: ignore[list-item]
        return tuple(dict.fromkeys((*self.categories, *extra)))

    def canonical(self, value: Value) -> int | bool | str | date | datetime:
        """A written value as engines hold it: a number becomes its integer on the grid; refuses one of another type."""
        kind = self.facts_kind
        if kind is Kind.NUMBER:
            count = rational(**{self.name: value}) / _step(self)
            if count.denominator != 1:
                raise InvalidArgument(f"{self.name}: {value!r} is not a multiple of its step {_step(self)}")
            return count.numerator
        wanted: dict[Kind, type] = {Kind.BOOLEAN: bool, Kind.STRING: str, Kind.DATE: date, Kind.TIMESTAMP: datetime}
        if not isinstance(value, wanted[kind]) or (kind is Kind.DATE and isinstance(value, datetime)):
            raise InvalidArgument(f"{self.name}: {value!r} is not a {self.type.value}")
        return value  # type: ignore[return-value]

    @property
    def facts_kind(self) -> Kind:
        """The kind of value this variable holds once read."""
        return Kind.NUMBER if self.type.numeric else Kind(self.type.value)


def _name(name: str) -> None:
    if not (isinstance(name, str) and name and "\0" not in name and not name.startswith("__deniable")):
        raise InvalidArgument(f"a variable needs a name that is not empty, got {name!r}")


def _checked_fields(variable: Variable) -> None:
    allowed = {
        "lower": variable.type.numeric or variable.type in (Type.DATE, Type.TIMESTAMP),
        "upper": variable.type.numeric or variable.type in (Type.DATE, Type.TIMESTAMP),
        "step": variable.type.numeric,
        "bins": variable.type.numeric,
        "categories": variable.type is Type.STRING,
        "other": variable.type is Type.STRING and variable.categories is not None,
    }
    for field, fits in allowed.items():
        if getattr(variable, field) is not None and not fits:
            raise InvalidArgument(f"{variable.name}: {field} does not apply to this {variable.type.value} variable")
    if (variable.lower is None) != (variable.upper is None):
        raise InvalidArgument(f"{variable.name}: give both bounds or none")


def _checked_number(variable: Variable) -> None:
    name = variable.name
    if variable.step is not None:
        object.__setattr__(variable, "step", positive(**{f"{name}.step": variable.step}))
    if variable.type is Type.INTEGER and variable.step is not None and variable.step.denominator != 1:
        raise InvalidArgument(f"{name}: the step of an integer must be a whole number, got {variable.step}")
    if variable.type is Type.INTEGER and variable.step not in (None, 1) and variable.lower is None:
        raise InvalidArgument(f"{name}: an integer with a step needs bounds")
    if variable.type is Type.DECIMAL and (variable.step is None or not _power_of_ten(variable.step)):
        raise InvalidArgument(f"{name}: a decimal needs a step that is a power of ten, such as 0.01")
    if variable.lower is not None and variable.upper is not None:
        lower, upper = (rational(**{f"{name}.bounds": end}) for end in (variable.lower, variable.upper))
        if not lower <= upper:
            raise InvalidArgument(f"{name}: bounds must not be reversed, got [{variable.lower}, {variable.upper}]")
        object.__setattr__(variable, "lower", lower)
        object.__setattr__(variable, "upper", upper)
        low, high = _grid_ends(variable)
        if low is None or high is None or not low <= high:
            raise InvalidArgument(f"{name}: no multiple of step {_step(variable)} lies within its bounds")
    elif variable.type is Type.NUMBER and variable.step is None:
        raise InvalidArgument(f"{name}: a number needs bounds, or at least a step, such as step: 0.01")
    if variable.bins is not None:
        _checked_bins(variable)


def _checked_bins(variable: Variable) -> None:
    assert variable.bins is not None
    edges = tuple(rational(**{f"{variable.name}.bins": edge}) for edge in variable.bins)
    if len(edges) < 2 or any(not a < b for a, b in pairwise(edges)):
        raise InvalidArgument(f"{variable.name}: bins must be at least two rising edges, got {list(variable.bins)}")
    object.__setattr__(variable, "bins", edges)


def _checked_time(variable: Variable) -> None:
    wanted = date if variable.type is Type.DATE else datetime
    for end in (variable.lower, variable.upper):
        if end is not None and (not isinstance(end, wanted) or (wanted is date and isinstance(end, datetime))):
            raise InvalidArgument(f"{variable.name}: bounds must be {variable.type.value}s, got {end!r}")
        if isinstance(end, datetime) and end.tzinfo is not None:
            raise InvalidArgument(f"{variable.name}: bounds carry no time zone, got {end!r}")
    if variable.lower is not None and not variable.bounds[0] <= variable.bounds[1]:
        raise InvalidArgument(f"{variable.name}: bounds must not be reversed, got [{variable.lower}, {variable.upper}]")


def _checked_text(variable: Variable) -> None:
    if variable.categories is None:
        return
    named = [*variable.categories, *([variable.other] if variable.other is not None else [])]
    if not variable.categories or any(not isinstance(value, str) for value in named):
        raise InvalidArgument(f"{variable.name}: categories must be a list of texts, got {list(named)!r}")
    if len(set(variable.categories)) != len(variable.categories):
        raise InvalidArgument(f"{variable.name}: categories must differ from one another")


def _checked_imputed(variable: Variable, value: Value) -> None:
    variable.canonical(value)
    if variable.lower is not None and not variable.bounds[0] <= value <= variable.bounds[1]:
        raise InvalidArgument(f"{variable.name}: the value for missing cells must lie within its bounds, got {value}")


def _power_of_ten(step: Fraction) -> bool:
    digits = str(max(step.numerator, step.denominator))
    return 1 in (step.numerator, step.denominator) and digits.rstrip("0") in ("1", "")


def _step(variable: Variable) -> Fraction:
    if variable.step is not None:
        return variable.step
    if variable.type is Type.INTEGER or variable.lower is None:
        return Fraction(1)
    return default_step(*variable.bounds)


def default_step(lower: Fraction, upper: Fraction) -> Fraction:
    """The grid of a number whose codebook names none: a power of two, about four million steps to the larger bound.

    Fine enough never to be seen beside the noise, coarse enough that a sum over 2**40 rows fits in 64 bits.
    """
    largest = max(abs(lower), abs(upper))
    exponent = 0
    while largest and largest * Fraction(2) ** exponent > 2**22:
        exponent -= 1
    while largest and largest * Fraction(2) ** (exponent + 1) <= 2**22 and exponent < 40:
        exponent += 1
    return Fraction(2) ** -exponent


def _grid_ends(variable: Variable) -> tuple[int | None, int | None]:
    if variable.lower is None or variable.upper is None:
        return None, None
    step, (lower, upper) = _step(variable), variable.bounds
    low, high = -(-lower // step), upper // step
    if not (abs(low) < GRID_LIMIT and abs(high) < GRID_LIMIT):
        raise InvalidArgument(f"{variable.name}: its bounds are more than 2**51 steps of {step}; use a coarser step")
    return int(low), int(high)
