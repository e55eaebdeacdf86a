"""A release as text for a terminal: values with their error, then what they cost and what they promise."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from deniable.exact import number_of
from deniable.exact.figures import NOTHING, error_figures, plain_figures, text_table, value_figures
from deniable.plan.html_card import html_card, html_folded, html_lines, html_table

if TYPE_CHECKING:
    from deniable.query import AnswerColumn
    from deniable.release.answer import Release

NO_GROUPS = "(no group is shown)"
_MOST_HTML = 200
_MOST = 30
"""Groups shown before the rest are only counted; the number of groups is public once released."""


def shown(release: Release) -> str:
    """The release as aligned text."""
    names, rows = cells(release, most=_MOST)
    lines = text_table(names, rows, keys=len(release.keys)) + ([] if rows else [NO_GROUPS])
    if len(release.groups) > _MOST:
        lines.append(f"... {number_of(len(release.groups) - _MOST, 'more group')}")
    lines += ["", release.guarantee, *release.notes]
    return "\n".join(line.rstrip() for line in lines)


def as_html(release: Release) -> str:
    """The release for a notebook: a value and its error in one cell, the guarantee below, notes that open when asked for."""
    names, rows = cells(release, most=_MOST_HTML)
    hidden = len(release.groups) - len(rows)
    more = [f"{number_of(hidden, 'more group')}; all are in .table and the frames"] if hidden else []
    more += [] if rows else [NO_GROUPS]
    folded = html_folded("Notes", "\n".join(release.notes)) if release.notes else ""
    return html_card(html_table(names, rows, keys=len(release.keys)), html_lines([*more, release.guarantee]), folded)


def cells(release: Release, *, most: int | None = None) -> tuple[list[str], list[list[str]]]:
    """The heads and the rows of an answer as people read it: keys, and each value with its error in one cell."""
    rows = [
        [*keys, *(cell(column, index) for column in release.columns.values())]
        for index, keys in enumerate(keys_in_words(release, most=most))
    ]
    return [*release.keys, *release.columns], rows


def keys_in_words(release: Release, *, most: int | None = None) -> list[list[str]]:
    """The keys of the first groups in words; one that is rolled up reads `all`, and midnights alone are days."""
    days = {place for place in range(len(release.keys)) if _midnights([group[place] for group in release.groups])}
    levels = [release.levels[level] for level in release.level]
    return [
        [
            "all" if name not in level else str(part.date() if part is not None and place in days else part)
            for place, (name, part) in enumerate(zip(release.keys, group, strict=True))
        ]
        for level, group in zip(levels[:most], release.groups[:most], strict=True)
    ]


def _midnights(values: Sequence[Any]) -> bool:
    """Whether these are moments, and all of them the beginning of a day."""
    moments = [value for value in values if isinstance(value, datetime)]
    return bool(moments) and all(value.time() == datetime.min.time() for value in moments)


def cell(column: AnswerColumn, index: int) -> str:
    """One value with its error: `123 ± 4`, the two ends when they do not lie evenly around it, `–` when it says nothing."""
    value = column.values[index]
    if value is None or (column.lower is None and column.off is None):
        return number(value)
    if column.lower is None or column.upper is None:
        assert column.off is not None
        off = column.off[index]
        return f"{number(value)} (± {NOTHING if off is None else error_figures(off)} {column.unit})"
    low, high = column.lower[index], column.upper[index]
    return _several(value, low, high) if isinstance(value, list) else value_figures(value, low, high)


def _several(values: Sequence[Any], lows: Sequence[Any], highs: Sequence[Any]) -> str:
    """The bins of a histogram, with one error for all where it is the same, or several quantiles."""
    cells = list(map(value_figures, values, lows, highs))
    errors = {cell.partition(" ± ")[2] for cell in cells}
    if len(errors) == 1 and "" not in errors:
        return f"[{', '.join(cell.partition(' ± ')[0] for cell in cells)}] each ± {errors.pop()}"
    return f"[{', '.join(cells)}]"


def number(value: Any) -> str:
    """A number for people that has no error beside it: whole ones with separators, others to six figures."""
    if value is None:
        return NOTHING
    if isinstance(value, list | tuple):
        return "[" + ", ".join(number(part) for part in value) + "]"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return plain_figures(value)
    return str(value)
