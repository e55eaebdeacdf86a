"""Functions of dates and timestamps: parts, cuts, and days between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp

from deniable.plan.arithmetic import refused
from deniable.plan.expression import Expression
from deniable.plan.facts import Facts, Kind, date_of, days, microseconds, timestamp_of
from deniable.plan.functions.scalar import Cell, ScalarFunction, Spelling, Writer, of_argument, unwrapped
from deniable.plan.sql_trees import Tree, add, binary, cast, number, subtract
from deniable.plan.unit import Length

if TYPE_CHECKING:
    from deniable.plan.translate import Translator

_DAY = 86_400_000_000


def among(value: str, *times: str) -> str:
    """A probe: whether a date or timestamp is missing, one of these, or anything else."""
    kind = "timestamp" if ":" in times[0] else "date"
    known = ", ".join(f"{kind} '{time}'" for time in times)
    return f"case when {value} is null then 0 when {value} in ({known}) then 1 else 2 end"


def _timed(known: Facts, what: str) -> Facts:
    if known.kind not in (Kind.DATE, Kind.TIMESTAMP):
        raise refused("type-mismatch", f"{what} needs a date or timestamp, got a {known.kind.value}")
    return known


# Parts ----------------------------------------------------------------------------------------------------------------


class CalendarPart(Enum):
    """A whole-number part of a date or timestamp; weekday is 0 on Sunday."""

    YEAR = "year"
    QUARTER = "quarter"
    MONTH = "month"
    DAY = "day"
    WEEKDAY = "weekday"
    HOUR = "hour"
    MINUTE = "minute"


_RANGES = {
    CalendarPart.QUARTER: (1, 4),
    CalendarPart.MONTH: (1, 12),
    CalendarPart.DAY: (1, 31),
    CalendarPart.WEEKDAY: (0, 6),
    CalendarPart.HOUR: (0, 23),
    CalendarPart.MINUTE: (0, 59),
}
_NODES: tuple[tuple[type[exp.Expression], CalendarPart], ...] = (
    (exp.Year, CalendarPart.YEAR),
    (exp.Quarter, CalendarPart.QUARTER),
    (exp.Month, CalendarPart.MONTH),
    (exp.Day, CalendarPart.DAY),
    (exp.DayOfMonth, CalendarPart.DAY),
    (exp.Hour, CalendarPart.HOUR),
    (exp.Minute, CalendarPart.MINUTE),
    (exp.DayOfWeek, CalendarPart.WEEKDAY),
)


def _part_reader(part: CalendarPart) -> Any:
    return of_argument(lambda value: DatePart(part, value))


def _read_extract(translator: Translator, node: exp.Extract) -> Expression:
    name = node.name.lower()
    known = {part.value: part for part in CalendarPart}
    known |= {"dow": CalendarPart.WEEKDAY, "dayofweek": CalendarPart.WEEKDAY}
    if name not in known or name == "weekday":
        raise translator.refusal(
            node,
            "unsupported",
            f"EXTRACT({name.upper()}) is not known",
            "write DATE_TRUNC('week', t)" if name.startswith("week") else f"known: {', '.join(sorted(known))}",
        )
    return DatePart(known[name], translator.expression(node.expression))


@dataclass(frozen=True, slots=True)
class DatePart(ScalarFunction):
    """One part of a date or timestamp."""

    part: CalendarPart
    value: Expression

    spellings = (
        Spelling("EXTRACT(month FROM t)", exp.Extract, _read_extract),
        *(Spelling(f"{node.__name__.upper()}(t)", node, _part_reader(part)) for node, part in _NODES),
    )
    meaning = "the year, quarter, month, day, weekday (0 is Sunday), hour or minute"
    probes: ClassVar[Mapping[str, str]] = {
        "year": "year(day)",
        "quarter": "quarter(day)",
        "month": "month(moment)",
        "day": "day(moment)",
        "hour": "hour(moment)",
        "minute": "minute(moment)",
        "weekday": "extract(dow from day)",
    }

    @property
    def feature(self) -> str:
        return f"the {self.part.value} of a date"

    def facts(self, *known: Facts) -> Facts:
        value = _timed(known[0], self.part.value)
        if self.part in (CalendarPart.HOUR, CalendarPart.MINUTE) and value.kind is Kind.DATE:
            raise refused("type-mismatch", f"a date has no {self.part.value}", "use a timestamp column")
        if self.part is CalendarPart.YEAR:
            low, high = ((date_of if value.kind is Kind.DATE else timestamp_of)(end).year for end in value.ends)
        else:
            low, high = _RANGES[self.part]
        return Facts(Kind.NUMBER, value.nullable, Fraction(1), low, high)

    def evaluate(self, *cells: Any) -> Cell:
        return Fraction(_part(self.part, cells[0]))

    def sql(self, writer: Writer) -> Tree:
        if self.part is not CalendarPart.WEEKDAY:
            return writer.profile.part(self.part.name, writer.tree(self.value))
        day = writer.tree(self.value if writer.known(self.value).kind is Kind.DATE else ToDate(self.value))
        # 1970-01-01 was a Thursday; whole weeks keep the number positive back to year 1.
        return binary(exp.Mod, add(writer.profile.days(day), number(4 + 7 * 102_738)), number(7))


def _part(part: CalendarPart, value: date) -> int:
    match part:
        case CalendarPart.YEAR:
            return value.year
        case CalendarPart.QUARTER:
            return (value.month - 1) // 3 + 1
        case CalendarPart.MONTH:
            return value.month
        case CalendarPart.DAY:
            return value.day
        case CalendarPart.WEEKDAY:
            return value.isoweekday() % 7
        case CalendarPart.HOUR | CalendarPart.MINUTE:
            assert isinstance(value, datetime)
            return value.hour if part is CalendarPart.HOUR else value.minute


# Cuts -----------------------------------------------------------------------------------------------------------------


def truncated_date(value: date, length: Length) -> date:
    """The first day of the week (Monday), month, quarter or year a date lies in."""
    match length:
        case Length.HOUR | Length.DAY:
            return value
        case Length.WEEK:
            return date.fromordinal(value.toordinal() - value.weekday())
        case Length.MONTH:
            return value.replace(day=1)
        case Length.QUARTER:
            return value.replace(month=(value.month - 1) // 3 * 3 + 1, day=1)
        case Length.YEAR:
            return value.replace(month=1, day=1)


def truncated_timestamp(value: datetime, length: Length) -> datetime:
    """The start of the hour, day, week, month, quarter or year a timestamp lies in."""
    if length is Length.HOUR:
        return value.replace(minute=0, second=0, microsecond=0)
    first = truncated_date(value.date(), length)
    return datetime(first.year, first.month, first.day)


def _read_truncation(translator: Translator, node: exp.Expression) -> Expression:
    name = str(node.args["unit"].name if node.args.get("unit") is not None else "").lower()
    lengths = {length.value: length for length in Length}
    if name not in lengths:
        raise translator.refusal(
            node, "bad-constant", f"a date is not cut to {name!r}", f"use one of {', '.join(lengths)}"
        )
    return Truncate(translator.expression(node.this), lengths[name])


_UNIT = frozenset({"unit", "input_type_preserved"})


@dataclass(frozen=True, slots=True)
class Truncate(ScalarFunction):
    """A date or timestamp cut down to the start of its hour, day, week (Monday), month, quarter or year."""

    value: Expression
    length: Length

    spellings = (
        Spelling("DATE_TRUNC('month', t)", exp.TimestampTrunc, _read_truncation, reads=_UNIT),
        Spelling("DATE_TRUNC('month', d)", exp.DateTrunc, _read_truncation, reads=_UNIT),
    )
    meaning = "the start of the hour, day, week (Monday), month, quarter or year"
    probes: ClassVar[Mapping[str, str]] = {
        "cut to hour": among(
            "date_trunc('hour', moment)", "0001-01-01 00:00:00", "1999-12-31 23:00:00", "2024-02-29 12:00:00"
        ),
        "cut to day": among(
            "date_trunc('day', moment)", "0001-01-01 00:00:00", "1999-12-31 00:00:00", "2024-02-29 00:00:00"
        ),
        "cut to week": among(
            "date_trunc('week', day)",
            "0001-01-01",
            "1969-12-29",
            "2000-02-28",
            "2024-02-26",
            "2024-12-30",
            "9999-12-27",
        ),
        "cut to month": among(
            "date_trunc('month', day)",
            "0001-01-01",
            "1969-12-01",
            "2000-02-01",
            "2024-03-01",
            "2024-12-01",
            "9999-12-01",
        ),
        "cut to quarter": among(
            "date_trunc('quarter', moment)", "0001-01-01 00:00:00", "1999-10-01 00:00:00", "2024-01-01 00:00:00"
        ),
        "cut to year": among(
            "date_trunc('year', day)", "0001-01-01", "1969-01-01", "2000-01-01", "2024-01-01", "9999-01-01"
        ),
    }

    @property
    def feature(self) -> str:
        return f"a date cut to its {self.length.value}"

    def facts(self, *known: Facts) -> Facts:
        value = _timed(known[0], f"cutting to the {self.length.value}")
        if self.length is Length.HOUR and value.kind is Kind.DATE:
            raise refused("type-mismatch", "a date has no hour to cut to", "use a timestamp column")
        if value.kind is Kind.DATE:
            ends = [days(truncated_date(date_of(end), self.length)) for end in value.ends]
        else:
            ends = [microseconds(truncated_timestamp(timestamp_of(end), self.length)) for end in value.ends]
        return Facts(value.kind, value.nullable, lower=ends[0], upper=ends[1])

    def evaluate(self, *cells: Any) -> Cell:
        (value,) = cells
        cut = truncated_timestamp if isinstance(value, datetime) else truncated_date
        return cut(value, self.length)

    def sql(self, writer: Writer) -> Tree:
        profile, tree = writer.profile, writer.tree(self.value)
        if writer.known(self.value).kind is Kind.DATE:
            return profile.truncated_date(tree, self.length)
        return profile.truncated_timestamp(tree, self.length)


# Dates ----------------------------------------------------------------------------------------------------------------


def _read_date(translator: Translator, node: exp.Date) -> Expression:
    if node.args.get("this") is None or node.args.get("zone") or node.expressions:
        raise translator.refusal(node, "unsupported", "date takes one value")
    return ToDate(translator.expression(node.this))


@dataclass(frozen=True, slots=True)
class ToDate(ScalarFunction):
    """The date of a timestamp."""

    value: Expression

    spellings = (
        Spelling("DATE(t)", exp.Date, _read_date, reads=frozenset({"zone"})),
        Spelling("TO_DATE(t)", exp.TsOrDsToDate, _read_date, reads=frozenset({"safe"})),
        Spelling(
            "CAST(t AS DATE)",
            exp.Cast,
            lambda translator, node: ToDate(translator.expression(node.this)),
            types=frozenset({exp.DataType.Type.DATE}),
        ),
    )
    meaning = "the date of a timestamp"
    probes: ClassVar[Mapping[str, str]] = {
        "day of a timestamp": among("cast(moment as date)", "0001-01-01", "1999-12-31", "2024-02-29")
    }
    feature = "the date of a timestamp"

    def facts(self, *known: Facts) -> Facts:
        value = _timed(known[0], "the date of a value")
        if value.kind is Kind.DATE:
            return value
        return Facts(Kind.DATE, value.nullable, lower=value.ends[0] // _DAY, upper=value.ends[1] // _DAY)

    def evaluate(self, *cells: Any) -> Cell:
        (value,) = cells
        return value.date() if isinstance(value, datetime) else value

    def sql(self, writer: Writer) -> Tree:
        return cast(writer.tree(self.value), "DATE")


def _read_difference(translator: Translator, node: exp.DateDiff) -> Expression:
    if node.args.get("unit") is not None and node.args["unit"].name.lower() not in ("day", "days"):
        raise translator.refusal(node, "unsupported", "dates differ by days here", "divide the days")
    return DaysBetween(translator.expression(unwrapped(node.expression)), translator.expression(unwrapped(node.this)))


@dataclass(frozen=True, slots=True)
class DaysBetween(ScalarFunction):
    """Whole days from date `start` to date `end`; negative when `end` is earlier."""

    start: Expression
    end: Expression

    spellings = (
        Spelling(
            "DAYS_BETWEEN(start, end)",
            "days_between",
            lambda translator, node: DaysBetween(*(translator.expression(each) for each in node.expressions)),
            arity=(2, 2),
        ),
        Spelling(
            "DATEDIFF('day', start, end)",
            exp.DateDiff,
            _read_difference,
            reads=frozenset({"unit", "big_int", "date_part_boundary"}),
        ),
    )
    meaning = "whole days from one date to another, negative when the second is earlier"
    probes: ClassVar[Mapping[str, str]] = {"days": "days_between(date '2000-01-01', day)"}
    operands = ("start", "end")
    feature = "days between dates"

    def facts(self, *known: Facts) -> Facts:
        for each in known:
            if each.kind is not Kind.DATE:
                raise refused("type-mismatch", f"days_between needs dates, got a {each.kind.value}", "write date(x)")
        start, end = known
        (a, b), (c, d) = start.ends, end.ends
        return Facts(Kind.NUMBER, start.nullable or end.nullable, Fraction(1), c - b, d - a)

    def evaluate(self, *cells: Any) -> Cell:
        start, end = cells
        return Fraction((end - start).days)

    def sql(self, writer: Writer) -> Tree:
        return subtract(writer.profile.days(writer.tree(self.end)), writer.profile.days(writer.tree(self.start)))


CALENDAR: tuple[type[ScalarFunction], ...] = (DatePart, Truncate, ToDate, DaysBetween)
