"""A release as text for a terminal: values with their error, then what they cost and what they promise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deniable.query import AnswerColumn
    from deniable.release.answer import Release

_MOST = 30
"""Groups shown before the rest are only counted; the number of groups is public once released."""


def shown(release: Release) -> str:
    """The release as aligned text."""
    names = [*release.keys, *release.columns]
    rows = [
        keys_of(release, index, group) + [cell(column, index) for column in release.columns.values()]
        for index, group in enumerate(release.groups[:_MOST])
    ]
    widths = [max(len(name), *(len(row[i]) for row in rows)) if rows else len(name) for i, name in enumerate(names)]
    keys = len(release.keys)
    lines = ["  ".join(_aligned(name, widths[i], i < keys) for i, name in enumerate(names))]
    lines.append("  ".join("-" * width for width in widths))
    lines += ["  ".join(_aligned(text, widths[i], i < keys) for i, text in enumerate(row)) for row in rows]
    if len(release.groups) > _MOST:
        lines.append(f"... {len(release.groups) - _MOST} more groups")
    lines += ["", release.guarantee, *release.notes]
    return "\n".join(line.rstrip() for line in lines)


def keys_of(release: Release, index: int, group: tuple[Any, ...]) -> list[str]:
    """A group's keys in words; one that is rolled up reads `all`."""
    level = release.levels[release.level[index]]
    return [str(part) if name in level else "all" for name, part in zip(release.keys, group, strict=True)]


def _aligned(text: str, width: int, left: bool) -> str:
    return text.ljust(width) if left else text.rjust(width)


def cell(column: AnswerColumn, index: int) -> str:
    """One value with its error: `123 ± 4`, or the two ends when they do not lie evenly around it."""
    value = column.values[index]
    if value is not None and column.off is not None:
        return f"{number(value)} (± {number(column.off[index])} {column.unit})"
    if value is None or column.lower is None or column.upper is None:
        return number(value)
    low, high = column.lower[index], column.upper[index]
    if isinstance(value, list):
        return _several(value, low, high)
    return _one(value, low, high)


def _several(values: Sequence[Any], lows: Sequence[Any], highs: Sequence[Any]) -> str:
    """The bins of a histogram, with one error for all where it is the same."""
    half = {
        number(high - value) for value, low, high in zip(values, lows, highs, strict=True) if _even(value, low, high)
    }
    if len(half) == 1 and all(map(_even, values, lows, highs)):
        return f"{number(values)} each ± {half.pop()}"
    return "[" + ", ".join(map(_one, values, lows, highs)) + "]"


def _one(value: Any, low: Any, high: Any) -> str:
    if _even(value, low, high):
        return f"{number(value)} ± {number(high - value)}"
    return f"{number(value)} [{number(low)}, {number(high)}]"


def _even(value: Any, low: Any, high: Any) -> bool:
    left, right = value - low, high - value
    return bool(abs(left - right) <= 1e-6 * max(abs(left), abs(right), 1e-12))


def number(value: Any) -> str:
    """A number for people: whole ones with separators, others to six significant digits."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(number(part) for part in value) + "]"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return str(value)
