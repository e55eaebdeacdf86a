"""What surrounds the data: title, subtitle, legend, axis labels, grid and note, and the room they leave."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from deniable.errors import InvalidArgument
from deniable.svg import elements
from deniable.svg.axes import Axis
from deniable.svg.lettering import shorten, width

MARGIN = 18.0
LABELS = 24.0  # the height of one row of labels under an axis
_KEY = 18.0  # the coloured key of a legend entry
_GAP = 18.0
_LEAST = 160


class LegendKey(enum.Enum):
    """How a legend entry shows its colour."""

    LINE = "line"
    BOX = "box"
    BAND = "band"
    DOT = "dot"


@dataclass(frozen=True, slots=True)
class Entry:
    """One legend entry."""

    label: str
    colour: int
    key: LegendKey


@dataclass(frozen=True, slots=True)
class Words:
    """The texts of a drawing, all optional."""

    title: str = ""
    subtitle: str = ""
    x_label: str = ""
    y_label: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Room:
    """The rectangle left for data."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        """From left to right."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """From top to bottom."""
        return self.bottom - self.top


def checked_size(width: int, height: int) -> None:
    """Refuse drawings too small to read or too large to show."""
    for name, size in (("width", width), ("height", height)):
        if not (isinstance(size, int) and _LEAST <= size <= 10_000):
            raise InvalidArgument(f"{name} must be a whole number of pixels from {_LEAST} to 10000, got {size!r}")


def header(words: Words, entries: Sequence[Entry], total: int) -> tuple[list[str], float]:
    """Title, subtitle, legend and y label from the top down, and where they end."""
    drawn: list[str] = []
    y = MARGIN
    room = total - 2 * MARGIN
    if words.title:
        y += elements.TITLE * 0.8
        title = shorten(words.title, elements.TITLE * 1.06, room)
        drawn.append(elements.text(MARGIN, y, title, size=elements.TITLE, bold="600"))
        y += 6
    if words.subtitle:
        y += elements.TEXT
        drawn.append(elements.text(MARGIN, y, shorten(words.subtitle, elements.TEXT, room), role="dn-muted"))
        y += 5
    if entries:
        y += 8
        legend, y = _legend(entries, y, total)
        drawn += legend
    if words.y_label:
        y += elements.SMALL + 7
        label = shorten(words.y_label, elements.SMALL, room)
        drawn.append(elements.text(MARGIN, y, label, role="dn-muted", size=elements.SMALL))
    return drawn, y + 12


def _legend(entries: Sequence[Entry], top: float, total: int) -> tuple[list[str], float]:
    drawn: list[str] = []
    x, y = MARGIN, top + elements.TEXT * 0.8
    for entry in entries:
        label = shorten(entry.label, elements.TEXT, total / 2)
        needed = _KEY + 6 + width(label, elements.TEXT)
        if x > MARGIN and x + needed > total - MARGIN:
            x, y = MARGIN, y + elements.TEXT + 7
        drawn += [_key(entry, x, y - elements.TEXT * 0.34), elements.text(x + _KEY + 6, y, label)]
        x += needed + _GAP
    return drawn, y + 5


def _key(entry: Entry, x: float, y: float) -> str:
    match entry.key:
        case LegendKey.LINE:
            more = elements.dashes(entry.colour) + ' stroke-linecap="round"'
            return elements.line(x + 1, y, x + _KEY - 1, y, role=elements.stroke(entry.colour), width=2.4, more=more)
        case LegendKey.DOT:
            return elements.dot(x + _KEY / 2, y, 4.5, role=elements.fill(entry.colour))
        case LegendKey.BOX:
            return elements.box(x + 3, y - 5.5, 12, 11, role=elements.fill(entry.colour), radius=2, more=elements.BAR)
        case LegendKey.BAND:
            return elements.box(x + 1, y - 5.5, 16, 11, role=elements.fill(entry.colour), radius=2, more=elements.BAND)


def footer(words: Words, room: Room, height: int, *, labels: float = LABELS) -> list[str]:
    """The x label under the `labels` of the axis and the note in the last line."""
    drawn = []
    if words.x_label:
        middle = (room.left + room.right) / 2
        label = shorten(words.x_label, elements.SMALL, room.width)
        below = room.bottom + labels + 12
        drawn.append(elements.text(middle, below, label, role="dn-muted", size=elements.SMALL, anchor="middle"))
    if words.note:
        note = shorten(words.note, elements.SMALL, room.right - MARGIN)
        drawn.append(elements.text(MARGIN, height - MARGIN + 4, note, role="dn-muted", size=elements.SMALL))
    return drawn


def footer_height(words: Words, *, labels: float = LABELS) -> float:
    """How much the `labels` of the x axis, its own label and the note need below the data."""
    return labels + (20 if words.x_label else 0) + (24 if words.note else 0) + 8


def label_room(axis_labels: Sequence[str]) -> float:
    """How much the labels left of a vertical axis need."""
    return max((width(label, elements.SMALL) for label in axis_labels), default=0.0) + 10


def horizontal_grid(axis: Axis, room: Room) -> list[str]:
    """Lines across the data at the y ticks, and their labels at the left."""
    drawn = [elements.line(room.left, axis.pixel(v), room.right, axis.pixel(v), role="dn-faint") for v in axis.minor]
    for value, label in axis.ticks:
        y = axis.pixel(value)
        drawn.append(elements.line(room.left, y, room.right, y, role="dn-grid"))
        drawn.append(
            elements.text(
                room.left - 8, y + elements.SMALL * 0.35, label, role="dn-muted", size=elements.SMALL, anchor="end"
            )
        )
    return drawn


def vertical_grid(axis: Axis, room: Room) -> list[str]:
    """Lines up the data at the x ticks, and their labels below, left out where they would touch."""
    drawn = [elements.line(axis.pixel(v), room.top, axis.pixel(v), room.bottom, role="dn-faint") for v in axis.minor]
    taken = -1e9
    for value, label in sorted(axis.ticks):
        x, half = axis.pixel(value), width(label, elements.SMALL) / 2
        drawn.append(elements.line(x, room.top, x, room.bottom, role="dn-grid"))
        if x - half > taken:
            place = room.bottom + elements.SMALL + 7
            drawn.append(elements.text(x, place, label, role="dn-muted", size=elements.SMALL, anchor="middle"))
            taken = x + half + 6
    return drawn
