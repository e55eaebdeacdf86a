"""Variances, standard deviations and covariances of bounded numbers, from noisy sums of products."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from sqlglot import exp

from deniable.exact.figures import counted
from deniable.plan.expression import Arithmetic, Case, Expression, IsNull, Literal, Not, Operator
from deniable.plan.facts import Facts
from deniable.plan.functions.numeric import Round, Rounding
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
from deniable.query.aggregates.count import Count
from deniable.query.aggregates.measuring import Measuring
from deniable.query.columns import AnswerColumn, interval_column
from deniable.query.ratio import moment_error, moment_intervals

_PRODUCT_LIMIT = 2**31
"""Products are rounded to a grid on which one row stays below this, so that sums over many rows stay exact."""


@dataclass(frozen=True, slots=True)
class MomentOf(Output):
    """E[xy] - E[x]E[y] around public centres: a variance when both are one column, else a covariance.

    `shift` was subtracted from every product before adding up (it halves the sensitivity) and is put back here;
    the result lies in [lower, upper]. `root` takes the square root.
    """

    averages: ClassVar[bool] = True

    products: str
    left: str
    right: str
    count: str
    shift: Fraction
    lower: Fraction
    upper: Fraction
    root: bool = False
    reaches: tuple[float, float] = field(kw_only=True, repr=False)
    """How far x and y lie from their centres at most."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.products, self.left, self.right, self.count)))

    @property
    def mean_columns(self) -> tuple[MeanColumns, ...]:
        """The means it is about."""
        return tuple(MeanColumns(total, self.count) for total in dict.fromkeys((self.left, self.right)))

    @property
    def inner_ends(self) -> tuple[float, float]:
        """The ends of what it can be, less the shift."""
        return float(self.lower) - float(self.shift), float(self.upper) - float(self.shift)

    def answer(self, name: str, drawn: SliceAnswer, error: str) -> AnswerColumn:
        """The variance, standard deviation or covariance with its interval."""
        kind = "standard deviation" if self.root else "variance" if self.left == self.right else "covariance"
        ends = float(self.lower), float(self.upper)
        within = (ends[0] ** 0.5, ends[1] ** 0.5) if self.root else ends
        return interval_column(name, kind, moment_intervals(self, drawn.columns, drawn.beta), error, within=within)

    def error(self, forecast: Forecast) -> Error:
        """For groups of the stated size, whatever their values."""
        return Error(moment_error(self, forecast, forecast.beta), f"for {counted(forecast.group_size, 'row')}")


@dataclass(frozen=True, slots=True)
class Variance(Aggregate):
    """The population variance of a bounded number."""

    averages: ClassVar[bool] = True

    of: Of

    def measure(self, measuring: Measuring) -> Output:
        """A count, a sum and a sum of squares."""
        x = measuring.read(self.of)
        return moment_of(measuring, x, x)


@dataclass(frozen=True, slots=True)
class StandardDeviation(Aggregate):
    """The population standard deviation of a bounded number."""

    averages: ClassVar[bool] = True

    of: Of

    def measure(self, measuring: Measuring) -> Output:
        """What the variance measures."""
        x = measuring.read(self.of)
        return moment_of(measuring, x, x, root=True)


@dataclass(frozen=True, slots=True)
class Covariance(Aggregate):
    """The population covariance of two bounded numbers."""

    averages: ClassVar[bool] = True

    x: Of
    y: Of

    def measure(self, measuring: Measuring) -> Output:
        """A count, two sums and a sum of products."""
        return moment_of(measuring, *where_both(measuring, measuring.read(self.x), measuring.read(self.y)))


def variance(of: Of) -> Variance:
    """The population variance of a bounded number.

    Guarantee: post-processing of a noisy count, sum and sum of squares, all charged.
    """
    return Variance(of)


def std(of: Of) -> StandardDeviation:
    """The population standard deviation of a bounded number.

    Guarantee: post-processing of a noisy count, sum and sum of squares, all charged.
    """
    return StandardDeviation(of)


