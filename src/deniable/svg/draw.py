"""Marks to elements, between two axes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from deniable.svg import elements
from deniable.svg.axes import Axis
from deniable.svg.frame import Room
from deniable.svg.lettering import number, width
from deniable.svg.marks import Line, Mark, Points, ReferenceLine, ShadedBand, Stems, StepLine

Pixel = tuple[float, float]
_CAP = 4.0
_DASHED = ' stroke-dasharray="5 4"'


@dataclass(frozen=True, slots=True)
class Canvas:
    """The axes and the frame that marks are drawn into."""

    x: Axis
    y: Axis
    room: Room


def draw_mark(mark: Mark, canvas: Canvas, colour: int) -> list[str]:
    """The elements of one mark."""
    match mark:
        case Line():
            return [_stroked(run, colour) for run in _runs(mark.x, mark.y, canvas)]
        case StepLine():
            return [_stroked(_stairs(run), colour) for run in _runs(mark.x, mark.y, canvas)]
        case Stems():
            return _stems(mark, canvas, colour)
        case Points():
            return _points(mark, canvas, colour)
        case ShadedBand():
            return _band(mark, canvas, colour)
        case ReferenceLine():
            return _rule(mark, canvas)
        case _:
            assert_never(mark)


def _stroked(points: Sequence[Pixel], colour: int) -> str:
    return elements.path(thin(points), role=elements.stroke(colour), width=2.2, more=elements.dashes(colour))


def _runs(xs: Sequence[float], ys: Sequence[float], canvas: Canvas) -> Iterator[list[Pixel]]:
    """The unbroken stretches of a curve: a value without a place on its axis ends one."""
    run: list[Pixel] = []
    for x, y in zip(xs, ys, strict=True):
        if canvas.x.shows(x) and canvas.y.shows(y):
            run.append((canvas.x.pixel(x), canvas.y.pixel(y)))
        elif run:
            yield run
            run = []
    if run:
        yield run


def thin(points: Sequence[Pixel]) -> list[Pixel]:
    """At most four points for each column of pixels (first, lowest, highest, last): the same picture, a short file."""
    if len(points) < 2000:
        return list(points)
    kept: list[Pixel] = []
    column: list[Pixel] = []
    for point in points:
        if column and math.floor(point[0]) != math.floor(column[0][0]):
            kept += _corners(column)
            column = []
        column.append(point)
    return kept + _corners(column)


def _corners(column: list[Pixel]) -> list[Pixel]:
    if len(column) <= 4:
        return column
    inner = column[1:-1]
    low, high = min(inner, key=lambda p: p[1]), max(inner, key=lambda p: p[1])
    return [column[0], *sorted({low, high}, key=inner.index), column[-1]]


def _stairs(points: Sequence[Pixel]) -> list[Pixel]:
    stairs = [points[0]]
    for (_, y), (x, new) in itertools.pairwise(points):
        stairs += [(x, y), (x, new)]
    return stairs


def _stems(mark: Stems, canvas: Canvas, colour: int) -> list[str]:
    base = canvas.y.inside(0.0)
    shown = [(x, y) for x, y in zip(mark.x, mark.y, strict=True) if canvas.x.shows(x) and canvas.y.shows(y)]
    thickness = max(1.0, min(6.0, 0.6 * canvas.room.width / max(1, len(shown))))
    found = []
    for x, y in shown:
        across = canvas.x.pixel(x)
        stem = elements.line(across, base, across, canvas.y.pixel(y), role=elements.stroke(colour), width=thickness)
        found.append(elements.group_elements([stem], hint=f"{number(x)}: {number(y)}") if len(shown) <= 500 else stem)
    return found


def _points(mark: Points, canvas: Canvas, colour: int) -> list[str]:
    found = []
    for x, y, lower, upper in zip(mark.x, mark.y, mark.lower, mark.upper, strict=True):
        if not (canvas.x.shows(x) and canvas.y.shows(y)):
            continue
        across, hint, parts = canvas.x.pixel(x), f"{number(x)}: {number(y)}", []
        if lower != upper:
            parts = vertical_whisker(
                across, canvas.y.inside(lower), canvas.y.inside(upper), role=elements.stroke(colour)
            )
            hint += f" ({number(lower)} to {number(upper)})"
        found.append(
            elements.group_elements(
                [*parts, elements.dot(across, canvas.y.pixel(y), 4, role=elements.fill(colour))], hint=hint
            )
        )
    return found


def vertical_whisker(x: float, low: float, high: float, *, role: str) -> list[str]:
    """An error bar that stands upright."""
    return [
        elements.line(x, low, x, high, role=role, width=1.4),
        elements.line(x - _CAP, low, x + _CAP, low, role=role, width=1.4),
        elements.line(x - _CAP, high, x + _CAP, high, role=role, width=1.4),
    ]


def horizontal_whisker(y: float, low: float, high: float, *, role: str) -> list[str]:
    """An error bar that lies flat."""
    return [
        elements.line(low, y, high, y, role=role, width=1.4),
        elements.line(low, y - _CAP, low, y + _CAP, role=role, width=1.4),
        elements.line(high, y - _CAP, high, y + _CAP, role=role, width=1.4),
    ]


def _band(mark: ShadedBand, canvas: Canvas, colour: int) -> list[str]:
    shown = [
        (canvas.x.pixel(x), canvas.y.inside(low), canvas.y.inside(high))
        for x, low, high in zip(mark.x, mark.lower, mark.upper, strict=True)
        if canvas.x.shows(x) and low == low and high == high
    ]
    if not shown:
        return []
    there = thin([(x, high) for x, _, high in shown])
    back = thin([(x, low) for x, low, _ in shown])[::-1]
    return [elements.area(there + back, role=elements.fill(colour), more=elements.BAND)]


def _rule(mark: ReferenceLine, canvas: Canvas) -> list[str]:
    return level(mark, canvas.y, canvas.room) if mark.y is not None else upright(mark, canvas.x, canvas.room)


def level(rule: ReferenceLine, axis: Axis, room: Room) -> list[str]:
    """A rule at a y, its text above the line at the right, or below where there is no room above."""
    if rule.y is None or not axis.shows(rule.y):
        return []
    y = axis.pixel(rule.y)
    below = y - 6 - elements.SMALL < room.top
    words = _haloed(room.right - 6, y + (elements.SMALL + 5 if below else -6), rule.label, anchor="end")
    return [elements.line(room.left, y, room.right, y, role="dn-rule", width=1.3, more=_DASHED), words]


def upright(rule: ReferenceLine, axis: Axis, room: Room) -> list[str]:
    """A rule at an x, its text at the top on the right of the line, or on the left where there is no room."""
    if rule.x is None or not axis.shows(rule.x):
        return []
    x = axis.pixel(rule.x)
    fits = x + 6 + width(rule.label, elements.SMALL) < room.right
    words = _haloed(x + (6 if fits else -6), room.top + 14, rule.label, anchor="start" if fits else "end")
    return [elements.line(x, room.top, x, room.bottom, role="dn-rule", width=1.3, more=_DASHED), words]


def _haloed(x: float, y: float, label: str, *, anchor: str) -> str:
    """A label over the data, with an edge in the surface colour so that lines behind it do not cross it."""
    if not label:
        return ""
    words = elements.text(x, y, label, role="dn-muted dn-halo", size=elements.SMALL, anchor=anchor)
    return words.replace("<text ", '<text paint-order="stroke" stroke-width="4" stroke-linejoin="round" ', 1)
