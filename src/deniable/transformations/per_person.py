"""One row for each person, made of that person's rows alone: their mean, a quantile, the most frequent, the least, the largest, or
one of them at random.

Whoever's rows are the same has the same summary, so people who come or go are rows that come or go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Any, TypeAlias, TypeVar

import numpy as np

from deniable.core import (
    Booleans,
    Categories,
    Domain,
    Frame,
    Lattice,
    Numbers,
    Rows,
    Space,
    SymmetricDistance,
    Texts,
    Transformation,
    missing,
    step,
)
from deniable.core.cells import cells, countable, key, table
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, positive, probability
from deniable.transformations.clamp import clamp
from deniable.transformations.column_arrays import floats, steps
from deniable.transformations.frames import column
from deniable.transformations.partition import frame_columns
from deniable.transformations.row_metrics import deterministic, same
from deniable.transformations.truncation import column_names, identifier, truncate_rows

Value = TypeVar("Value")
People: TypeAlias = Callable[[Any], list[list[Any]]]
"""From a frame to the values of each person."""


@step
def mean_per_person(
    space: Space, name: str, *, lower: Real | None = None, upper: Real | None = None, grid: Real | None = None
) -> Transformation:
    """Each person's mean of a column, rounded to `grid` (the column's own where there is one), one row for each person.

    Guarantee: d people become d rows: distances do not grow. Cells are clamped to the bounds first; missing cells are left out,
    and so is a person who has no others.
    """
    lattice, people = _bounded(space, name, "mean_per_person", lower, upper, grid)
    unit = lattice.step if grid is None else positive(grid=grid)
    ratio = lattice.step / unit
    target = Lattice(unit, floor((lattice.lower or 0) * ratio), ceil((lattice.upper or 0) * ratio))
    return _summary(space, target, people, lambda own: round(Fraction(sum(own), len(own)) * ratio))


@step
def quantile_per_person(
    space: Space,
    name: str,
    *,
    q: Real,
    lower: Real | None = None,
    upper: Real | None = None,
    grid: Real | None = None,
) -> Transformation:
    """Each person's quantile of a column: the least of their numbers that a share q of them does not exceed; one row each.

    Guarantee: d people become d rows: distances do not grow. Cells are clamped to the bounds first; missing cells are left out,
    and so is a person who has no others.
    """
    share = probability(q=q)
    lattice, people = _bounded(space, name, "quantile_per_person", lower, upper, grid)
    if grid is not None and positive(grid=grid) != lattice.step:
        raise InvalidArgument(f"these values are on a grid of {lattice.step} already; leave grid out")
    return _summary(space, lattice, people, lambda own: sorted(own)[max(ceil(share * len(own)) - 1, 0)])


@step
def median_per_person(
    space: Space, name: str, *, lower: Real | None = None, upper: Real | None = None, grid: Real | None = None
) -> Transformation:
    """Each person's lower median of a column, one row for each person.

    Guarantee: that of `quantile_per_person`.
    """
    return quantile_per_person(name, q=Fraction(1, 2), lower=lower, upper=upper, grid=grid).build(space)


@step
def min_per_person(
    space: Space, name: str, *, lower: Real | None = None, upper: Real | None = None, grid: Real | None = None
) -> Transformation:
    """Each person's least number of a column, one row for each person.

    Guarantee: that of `quantile_per_person`.
    """
    return quantile_per_person(name, q=0, lower=lower, upper=upper, grid=grid).build(space)


@step
def max_per_person(
    space: Space, name: str, *, lower: Real | None = None, upper: Real | None = None, grid: Real | None = None
) -> Transformation:
    """Each person's largest number of a column, one row for each person.

    Guarantee: that of `quantile_per_person`.
    """
    return quantile_per_person(name, q=1, lower=lower, upper=upper, grid=grid).build(space)


@step
def mode_per_person(space: Space, name: str) -> Transformation:
    """Each person's most frequent value of a column of texts, categories, truth values or whole numbers, one row for each person;
    of equally frequent ones the first in public order (texts: by letters).

    Guarantee: d people become d rows: distances do not grow. Missing cells and cells that are no members are left out.
    """
    frame = frame_columns(space, "mode_per_person")
    who = identifier(space, "mode_per_person")
    element = _element(frame, name)
    if isinstance(element, Lattice):
        lattice = _whole(element)
        return _summary(space, lattice, _numbers(frame, who, name, _steps_of(lattice)), lambda own: _mode(own, int))
    if not isinstance(element, Texts | Categories | Booleans):
        raise SpaceMismatch(f"mode_per_person works on texts, categories, truth values or a grid, got {element!r}")
    places = {value: place for place, value in enumerate(element.values)} if isinstance(element, Categories) else None

    def members(data: Any) -> list[list[Any]]:
        columns = table(data, frame.columns)
        values = [_member(cell, element) for cell in cells(columns[name])]
        return _by_person(columns[who], values, [value is not None for value in values])

    target = element if isinstance(element, Categories) else type(element)(missing=False)
    return _summary(space, target, members, lambda own: _mode(own, lambda value: places[value] if places else value))


@step
def sample_per_person(space: Space, name: str) -> Transformation:
    """One of each person's cells of a column, drawn at random: a value as likely as it is frequent among that person's rows.

    Guarantee: d people become d rows, drawn together: distances do not grow. It is `truncate_rows(rows=1) >> column(name)`.
    """
    return truncate_rows(rows=1).build(space) >> column(name)


def _element(frame: Frame, name: str) -> Domain:
    column_names(frame, name)
    return frame.columns[name]


def _whole(element: Lattice) -> Lattice:
    return Lattice(element.step, element.lower, element.upper)


def _bounded(
    space: Space, name: str, step_name: str, lower: Real | None, upper: Real | None, grid: Real | None
) -> tuple[Lattice, People]:
    """The bounded grid a column's numbers are clamped to, and what finds each person's numbers in whole steps of it."""
    frame = frame_columns(space, step_name)
    who, element = identifier(space, step_name), _element(frame, name)
    if (lower is None) != (upper is None):
        raise InvalidArgument(f"{step_name} needs both bounds or neither, got lower={lower!r} and upper={upper!r}")
    lattice = _whole(element) if isinstance(element, Lattice) else element
    read: Callable[[Any], Any] = _steps_of(lattice)
    if lower is not None and upper is not None:
        limits = clamp(lower=lower, upper=upper, grid=grid if isinstance(element, Numbers) else None)
        limited = Space(Rows(lattice), SymmetricDistance()) >> limits
        assert isinstance(limited.target.domain, Rows)
        lattice, read = limited.target.domain.element, limited.steps
    if not isinstance(lattice, Lattice) or lattice.lower is None or lattice.upper is None:
        raise SpaceMismatch(f"{step_name} needs bounded numbers on a grid, got {element!r}; give lower and upper")
    return lattice, _numbers(frame, who, name, read)


def _steps_of(element: Domain) -> Callable[[Any], Any]:
    return lambda data: steps(data, element) if isinstance(element, Lattice) else data


def _numbers(frame: Frame, who: str, name: str, read: Callable[[Any], Any]) -> People:
    """Each person's numbers of a column, missing ones left out."""
    is_number = isinstance(frame.columns[name], Numbers)

    def numbers(data: Any) -> list[list[Any]]:
        columns = table(data, frame.columns)
        given = columns[name]
        there = (~np.isnan(floats(given))).tolist() if is_number else [not missing(cell) for cell in cells(given)]
        return _by_person(columns[who], read(given).tolist(), there)

    return numbers


def _member(cell: Any, element: Texts | Categories | Booleans) -> Any:
    """The cell as a member in plain form, or None."""
    if missing(cell) or cell not in element:
        return None
    return bool(cell) if isinstance(element, Booleans) else key(cell)


def _by_person(people: Any, values: Sequence[Value], there: Sequence[bool]) -> list[list[Value]]:
    """The values of each person who has one."""
    owned: dict[Hashable, list[Value]] = {}
    for person, value, is_there in zip(cells(people), values, there, strict=True):
        if is_there:
            owned.setdefault(countable(person), []).append(value)
    return list(owned.values())


def _mode(own: Sequence[Value], place: Callable[[Value], Any]) -> Value:
    counts = Counter(own)
    return min(counts, key=lambda value: (-counts[value], place(value)))


def _summary(space: Space, element: Domain, people: People, summary: Callable[[list[Any]], Any]) -> Transformation:
    target = Space(Rows(element), SymmetricDistance())
    return Transformation(space, target, deterministic(lambda data: [summary(own) for own in people(data)]), same)
