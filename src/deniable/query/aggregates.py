"""What can be asked of each group of a private table: records, and the short names people write.

A column is a name or an expression such as `"price * quantity"`. Every aggregate is answered from integers whose
sensitivity the plan knows; nothing here touches data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal, TypeAlias

from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer, open_probability, rational
from deniable.plan.expression import Expression
from deniable.plan.nodes import Summary

Of: TypeAlias = str | Expression
"""A column, written as text in the expression language or already as an expression."""


TOTAL: Literal["total"] = "total"
"""A unit's total is clipped to what its rows that count can add; no row is weighed."""

Clip: TypeAlias = tuple[Fraction, Fraction] | Literal["total"] | None
"""What happens to a unit with too many rows: its total is clipped to these ends or to `TOTAL`; None: its rows weigh less."""


@dataclass(frozen=True, slots=True)
class Count:
    """Rows, or rows where `of` is not missing; one unit counts at most `most` times in a group (None: the query's rows)."""

    of: Of | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class CountUnits:
    """Units (people) with a row in the group, or with a row where `of` is not missing."""

    of: Of | None = None


@dataclass(frozen=True, slots=True)
class CountDistinct:
    """Distinct values of a column in the group."""

    of: Of


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of a bounded number; the rows of a unit with too many weigh less, or (`clip`) its total is clipped."""

    of: Of
    clip: Clip = None


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a bounded number: a noisy sum around the middle of its bounds over a noisy count."""

    of: Of


@dataclass(frozen=True, slots=True)
class Variance:
    """The population variance of a bounded number."""

    of: Of


@dataclass(frozen=True, slots=True)
class Deviation:
    """The population standard deviation of a bounded number."""

    of: Of


@dataclass(frozen=True, slots=True)
class Quantile:
    """The value with a share `q` of the rows at or below it."""

    of: Of
    q: Fraction


@dataclass(frozen=True, slots=True)
class Histogram:
    """Rows in each of the bins between public edges."""

    of: Of
    edges: tuple[Fraction, ...] | None = None


@dataclass(frozen=True, slots=True)
class TopK:
    """The `k` most frequent of a column's declared values, in order, chosen privately; their counts are not part of it."""

    of: Of
    k: int


@dataclass(frozen=True, slots=True)
class Covariance:
    """The population covariance of two bounded numbers."""

    x: Of
    y: Of


Aggregate: TypeAlias = (
    Count | CountUnits | CountDistinct | Sum | Mean | Variance | Deviation | Quantile | Histogram | TopK | Covariance
)


@dataclass(frozen=True, slots=True)
class OfUnit:
    """A summary of one unit's own rows, for `per_unit` alone: it is no answer about many units."""

    summary: Summary
    of: Of


def count(of: Of | None = None, *, most: int | None = None) -> Count:
    """Rows in the group, or rows where `of` is not missing.

    A unit with more rows in a group than the query's `rows` counts as so many, spread evenly over all it has; with `most` its
    count is cut off there instead.
    Guarantee: one unit is counted at most `most` times (by default the query's `rows`) in each of at most `groups` groups;
    integer noise on an integer.
    """
    return Count(of, None if most is None else integer(most=most, least=1))


def count_distinct(of: Of | None = None) -> CountUnits | CountDistinct:
    """Distinct units (people) in the group; with a column, distinct values of it.

    Guarantee: one unit moves the number of units by one, and the number of values by at most `rows`, in each of its groups.
    """
    return CountUnits() if of is None else CountDistinct(of)


def sum(of: Of, *, clip: tuple[Real, Real] | Literal["total"] | None = None) -> Sum:
    """The sum of a number whose bounds the codebook (or the expression) declares.

    A unit with more rows in a group than the query's `rows` counts as so many, spread evenly over all it has. Instead its
    total can be clipped, to two numbers or (`"total"`) to what `rows` rows can add: that loses less where only the sum is asked.
    Guarantee: what one unit adds to a group lies within `clip`, by default within `rows` times the bounds, in exact integers.
    """
    if clip is None or clip == TOTAL:
        return Sum(of, clip)
    if not (isinstance(clip, tuple | list) and len(clip) == 2):
        raise InvalidArgument(f"clip must be two rising numbers or 'total', got {clip!r}")
    lower, upper = rational(lower=clip[0]), rational(upper=clip[1])
    if not lower < upper:
        raise InvalidArgument(f"clip must be two rising numbers, got {clip!r}")
    return Sum(of, (lower, upper))


def mean(of: Of) -> Mean:
    """The mean of a bounded number.

    Guarantee: post-processing of a noisy sum and a noisy count, both charged; the count is shared with `count(of)`.
    """
    return Mean(of)


def variance(of: Of) -> Variance:
    """The population variance of a bounded number.

    Guarantee: post-processing of a noisy count, sum and sum of squares, all charged.
    """
    return Variance(of)


def std(of: Of) -> Deviation:
    """The population standard deviation of a bounded number.

    Guarantee: post-processing of a noisy count, sum and sum of squares, all charged.
    """
    return Deviation(of)


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


def minimum(of: Of) -> OfUnit:
    """The least value among one unit's own rows, for `per_unit`; over many units ask for a low quantile.

    Guarantee: exact and within one unit; nothing is released before an aggregate over units.
    """
    return OfUnit(Summary.LEAST, of)


def maximum(of: Of) -> OfUnit:
    """The greatest value among one unit's own rows, for `per_unit`; over many units ask for a high quantile.

    Guarantee: exact and within one unit; nothing is released before an aggregate over units.
    """
    return OfUnit(Summary.GREATEST, of)


def mode(of: Of) -> OfUnit:
    """The most frequent value among one unit's own rows, for `per_unit`, and the least of several; over many units see `top_k`.

    Guarantee: exact and within one unit; nothing is released before an aggregate over units.
    """
    return OfUnit(Summary.MODE, of)


def histogram(of: Of, *, edges: Sequence[Real] | None = None) -> Histogram:
    """Rows in each bin between `edges`; without them the codebook's bins of the column.

    Guarantee: bins are public, all of them are shown, each gets noise of its own.
    """
    if edges is None:
        return Histogram(of)
    rising = tuple(rational(edge=edge) for edge in edges)
    if len(rising) < 2 or any(not a < b for a, b in pairwise(rising)):
        raise InvalidArgument(f"edges must be at least two rising numbers, got {list(edges)!r}")
    return Histogram(of, rising)


def top_k(of: Of, k: int) -> TopK:
    """The `k` most frequent declared values of a column, most frequent first.

    Guarantee: one exponential choice after another among public values; the error is stated in counts.
    """
    return TopK(of, integer(k=k, least=1))


def covariance(x: Of, y: Of) -> Covariance:
    """The population covariance of two bounded numbers.

    Guarantee: post-processing of a noisy count, two noisy sums and a noisy sum of products, all charged.
    """
    return Covariance(x, y)
