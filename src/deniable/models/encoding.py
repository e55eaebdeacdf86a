"""From the codebook's columns to whole numbers: every feature becomes columns on one public grid, row by row.

A number becomes its place between its bounds, from -1 to 1 (and, where asked, the same on a logarithmic scale); a category or a
flag becomes one column for each value. Everything is an integer count of 1/GRID; nothing is read from the data.

Guarantee: each row's integers depend on that row and public facts alone, and are at most GRID in size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidArgument
from deniable.plan.expression import Arithmetic, Case, Column, Compare, Comparison, Expression, Literal, Operator
from deniable.plan.facts import Facts, Kind, days
from deniable.plan.functions.numeric import Round, Rounding

Whole: TypeAlias = NDArray[np.int64]

GRID = 1 << 10
"""Steps to 1."""

UNSEEN = -1
"""The code of a category that the codebook does not list, and of a missing one: no column is set."""

OTHER = "another value"
"""What every value of a text column that is not listed becomes, a missing one included."""

_LEVELS = 1 << 12
"""The logarithmic scale tells apart sizes down to this share of a column's width."""


class NumberScale(Enum):
    """How numbers become columns."""

    LINEAR = "linear"
    BOTH = "linear and logarithmic"


@dataclass(frozen=True, slots=True)
class Feature:
    """One column of the codebook as a model sees it; `values` are the categories, empty for a number.

    `lower` and `upper` are whole numbers of `step`. With `reference` the first category has no column of its own.
    """

    name: str
    values: tuple[Any, ...] = ()
    step: Fraction = Fraction(1)
    lower: int = 0
    upper: int = 0
    scale: NumberScale = NumberScale.LINEAR
    reference: bool = False
    dated: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it is a number between bounds."""
        return not self.values

    @property
    def width(self) -> int:
        """How many columns it becomes."""
        if self.is_number:
            return 1 if self.scale is NumberScale.LINEAR else 2
        return len(self.values) - self.reference

    @property
    def most(self) -> int:
        """How many of its columns can differ from zero in one row."""
        return self.width if self.is_number else min(1, self.width)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of its columns."""
        if self.is_number:
            return (self.name,) if self.scale is NumberScale.LINEAR else (self.name, f"log {self.name}")
        return tuple(f"{self.name} = {value}" for value in self.values[self.reference :])

    @property
    def half_width(self) -> float:
        """Half of the distance between the bounds, in the column's own unit; of a constant 1."""
        return float((self.upper - self.lower) * self.step / 2) or 1.0

    @property
    def middle(self) -> float:
        """The middle between the bounds, in the column's own unit."""
        return float((self.upper + self.lower) * self.step / 2)

    def columns(self, codes: Whole) -> Whole:
        """The columns of every row, one row of `codes` each; whatever the codes are, each entry is at most GRID in size."""
        if not self.is_number:
            kept = np.arange(int(self.reference), len(self.values), dtype=np.int64)
            return np.asarray((codes[:, None] == kept[None, :]).astype(np.int64) * GRID, dtype=np.int64)
        place = np.clip(codes, self.lower, self.upper) - self.lower
        linear = _scaled(place, self.upper - self.lower)
        if self.scale is NumberScale.LINEAR:
            return linear[:, None]
        return np.stack([linear, _logarithmic(place, self.upper - self.lower)], axis=1)

    def fill(self, zeros: Any, codes: Whole) -> None:
        """Write the columns of every row over zeros."""
        if self.is_number:
            zeros[:] = self.columns(codes)
            return
        place = codes - int(self.reference)
        rows = np.flatnonzero((place >= 0) & (place < self.width))
        zeros[rows, place[rows]] = GRID

    def expressions(self) -> tuple[Expression, ...]:
        """The same columns, each as an expression of the column of codes; of the linear scale alone."""
        code = Column(self.name)
        if not self.is_number:
            places = range(int(self.reference), len(self.values))
            return tuple(_indicator(Compare(Comparison.EQUAL, code, Literal(place))) for place in places)
        assert self.scale is NumberScale.LINEAR
        width, ends = self.upper - self.lower, Literal(self.lower + self.upper)
        if not width:
            return (Literal(0),)
        twice = Arithmetic(Operator.MULTIPLY, Literal(2), code)
        right, left = Arithmetic(Operator.SUBTRACT, twice, ends), Arithmetic(Operator.SUBTRACT, ends, twice)
        upwards = Compare(Comparison.AT_LEAST, right, Literal(0))
        downwards = Arithmetic(Operator.SUBTRACT, Literal(0), _share(left, width))
        return (Case(((upwards, _share(right, width)),), downwards),)

    def codes(self, cells: Sequence[Any]) -> Whole:
        """The codes of public cells: a value that is not in the codebook is unseen, a missing number stands in the middle."""
        if not self.is_number:
            places = {value: place for place, value in enumerate(self.values)}
            return np.array([_place(places, cell) for cell in cells], dtype=np.int64)
        middle = (self.lower + self.upper) // 2
        return np.array([self._number(cell, middle) for cell in cells], dtype=np.int64)

    def _number(self, cell: Any, middle: int) -> int:
        if self.dated and isinstance(cell, date):
            return min(max(days(cell), self.lower), self.upper)
        try:
            value = float(cell)
        except (TypeError, ValueError, OverflowError):
            return middle
        if math.isnan(value):
            return middle
        if math.isinf(value):
            return self.upper if value > 0 else self.lower
        return min(max(round(Fraction(value) / self.step), self.lower), self.upper)


