"""The most frequent values of a column, chosen one after another by the exponential mechanism; no count is part of it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from deniable.errors import QueryRefused
from deniable.exact.guards import integer
from deniable.kernels.exponential_choice import peel
from deniable.noise import Entropy
from deniable.noise.weighted_choice import weighted_choices
from deniable.plan.expression import Expression
from deniable.plan.facts import Kind
from deniable.query.aggregates.aggregate import (
    Aggregate,
    ChosenOutput,
    CommandForm,
    Error,
    Forecast,
    Of,
    Output,
    Registration,
    SliceAnswer,
    SliceHistogram,
    SqlCall,
)
from deniable.query.aggregates.measuring import Measuring
from deniable.query.aggregates.percentile import steps_above
from deniable.query.columns import AnswerColumn, SliceColumn
from deniable.query.measurements import Selection

_MOST_VALUES = 10_000
"""The most numbers that compete: all of them have a chance, however rare."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """A choice of the `k` fullest bins of a histogram, one after another."""

    histogram: str
    k: int
    bins: int

    @property
    def times(self) -> int:
        """How many choices there are in every group."""
        return min(self.k, self.bins)

    def selection(
        self, key: SliceColumn, *, rows: Fraction, groups: int, replaced: bool, weight: Fraction
    ) -> Selection:
        """One unit's rows move the counts of all bins in one direction, unless they replace another's."""
        return Selection(key, rows, not replaced, groups, self.times, self.bins, weight, self.times)

    def pick(
        self, histogram: SliceHistogram, *, temperature: Fraction, beta: Fraction, entropy: Entropy
    ) -> tuple[tuple[int, ...], ...]:
        """One row of chosen bins for every group."""
        fullest = [self._fullest(counts, temperature, entropy) for counts in histogram.blocks(self.bins)]
        return tuple(tuple(row) for block in fullest for row in block.tolist())

    def _fullest(self, counts: NDArray[np.int64], temperature: Fraction, entropy: Entropy) -> NDArray[np.int64]:
        """Each bin is chosen among those that are left."""
        return peel(
            len(counts),
            self.bins,
            self.times,
            lambda left: weighted_choices(counts, scale=temperature, entropy=entropy, counts=left),
        )


@dataclass(frozen=True, slots=True)
class TopKOf(ChosenOutput):
    """The chosen values, most frequent first."""

    choice: str
    values: tuple[Any, ...]

    @property
    def unit(self) -> str:
        return "rows"

    def answer(self, name: str, drawn: SliceAnswer, error: str) -> AnswerColumn:
        """A list of values for every group."""
        named = tuple([self.values[index] for index in chosen] for chosen in drawn.choices[self.choice])
        return AnswerColumn(name, "top values", named, None, None, error)

    def error(self, forecast: Forecast) -> Error:
        """How many rows each choice may be below the best one that is left."""
        return Error(forecast.score_error(self.choice), "rows below the true order, each")


@dataclass(frozen=True, slots=True)
class TopK(Aggregate):
    """The `k` most frequent values of a column, in order, chosen privately; their counts are not part of it.

    This file chooses among declared values; `query.found_values` among those of a text column without any.
    """

    error_columns: ClassVar[tuple[str, ...]] = ("rows",)

    of: Of
    k: int

    def measure(self, measuring: Measuring) -> Output:
        """A histogram over the declared values, to choose from."""
        of = measuring.read(self.of)
        number, values = _numbered(measuring, of)
        column = measuring.histogram(number, len(values), shown=False)
        return TopKOf(measuring.choose(Ordered(column, self.k, len(values))), values)


def _numbered(measuring: Measuring, of: Expression) -> tuple[Expression, tuple[Any, ...]]:
    """The number of a value among the public ones, and these: declared categories, truth values, the grid of a bounded number."""
    known = measuring.facts(of)
    if known.categories is not None:
        return measuring.category_number(of, known.categories), known.categories
    if known.kind is Kind.BOOLEAN:
        return measuring.numeric(of), (False, True)
    if known.kind is not Kind.NUMBER or not known.bounded:
        raise QueryRefused(
            "no-categories",
            "top_k chooses among declared values",
            rewrite="declare the column's categories, or a number's bounds",
        )
    low, high = known.ends
    if high - low >= _MOST_VALUES:
        raise QueryRefused(
            "too-many-values",
            f"top_k chooses among at most {_MOST_VALUES:,} numbers, and these bounds hold {high - low + 1:,}",
            rewrite="round them, as in ROUND(x, -1), or declare tighter bounds or a coarser step",
        )
    values = tuple(count * known.step for count in range(low, high + 1))
    plain = tuple(int(value) if value.denominator == 1 else float(value) for value in values)
    return steps_above(of, low * known.step, known.step), plain


def top_k(of: Of, k: int) -> TopK:
    """The `k` most frequent values of a column, most frequent first.

    They are chosen among declared categories, truth values, or the grid of a bounded number. Of a text column without declared
    values they are found in the data, which needs a delta; it is then asked alone.

    Guarantee: one exponential choice after another, among public values or, for a delta, among found ones and a stop; the
    error is stated in counts.
    """
    return TopK(of, integer(k=k, least=1))


def _sql(call: SqlCall) -> Any:
    """APPROX_TOP_K(x, k)."""
    size = call.node.expression
    if not (
        isinstance(size, exp.Literal) and not size.is_string and size.this.isdigit() and 0 < int(size.this) < 10**6
    ):
        raise call.refusal("bad-constant", "APPROX_TOP_K takes a column and a whole number", "APPROX_TOP_K(x, 5)")
    return call.answer(TopK(call.of(), int(size.this)))


REGISTRATION = Registration(
    sql={exp.ApproxTopK: _sql}, command={"top_k": CommandForm(top_k, number=int)}, sql_names=("APPROX_TOP_K",)
)
