"""How two bounded numbers move together: Pearson's correlation and the least-squares line, from noisy sums of products."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np
from sqlglot import exp

from deniable.errors import QueryRefused
from deniable.exact.figures import counted
from deniable.plan.expression import Expression
from deniable.query.aggregates.aggregate import (
    Aggregate,
    CommandForm,
    Error,
    Forecast,
    MeanColumns,
    Of,
    Output,
    Registration,
    SliceAnswer,
    SqlCall,
)
from deniable.query.aggregates.mean import MeanOf
from deniable.query.aggregates.measuring import Measuring
from deniable.query.aggregates.spread import MomentOf, moment_of, where_both
from deniable.query.columns import AnswerColumn, Floats, Intervals, Truths, interval_column
from deniable.query.ratio import mean_error, mean_intervals, moment_error, moment_intervals


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

    @property
    def mean_columns(self) -> tuple[MeanColumns, ...]:
        """Those of both numbers."""
        return self.covariance.mean_columns

    def answer(self, name: str, drawn: SliceAnswer, error: str) -> AnswerColumn:
        """The correlation with its interval: each of the three parts keeps to its own, with a third of the error probability."""
        parts = [moment_intervals(each, drawn.columns, drawn.beta / 3) for each in self._parts]
        return interval_column(name, "correlation", _quotient(*parts), error, within=(-1.0, 1.0))

    def error(self, forecast: Forecast) -> Error:
        """For groups of the stated size whose numbers are spread evenly over their bounds."""
        off, left, right = (moment_error(each, forecast, forecast.beta / 3) for each in self._parts)
        even = [float(each.upper) / 3 for each in (self.left, self.right)]  # the variance of even spread: range² / 12
        least = (even[0] - left) * (even[1] - right) if left < even[0] and right < even[1] else 0.0
        whole = (even[0] * even[1]) ** 0.5
        within = min(2.0, (whole + off) / least**0.5 - 1) if least else 2.0
        return Error(within, f"for {counted(forecast.group_size, 'row')} spread evenly over their bounds")

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


# The straight line through two numbers: REGR_SLOPE(y, x) and REGR_INTERCEPT(y, x) ----------------------------------------------
# A variance of x that may be nought says nothing about either: the cell is then empty.


@dataclass(frozen=True, slots=True)
class LeastSquaresOf(Output):
    """The slope, or where the means are there the intercept; each part keeps to its own interval, with an even share of beta."""

    averages: ClassVar[bool] = True

    covariance: MomentOf
    variance: MomentOf
    means: tuple[MeanOf, MeanOf] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.covariance.columns, *self.variance.columns)))

    @property
    def mean_columns(self) -> tuple[MeanColumns, ...]:
        """Those of both numbers."""
        return self.covariance.mean_columns

    def answer(self, name: str, drawn: SliceAnswer, error: str) -> AnswerColumn:
        """The slope or the intercept with its interval."""
        beta = drawn.beta / self._parts
        found = _slope(*(moment_intervals(each, drawn.columns, beta) for each in (self.covariance, self.variance)))
        if self.means is None:
            return interval_column(name, "slope", found, error, within=(-inf, inf))
        x, y = (mean_intervals(each, drawn.columns, beta) for each in self.means)
        return interval_column(name, "intercept", _intercept(found, x, y), error, within=(-inf, inf))

    def error(self, forecast: Forecast) -> Error:
        """For groups of the stated size whose x is spread evenly over its bounds, and whose line is as steep as the bounds."""
        said = f"for {counted(forecast.group_size, 'row')}, x spread evenly over its bounds"
        beta = forecast.beta / self._parts
        off, unsure = (moment_error(each, forecast, beta) for each in (self.covariance, self.variance))
        even = float(self.variance.upper) / 3  # the variance of even spread: range² / 12
        steepest = float(self.covariance.upper / self.variance.upper) if self.variance.upper else 0.0
        slope = (off + steepest * unsure) / (even - unsure) if unsure < even else inf
        if self.means is None or slope == inf:
            return Error(slope, said)
        x, y = (mean_error(each, forecast, beta) for each in self.means)
        farthest = float(max(abs(self.means[0].lower), abs(self.means[0].upper)))
        return Error(y + (steepest + slope) * x + farthest * slope, said)

    @property
    def _parts(self) -> int:
        return 2 if self.means is None else 4


def _slope(covariance: Intervals, variance: Intervals) -> Intervals:
    """The covariance over the variance; anything at all where the variance may be nought."""
    known = variance.lower > 0
    least, middle, most = (np.where(known, each, 1.0) for each in (variance.lower, variance.value, variance.upper))
    low = covariance.lower / np.where(covariance.lower < 0, least, most)
    high = covariance.upper / np.where(covariance.upper > 0, least, most)
    value = np.where(known, covariance.value / middle, 0.0)
    return Intervals(value, np.where(known, low, -inf), np.where(known, high, inf))


def _intercept(slope: Intervals, x: Intervals, y: Intervals) -> Intervals:
    """The mean of y less the slope times the mean of x."""
    known = np.isfinite(slope.lower) & np.isfinite(slope.upper)
    corners = np.stack([_times(s, m, known) for s in (slope.lower, slope.upper) for m in (x.lower, x.upper)])
    value = y.value - slope.value * x.value
    low, high = y.lower - corners.max(axis=0), y.upper - corners.min(axis=0)
    return Intervals(value, np.where(known, low, -inf), np.where(known, high, inf))


def _times(slope: Floats, mean: Floats, known: Truths) -> Floats:
    return np.where(known, slope, 0.0) * mean


@dataclass(frozen=True, slots=True)
class LeastSquares(Aggregate):
    """The least-squares line of y on x: its slope, or its intercept."""

    averages: ClassVar[bool] = True

    y: Of
    x: Of
    intercept: bool

    def measure(self, measuring: Measuring) -> Output:
        """A count, two sums, a sum of squares and a sum of products, all over the rows that have both numbers."""
        x, y = measuring.read(self.x), measuring.read(self.y)
        if x == y:
            raise QueryRefused("same-column", "a line is of two columns; that of a column on itself has slope 1")
        x, y = where_both(measuring, x, y)
        count = measuring.count(x)
        covariance, variance = (moment_of(measuring, x, other, count=count) for other in (y, x))
        means = (_mean_of(measuring, x, count), _mean_of(measuring, y, count)) if self.intercept else None
        return LeastSquaresOf(covariance, variance, means)


def _mean_of(measuring: Measuring, of: Expression, count: str) -> MeanOf:
    total, centre, known = measuring.centred(of)
    low, high = known.ends
    return MeanOf(total, count, centre, low * known.step, high * known.step)


REGISTRATION = Registration(
    sql={
        exp.Corr: _sql,
        exp.RegrSlope: lambda call: call.answer(
            LeastSquares(call.of(), call.of(call.node.expression), intercept=False)
        ),
        exp.RegrIntercept: lambda call: call.answer(
            LeastSquares(call.of(), call.of(call.node.expression), intercept=True)
        ),
    },
    command={"correlation": CommandForm(correlation, (2, 2))},
    sql_names=("CORR", "REGR_SLOPE", "REGR_INTERCEPT"),
)
