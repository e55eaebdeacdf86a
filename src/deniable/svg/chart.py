"""`plot`: marks between two numeric axes."""

from __future__ import annotations

import math
from collections.abc import Iterator

from deniable.errors import InvalidArgument
from deniable.svg import elements, frame
from deniable.svg.axes import LARGEST, TINIEST, Axis, Scale, axis
from deniable.svg.draw import Canvas, draw_mark
from deniable.svg.elements import Figure
from deniable.svg.frame import MARGIN, Entry, LegendKey, Room, Words
from deniable.svg.marks import Line, Mark, Points, ReferenceLine, ShadedBand, Stems, StepLine, floats

Limits = tuple[float, float]


def plot(
    *marks: Mark,
    title: str = "",
    subtitle: str = "",
    x_label: str = "",
    y_label: str = "",
    note: str = "",
    x_scale: Scale = Scale.LINEAR,
    y_scale: Scale = Scale.LINEAR,
    x_limits: Limits | None = None,
    y_limits: Limits | None = None,
    width: int = 720,
    height: int = 420,
) -> Figure:
    """A drawing of the marks in the order given, the first at the back; marks with one label share one colour."""
    frame.checked_size(width, height)
    words = Words(title, subtitle, x_label, y_label, note)
    colours = _colours(marks)
    head, top = frame.header(words, _entries(marks, colours), width)
    bottom = height - frame.footer_height(words)
    y = axis(
        _ys(marks),
        scale=y_scale,
        limits=_checked(y_limits, y_scale, "y_limits"),
        start=bottom,
        end=top,
        zero=_based(marks),
    )
    left = MARGIN + frame.label_room([label for _, label in y.ticks])
    room = Room(left, top, width - MARGIN - 10, bottom)
    x = axis(
        _xs(marks),
        scale=x_scale,
        limits=_checked(x_limits, x_scale, "x_limits"),
        start=room.left,
        end=room.right,
        zero=False,
    )
    body = [*head, *frame.vertical_grid(x, room), *frame.horizontal_grid(y, room), *_data(marks, colours, x, y, room)]
    body += frame.footer(words, room, height)
    return Figure(elements.document(body, width=width, height=height, name=title, described=subtitle), width, height)


def _data(marks: tuple[Mark, ...], colours: list[int], x: Axis, y: Axis, room: Room) -> list[str]:
    canvas = Canvas(x, y, room)
    found = [elements.line(room.left, room.bottom, room.right, room.bottom, role="dn-axis")]
    for mark, colour in zip(marks, colours, strict=True):
        slack = 7 if isinstance(mark, Points) else 1.5  # so that dots and strokes on the frame are whole
        left, top = room.left - slack, room.top - slack
        inside = draw_mark(mark, canvas, colour)
        found.append(
            elements.clip(inside, left=left, top=top, width=room.right + slack - left, height=room.bottom + slack - top)
        )
    return found


def _colours(marks: tuple[Mark, ...]) -> list[int]:
    """One colour per label; a mark without one takes the colour of the labelled mark it follows, or the next free one."""
    known: dict[str, int] = {}
    found = []
    for mark in marks:
        if isinstance(mark, ReferenceLine):
            found.append(0)
            continue
        key = mark.label or f"\0{len(known)}"
        found.append(known.setdefault(key, len(known)))
    return found


def _entries(marks: tuple[Mark, ...], colours: list[int]) -> list[Entry]:
    """The legend: labelled marks, once each; a band only when nothing else carries its label."""
    found: dict[str, Entry] = {}
    for mark, colour in sorted(zip(marks, colours, strict=True), key=lambda pair: isinstance(pair[0], ShadedBand)):
        if isinstance(mark, ReferenceLine) or not mark.label:
            continue
        found.setdefault(mark.label, Entry(mark.label, colour, _key(mark)))
    return sorted(found.values(), key=lambda entry: entry.colour)


def _key(mark: Line | StepLine | Stems | Points | ShadedBand) -> LegendKey:
    match mark:
        case ShadedBand():
            return LegendKey.BAND
        case Stems():
            return LegendKey.BOX
        case Points():
            return LegendKey.DOT
        case Line() | StepLine():
            return LegendKey.LINE


def _based(marks: tuple[Mark, ...]) -> bool:
    return any(isinstance(mark, Stems) for mark in marks)


def _xs(marks: tuple[Mark, ...]) -> Iterator[float]:
    for mark in marks:
        if isinstance(mark, ReferenceLine):
            if mark.x is not None:
                yield mark.x
        else:
            yield from mark.x


def _ys(marks: tuple[Mark, ...]) -> Iterator[float]:
    for mark in marks:
        match mark:
            case Line() | StepLine() | Stems():
                yield from mark.y
            case Points():
                yield from (*mark.y, *mark.lower, *mark.upper)
            case ShadedBand():
                yield from (*mark.lower, *mark.upper)
            case ReferenceLine():
                if mark.y is not None:
                    yield mark.y


def _checked(limits: Limits | None, scale: Scale, name: str) -> Limits | None:
    if limits is None:
        return None
    ends = floats(limits, name)
    low, high = ends if len(ends) == 2 else (math.nan, math.nan)
    if not (TINIEST < high - low < LARGEST and (scale is Scale.LINEAR or low > TINIEST)):
        raise InvalidArgument(f"{name} must be two increasing finite numbers that the scale can show, got {limits!r}")
    return low, high
