"""Quantiles and medians: public candidates, chosen by the exponential mechanism, each with an interval of values.

A quantile is three choices that share its part of the price: one near its rank, one so far below and one so far above that they
enclose it. What an interval of one quantile costs and why it holds: `docs/theory/quantile-intervals.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from math import ceil
from typing import Any, ClassVar, TypeAlias

import numpy as np
from sqlglot import exp

from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, open_probability
from deniable.kernels.exponential_choice import exponential_score_error
from deniable.kernels.rank_scores import share
from deniable.noise import Entropy
from deniable.plan.expression import Arithmetic, Case, Compare, Comparison, Divide, Expression, Literal, Operator
from deniable.plan.facts import Facts
from deniable.plan.functions.numeric import Round, Rounding
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
from deniable.query.columns import AnswerColumn, SliceColumn
from deniable.query.measurements import Selection
from deniable.query.ranking import ranked_choices, ranked_ends

_CANDIDATES = 1 << 40
"""A quantile is chosen among at most so many public values: the column's grid, or the middles of even bins over its bounds."""

LEAST, GREATEST = Fraction(1, 100), Fraction(99, 100)
"""MIN and MAX are answered as these quantiles."""

Number: TypeAlias = int | float


@dataclass(frozen=True, slots=True)
class Ranked:
    """A choice of quantiles from a histogram of `bins` bins, in whose units a row is `row`; with the `ends` of intervals."""

    histogram: str
    shares: tuple[Fraction, ...]
    bins: int
    row: int
    ends: bool

    def selection(
        self, key: SliceColumn, *, rows: Fraction, groups: int, replaced: bool, weight: Fraction
    ) -> Selection:
        """One unit's rows in a group move each rank by max(q, 1 - q) per row, or by one when they replace another's."""
        each = Fraction(1) if replaced else max(max(q, 1 - q) for q in self.shares)
        times = len(self.shares) * (3 if self.ends else 1)
        return Selection(key, rows * each, False, groups, times, self.bins, weight, len(self.shares))

    def pick(
        self, histogram: SliceHistogram, *, temperature: Fraction, beta: Fraction, entropy: Entropy
    ) -> tuple[tuple[int, ...], ...]:
        """For every group and every share one bin, and with `ends` one that is below and one that is above."""
        occupied = histogram.occupied()
        chosen = []
        for q in self.shares:
            chosen.append(ranked_choices(occupied, q=q, bins=self.bins, temperature=temperature, entropy=entropy))
            if self.ends:
                reach = self._reach(q, temperature, beta / 2)
                chosen += ranked_ends(
                    occupied, q=q, bins=self.bins, reach=reach, temperature=temperature, entropy=entropy
                )
        return tuple(map(tuple, np.column_stack(chosen).tolist()))

    def _reach(self, q: Fraction, temperature: Fraction, beta: Fraction) -> int:
        """How far from the rank an end is asked for: the error of its choice and one row more, in units of 1/denominator(q)."""
        error = exponential_score_error(beta, count=self.bins, scale=temperature * q.denominator)
        return ceil(error) + self.row * q.denominator


@dataclass(frozen=True, slots=True)
class QuantileGrid:
    """The values of bins 0, 1, ...: the middles of `bins` bins of `width` on a grid of `step`, the first at `start`.

    With `ends`, the lower and the upper bound are candidates of their own, before and after the `bins` between them.
    """

    start: Fraction
    width: Fraction
    lower: Fraction
    upper: Fraction
    bins: int
    ends: bool
    step: Fraction

    def value(self, index: int, *, beside: int = 0) -> Number:
        """What a candidate stands for; `beside` -1 and 1 for the least and the greatest value in its bin."""
        if self.ends and index == 0:
            return _number(self.lower)
        place = index - 1 if self.ends else index
        if place >= self.bins:
            return _number(self.upper)
        return _number(min(self.start + self.width * place + beside * (self.width - self.step) / 2, self.upper))


@dataclass(frozen=True, slots=True)
class QuantileOf(ChosenOutput):
    """The chosen candidates: one for each share, and where there are `ends` the interval around it."""

    choice: str
    candidates: QuantileGrid
    shares: tuple[Fraction, ...]
    ends: bool
    several: bool

    @property
    def unit(self) -> str:
        return "ranks"

    @property
    def bin_names(self) -> tuple[str, ...] | None:
        return tuple(f"{float(q):g}" for q in self.shares) if self.several else None

    @property
    def bin_width(self) -> Fraction | None:
        return self.candidates.width if self.candidates.ends else None

    def answer(self, name: str, drawn: SliceAnswer, error: str) -> AnswerColumn:
        """The chosen values with their intervals; how far off in ranks they may be is stated besides."""
        cells = [self._cell(chosen) for chosen in drawn.choices[self.choice]]
        value, lower, upper = (tuple(cell[at] if self.several else cell[at][0] for cell in cells) for at in range(3))
        kind = "quantiles" if self.several else "quantile"
        return AnswerColumn(name, kind, value, lower if self.ends else None, upper if self.ends else None, error)

    def _cell(self, chosen: tuple[Any, ...]) -> tuple[list[Number], list[Number], list[Number]]:
        """The quantiles of one group in their order, and ends that rise with them; an interval is only ever widened."""
        at, each = self.candidates, 3 if self.ends else 1
        values = sorted(at.value(index) for index in chosen[::each])
        if not self.ends:
            return values, values, values
        lows = [at.value(index, beside=-1) for index in chosen[1::each]]
        highs = [at.value(index, beside=1) for index in chosen[2::each]]
        lower = list(accumulate(map(min, lows[::-1], values[::-1]), min))[::-1]
        return values, lower, list(accumulate(map(max, highs, values), max))

    def error(self, forecast: Forecast) -> Error:
        """In ranks, for every group."""
        each = " each" if self.several else ""
        rounded = f", in bins of {float(self.candidates.width):,.6g}" if self.candidates.ends else ""
        return Error(forecast.score_error(self.choice), f"ranks{each}{rounded}")


