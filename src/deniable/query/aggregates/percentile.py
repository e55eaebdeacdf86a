"""Quantiles and medians: one of the column's public candidates, chosen by the exponential mechanism; errors are in ranks."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sqlglot import exp

from deniable.exact.guards import Real, open_probability
from deniable.mechanisms.quantile import share
from deniable.noise import Entropy
from deniable.plan.expression import (
    Arithmetic,
    Case,
    Compare,
    Comparison,
    Divide,
    Expression,
    Literal,
    Operator,
    Round,
    Rounding,
)
from deniable.query.aggregates.aggregate import (
    Aggregate,
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
from deniable.query.allocation import Selection
from deniable.query.columns import AnswerColumn, SliceColumn
from deniable.query.ranking import ranked_choices

_CANDIDATES = 1 << 20
"""A quantile is chosen among at most so many public values: the column's grid, or the middles of even bins over its bounds."""

LEAST, GREATEST = Fraction(1, 100), Fraction(99, 100)
"""MIN and MAX are answered as these quantiles."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A choice of a quantile from a histogram of `bins` bins."""

    histogram: str
    q: Fraction
    bins: int

    def selection(
        self, key: SliceColumn, *, rows: Fraction, groups: int, replaced: bool, weight: Fraction
    ) -> Selection:
        """One unit's rows in a group move each rank by max(q, 1 - q) per row, or by one when they replace another's."""
        each = Fraction(1) if replaced else max(self.q, 1 - self.q)
        return Selection(key, rows * each, False, groups, 1, self.bins, weight)

    def pick(
        self, histogram: SliceHistogram, *, temperature: Fraction, entropy: Entropy
    ) -> tuple[tuple[int, ...], ...]:
        """One bin for every group."""
        chosen = ranked_choices(
            histogram.occupied(), q=self.q, bins=self.bins, temperature=temperature, entropy=entropy
        )
        return tuple((index,) for index in chosen.tolist())


@dataclass(frozen=True, slots=True)
class QuantileOf(Output):
    """The chosen candidate: the middle of a bin of `width`, the first at `start`, never beyond `upper`.

    With `ends`, the lower and the upper bound are candidates of their own, before and after the `bins` between them.
    """

    choice: str
    start: Fraction
    width: Fraction
    lower: Fraction
    upper: Fraction
    bins: int
    ends: bool

    def value(self, index: int) -> Fraction:
        """What the candidate stands for."""
        if self.ends and index == 0:
            return self.lower
        place = index - 1 if self.ends else index
        return self.upper if place >= self.bins else min(self.start + self.width * place, self.upper)

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    @property
    def chosen(self) -> str | None:
        return self.choice

    @property
    def unit(self) -> str:
        return "ranks"

    @property
    def bin_width(self) -> Fraction | None:
        return self.width if self.ends else None

    def answer(self, name: str, drawn: SliceAnswer, error: str) -> AnswerColumn:
        """The chosen values; how far off they may be is stated in ranks."""
        values = tuple(_number(self.value(chosen[0])) for chosen in drawn.choices[self.choice])
        return AnswerColumn(name, "quantile", values, None, None, error)

    def error(self, forecast: Forecast) -> Error:
        """In ranks, for every group."""
        rounded = f", in bins of {float(self.width):,.6g}" if self.ends else ""
        return Error(forecast.score_error(self.choice), f"ranks{rounded}")


def _number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


