"""SVG elements as text, their colours and type. Coordinates have at most two decimals, so equal drawings are equal bytes.

`Figure` is the finished text, which a notebook shows and a file keeps. Every colour is named by a class with a light and a dark
value; both keep text readable. Plain classes and no CSS variables, so that converters as well as browsers understand them. The
series colours stay apart for colour-blind readers; lines beyond the fourth are dashed as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from deniable.errors import InvalidArgument
from deniable.svg.lettering import escape

FONT: Final = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'Liberation Sans',sans-serif"
TITLE: Final = 16.0
TEXT: Final = 12.0
SMALL: Final = 11.0
BAR: Final = ' fill-opacity="0.85"'
BAND: Final = ' fill-opacity="0.18"'
SERIES: Final = (  # light, dark
    ("#2f6fde", "#6ea8fe"),
    ("#d9622b", "#ff9e64"),
    ("#12876f", "#4fd1b0"),
    ("#a6439b", "#e08ad4"),
    ("#7c6a0a", "#d8c14a"),
    ("#5b6675", "#a9b4c2"),
)
_ROLES: Final = (  # class, property, light, dark
    ("dn-surface", "fill", "#ffffff", "#12161c"),
    ("dn-ink", "fill", "#1b2430", "#e8edf3"),
    ("dn-muted", "fill", "#5a6675", "#9fabba"),
    ("dn-grid", "stroke", "#e6eaef", "#252c36"),
    ("dn-faint", "stroke", "#f1f4f7", "#1b212a"),
    ("dn-axis", "stroke", "#8a96a5", "#6b7786"),
    ("dn-rule", "stroke", "#5a6675", "#9fabba"),
    ("dn-whisker", "stroke", "#1b2430", "#e8edf3"),
    ("dn-halo", "stroke", "#ffffff", "#12161c"),
)
_DASHES: Final = ("", "", "", "", "7 4", "2 3")


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
        if target.suffix.lower() != ".svg":
            raise InvalidArgument(
                f"a figure is saved as .svg, got {target.name!r}; a browser turns it into other formats"
            )
        target.write_text(self.svg, encoding="utf-8", newline="\n")
        return target

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            from deniable.misnamed import no_attribute

            raise no_attribute(self, name)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Figure({self.width} x {self.height}, {len(self.svg)} characters of SVG)"


def stroke(index: int) -> str:
    """The class that strokes with the colour of series `index`."""
    return f"dn-s{index % len(SERIES)}"


def fill(index: int) -> str:
    """The class that fills with the colour of series `index`."""
    return f"dn-f{index % len(SERIES)}"


def dashes(index: int) -> str:
    """The dash attribute of series `index`; empty for a whole line."""
    pattern = _DASHES[index % len(_DASHES)]
    return f' stroke-dasharray="{pattern}"' if pattern else ""


def _rules(shade: int) -> str:
    roles = [f".{name}{{{prop}:{(light, dark)[shade]}}}" for name, prop, light, dark in _ROLES]
    series = [f".dn-s{i}{{stroke:{pair[shade]}}}.dn-f{i}{{fill:{pair[shade]}}}" for i, pair in enumerate(SERIES)]
    return "".join(roles + series)


STYLE: Final = (
    f"<style>.dn-text{{font-family:{FONT};font-variant-numeric:tabular-nums}}"
    f"{_rules(0)}@media (prefers-color-scheme:dark){{{_rules(1)}}}</style>"
)