def _number(value: Fraction) -> Number:
    return int(value) if value.denominator == 1 else float(value)


@dataclass(frozen=True, slots=True)
class Quantile(Aggregate):
    """The value with a share `q` of the rows at or below it; without an `interval` all of its price is spent on the value."""

    error_columns: ClassVar[tuple[str, ...]] = ("low", "high", "ranks")

    of: Of
    q: Fraction
    interval: bool = True

    def measure(self, measuring: Measuring) -> Output:
        """A histogram over the candidates, to choose from."""
        return _measured(measuring, self.of, (self.q,), ends=self.interval, several=False)


@dataclass(frozen=True, slots=True)
class QuantileList(Aggregate):
    """Several quantiles of one column, in rising order."""

    error_columns: ClassVar[tuple[str, ...]] = ("low", "high", "ranks")

    of: Of
    shares: tuple[Fraction, ...]
    interval: bool = True

    def measure(self, measuring: Measuring) -> Output:
        """One histogram over the candidates, to choose all of them from."""
        return _measured(measuring, self.of, self.shares, ends=self.interval, several=True)


def _measured(measuring: Measuring, asked: Of, shares: Sequence[Fraction], *, ends: bool, several: bool) -> QuantileOf:
    of = measuring.read(asked)
    known = measuring.bounded(of, "a quantile")
    exact = tuple(share(q) for q in shares)  # a long fraction could overflow the rank scores
    number, candidates = _binned(of, known)
    count = candidates.bins + 2 * candidates.ends
    column = measuring.histogram(number, count, shown=False)
    row = int(1 / measuring.steps[column])
    choice = measuring.choose(Ranked(column, exact, count, row, ends))
    return QuantileOf(choice, candidates, exact, ends, several)


def _binned(of: Expression, known: Facts) -> tuple[Expression, QuantileGrid]:
    """The number of a value's bin, and what the bins stand for."""
    low, high = known.ends
    apart = high - low >= _CANDIDATES  # bins are coarser than the grid, and clamped values pile up at the bounds
    first, last = (low + 1, high - 1) if apart else (low, high)
    per_bin = -(-(last - first + 1) // _CANDIDATES)
    bins = -(-(last - first + 1) // per_bin)
    number = steps_above(of, (first - per_bin if apart else first) * known.step, per_bin * known.step)
    if apart:  # the lower bound is alone in bin 0, one step before the others
        number = Case(
            ((Compare(Comparison.EQUAL, of, Literal(high * known.step)), Literal(Fraction(bins + 1))),), number
        )
    middle = first * known.step + (per_bin - 1) * known.step / 2
    width = per_bin * known.step
    return number, QuantileGrid(middle, width, low * known.step, high * known.step, bins, apart, known.step)


def quantile(of: Of, q: Real | Sequence[Real], *, interval: bool = True) -> Quantile | QuantileList:
    """The value with a share `q` (strictly between 0 and 1) of the rows at or below it; a list of shares gives them all, in order.

    It has an interval of values, chosen inside its price: three choices for each share. `interval=False` makes one of them, which
    is nearer to the rank for the same price.

    Guarantee: the exponential mechanism over public candidates; its error is stated in ranks, its interval in values.
    """
    if not isinstance(interval, bool):
        raise InvalidArgument(f"interval must be True or False, got {interval!r}")
    if isinstance(q, str) or not isinstance(q, Sequence):
        return Quantile(of, open_probability(q=q), interval)
    shares = tuple(open_probability(q=each) for each in q)
    if not shares or any(not a < b for a, b in pairwise(shares)):
        raise InvalidArgument(f"q must be shares in rising order, at least one, got {list(q)!r}")
    return QuantileList(of, shares, interval)


def median(of: Of, *, interval: bool = True) -> Quantile:
    """The middle value, with an interval of values that is chosen inside its price; `interval=False` spends all on the value.

    Guarantee: the exponential mechanism over public candidates; its error is stated in ranks, its interval in values.
    """
    if not isinstance(interval, bool):
        raise InvalidArgument(f"interval must be True or False, got {interval!r}")
    return Quantile(of, Fraction(1, 2), interval)


def steps_above(of: Expression, start: Fraction, width: Fraction) -> Expression:
    """How many whole widths a value lies above the start."""
    above = Arithmetic(Operator.SUBTRACT, of, Literal(start))
    return Divide(Round(Rounding.FLOOR, above, width), Literal(width), Fraction(1))


UNWRITTEN = "unwritten"
"""Marks a call that is in no text of a user, so no note speaks of it."""


def sql_quantile(call: SqlCall, of: exp.Expression, q: Fraction) -> Any:
    """A quantile asked in SQL, with what the reader must know."""
    if UNWRITTEN not in call.node.meta:
        call.note(f"{call.node.sql()} is one of the column's public candidates, not interpolated.")
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
    if call.node.expressions or call.node.args.get("count"):
        raise call.refusal("aggregate", "MIN and MAX take one value", "use LEAST or GREATEST for several")
    of = call.of()
    said = f"{call.node.sql()} is answered as the {float(q):g}-quantile"
    call.note(f"{said}: the largest and smallest value each belong to one person.")
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
