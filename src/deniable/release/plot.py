"""A released column as a picture: one bar per group, with its error bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable.errors import InvalidArgument
from deniable.svg import Figure, Series, horizontal_bars

if TYPE_CHECKING:
    from deniable.query import Answered
    from deniable.release.answer import Release

_MOST = 40
"""Bars that still can be read; a longer answer shows its first groups and says so in the title."""


def plotted(release: Release, column: Answered) -> Figure:
    """One column of a release with its intervals; of a release with totals, the groups of its first level."""
    if column.values and isinstance(column.values[0], list | str):
        raise InvalidArgument(f"{column.name} has no single number per group to draw; plot another column")
    first = [i for i, level in enumerate(release.level) if level == 0 and column.values[i] is not None]
    shown = first[:_MOST]
    labels = [" · ".join(str(part) for part in release.groups[i]) or column.name for i in shown]
    more = "" if len(first) <= _MOST else f" (first {_MOST} of {len(first)} groups)"
    series = Series(
        labels,
        [float(column.values[i]) for i in shown],
        None if column.lower is None else [float(column.lower[i]) for i in shown],
        None if column.upper is None else [float(column.upper[i]) for i in shown],
    )
    by = f" by {', '.join(release.keys)}" if release.keys else ""
    note = f"error bars: noise, {release.confidence:.0%}" if column.lower is not None else column.error
    return horizontal_bars(series, title=f"{column.name}{by}{more}", note=note)
