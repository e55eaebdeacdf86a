"""Dates and timestamps: parts, cuts, casts and differences, as expressions."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from sqlglot import exp

from deniable.plan.expression import DatePart, DaysBetween, Expression, Literal, Part, ToDate, Truncate
from deniable.plan.facts import Kind
from deniable.plan.unit import Length

if TYPE_CHECKING:
    from deniable.plan.translate import Translator


def shifted(translator: Translator, node: exp.Expression) -> Expression:
    """A constant date moved by an interval is a constant date."""
    start, interval = translator.expression(node.this), node.expression
    unit = str(interval.args.get("unit") or "").lower().rstrip("s")
    amount = str(interval.this.this if interval.this is not None else "")
    if not (isinstance(start, Literal) and isinstance(start.value, date) and amount.lstrip("-").isdigit()):
        raise translator.refusal(
            node, "unsupported", "an interval can only be added to a constant date", "use days_between(a, b)"
        )
    count = int(amount) * (1 if isinstance(node, exp.Add) else -1)
    try:
        return Literal(_moved(start.value, unit, count))
    except (ValueError, OverflowError, KeyError):
        raise translator.refusal(node, "bad-constant", f"no date lies {amount} {unit} away") from None


def extract(translator: Translator, node: exp.Extract) -> Expression:
    """EXTRACT(part FROM time)."""
    name = node.name.lower()
    known = {part.value: part for part in Part} | {"dow": Part.WEEKDAY, "dayofweek": Part.WEEKDAY}
    if name not in known or name == "weekday":
        raise translator.refusal(
            node, "unsupported", f"EXTRACT({name.upper()}) is not known", f"known: {', '.join(sorted(known))}"
        )
    return DatePart(known[name], translator.expression(node.expression))


def day_of_week(translator: Translator, node: exp.DayOfWeek) -> Expression:
    """DAYOFWEEK(time)."""
    return DatePart(Part.WEEKDAY, translator.expression(unwrapped(node.this)))


def truncation(translator: Translator, node: exp.Expression) -> Expression:
    """DATE_TRUNC('month', time)."""
    name = str(node.args["unit"].name if node.args.get("unit") is not None else "").lower()
    lengths = {length.value: length for length in Length}
    if name not in lengths:
        raise translator.refusal(
            node, "bad-constant", f"a date is not cut to {name!r}", f"use one of {', '.join(lengths)}"
        )
    return Truncate(translator.expression(node.this), lengths[name])


def cast(translator: Translator, node: exp.Cast) -> Expression:
    """A cast to DATE, or a constant written as one."""
    target = node.to.this
    times = (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPNTZ, exp.DataType.Type.DATETIME)
    if isinstance(node.this, exp.Literal) and node.this.is_string:
        if target == exp.DataType.Type.DATE:
            return Literal(translator.time(node, node.this.this, Kind.DATE))
        if target in times:
            return Literal(translator.time(node, node.this.this, Kind.TIMESTAMP))
    if target == exp.DataType.Type.DATE:
        return ToDate(translator.expression(node.this))
    raise translator.refusal(
        node, "unsupported", "a cast is to DATE only; numbers are exact already", "use round or floor"
    )


def to_date(translator: Translator, node: exp.Date) -> Expression:
    """DATE(time)."""
    if node.args.get("this") is None or node.args.get("zone") or node.expressions:
        raise translator.refusal(node, "unsupported", "date takes one value")
    return ToDate(translator.expression(node.this))


def days_between(translator: Translator, node: exp.DateDiff) -> Expression:
    """DATEDIFF in days."""
    if node.args.get("unit") is not None and node.args["unit"].name.lower() not in ("day", "days"):
        raise translator.refusal(node, "unsupported", "dates differ by days here", "divide the days")
    return DaysBetween(translator.expression(unwrapped(node.expression)), translator.expression(unwrapped(node.this)))


def _moved(start: date, unit: str, count: int) -> date:
    steps = {"day": 1, "week": 7}
    if unit in steps:
        return start + timedelta(days=steps[unit] * count)
    months = start.year * 12 + start.month - 1 + {"month": 1, "quarter": 3, "year": 12}[unit] * count
    year, month = divmod(months, 12)
    for day in range(start.day, start.day - 4, -1):
        try:
            return start.replace(year=year, month=month + 1, day=day)
        except ValueError:
            continue
    raise ValueError("no such date")


def unwrapped(node: exp.Expression) -> exp.Expression:
    """The argument of a date function without the cast SQLGlot may have put around it."""
    while isinstance(node, exp.TsOrDsToDate | exp.TsOrDsToTimestamp | exp.Paren):
        node = node.this
    return node
