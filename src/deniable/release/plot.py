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
    """One column of a release with its intervals."""
    if column.values and isinstance(column.values[0], list | str):
        raise InvalidArgument(f"{column.name} has no single number per group to draw; plot another column")
    labels = [" · ".join(str(part) for part in group) or column.name for group in release.groups][:_MOST]
    more = "" if len(release.groups) <= _MOST else f" (first {_MOST} of {len(release.groups)} groups)"
    series = Series(
        labels,
        [float(value) for value in column.values[:_MOST]],
        None if column.lower is None else [float(end) for end in column.lower[:_MOST]],
        None if column.upper is None else [float(end) for end in column.upper[:_MOST]],
    )
    by = f" by {', '.join(release.keys)}" if release.keys else ""
    note = f"error bars: noise, {release.confidence:.0%}" if column.lower is not None else column.error
    return horizontal_bars(series, title=f"{column.name}{by}{more}", note=note)
