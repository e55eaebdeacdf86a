"""Quotients of counts and sums, as SQL writes them: one noisy number over another, with all that the noise explains."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf

from deniable.exact.figures import counted
from deniable.query.aggregates.aggregate import Aggregate, Error, Forecast, Output, SliceAnswer
from deniable.query.aggregates.count import Count, CountUnits, Plain
from deniable.query.aggregates.measuring import Measuring
from deniable.query.aggregates.total import Sum
from deniable.query.columns import AnswerColumn, interval_column
from deniable.query.ratio import quotient_error, quotient_intervals


@dataclass(frozen=True, slots=True)
class QuotientOf(Output):
    """One noisy number over another: a row adds about `size` to the lower one, and the quotient is at most about `reach`."""

    top: str
    bottom: str
    size: Fraction
    reach: Fraction

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.top, self.bottom)

    def answer(self, name: str, drawn: SliceAnswer, error: str) -> AnswerColumn:
        """The quotient with its interval; empty where the divisor is lost in noise."""
        found = quotient_intervals(drawn.columns[self.top], drawn.columns[self.bottom], drawn.beta)
        return interval_column(name, "quotient", found, error, within=(-inf, inf))

    def error(self, forecast: Forecast) -> Error:
        """For groups of the stated size, whatever the quotient."""
        said = "" if self.size == 1 else ", the divisor at the middle of its bounds"
        within = quotient_error(self, forecast, forecast.beta)
        return Error(within, f"for {counted(forecast.group_size, 'row')}{said}")


@dataclass(frozen=True, slots=True)
class Quotient(Aggregate):
    """A count or sum over another one."""

    top: Count | CountUnits | Sum
    bottom: Count | CountUnits | Sum

    def measure(self, measuring: Measuring) -> Output:
        """What its two parts measure."""
        top, bottom = (part.measure(measuring) for part in (self.top, self.bottom))
        assert isinstance(top, Plain)
        assert isinstance(bottom, Plain)
        (_, most), (middle, _) = _row(measuring, self.top), _row(measuring, self.bottom)
        return QuotientOf(top.column, bottom.column, middle, most / abs(middle) if middle else most)


def _row(measuring: Measuring, part: Count | CountUnits | Sum) -> tuple[Fraction, Fraction]:
    """What a row adds in the middle of its bounds, and at most, by size."""
    if not isinstance(part, Sum):
        return Fraction(1), Fraction(1)
    known = measuring.bounded(measuring.read(part.of), "a sum")
    low, high = (end * known.step for end in known.ends)
    return (low + high) / 2, max(abs(low), abs(high))


def quotient(top: Aggregate, bottom: Aggregate) -> Quotient | None:
    """The quotient of two aggregates that are measured as one number each; None where its interval is left to arithmetic."""
    if top == bottom or not (
        isinstance(top, Count | CountUnits | Sum) and isinstance(bottom, Count | CountUnits | Sum)
    ):
        return None
    return Quotient(top, bottom)
