"""Answers by group: bars or dots with error bars, upright or lying flat, several series side by side."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from deniable.errors import InvalidArgument
from deniable.svg import elements, frame
from deniable.svg.axes import Axis, Scale, axis
from deniable.svg.draw import horizontal_whisker, level, upright, vertical_whisker
from deniable.svg.elements import Figure
from deniable.svg.frame import MARGIN, Entry, LegendKey, Room, Words
from deniable.svg.lettering import clean, number, shorten
from deniable.svg.lettering import width as text_width
from deniable.svg.marks import ReferenceLine, floats, same_length

_BAND = 0.72  # the share of a group's room that is drawn on
_ROW = 26.0
_SLANT = 35.0  # degrees
_MOST_ROWS = 300


class BarShape(enum.Enum):
    """Bars start at zero; dots do not have to, and suit error bars far from it and logarithmic scales."""

    BAR = "bar"
    DOT = "dot"


@dataclass(frozen=True, slots=True)
class Series:
    """One value per group, with error bars from `lower` to `upper` where they are given."""

    groups: Any
    values: Any
    lower: Any = None
    upper: Any = None
    label: str = ""
    texts: Any = None
    """What is written for each value; the number itself unless given."""

    def __post_init__(self) -> None:
        groups = tuple(clean(group) for group in self.groups)
        values = floats(self.values, "values")
        lower = values if self.lower is None else floats(self.lower, "lower")
        upper = values if self.upper is None else floats(self.upper, "upper")
        same_length(groups=groups, values=values, lower=lower, upper=upper)
        texts = tuple(map(number, values)) if self.texts is None else tuple(clean(text) for text in self.texts)
        same_length(groups=groups, texts=texts)
        object.__setattr__(self, "texts", texts)
        for name, value in (("groups", groups), ("values", values), ("lower", lower), ("upper", upper)):
            object.__setattr__(self, name, value)

    def first(self, count: int) -> Series:
        """The same series with its first groups only."""
        groups, values = self.groups[:count], self.values[:count]
        ends = self.lower[:count], self.upper[:count]
        return Series(groups, values, *ends, label=self.label, texts=self.texts[:count])

    def hint(self, place: int) -> str:
        """The tooltip of one group."""
        name = f"{self.groups[place]}, {self.label}" if self.label else self.groups[place]
        value = f"{name}: {number(self.values[place])}"
        if self.lower[place] == self.upper[place]:
            return value
        return f"{value} ({number(self.lower[place])} to {number(self.upper[place])})"


def vertical_bars(
    *series: Series,
    title: str = "",
    subtitle: str = "",
    x_label: str = "",
    y_label: str = "",
    note: str = "",
    scale: Scale = Scale.LINEAR,
    shape: BarShape = BarShape.BAR,
    rule: ReferenceLine | None = None,
    width: int = 720,
    height: int = 420,
) -> Figure:
    """Upright bars, one place per group; long names are slanted, but many of them read better in `horizontal_bars`.

    `rule` is a reference line at a y; on a logarithmic scale bars start from it.
    """
    frame.checked_size(width, height)
    groups = _groups(series)
    words = Words(title, subtitle, x_label, y_label, note)
    head, top = frame.header(words, _entries(series, shape), width)
    labels = _label_height(groups, width, height)
    bottom = height - frame.footer_height(words, labels=labels)
    y = axis(
        _values(series, rule.y if rule else None),
        scale=scale,
        limits=None,
        start=bottom,
        end=top,
        zero=_zero(scale, shape),
    )
    room = Room(MARGIN + frame.label_room([t for _, t in y.ticks]), top, width - MARGIN, bottom)
    slot, base = room.width / len(groups), _floor(y, rule.y if rule else None)
    body = [*head, *frame.horizontal_grid(y, room), *_names_below(groups, room, slot, labels)]
    for index, place, one in _cells(series):
        middle, size = _middle(index, len(series), slot)
        body.append(_upright(one, place, index, y, base, room.left + place * slot + middle, size, shape))
    body.append(elements.line(room.left, base, room.right, base, role="dn-axis"))
    body += (level(rule, y, room) if rule else []) + frame.footer(words, room, height, labels=labels)
    return Figure(elements.document(body, width=width, height=height, name=title, described=subtitle), width, height)


def horizontal_bars(
    *series: Series,
    title: str = "",
    subtitle: str = "",
    x_label: str = "",
    note: str = "",
    scale: Scale = Scale.LINEAR,
    shape: BarShape = BarShape.BAR,
    rule: ReferenceLine | None = None,
    width: int = 720,
) -> Figure:
    """Lying bars, one row per group, with the values written at the right; as tall as the groups need.

    Of very many groups the first 300 are drawn and the note says how many are not.
    `rule` is a reference line at an x; on a logarithmic scale bars start from it.
    """
    frame.checked_size(width, 400)
    groups = _groups(series)
    if len(groups) > _MOST_ROWS:
        hidden = f"The first {_MOST_ROWS} groups; {len(groups) - _MOST_ROWS:,} more are not drawn."
        groups, series, note = groups[:_MOST_ROWS], tuple(one.first(_MOST_ROWS) for one in series), f"{hidden} {note}"
    words = Words(title, subtitle, x_label, "", note)
    head, top = frame.header(words, _entries(series, shape), width)
    slot = max(_ROW, 15.0 * len(series) / _BAND)
    height = round(top + slot * len(groups) + frame.footer_height(words))
    names = min(max(text_width(g, elements.TEXT) for g in groups) + 10, width * 0.36)
    written = [text for one in series for text in one.texts]
    values = max(text_width(text, elements.SMALL) for text in written) + 10
    room = Room(MARGIN + names, top, width - MARGIN - values, top + slot * len(groups))
    x = axis(
        _values(series, rule.x if rule else None),
        scale=scale,
        limits=None,
        start=room.left,
        end=room.right,
        zero=_zero(scale, shape),
    )
    base = _floor(x, rule.x if rule else None)
    body = [*head, *frame.vertical_grid(x, room), *_names_beside(groups, room, slot, names)]
    for index, place, one in _cells(series):
        middle, size = _middle(index, len(series), slot)
        y = room.top + place * slot + middle
        body.append(_flat(one, place, index, x, base, y, size, shape))
        figures = elements.text(
            width - MARGIN, y + 4, one.texts[place], role="dn-muted", size=elements.SMALL, anchor="end"
        )
        body.append(figures)
    body.append(elements.line(base, room.top, base, room.bottom, role="dn-axis"))
    body += (upright(rule, x, room) if rule else []) + frame.footer(words, room, height)
    return Figure(elements.document(body, width=width, height=height, name=title, described=subtitle), width, height)


# Shared ---------------------------------------------------------------------------------------------------------------


def _groups(series: Sequence[Series]) -> tuple[str, ...]:
    if not series or not series[0].groups:
        raise InvalidArgument("a bar chart needs at least one series with at least one group, got none")
    groups: tuple[str, ...] = series[0].groups
    for one in series[1:]:
        if one.groups != groups:
            raise InvalidArgument(f"every series must have the same groups in the same order, {one.label!r} differs")
    return groups


def _entries(series: Sequence[Series], shape: BarShape) -> list[Entry]:
    key = LegendKey.BOX if shape is BarShape.BAR else LegendKey.DOT
    return [Entry(one.label, index, key) for index, one in enumerate(series) if one.label]


def _zero(scale: Scale, shape: BarShape) -> bool:
    return scale is Scale.LINEAR and shape is BarShape.BAR


def _values(series: Sequence[Series], reference: float | None) -> Iterator[float]:
    for one in series:
        yield from (*one.values, *one.lower, *one.upper)
    if reference is not None:
        yield reference


def _cells(series: Sequence[Series]) -> Iterator[tuple[int, int, Series]]:
    for index, one in enumerate(series):
        for place in range(len(one.groups)):
            yield index, place, one


def _middle(index: int, count: int, slot: float) -> tuple[float, float]:
    """Where in its group's room one series is centred, and how thick its bar is."""
    share = slot * _BAND / count
    return slot * (1 - _BAND) / 2 + share * (index + 0.5), min(share * 0.92, 64.0)


