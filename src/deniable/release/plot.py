"""A released column as a picture: counts and sums as bars, means and the like as points, each with its error bar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from deniable.errors import InvalidArgument
from deniable.exact.figures import plain_figures, value_figures

if TYPE_CHECKING:
    from deniable.plots import Figure
    from deniable.query import AnswerColumn
    from deniable.release.answer import Release

_MOST = 40
"""Groups that still can be read; a longer answer shows its first groups and says so in the title."""

_AMOUNTS = ("count", "number", "sum", "histogram", "total")
"""What has a meaning from nought on, and is drawn as bars; everything else as points."""


def plotted(release: Release, column: AnswerColumn, *, title: str | None, size: tuple[int, int] | None) -> Figure:
    """One column of a release with its errors; of a release with totals, the groups of its first level."""
    from deniable.plots import group_bars

    if (column.values and isinstance(column.values[0], str)) or (column.bins is None and _lists(column)):
        raise InvalidArgument(f"{column.name} has no single number per group to draw; plot another column")
    bars = list(_bars(release, column))
    if not bars:
        raise InvalidArgument(f"no group of {column.name} says anything at its price: there is nothing to draw")
    shown = bars[:_MOST]
    more = "" if len(bars) <= _MOST else f" (first {_MOST} of {len(bars)} {'bars' if column.bins else 'groups'})"
    sure = column.lower is not None
    by = f" by {', '.join(release.keys)}" if release.keys else ""
    note = f"error bars: noise, {release.confidence:.0%}" if sure else f"{column.error}, {release.confidence:.0%}"
    return group_bars(
        shown,
        title=f"{column.name}{by}{more}" if title is None else title,
        note=note,
        intervals=sure,
        texts=[_figures(bar, sure) for bar in shown],
        points=column.kind not in _AMOUNTS,
        times=column.bins is None and _are_times(release),
        size=size,
    )


def _figures(bar: tuple[str, float, float, float], sure: bool) -> str:
    """The value with as many digits as its error allows."""
    _, value, low, high = bar
    whole: Any = int(value) if value == int(value) else value
    return value_figures(whole, low, high).split(" ")[0] if sure else plain_figures(whole)


def _are_times(release: Release) -> bool:
    """Whether the groups are moments in time, one after another."""
    return len(release.keys) == 1 and len(release.groups) > 2 and isinstance(release.groups[0][0], date)


def _lists(column: AnswerColumn) -> bool:
    return bool(column.values) and isinstance(column.values[0], list)


def _bars(release: Release, column: AnswerColumn) -> Iterator[tuple[str, float, float, float]]:
    """A label, a value and the interval's ends, for every group or every bin of every group."""
    labels = _labels(release.groups)
    for i, level in enumerate(release.level):
        if level or column.values[i] is None:
            continue
        group = labels[i]
        bare = column.lower is None or column.upper is None
        parts = [column.values[i]] * 3 if bare else [each[i] for each in (column.values, column.lower, column.upper)]  # type: ignore[index]
        if column.bins is None:
            value, low, high = map(float, parts)
            yield group or column.name, value, low, high
            continue
        for name, value, low, high in zip(column.bins, *parts, strict=True):
            yield " · ".join(part for part in (group, name) if part), float(value), float(low), float(high)


def _labels(groups: Sequence[tuple[Any, ...]]) -> list[str]:
    """The keys of every group in words; first days of months are months, midnights are days."""
    columns = [_words(column) for column in zip(*groups, strict=True)] if groups and groups[0] else []
    return [" · ".join(parts) for parts in zip(*columns, strict=True)] if columns else [""] * len(groups)


def _words(values: Sequence[Any]) -> list[str]:
    times = [value for value in values if isinstance(value, date)]
    midnight = all(not isinstance(time, datetime) or time.time() == datetime.min.time() for time in times)
    if not times or not midnight:
        return [str(value) for value in values]
    form = "%Y-%m" if len(times) > 1 and all(time.day == 1 for time in times) else "%Y-%m-%d"
    return [value.strftime(form) if isinstance(value, date) else str(value) for value in values]
