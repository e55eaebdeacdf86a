"""`Figure`: finished SVG text that a notebook shows and a file keeps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


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
