"""`graph`: named boxes on a grid and numbered arrows between them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from deniable.errors import InvalidArgument
from deniable.svg import elements, frame
from deniable.svg.elements import Figure
from deniable.svg.frame import MARGIN, Words
from deniable.svg.lettering import width as text_width

Place = tuple[float, float]
Arrow = tuple[str, str]

_HALF_HEIGHT = 17.0
_PADDING = 12.0
_APART = 6.0
_HEAD = 8.0
_BADGE = 8.5
_BOLD = 1.2


def graph(
    places: Mapping[str, Place],
    arrows: Sequence[Arrow],
    *,
    title: str = "",
    subtitle: str = "",
    note: str = "",
    width: int = 720,
    height: int = 520,
) -> Figure:
    """Boxes at grid places (column, row; any real numbers) and an arrow for each pair, numbered from 1 in the order given."""
    frame.checked_size(width, height)
    unknown = sorted({name for arrow in arrows for name in arrow} - set(places))
    if unknown or not places:
        raise InvalidArgument(f"every arrow joins two of the named places, got {unknown or 'no places'}")
    head, top = frame.header(Words(title, subtitle, "", "", note), [], width)
    pixels = _pixels(places, top=top, width=width, height=height)
    body = list(head)
    badges: list[str] = []
    for number, (start, end) in enumerate(arrows, start=1):
        line, badge = _arrow(pixels, start, end, number, both=(end, start) in arrows)
        body += line
        badges += badge
    body += [element for name, (x, y) in pixels.items() for element in _box(name, x, y)]
    body += badges
    if note:
        body.append(elements.text(MARGIN, height - MARGIN + 4, note, role="dn-muted", size=elements.SMALL))
    return Figure(elements.document(body, width=width, height=height, name=title, described=subtitle), width, height)


def _half_width(name: str) -> float:
    return text_width(name, elements.TEXT * _BOLD) / 2 + _PADDING


def _pixels(places: Mapping[str, Place], *, top: float, width: int, height: int) -> dict[str, Place]:
    """The grid stretched over the room there is."""
    columns, rows = [x for x, _ in places.values()], [y for _, y in places.values()]
    side = max(map(_half_width, places)) + MARGIN
    across = (width - 2 * side) / ((max(columns) - min(columns)) or 1)
    down = (height - top - 2 * _HALF_HEIGHT - 3 * MARGIN) / ((max(rows) - min(rows)) or 1)
    return {
        name: (side + (x - min(columns)) * across, top + _HALF_HEIGHT + MARGIN + (y - min(rows)) * down)
        for name, (x, y) in places.items()
    }


def _box(name: str, x: float, y: float) -> list[str]:
    half = _half_width(name)
    edge = ' stroke-width="1.4" stroke-opacity="0.9"'
    shape = elements.box(
        x - half, y - _HALF_HEIGHT, 2 * half, 2 * _HALF_HEIGHT, role="dn-surface dn-axis", radius=7, more=edge
    )
    return [shape, elements.text(x, y + elements.TEXT * 0.35, name, anchor="middle", bold="600")]


def _arrow(
    pixels: Mapping[str, Place], start: str, end: str, number: int, *, both: bool
) -> tuple[list[str], list[str]]:
    """A line from border to border with a head, moved aside where another one comes back; its number sits near the middle."""
    (x1, y1), (x2, y2) = pixels[start], pixels[end]
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    ux, uy = (x2 - x1) / length, (y2 - y1) / length
    shift = _APART if both else 0.0
    sx, sy = -uy * shift, ux * shift
    near, far = _border(start, ux, uy), length - _border(end, ux, uy)
    a = (x1 + ux * near + sx, y1 + uy * near + sy)
    b = (x1 + ux * far + sx, y1 + uy * far + sy)
    tip, base = b, (b[0] - ux * _HEAD, b[1] - uy * _HEAD)
    wings = [tip, (base[0] - uy * 4, base[1] + ux * 4), (base[0] + uy * 4, base[1] - ux * 4)]
    line = [elements.line(*a, *base, role=elements.stroke(0), width=1.5), elements.area(wings, role=elements.fill(0))]
    share = 0.42
    cx, cy = a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share
    disc = elements.dot(cx, cy, _BADGE, role="dn-surface")
    words = elements.text(
        cx, cy + elements.SMALL * 0.33, str(number), role="dn-muted", size=elements.SMALL - 1, anchor="middle"
    )
    return line, [disc, words]


def _border(name: str, ux: float, uy: float) -> float:
    """How far from its centre a box ends in this direction, and a little more."""
    across = _half_width(name) / abs(ux) if abs(ux) > 1e-9 else math.inf
    down = _HALF_HEIGHT / abs(uy) if abs(uy) > 1e-9 else math.inf
    return min(across, down) + 4
