"""Who is protected, and how much one of them may add: the privacy unit.

There is no default bound. A unit is an identifier, an identifier within a period, or a single row that is added,
removed or changed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

from deniable.cost import Neighbours
from deniable.errors import InvalidArgument
from deniable.exact.guards import integer

MOST_JOINED = 4096
"""How many rows of one unit each side brings into a join of private tables, where the codebook does not say."""

_WORDS = re.compile(r"[^\W_](?:[^\W_]| (?! )|[-'’]){0,38}[^\W_]|[^\W_]")
"""A label: letters and digits, with single spaces, hyphens and apostrophes between them, at most forty in all."""


class Length(Enum):
    """How long a period, or a cut of a date, is."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


@dataclass(frozen=True, slots=True)
class UnitPeriod:
    """The stretch of time within which one identifier is one unit: `column` cut to `length`."""

    column: str
    length: Length


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Who a guarantee protects.

    `id` names the identifier (None: every row is a unit of its own). `period` narrows it to one identifier in one
    period. `groups` and `rows` say how many groups one unit may touch and how many rows it may add to one of them, `total`
    how many rows it may have in all; None means that every query must say it. `joined` is how many of its rows each side
    brings into a join of private tables, before the join pairs them.
    `neighbours` is ADD_REMOVE, or REPLACE for changed rows.
    `unique` says that an identifier has at most one row; the curator is trusted with this, and the guarantee names it.
    `called` is what one unit is called in sentences, and nothing else: two units that differ in it are the same.

    Guarantee: none by itself; the plan bounds every unit to these numbers after the last step that multiplies rows.
    """

    id: str | None = None
    period: UnitPeriod | None = None
    groups: int | None = None
    rows: int | None = None
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unique: bool = False
    total: int | None = None
    joined: int = MOST_JOINED
    called: str | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        integer(least=1, joined=self.joined)
        if self.called is not None and not (_WORDS.fullmatch(self.called) and self.id is not None):
            raise InvalidArgument(
                "a label is one or a few words for one unit with an id, such as patient or tail number"
            )
        for name in ("groups", "rows", "total"):
            if getattr(self, name) is not None:
                integer(least=1, **{name: getattr(self, name)})
        if self.neighbours is Neighbours.ZERO_OUT:
            raise InvalidArgument(
                "a table's unit is added, removed or changed, never blanked; use ADD_REMOVE or REPLACE"
            )
        if self.id is None and (self.period is not None or self.unique):
            raise InvalidArgument("a unit of rows has no period and needs no `unique`; name the id column")
        if self.id is not None and self.neighbours is Neighbours.REPLACE:
            raise InvalidArgument("only rows can be declared as changed; an identifier is added or removed")

    @property
    def is_row(self) -> bool:
        """Whether each row is protected on its own."""
        return self.id is None

    def __str__(self) -> str:
        if self.is_row:
            return "one changed row" if self.neighbours is Neighbours.REPLACE else "one row"
        return f"one {self.id}{self._within}"

    @property
    def label(self) -> str:
        """What one unit is called in sentences: the label it was given, else `patient` where the identifier is `patient_id`."""
        return self.own_label if self.called is None else self.called

    @property
    def own_label(self) -> str:
        """What it is called by its identifier alone."""
        return "row" if self.id is None else self.id.removesuffix("_id").replace("_", " ")

    @property
    def phrase(self) -> str:
        """One unit, in the words of a sentence."""
        return str(self) if self.is_row else f"one {self.label}{self._within}"

    @property
    def _within(self) -> str:
        return f" in one {self.period.length.value} of {self.period.column}" if self.period else ""


def unit(
    id: str,
    *,
    groups: int | None = None,
    rows: int | None = None,
    period: str | None = None,
    per: str = "month",
    unique: bool = False,
    joined: int = MOST_JOINED,
    label: str | None = None,
) -> Unit:
    """The protected unit: all rows with one value of column `id` (within one `per` of column `period` when given).

    `label` is what one unit is called in sentences ("without one patient"); it decides nothing.

    Guarantee: a query over this unit bounds each one to `groups` groups and `rows` rows in each; into a join of private tables
    each side brings at most `joined` of its rows.
    """
    if not (isinstance(id, str) and id):
        raise InvalidArgument(f"unit needs the name of the id column, got {id!r}; for single rows use row_unit()")
    span = UnitPeriod(period, _length(per)) if period is not None else None
    return Unit(id=id, groups=groups, rows=rows, period=span, unique=unique, joined=joined, called=label)


def row_unit(*, changed: bool = False) -> Unit:
    """The unit of data whose rows are independent people: one row added or removed, or one row `changed`."""
    return Unit(groups=1, rows=1, neighbours=Neighbours.REPLACE if changed else Neighbours.ADD_REMOVE)


def _length(text: str) -> Length:
    try:
        return Length(text)
    except ValueError:
        known = ", ".join(length.value for length in Length)
        raise InvalidArgument(f"a period is one of {known}, got {text!r}") from None
