"""A benchmark's page: tables and a bar chart, written to docs/benchmarks/<name>.md and .svg."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from html import escape

import dev

FOLDER = dev.ROOT / "docs" / "benchmarks"
COLOURS = ["#1b6ca8", "#d1495b", "#edae49", "#66a182", "#8d6a9f", "#777777"]


def number(value: float | None, unit: str = "") -> str:
    """A number with three digits that matter, or a dash."""
    if value is None:
        return "–"
    size = f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
    return f"{size}{unit}"


def ratio(theirs: float | None, ours: float | None) -> str:
    """How many times as much theirs costs."""
    return "–" if theirs is None or not ours else number(theirs / ours, "×")


class Report:
    """Collects what a benchmark found, then writes its page."""

    def __init__(
        self,
        name: str,
        *,
        title: str,
        versions: Mapping[str, str],
        how: str = "CPU time of warm calls, least of several rounds, where a table says nothing else",
    ) -> None:
        """`versions` is what was measured: library to version; `how` says what the numbers are."""
        self.name = name
        self.lines = [
            f"# {title}",
            "",
            f"Made by `python3 dev.py bench {name}`; {how}.",
        ]
        used = ", ".join(f"{library} {version}" for library, version in versions.items())
        machine = (
            f"{os.cpu_count()} cores of a shared machine, {platform.machine()}, Python {platform.python_version()}"
        )
        self.lines += ["", f"Measured on {date.today()}: {used}; {machine}.", ""]
        self.chart = ""

    def note(self, text: str) -> None:
        """A paragraph."""
        self.lines += [text, ""]

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """A table; numbers come as text, made by `number` and `ratio`."""
        self.lines.append("| " + " | ".join(headings) + " |")
        self.lines.append("|---" + "|--:" * (len(headings) - 1) + "|")
        self.lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
        self.lines.append("")

    def bars(self, title: str, groups: Mapping[str, Mapping[str, float | None]]) -> None:
        """The page's chart: for each group a bar per library, on a logarithmic scale."""
        self.chart = bars(title, groups)
        self.lines += [f"![{title}]({self.name}.svg)", ""]

    def write(self) -> None:
        """Write the page and its chart."""
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / f"{self.name}.md").write_text("\n".join(self.lines).rstrip() + "\n", encoding="utf-8")
        if self.chart:
            (FOLDER / f"{self.name}.svg").write_text(self.chart, encoding="utf-8")
        dev.say(f"wrote docs/benchmarks/{self.name}.md")


def bars(title: str, groups: Mapping[str, Mapping[str, float | None]]) -> str:
    """Horizontal bars on a logarithmic scale as SVG; what was not measured is left out."""
    values = [value for group in groups.values() for value in group.values() if value]
    if not values:
        return ""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    low = min(low, high - 1)
    libraries = list(dict.fromkeys(name for group in groups.values() for name in group))
    left, width, height, top = 190, 420, 16, 52 + 16 * ((len(libraries) - 1) // 4)
    y = top + 8
    parts = [f'<text x="10" y="22" font-size="15" font-weight="bold">{escape(title)}</text>']
    for index, library in enumerate(libraries):
        x, line = left + 130 * (index % 4), 34 + 16 * (index // 4)
        parts.append(f'<rect x="{x}" y="{line}" width="10" height="10" fill="{COLOURS[index % 6]}"/>')
        parts.append(f'<text x="{x + 14}" y="{line + 9}">{escape(library)}</text>')
    for group, found in groups.items():
        if not any(found.values()):
            continue
        parts.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{escape(group)}</text>')
        for library, value in found.items():
            if value:
                length = max(1.0, width * (math.log10(value) - low) / (high - low))
                colour = COLOURS[libraries.index(library) % 6]
                parts.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{height - 3}" fill="{colour}"/>')
                parts.append(f'<text x="{left + length + 5:.1f}" y="{y + 11}">{number(value)}</text>')
                y += height
        y += 8
    for power in range(low, high + 1):
        x = left + width * (power - low) / (high - low)
        parts.append(f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{y}" stroke="#ccc" stroke-dasharray="2 3"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 14}" text-anchor="middle">{number(10.0**power)}</text>')
    size = f'width="{left + width + 90}" height="{y + 24}" viewBox="0 0 {left + width + 90} {y + 24}"'
    frame = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">'
    return "\n".join([frame, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>"]) + "\n"
