"""SVG elements as text. Coordinates have at most two decimals, so equal drawings are equal bytes.

`Figure` is the finished text, which a notebook shows and a file keeps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from deniable.svg.lettering import escape
from deniable.svg.theme import STYLE, TEXT


def at(value: float) -> str:
    """A coordinate."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def text(
    x: float,
    y: float,
    words: str,
    *,
    role: str = "dn-ink",
    size: float = TEXT,
    anchor: str = "start",
    bold: str = "",
    slant: float = 0,
) -> str:
    """One line of text, turned by `slant` degrees around its place; `words` are escaped here and nowhere else."""
    weight = f' font-weight="{bold}"' if bold else ""
    weight += f' transform="rotate({at(slant)} {at(x)} {at(y)})"' if slant else ""
    place = f'x="{at(x)}" y="{at(y)}" font-size="{at(size)}" text-anchor="{anchor}"'
    return f'<text class="dn-text {role}" {place}{weight}>{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, *, role: str, width: float = 1, more: str = "") -> str:
    """A straight line."""
    ends = f'x1="{at(x1)}" y1="{at(y1)}" x2="{at(x2)}" y2="{at(y2)}"'
    return f'<line class="{role}" {ends} stroke-width="{at(width)}"{more}/>'


def path(points: Iterable[tuple[float, float]], *, role: str, width: float, more: str = "") -> str:
    """An open line through the points."""
    route = "M" + "L".join(f"{at(x)} {at(y)}" for x, y in points)
    return (
        f'<path class="{role}" d="{route}" fill="none" stroke-width="{at(width)}" '
        f'stroke-linejoin="round" stroke-linecap="round"{more}/>'
    )


def area(points: Iterable[tuple[float, float]], *, role: str, more: str = "") -> str:
    """A filled region without an edge."""
    route = "M" + "L".join(f"{at(x)} {at(y)}" for x, y in points) + "Z"
    return f'<path class="{role}" d="{route}"{more}/>'


def box(x: float, y: float, width: float, height: float, *, role: str, radius: float = 0, more: str = "") -> str:
    """A rectangle."""
    round_corners = f' rx="{at(radius)}"' if radius else ""
    size = f'width="{at(width)}" height="{at(height)}"'
    return f'<rect class="{role}" x="{at(x)}" y="{at(y)}" {size}{round_corners}{more}/>'


def dot(x: float, y: float, radius: float, *, role: str) -> str:
    """A filled circle with a thin edge in the surface colour, so that dots on lines stay apart."""
    return f'<circle class="{role} dn-halo" cx="{at(x)}" cy="{at(y)}" r="{at(radius)}" stroke-width="1.5"/>'


def group_elements(elements: Iterable[str], *, hint: str = "") -> str:
    """Elements together, with a tooltip where `hint` says something."""
    title = f"<title>{escape(hint)}</title>" if hint else ""
    return f"<g>{title}{''.join(elements)}</g>"


def clip(elements: Iterable[str], *, left: float, top: float, width: float, height: float) -> str:
    """Elements cut off at a frame, by a nested drawing: no ids that two drawings on one page could share."""
    frame = f"{at(left)} {at(top)} {at(width)} {at(height)}"
    place = f'x="{at(left)}" y="{at(top)}" width="{at(width)}" height="{at(height)}"'
    return f'<svg {place} viewBox="{frame}" overflow="hidden">{"".join(elements)}</svg>'


def document(elements: Iterable[str], *, width: int, height: int, name: str, described: str) -> str:
    """A whole SVG document with its style, a surface to stand on, and a name and description for screen readers."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{escape(name or "Plot")}">'
    )
    words = f"<desc>{escape(described)}</desc>" if described else ""
    surface = box(0, 0, width, height, role="dn-surface", radius=8)
    return "\n".join([head, words + STYLE, surface, *elements, "</svg>"]) + "\n"


@dataclass(frozen=True, slots=True, repr=False)
class Figure:
    """One drawing. `svg` is a whole, self-contained SVG document; equal figures are equal texts."""

    svg: str
    width: int
    height: int

    def save(self, path: str | Path) -> Path:
        """Write the drawing to `path` (UTF-8, the same bytes on every system) and return it."""
        target = Path(path)
        target.write_text(self.svg, encoding="utf-8", newline="\n")
        return target

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Figure({self.width} x {self.height}, {len(self.svg)} characters of SVG)"
