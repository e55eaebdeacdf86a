"""Means of bounded numbers: a noisy sum of distances from the middle of the bounds over a noisy count."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sqlglot import exp

from deniable.exact.figures import counted
from deniable.kernels import ColumnNoise, HalvesNoise
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
)
from deniable.query.aggregates.measuring import Measuring
from deniable.query.columns import AnswerColumn, interval_column
from deniable.query.ratio import mean_error, mean_intervals, rows_for_a_mean


@dataclass(frozen=True, slots=True)
class MeanOf(Output):
    """`centre` plus a sum of distances from it over a count; always within the bounds.

    Where both are measured in halves the distances are from the very middle of the bounds.
    """

    averages: ClassVar[bool] = True

    total: str
    count: str
    centre: Fraction
    lower: Fraction
    upper: Fraction

    def middle(self, noise: ColumnNoise) -> Fraction:
        """What the distances are from, in a total with this noise."""
        return (self.lower + self.upper) / 2 if isinstance(noise, HalvesNoise) else self.centre

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.total, self.count)

    @property
    def mean_columns(self) -> tuple[MeanColumns, ...]:
        """Itself."""
        return (MeanColumns(self.total, self.count, exact=True),)

    def answer(self, name: str, drawn: SliceAnswer, error: str) -> AnswerColumn:
        """The mean with its interval."""
        found = mean_intervals(self, drawn.columns, drawn.beta)
        return interval_column(name, "mean", found, error, within=(float(self.lower), float(self.upper)))

    def error(self, forecast: Forecast) -> Error:
        """For groups of the stated size, whatever their mean."""
        return Error(mean_error(self, forecast, forecast.beta), f"for {counted(forecast.group_size, 'row')}")

    def least_rows(self, forecast: Forecast) -> int | None:
        """From how many rows on its interval is shorter than its bounds, wherever the mean is."""
        return rows_for_a_mean(self, forecast)


@dataclass(frozen=True, slots=True)
class Mean(Aggregate):
    """The mean of a bounded number: a noisy sum around the middle of its bounds over a noisy count."""

    averages: ClassVar[bool] = True

    of: Of

    def measure(self, measuring: Measuring) -> Output:
        """A centred total and the count of the same rows."""
        of = measuring.numeric(self.of)
        total, centre, known = measuring.centred(of)
        lower, upper = known.ends
        return MeanOf(total, measuring.count(of), centre, lower * known.step, upper * known.step)


def mean(of: Of) -> Mean:
    """The mean of a bounded number; of a condition or a truth value the share of rows on which it is true.

    Guarantee: post-processing of a noisy sum and a noisy count, both charged; the count is shared with `count(of)`.
    """
    return Mean(of)


REGISTRATION = Registration(
    sql={exp.Avg: lambda call: call.answer(Mean(call.of()))},
    command={"mean": CommandForm(mean)},
    sql_names=("AVG",),
)
