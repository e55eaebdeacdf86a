"""The columns of an answer, with their intervals, from what was drawn: post-processing only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import Any, assert_never

import numpy as np

from deniable.plan.provenance import bin_labels
from deniable.query.consistent import consistent
from deniable.query.drawing import Drawn
from deniable.query.lowering import Lowered
from deniable.query.outputs import (
    Band,
    Column,
    HistogramOf,
    MeanOf,
    MomentOf,
    Noisy,
    Output,
    Plain,
    QuantileOf,
    TopKOf,
    mean,
    moment,
    shown_error,
)
from deniable.query.price import Price, Terms
from deniable.query.price import error as price_error


@dataclass(frozen=True, slots=True)
class Moved(Sequence[Any]):
    """Numbers, each moved by the same amount; computed when looked at, for most of a large release never is."""

    values: tuple[Any, ...]
    by: int | float

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        return Moved(self.values[index], self.by) if isinstance(index, slice) else self.values[index] + self.by


@dataclass(frozen=True, slots=True)
class Answered:
    """One output column: plain values, interval ends where there are any, and its error in words.

    `within` is there when every interval is its value give or take the same number. `measured` holds the values before they
    were made to add up; None when they were not. A private choice has no interval of values: `off` says for each group how
    far it may be from the best one, in `unit` (ranks or rows). `bins` are the names of a histogram's bins.
    """

    name: str
    kind: str
    values: tuple[Any, ...]
    lower: Sequence[Any] | None
    upper: Sequence[Any] | None
    error: str
    within: int | float | None = None
    measured: tuple[Any, ...] | None = None
    off: tuple[float | None, ...] | None = None
    unit: str = ""
    bins: tuple[str, ...] | None = None


def even(name: str, kind: str, values: Sequence[Any], within: int | float, error: str) -> Answered:
    """A column whose intervals are all as wide."""
    known = tuple(values)
    return Answered(name, kind, known, Moved(known, -within), Moved(known, within), error, within)


def answered(lowered: Lowered, parts: tuple[Drawn, ...], price: Price) -> tuple[Answered, ...]:
    """Every output of the query, over the groups of all slices."""
    beta = 1 - price.confidence
    fitted = consistent(lowered, parts)
    found = []
    for name, output in lowered.outputs:
        error = str(price.errors[name])
        pieces = [_piece(lowered, name, output, each, beta, error) for each in fitted]
        pairs = zip(fitted, parts, pieces, strict=True)
        raw = [piece if new is old else _piece(lowered, name, output, old, beta, error) for new, old, piece in pairs]
        found.append(replace(_together(pieces, raw), **_choice_error(lowered, output, parts, price)))
    return tuple(found)


def _piece(lowered: Lowered, name: str, output: Output, drawn: Drawn, beta: Fraction, error: str) -> Answered:
    if lowered.tells(output, drawn.part):
        return _column(name, output, drawn, beta, error, lowered.grains)
    nothing = (None,) * len(drawn.groups)
    return Answered(name, "", nothing, nothing, nothing, error)


def _choice_error(lowered: Lowered, output: Output, parts: Sequence[Drawn], price: Price) -> dict[str, Any]:
    """What a private choice says in place of an interval, slice by slice; the names of a histogram's bins."""
    if isinstance(output, HistogramOf):
        return {"bins": bin_labels(output.edges)}
    if not isinstance(output, QuantileOf | TopKOf):
        return {}
    terms = Terms(price.confidence, price.group_size)
    errors = [
        price_error(output, lowered, price.bill, terms, each.part).within if lowered.tells(output, each.part) else None
        for each in parts
    ]
    off = tuple(error for error, each in zip(errors, parts, strict=True) for _ in each.groups)
    return {"off": off, "unit": "ranks" if isinstance(output, QuantileOf) else "rows"}


def _together(pieces: Sequence[Answered], raw: Sequence[Answered]) -> Answered:
    first = pieces[0]
    if len(pieces) == 1 and first.values == raw[0].values:
        return first
    values = _joined([piece.values for piece in pieces])
    measured = _joined([piece.values for piece in raw])
    lower, upper = first.lower, first.upper
    if lower is not None:
        lower, upper = (_joined([getattr(piece, end) for piece in pieces]) for end in ("lower", "upper"))
    kept = None if values == measured else measured
    return Answered(first.name, first.kind, values, lower, upper, first.error, measured=kept)


def _joined(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(value for part in parts for value in part)


def _column(
    name: str, output: Output, drawn: Drawn, beta: Fraction, error: str, grains: Mapping[str, Fraction]
) -> Answered:
    match output:
        case Plain(column):
            return _plain(name, drawn.columns[column], beta, error, grains[column])
        case MeanOf():
            return _banded(name, "mean", mean(output, drawn.columns, beta), error)
        case MomentOf():
            kind = "standard deviation" if output.root else "variance" if output.left == output.right else "covariance"
            return _banded(name, kind, moment(output, drawn.columns, beta), error)
        case QuantileOf(choice):
            values = tuple(_number(output.value(picked[0])) for picked in drawn.choices[choice])
            return Answered(name, "quantile", values, None, None, error)
        case HistogramOf(column):
            return _histogram(name, drawn.columns[column], beta, error, grains[column])
        case TopKOf(choice, labels):
            named = tuple([labels[index] for index in picked] for picked in drawn.choices[choice])
            return Answered(name, "top values", named, None, None, error)
        case _:
            assert_never(output)


def _number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def _plain(name: str, column: Column, beta: Fraction, error: str, grain: Fraction) -> Answered:
    if isinstance(column, Noisy):
        half, whole = shown_error(column.noise.error(beta), column.step, grain), column.shown(grain)
        if grain == 1:
            return even(name, "number", whole.tolist(), int(half), error)
        return even(name, "number", (whole.astype(np.float64) * float(grain)).tolist(), float(half), error)
    found = _banded(name, "number", column.around(beta), error)
    whole_numbers = grain == 1 and all(value == floor(value) for value in found.values)
    if not whole_numbers or found.lower is None or found.upper is None:
        return found
    ends = (tuple(map(floor, found.lower)), tuple(map(ceil, found.upper)))
    return replace(found, values=tuple(map(int, found.values)), lower=ends[0], upper=ends[1])


def _banded(name: str, kind: str, band: Band, error: str) -> Answered:
    value, lower, upper = (tuple(part.tolist()) for part in (band.value, band.lower, band.upper))
    return Answered(name, kind, value, lower, upper, error)


def _histogram(name: str, column: Column, beta: Fraction, error: str, grain: Fraction) -> Answered:
    if isinstance(column, Noisy):
        half, whole = int(shown_error(column.noise.error(beta), column.step, grain)), column.shown(grain)
        tables: tuple[Any, ...] = (whole, whole - half, whole + half)
    else:
        band = column.around(beta)
        tables = (band.value, band.lower, band.upper)
    value, lower, upper = (tuple(row.tolist() for row in table) for table in tables)
    return Answered(name, "histogram", value, lower, upper, error)