@dataclass(frozen=True, slots=True)
class Quantile(Aggregate):
    """The value with a share `q` of the rows at or below it."""

    error_columns: ClassVar[tuple[str, ...]] = ("ranks",)

    of: Of
    q: Fraction

    def measure(self, measuring: Measuring) -> Output:
        """A histogram over the candidates, to choose from."""
        of = measuring.read(self.of)
        known, q = measuring.bounded(of, "a quantile"), share(self.q)  # a long fraction could overflow the rank scores
        low, high = known.ends
        ends = high - low >= _CANDIDATES  # bins are coarser than the grid, and clamped values pile up at the bounds
        first, last = (low + 1, high - 1) if ends else (low, high)
        per_bin = -(-(last - first + 1) // _CANDIDATES)
        bins = -(-(last - first + 1) // per_bin)
        number = _even_bins(of, (first - per_bin if ends else first) * known.step, per_bin * known.step)
        if ends:  # the lower bound is alone in bin 0, one step before the others
            number = Case(
                ((Compare(Comparison.EQUAL, of, Literal(high * known.step)), Literal(Fraction(bins + 1))),), number
            )
        candidates = bins + 2 * ends
        column = measuring.histogram(number, candidates, shown=False)
        choice = measuring.choose(Ranked(column, q, candidates))
        middle = first * known.step + (per_bin - 1) * known.step / 2
        return QuantileOf(
            choice, middle, per_bin * known.step, low * known.step, high * known.step, bins=bins, ends=ends
        )


def quantile(of: Of, q: Real) -> Quantile:
    """The value with a share `q` (strictly between 0 and 1) of the rows at or below it.

    Guarantee: the exponential mechanism over public candidates; its error is stated in ranks.
    """
    return Quantile(of, open_probability(q=q))


def median(of: Of) -> Quantile:
    """The middle value.

    Guarantee: the exponential mechanism over public candidates; its error is stated in ranks.
    """
    return Quantile(of, Fraction(1, 2))


def _even_bins(of: Expression, start: Fraction, width: Fraction) -> Expression:
    """How many whole widths a value lies above the start."""
    above = Arithmetic(Operator.SUBTRACT, of, Literal(start))
    return Divide(Round(Rounding.FLOOR, above, width), Literal(width), Fraction(1))


def sql_quantile(call: SqlCall, of: exp.Expression, q: Fraction) -> Any:
    """A quantile asked in SQL, with what the reader must know."""
    call.note(
        f"{call.node.sql().upper()} is one of the column's public candidates, not interpolated; its error is in ranks."
    )
    return call.answer(Quantile(call.of(of), q))


def _sql_share(call: SqlCall) -> Any:
    asked = call.node.args.get("quantile") or call.node.args.get("expression")
    if asked is None:
        raise call.refusal("aggregate", "a quantile needs its share", "QUANTILE(x, 0.9)")
    return sql_quantile(call, call.node.this, call.share(asked))


def _sql_within_group(call: SqlCall) -> Any:
    function, order = call.node.this, call.node.expression
    if not isinstance(function, exp.PercentileCont | exp.PercentileDisc) or len(order.expressions) != 1:
        raise call.refusal("aggregate", "WITHIN GROUP goes with PERCENTILE_CONT or PERCENTILE_DISC")
    ordered, q = order.expressions[0], call.share(function.this)
    return sql_quantile(call, ordered.this, 1 - q if ordered.args.get("desc") else q)


def _sql_end(call: SqlCall, q: Fraction) -> Any:
    if call.node.expressions:
        raise call.refusal("aggregate", "MIN and MAX take one value", "use LEAST or GREATEST for several")
    of = call.of()
    call.note(
        f"{call.node.sql().upper()} is answered as the {float(q):g}-quantile: the true end belongs to one person."
    )
    return call.answer(Quantile(of, q))


REGISTRATION = Registration(
    sql={
        exp.Median: lambda call: sql_quantile(call, call.node.this, Fraction(1, 2)),
        exp.Min: lambda call: _sql_end(call, LEAST),
        exp.Max: lambda call: _sql_end(call, GREATEST),
        exp.Quantile: _sql_share,
        exp.PercentileCont: _sql_share,
        exp.PercentileDisc: _sql_share,
        exp.WithinGroup: _sql_within_group,
    },
    command={"median": CommandForm(median), "quantile": CommandForm(quantile, number=float)},
    sql_names=("MIN", "MAX", "MEDIAN", "QUANTILE"),
)