def feature(name: str, known: Facts, *, scale: NumberScale = NumberScale.LINEAR, reference: bool = False) -> Feature:
    """A column as its public facts describe it."""
    if known.kind is Kind.STRING:
        assert known.categories is not None
        return Feature(name, known.categories, reference=reference)
    if known.kind is Kind.BOOLEAN:
        return Feature(name, (False, True), reference=reference)
    lower, upper = known.ends
    return Feature(name, (), known.step, lower, upper, scale, dated=known.kind is Kind.DATE)


@dataclass(frozen=True, slots=True)
class Encoding:
    """An intercept and several features, side by side."""

    features: tuple[Feature, ...]

    @property
    def width(self) -> int:
        """How many columns there are, the intercept included."""
        return 1 + sum(each.width for each in self.features)

    @property
    def most(self) -> int:
        """How many entries of one row can differ from zero."""
        return 1 + sum(each.most for each in self.features)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the columns."""
        return ("intercept", *(label for each in self.features for label in each.labels))

    def matrix(self, codes: Mapping[str, Whole], rows: int) -> Whole:
        """One row of whole numbers for every row of codes, at most GRID each."""
        found = np.zeros((rows, self.width), dtype=np.int64)
        self._fill(found, codes)
        return found

    def floats(self, codes: Mapping[str, Whole], rows: int) -> NDArray[np.float64]:
        """The same whole numbers as floating point, for products."""
        found = np.zeros((rows, self.width))
        self._fill(found, codes)
        return found

    def _fill(self, zeros: Any, codes: Mapping[str, Whole]) -> None:
        zeros[:, 0], place = GRID, 1
        for each in self.features:
            each.fill(zeros[:, place : place + each.width], np.asarray(codes[each.name]))
            place += each.width

    def expressions(self) -> tuple[Expression, ...]:
        """The columns as expressions of the columns of codes."""
        return (Literal(GRID), *(each for feature in self.features for each in feature.expressions()))

    def public_matrix(self, frame: Any) -> Whole:
        """The same of a public frame: a mapping of columns, or a pandas, Polars or Arrow table."""
        cells = {each.name: public_cells(frame, each.name) for each in self.features}
        lengths = {len(column) for column in cells.values()}
        if len(lengths) > 1:
            raise InvalidArgument(f"the columns of the frame have different lengths: {sorted(lengths)}")
        codes = {each.name: each.codes(cells[each.name]) for each in self.features}
        return self.matrix(codes, lengths.pop() if lengths else row_count(frame))


def public_cells(frame: Any, name: str) -> list[Any]:
    """One column of a public frame as a list; refused by name where there is none."""
    try:
        column = frame[name]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        column = None
    except Exception as error:  # frame libraries have exceptions of their own for a column that is not there
        if "NotFound" not in type(error).__name__:
            raise
        column = None
    if column is None:
        raise InvalidArgument(f"the frame has no column {name!r}, which this model needs")
    listed = column.to_pylist() if hasattr(column, "to_pylist") else column
    return list(listed.tolist() if hasattr(listed, "tolist") else listed)


def row_count(frame: Any) -> int:
    """How many rows a public frame has."""
    if isinstance(frame, Mapping):
        return len(next(iter(frame.values()), ()))
    return len(frame)


def _place(places: Mapping[Any, int], cell: Any) -> int:
    try:
        return places.get(cell, UNSEEN)
    except TypeError:
        return UNSEEN


def _indicator(condition: Expression) -> Expression:
    return Case(((condition, Literal(GRID)),), Literal(0))


def _share(value: Expression, width: int) -> Expression:
    """GRID times the value over the width, cut towards zero where the value is not negative."""
    return Round(Rounding.FLOOR, Arithmetic(Operator.MULTIPLY, value, Literal(Fraction(GRID, width))))


def _scaled(place: Whole, width: int) -> Whole:
    """0..width to -GRID..GRID, cut towards zero; in the middle where there is no width."""
    if not width:
        return np.zeros_like(place)
    twice = 2 * place - width
    return np.asarray(np.sign(twice) * (np.abs(twice) * GRID // width), dtype=np.int64)


def _logarithmic(place: Whole, width: int) -> Whole:
    """0..width to -GRID..GRID along the base-two logarithm of 1 + place, straight between powers of two."""
    if not width:
        return np.zeros_like(place)
    if width >= _LEVELS:
        place, width = place // max(width // (1 << 40), 1), width // max(width // (1 << 40), 1)
        place, width = np.minimum(place, width) * _LEVELS // width, _LEVELS
    return _scaled(_log_steps(1 + place), int(_log_steps(np.array([1 + width], dtype=np.int64))[0]))


def _log_steps(value: Whole) -> Whole:
    """GRID times the interpolated base-two logarithm of whole numbers from 1 to 2**13."""
    power = np.frexp(value.astype(np.float64))[1].astype(np.int64) - 1
    return power * GRID + (((value - (np.int64(1) << power)) * GRID) >> power)
