"""A released column as a picture: one bar per group, with its error bar."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from deniable.errors import InvalidArgument

if TYPE_CHECKING:
    from deniable.plots import Figure
    from deniable.query import AnswerColumn
    from deniable.release.answer import Release

_MOST = 40
"""Bars that still can be read; a longer answer shows its first groups and says so in the title."""


def plotted(release: Release, column: AnswerColumn) -> Figure:
    """One column of a release with its errors; of a release with totals, the groups of its first level."""
    from deniable.plots import group_bars

    if (column.values and isinstance(column.values[0], str)) or (column.bins is None and _lists(column)):
        raise InvalidArgument(f"{column.name} has no single number per group to draw; plot another column")
    bars = list(_bars(release, column))
    shown = bars[:_MOST]
    more = "" if len(bars) <= _MOST else f" (first {_MOST} of {len(bars)} {'bars' if column.bins else 'groups'})"
    sure = column.lower is not None
    by = f" by {', '.join(release.keys)}" if release.keys else ""
    note = f"error bars: noise, {release.confidence:.0%}" if sure else f"{column.error}, {release.confidence:.0%}"
    return group_bars(shown, title=f"{column.name}{by}{more}", note=note, intervals=sure)


def _lists(column: AnswerColumn) -> bool:
    return bool(column.values) and isinstance(column.values[0], list)


def _bars(release: Release, column: AnswerColumn) -> Iterator[tuple[str, float, float, float]]:
    """A label, a value and the interval's ends, for every group or every bin of every group."""
    for i, level in enumerate(release.level):
        if level or column.values[i] is None:
            continue
        group = " · ".join(str(part) for part in release.groups[i])
        bare = column.lower is None or column.upper is None
        parts = [column.values[i]] * 3 if bare else [each[i] for each in (column.values, column.lower, column.upper)]  # type: ignore[index]
        if column.bins is None:
            value, low, high = map(float, parts)
            yield group or column.name, value, low, high
            continue
        for name, value, low, high in zip(column.bins, *parts, strict=True):
            yield " · ".join(part for part in (group, name) if part), float(value), float(low), float(high)