def _upright(one: Series, place: int, colour: int, y: Axis, base: float, x: float, size: float, shape: BarShape) -> str:
    value, lower, upper = one.values[place], one.lower[place], one.upper[place]
    parts = []
    if y.shows(value) and shape is BarShape.BAR:
        end = y.inside(value)
        top, tall = min(base, end), abs(base - end)
        parts.append(
            elements.box(x - size / 2, top, size, tall, role=elements.fill(colour), radius=2, more=elements.BAR)
        )
    if lower != upper:
        role = "dn-whisker" if shape is BarShape.BAR else elements.stroke(colour)
        parts += vertical_whisker(x, y.inside(lower), y.inside(upper), role=role)
    if y.shows(value) and shape is BarShape.DOT:
        parts.append(elements.dot(x, y.inside(value), 5, role=elements.fill(colour)))
    return elements.group_elements(parts, hint=one.hint(place))


def _flat(one: Series, place: int, colour: int, x: Axis, base: float, y: float, size: float, shape: BarShape) -> str:
    value, lower, upper = one.values[place], one.lower[place], one.upper[place]
    parts = []
    if x.shows(value) and shape is BarShape.BAR:
        end = x.inside(value)
        left, long = min(base, end), abs(base - end)
        parts.append(
            elements.box(left, y - size / 2, long, size, role=elements.fill(colour), radius=2, more=elements.BAR)
        )
    if lower != upper:
        role = "dn-whisker" if shape is BarShape.BAR else elements.stroke(colour)
        parts += horizontal_whisker(y, x.inside(lower), x.inside(upper), role=role)
    if x.shows(value) and shape is BarShape.DOT:
        parts.append(elements.dot(x.inside(value), y, 5, role=elements.fill(colour)))
    return elements.group_elements(parts, hint=one.hint(place))


