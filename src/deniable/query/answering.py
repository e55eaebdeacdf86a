"""The columns of an answer, with their intervals, from what was drawn: post-processing only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, assert_never

from deniable.query.drawing import Drawn
from deniable.query.lowering import Lowered
from deniable.query.outputs import (
    Band,
    HistogramOf,
    MeanOf,
    MomentOf,
    Output,
    Plain,
    QuantileOf,
    TopKOf,
    mean,
    moment,
)
from deniable.query.price import Price


@dataclass(frozen=True, slots=True)
class Answered:
    """One output column: plain values, interval ends where there are any, and its error in words.

    `within` is there when every interval is its value give or take the same number.
    """

    name: str
    kind: str
    values: tuple[Any, ...]
    lower: tuple[Any, ...] | None
    upper: tuple[Any, ...] | None
    error: str
    within: int | float | None = None


def even(name: str, kind: str, values: Sequence[Any], within: int | float, error: str) -> Answered:
    """A column whose intervals are all as wide."""
    low, high = tuple([value - within for value in values]), tuple([value + within for value in values])
    return Answered(name, kind, tuple(values), low, high, error, within)


def answered(lowered: Lowered, drawn: Drawn, price: Price) -> tuple[Answered, ...]:
    """Every output of the query."""
    beta = 1 - price.confidence
    return tuple(_column(name, output, drawn, beta, str(price.errors[name])) for name, output in lowered.outputs)


def _column(name: str, output: Output, drawn: Drawn, beta: Fraction, error: str) -> Answered:
    match output:
        case Plain(column):
            return _plain(name, drawn, column, beta, error)
        case MeanOf():
            return _banded(name, "mean", mean(output, drawn.columns, beta), error)
        case MomentOf():
            kind = "standard deviation" if output.root else "variance" if output.left == output.right else "covariance"
            return _banded(name, kind, moment(output, drawn.columns, beta), error)
        case QuantileOf(choice, start, width):
            values = tuple(_number(start + width * picked[0]) for picked in drawn.choices[choice])
            return Answered(name, "quantile", values, None, None, error)
        case HistogramOf(column):
            return _histogram(name, drawn, column, beta, error)
        case TopKOf(choice, labels):
            named = tuple([labels[index] for index in picked] for picked in drawn.choices[choice])
            return Answered(name, "top values", named, None, None, error)
        case _:
            assert_never(output)


def _number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def _plain(name: str, drawn: Drawn, column: str, beta: Fraction, error: str) -> Answered:
    noisy = drawn.columns[column]
    half = noisy.noise.half_width(beta)
    if noisy.step == 1:
        return even(name, "number", noisy.steps.tolist(), half, error)
    return even(name, "number", noisy.values.tolist(), half * float(noisy.step), error)


def _banded(name: str, kind: str, band: Band, error: str) -> Answered:
    value, lower, upper = (tuple(part.tolist()) for part in (band.value, band.lower, band.upper))
    return Answered(name, kind, value, lower, upper, error)


def _histogram(name: str, drawn: Drawn, column: str, beta: Fraction, error: str) -> Answered:
    noisy = drawn.columns[column]
    half = noisy.noise.half_width(beta)
    tables = (noisy.steps, noisy.steps - half, noisy.steps + half)
    value, lower, upper = (tuple([int(count) for count in row] for row in table) for table in tables)
    return Answered(name, "histogram", value, lower, upper, error)