def covariance(x: Of, y: Of) -> Covariance:
    """The population covariance of two bounded numbers.

    Guarantee: post-processing of a noisy count, two noisy sums and a noisy sum of products, all charged.
    """
    return Covariance(x, y)


def moment_of(
    measuring: Measuring, x: Expression, y: Expression, *, root: bool = False, count: str | None = None
) -> MomentOf:
    """The measurements of a variance or covariance of numbers that are missing together, and how it follows from them.

    `count` is the count of these rows where it is measured already.
    """
    left, x_centre, x_facts = measuring.centred(x)
    right, y_centre, y_facts = measuring.centred(y)
    x_moved, y_moved = (Arithmetic(Operator.SUBTRACT, v, Literal(c)) for v, c in ((x, x_centre), (y, y_centre)))
    product = _coarser(measuring, Arithmetic(Operator.MULTIPLY, x_moved, y_moved))
    known = measuring.bounded(product, "a variance")
    low, high = known.ends
    if x == y:
        low = 0
    half = -((low - high) // 2) * known.step
    shift = (low + high) // 2 * known.step
    products = measuring.clipped_total(Arithmetic(Operator.SUBTRACT, product, Literal(shift)), -half, half)
    widest = _widest(x_facts, y_facts)
    lowest = Fraction(0) if x == y else -widest
    reaches = (_reach(x_facts, x_centre), _reach(y_facts, y_centre))
    rows = measuring.count(x) if count is None else count
    return MomentOf(products, left, right, rows, shift, lowest, widest, root=root, reaches=reaches)


def where_both(measuring: Measuring, x: Expression, y: Expression) -> tuple[Expression, Expression]:
    """Two columns made missing together, so that all sums run over the same rows."""
    if x == y:
        return x, y
    left = Case(((Not(IsNull(y)), x),)) if measuring.may_be_missing(y) else x
    right = Case(((Not(IsNull(x)), y),)) if measuring.may_be_missing(x) else y
    return left, right


def _reach(known: Facts, centre: Fraction) -> float:
    low, high = known.ends
    return float(max(high * known.step - centre, centre - low * known.step))


def _coarser(measuring: Measuring, product: Expression) -> Expression:
    known = measuring.bounded(product, "a variance")
    widest = max(abs(end) for end in known.ends)
    factor = 1
    while widest > factor * _PRODUCT_LIMIT:
        factor *= 2
    return product if factor == 1 else Round(Rounding.NEAREST, product, known.step * factor)


def _widest(x: Facts, y: Facts) -> Fraction:
    """The most a (co)variance can be: half the product of the ranges, each halved, is attained at the ends."""
    (a, b), (c, d) = x.ends, y.ends
    return (b - a) * x.step * (d - c) * y.step / 4


def _sample(call: SqlCall) -> Any:
    """The sample's variance: the population's times n / (n - 1)."""
    of, text = call.of(), call.node.this.sql().lower()
    wide = call.answer(Variance(of), f"var_pop of {text}")
    n = call.answer(Count(of), f"count({text})")
    call.note(f"{call.node.sql()} is the sample's, with n - 1: computed from the noisy population variance and count.")
    return call.sample_value(wide, n)


def _sample_root(call: SqlCall) -> Any:
    return call.root(_sample(call))


REGISTRATION = Registration(
    sql={
        exp.VariancePop: lambda call: call.answer(Variance(call.of())),
        exp.StddevPop: lambda call: call.answer(StandardDeviation(call.of())),
        exp.Variance: _sample,
        exp.Stddev: _sample_root,
        exp.StddevSamp: _sample_root,
        exp.CovarPop: lambda call: call.answer(Covariance(call.of(), call.of(call.node.expression))),
    },
    command={
        "variance": CommandForm(variance),
        "std": CommandForm(std),
        "covariance": CommandForm(covariance, (2, 2)),
    },
    sql_names=("VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV_SAMP", "COVAR_POP"),
)