def _label_height(groups: Sequence[str], width: int, height: int) -> float:
    """One row where every name fits its place; else what slanted names need, at most a third of the drawing."""
    longest = max(text_width(name, elements.SMALL) for name in groups)
    if longest <= 0.9 * width / len(groups) - 8:
        return frame.LABELS
    return min(longest * math.sin(math.radians(_SLANT)) + frame.LABELS, height / 3)


def _names_below(groups: Sequence[str], room: Room, slot: float, labels: float) -> list[str]:
    slanted = labels > frame.LABELS
    space = (labels - frame.LABELS) / math.sin(math.radians(_SLANT)) + 1 if slanted else slot - 4
    slant, anchor, drop = (-_SLANT, "end", 4) if slanted else (0.0, "middle", 7)
    drawn = []
    every = math.ceil(elements.SMALL / slot)  # of very many groups, as many names as do not touch
    for place, name in list(enumerate(groups))[::every]:
        x, y = room.left + (place + 0.5) * slot, room.bottom + elements.SMALL + drop
        words = shorten(name, elements.SMALL, space)
        text = elements.text(x, y, words, role="dn-muted", size=elements.SMALL, anchor=anchor, slant=slant)
        drawn.append(elements.group_elements([text], hint=name))
    return drawn


def _names_beside(groups: Sequence[str], room: Room, slot: float, space: float) -> list[str]:
    drawn = []
    for place, name in enumerate(groups):
        y = room.top + (place + 0.5) * slot + elements.TEXT * 0.35
        words = shorten(name, elements.TEXT, space - 8)
        drawn.append(elements.group_elements([elements.text(room.left - 10, y, words, anchor="end")], hint=name))
    return drawn


def _floor(axis: Axis, reference: float | None) -> float:
    """Where bars start: at zero, or on a logarithmic scale at the rule, or at its low end."""
    return axis.inside(reference if axis.scale is Scale.LOG and reference is not None else 0.0)


# Tables ---------------------------------------------------------------------------------------------------------------

_LINE, _HEADS_SLANT, _DARKEST = 24.0, -35.0, 0.6


@dataclass(frozen=True, slots=True)
class ShadedCell:
    """A text, and how dark its cell is, from 0 to 1."""

    text: str
    share: float


def shaded_table(
    columns: Sequence[str],
    rows: Sequence[tuple[str, Sequence[ShadedCell]]],
    *,
    title: str = "",
    subtitle: str = "",
    note: str = "",
    width: int = 900,
) -> Figure:
    """One row for each name with a cell for each column; as tall as the rows need. Column names stand slanted above."""
    if not columns or not rows or any(len(cells) != len(columns) for _, cells in rows):
        raise InvalidArgument(f"a table needs rows with a cell for each of its columns, {len(columns)} in all")
    frame.checked_size(width, 400)
    words = Words(title, subtitle, note=note)
    body, top = frame.header(words, [], width)
    names = min(max(text_width(name, elements.TEXT) for name, _ in rows) + 10, width * 0.36)
    head = max(text_width(name, elements.SMALL) for name in columns) * 0.6 + 14
    left, slot = MARGIN + names, (width - 2 * MARGIN - names) / (len(columns) + 0.5)
    for place, name in enumerate(columns):
        x = left + (place + 0.4) * slot
        body.append(elements.text(x, top + head - 4, name, role="dn-muted", size=elements.SMALL, slant=_HEADS_SLANT))
    for line, (name, cells) in enumerate(rows):
        y = top + head + line * _LINE
        body.append(elements.text(MARGIN, y + _LINE * 0.68, shorten(name, elements.TEXT, names - 6)))
        for place, cell in enumerate(cells):
            shade = f' fill-opacity="{min(max(cell.share, 0.0), 1.0) * _DARKEST:.2f}"'
            x = left + place * slot
            parts = [
                elements.box(x + 1, y + 1, slot - 2, _LINE - 2, role=elements.fill(1), radius=3, more=shade),
                elements.text(x + slot / 2, y + _LINE * 0.68, cell.text, size=elements.SMALL, anchor="middle"),
            ]
            body.append(elements.group_elements(parts, hint=f"{name}, {columns[place]}: {cell.text}"))
    height = round(top + head + _LINE * len(rows) + frame.footer_height(words))
    room = frame.Room(left, top, width - MARGIN, top + head + _LINE * len(rows))
    body += frame.footer(words, room, height)
    return Figure(elements.document(body, width=width, height=height, name=title, described=subtitle), width, height)
