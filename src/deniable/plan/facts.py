"""What is publicly known about a column before any row is read: kind, grid, interval, nullability.

A number is always an exact integer times a public step, so every engine computes with integers and gets the same ones.
A date is days, a timestamp microseconds, since 1970-01-01; text may have a known, finite list of values.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from enum import Enum
from fractions import Fraction
from math import gcd, lcm

from deniable.errors import InvalidArgument, QueryRefused

LARGEST = 2**62
"""No integer an engine computes may reach this: half of what a 64-bit column holds, so one addition never overflows."""

_EPOCH = date(1970, 1, 1)


class Kind(Enum):
    """The five kinds of value a column can have once it is read."""

    NUMBER = "number"
    BOOLEAN = "boolean"
    STRING = "string"
    DATE = "date"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True, slots=True)
class Facts:
    """Public facts about one column or expression; they hold for every data set, so noise may be scaled by them.

    `lower` and `upper` are integers on the grid: multiples of `step` for numbers, days for dates, microseconds for
    timestamps. `None` means nothing is declared on that side: such a column can be compared, not added up.
    """

    kind: Kind
    nullable: bool = True
    step: Fraction = Fraction(1)
    lower: int | None = None
    upper: int | None = None
    categories: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not self.step > 0:
            raise InvalidArgument(f"step must be positive, got {self.step}")
        if self.lower is not None and self.upper is not None and not self.lower <= self.upper:
            raise InvalidArgument(f"lower must not be above upper, got {self.lower} > {self.upper}")

    @property
    def bounded(self) -> bool:
        """Whether both ends of the interval are declared or derived."""
        return self.lower is not None and self.upper is not None

    @property
    def ends(self) -> tuple[int, int]:
        """The interval on the grid; only of a bounded column."""
        if self.lower is None or self.upper is None:
            raise AssertionError("ask `bounded` first")
        return self.lower, self.upper

    @property
    def interval(self) -> tuple[Fraction, Fraction] | None:
        """The interval as numbers, or None when an end is open."""
        if self.lower is None or self.upper is None:
            return None
        return self.lower * self.step, self.upper * self.step

    def on(self, step: Fraction) -> Facts:
        """The same column counted in a finer `step` that divides this one."""
        if step == self.step:
            return fitting(self)
        factor = self.step / step
        assert factor.denominator == 1, "a grid can only be refined"
        if not self.bounded:
            raise QueryRefused(
                "unbounded",
                "a number without declared bounds meets one on another grid",
                rewrite="declare bounds in the codebook or write clamp(x, lower, upper)",
            )
        scaled = [None if end is None else end * factor.numerator for end in (self.lower, self.upper)]
        return fitting(replace(self, step=step, lower=scaled[0], upper=scaled[1]))

    def with_null(self, nullable: bool) -> Facts:
        """The same column, with or without missing values."""
        return self if nullable == self.nullable else replace(self, nullable=nullable)

    def __str__(self) -> str:
        within = ""
        if self.kind is Kind.NUMBER:
            low, high = (_shown(end, self.step) for end in (self.lower, self.upper))
            within = f" in [{low}, {high}], step {self.step}"
        return f"{self.kind.value}{within}{'' if self.nullable else ', never missing'}"


def _shown(end: int | None, step: Fraction) -> str:
    return "unbounded" if end is None else str(end * step)


def common_step(steps: Iterable[Fraction]) -> Fraction:
    """The coarsest grid that contains all these grids."""
    numerator, denominator = 0, 1
    for step in steps:
        shared = lcm(denominator, step.denominator)
        numerator = gcd(numerator * (shared // denominator), step.numerator * (shared // step.denominator))
        denominator = shared
    return Fraction(numerator or 1, denominator)


def fitting(facts: Facts) -> Facts:
    """The facts, or a refusal when an integer could leave the range every engine computes exactly."""
    for end in (facts.lower, facts.upper):
        if end is not None and not abs(end) < LARGEST:
            raise QueryRefused(
                "too-wide",
                f"a value could reach {_size(abs(end) * facts.step)} in steps of {facts.step}, beyond 64-bit integers",
                rewrite="declare tighter bounds or a coarser step, or clamp(x, lower, upper) first",
            )
    return facts


def _size(value: Fraction) -> str:
    return f"{float(value):.3g}" if value < 10**300 else "more than 1e300"


def hull(parts: Iterable[Facts]) -> Facts:
    """One column that may hold any of these: common grid, widest interval, missing if any may be."""
    members = list(parts)
    kinds = {member.kind for member in members}
    if len(kinds) != 1:
        named = " and ".join(sorted(kind.value for kind in kinds))
        raise QueryRefused("type-mismatch", f"{named} stand where one kind is needed", rewrite="use one kind of value")
    if kinds == {Kind.NUMBER}:
        step = common_step(member.step for member in members)
        members = [member.on(step) for member in members]
    lowers, uppers = [m.lower for m in members], [m.upper for m in members]
    known = [m.categories for m in members]
    return Facts(
        members[0].kind,
        nullable=any(member.nullable for member in members),
        step=members[0].step,
        lower=None if None in lowers else min(end for end in lowers if end is not None),
        upper=None if None in uppers else max(end for end in uppers if end is not None),
        categories=None if None in known else tuple(dict.fromkeys(v for values in known for v in values or ())),
    )


def days(value: date) -> int:
    """Days since 1970-01-01."""
    return (value - _EPOCH).days


def date_of(count: int) -> date:
    """The date that many days after 1970-01-01."""
    return _EPOCH + timedelta(days=count)


def microseconds(value: datetime) -> int:
    """Microseconds since 1970-01-01 00:00, on the clock the codebook's timestamps are written in."""
    return (value - datetime(1970, 1, 1)) // timedelta(microseconds=1)


def timestamp_of(count: int) -> datetime:
    """The timestamp that many microseconds after 1970-01-01 00:00."""
    return datetime(1970, 1, 1) + timedelta(microseconds=count)
