"""Histograms: noisy rows in each of the bins between public edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from deniable.errors import InvalidArgument, QueryRefused
from deniable.exact.guards import Real, rational
from deniable.plan.expression import Expression
from deniable.plan.functions.bins import Bin
from deniable.plan.provenance import bin_labels, declared_bins
from deniable.query.aggregates.aggregate import (
    Aggregate,
    Error,
    Forecast,
    Of,
    Output,
    Registration,
    SliceAnswer,
)
from deniable.query.aggregates.measuring import Measuring
from deniable.query.columns import AnswerColumn


@dataclass(frozen=True, slots=True)
class HistogramOf(Output):
    """Noisy rows in each bin."""

    column: str
    edges: tuple[Fraction, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def bin_names(self) -> tuple[str, ...] | None:
        return tuple(bin_labels(self.edges))

    def answer(self, name: str, drawn: SliceAnswer, error: str) -> AnswerColumn:
        """A list of counts for every group, with lists of ends."""
        column = drawn.columns[self.column]
        if column.is_measured:
            half, shown = int(column.shown_error(drawn.beta)), column.shown()
            tables: tuple[Any, ...] = (shown, shown - half, shown + half)
        else:
            around = column.around(drawn.beta)
            tables = (around.value, around.lower, around.upper)
        value, lower, upper = (tuple(row.tolist() for row in table) for table in tables)
        edges = tuple(int(edge) if edge.denominator == 1 else float(edge) for edge in self.edges)
        return AnswerColumn(name, "histogram", value, lower, upper, error, edges=edges)

    def error(self, forecast: Forecast) -> Error:
        """The same for every bin."""
        return Error(forecast.shown_error(self.column), "per bin")


@dataclass(frozen=True, slots=True)
class BinnedCounts(Aggregate):
    """Rows in each of the bins between public edges; without edges the codebook's bins of the column."""

    of: Of
    edges: tuple[Fraction, ...] | None = None

    def measure(self, measuring: Measuring) -> Output:
        """One histogram."""
        of = measuring.read(self.of)
        edges = self._edges(measuring, of)
        return HistogramOf(measuring.histogram(Bin(of, edges), len(edges) - 1, shown=True), edges)

    def _edges(self, measuring: Measuring, of: Expression) -> tuple[Fraction, ...]:
        edges = self.edges if self.edges is not None else declared_bins(measuring.source, of)
        if edges is not None:
            return edges
        raise QueryRefused(
            "no-bins",
            "a histogram needs public bins",
            rewrite="declare the column's bins in the codebook, or write dp.histogram(column, edges=[0, 10, 20])",
        )


def histogram(of: Of, *, edges: Sequence[Real] | None = None) -> BinnedCounts:
    """Rows in each bin between `edges`; without them the codebook's bins of the column.

    Guarantee: bins are public, all of them are shown, each gets noise of its own.
    """
    if edges is None:
        return BinnedCounts(of)
    rising = tuple(rational(edge=edge) for edge in edges)
    if len(rising) < 2 or any(not a < b for a, b in pairwise(rising)):
        raise InvalidArgument(f"edges must be at least two rising numbers, got {list(edges)!r}")
    return BinnedCounts(of, rising)


REGISTRATION = Registration()
