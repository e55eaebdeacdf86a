"""The facts of functions of dates, timestamps and text, from those of their arguments alone."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from deniable.plan.analysis_numbers import refused
from deniable.plan.expression import Part
from deniable.plan.facts import Facts, Kind, date_of, days, microseconds, timestamp_of
from deniable.plan.semantics import truncated_date, truncated_timestamp
from deniable.plan.unit import Length

_DAY = 86_400_000_000
_PARTS = {
    Part.QUARTER: (1, 4),
    Part.MONTH: (1, 12),
    Part.DAY: (1, 31),
    Part.WEEKDAY: (0, 6),
    Part.HOUR: (0, 23),
    Part.MINUTE: (0, 59),
}


def _timed(known: Facts, what: str) -> Facts:
    if known.kind not in (Kind.DATE, Kind.TIMESTAMP):
        raise refused("type-mismatch", f"{what} needs a date or timestamp, got a {known.kind.value}")
    return known


def part_of(part: Part, known: Facts) -> Facts:
    """A part of a date or timestamp."""
    known = _timed(known, part.value)
    if part in (Part.HOUR, Part.MINUTE) and known.kind is Kind.DATE:
        raise refused("type-mismatch", f"a date has no {part.value}", "use a timestamp column")
    if part is Part.YEAR:
        low, high = ((date_of if known.kind is Kind.DATE else timestamp_of)(end).year for end in known.ends)
    else:
        low, high = _PARTS[part]
    return Facts(Kind.NUMBER, known.nullable, Fraction(1), low, high)


def truncated(known: Facts, length: Length) -> Facts:
    """A date or timestamp cut to the start of a period."""
    known = _timed(known, f"cutting to the {length.value}")
    if length is Length.HOUR and known.kind is Kind.DATE:
        raise refused("type-mismatch", "a date has no hour to cut to", "use a timestamp column")
    if known.kind is Kind.DATE:
        ends = [days(truncated_date(date_of(end), length)) for end in known.ends]
    else:
        ends = [microseconds(truncated_timestamp(timestamp_of(end), length)) for end in known.ends]
    return Facts(known.kind, known.nullable, lower=ends[0], upper=ends[1])


def date_part(known: Facts) -> Facts:
    """The date of a timestamp."""
    known = _timed(known, "the date of a value")
    if known.kind is Kind.DATE:
        return known
    return Facts(Kind.DATE, known.nullable, lower=known.ends[0] // _DAY, upper=known.ends[1] // _DAY)


def days_apart(start: Facts, end: Facts) -> Facts:
    """The days from one date to another."""
    for known in (start, end):
        if known.kind is not Kind.DATE:
            raise refused("type-mismatch", f"days_between needs dates, got a {known.kind.value}", "write date(x)")
    (a, b), (c, d) = start.ends, end.ends
    return Facts(Kind.NUMBER, start.nullable or end.nullable, Fraction(1), c - b, d - a)


def checked_substring(start: int, length: int) -> None:
    """Refuse a start or a length no text has."""
    if not (1 <= start < 2**31 and 0 <= length < 2**31):
        raise refused("bad-constant", "substring counts from 1 and takes a length of 0 or more")


def changed_text(known: Facts, change: Callable[[str], str]) -> Facts:
    """A text changed letter by letter."""
    if known.kind is not Kind.STRING:
        raise refused("type-mismatch", f"text is needed, got a {known.kind.value}")
    if known.categories is None:
        return known
    changed = dict.fromkeys(change(value) for value in known.categories)
    return Facts(Kind.STRING, known.nullable, categories=tuple(changed))


def text_length(known: Facts) -> Facts:
    """How many characters a text has."""
    if known.kind is not Kind.STRING:
        raise refused("type-mismatch", f"length needs text, got a {known.kind.value}")
    if known.categories is None:
        return Facts(Kind.NUMBER, known.nullable, Fraction(1), 0, None)
    sizes = [len(value) for value in known.categories]
    return Facts(Kind.NUMBER, known.nullable, Fraction(1), min(sizes), max(sizes))
