"""Pearson's correlation of two bounded numbers, from noisy sums, sums of squares and a sum of products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sqlglot import exp

from deniable.errors import QueryRefused
from deniable.query.aggregates.aggregate import (
    Aggregate,
    CommandForm,
    Error,
    Forecast,
    Of,
    Output,
    Registration,
    SliceAnswer,
    SqlCall,
)
from deniable.query.aggregates.measuring import Measuring
from deniable.query.aggregates.spread import MomentOf, moment_of, where_both
from deniable.query.columns import AnswerColumn, Intervals, interval_column
from deniable.query.ratio import moment_error, moment_intervals


@dataclass(frozen=True, slots=True)
class CorrelationOf(Output):
    """A covariance over the root of two variances, all of the same rows; always within [-1, 1]."""

    averages: ClassVar[bool] = True

    covariance: MomentOf
    left: MomentOf
    right: MomentOf

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.covariance.columns, *self.left.columns, *self.right.columns)))

    def answer(self, name: str, drawn: SliceAnswer, error: str) -> AnswerColumn:
        """The correlation with its interval: each of the three parts keeps to its own, with a third of the error probability."""
        parts = [moment_intervals(each, drawn.columns, drawn.beta / 3) for each in self._parts]
        return interval_column(name, "correlation", _quotient(*parts), error)

    def error(self, forecast: Forecast) -> Error:
        """For groups of the stated size whose numbers are spread evenly over their bounds."""
        off, left, right = (moment_error(each, forecast, forecast.beta / 3) for each in self._parts)
        even = [float(each.upper) / 3 for each in (self.left, self.right)]  # the variance of even spread: range² / 12
        least = (even[0] - left) * (even[1] - right) if left < even[0] and right < even[1] else 0.0
        whole = (even[0] * even[1]) ** 0.5
        within = min(2.0, (whole + off) / least**0.5 - 1) if least else 2.0
        return Error(within, f"for {forecast.group_size:,} rows spread evenly over their bounds")

    @property
    def _parts(self) -> tuple[MomentOf, MomentOf, MomentOf]:
        return self.covariance, self.left, self.right


def _quotient(covariance: Intervals, left: Intervals, right: Intervals) -> Intervals:
    """The covariance over the root of the variances; nought, give or take one, where a variance is lost in noise."""
    least, most = (np.sqrt(a * b) for a, b in ((left.lower, right.lower), (left.upper, right.upper)))
    middle = np.sqrt(left.value * right.value)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(middle > 0, covariance.value / middle, 0.0)
        low = covariance.lower / np.where(covariance.lower < 0, least, most)
        high = covariance.upper / np.where(covariance.upper > 0, least, most)
    value, low, high = (
        np.clip(np.nan_to_num(part, nan=end), -1.0, 1.0) for part, end in ((value, 0), (low, -1), (high, 1))
    )
    return Intervals(value, np.minimum(low, value), np.maximum(high, value))


@dataclass(frozen=True, slots=True)
class Correlation(Aggregate):
    """Pearson's correlation of two bounded numbers."""

    averages: ClassVar[bool] = True

    x: Of
    y: Of

    def measure(self, measuring: Measuring) -> Output:
        """A count, two sums, two sums of squares and a sum of products, all over the rows that have both numbers."""
        x, y = measuring.read(self.x), measuring.read(self.y)
        if x == y:
            raise QueryRefused("same-column", "a correlation is of two columns; that of a column with itself is 1")
        x, y = where_both(measuring, x, y)
        count = measuring.count(x)
        return CorrelationOf(*(moment_of(measuring, a, b, count=count) for a, b in ((x, y), (x, x), (y, y))))


def correlation(x: Of, y: Of) -> Correlation:
    """Pearson's correlation of two bounded numbers, over the rows that have both.

    Guarantee: post-processing of a noisy count, two noisy sums and three noisy sums of products, all charged.
    """
    return Correlation(x, y)


def _sql(call: SqlCall) -> Any:
    return call.answer(Correlation(call.of(), call.of(call.node.expression)))


REGISTRATION = Registration(
    sql={exp.Corr: _sql}, command={"correlation": CommandForm(correlation, (2, 2))}, sql_names=("CORR",)
)
