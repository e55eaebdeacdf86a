"""Colours and type. Every colour is named by a class with a light and a dark value; both keep text readable.

Plain classes and no CSS variables, so that converters as well as browsers understand them. The series colours stay
apart for colour-blind readers; lines beyond the fourth are dashed as well.
"""

from __future__ import annotations

from typing import Final

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
