"""Pictures of released answers and of what a bound on contributions does to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deniable.svg import Figure, Line, Series, horizontal_bars, plot

Bar = tuple[str, float, float, float]
"""A label, a value and the ends of its interval."""


def group_bars(bars: Sequence[Bar], *, title: str, note: str, intervals: bool) -> Figure:
    """One bar for each group, with error bars where the answer has intervals."""
    labels, values, lower, upper = zip(*bars, strict=True) if bars else ((), (), (), ())
    ends = (list(lower), list(upper)) if intervals else (None, None)
    return horizontal_bars(Series(list(labels), list(values), *ends), title=title, note=note)


def bound_errors(bounds: Sequence[int], *, parts: Mapping[str, Sequence[float]], output: str, name: str) -> Figure:
    """Bias, noise and error per group over the candidates for one bound."""
    at = [float(each) for each in bounds]
    lines = [Line(at, values, label=part) for part, values in parts.items()]
    title = f"error of {output} by {name} per unit"
    return plot(*lines, title=title, x_label=f"{name} per unit", y_label="per group")
