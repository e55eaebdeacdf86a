"""Pictures from plain numbers: what an object's `.plot()` draws once it has computed what there is to see.

Imported inside `.plot()` methods only, so that nobody who draws nothing loads a line of this or of the SVG writer. First what
accounting reads: profiles, trade-off curves, loss distributions, shares of a budget, the graph of definitions. Then what was
released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deniable.svg import (
    BarShape,
    Figure,
    Line,
    Points,
    ReferenceLine,
    Scale,
    Series,
    ShadedBand,
    Stems,
    graph,
    horizontal_bars,
    plot,
    vertical_bars,
)

__all__ = [
    "Figure",
    "answer_losses",
    "bound_errors",
    "definition_graph",
    "group_bars",
    "loss_histogram",
    "named_answer_losses",
    "per_query_curves",
    "profile_curve",
    "tradeoff_curve",
]

_ANSWER_LOSSES = "Privacy loss of each answer"

Bar = tuple[str, float, float, float]
"""A label, a value and the ends of its interval."""


def profile_curve(epsilons: Sequence[float], *, lower: Sequence[float], upper: Sequence[float]) -> Figure:
    """Delta against epsilon on a logarithmic scale: the upper ends, with the bracket as a band."""
    return plot(
        ShadedBand(epsilons, lower, upper),
        Line(epsilons, upper),
        title="Privacy profile",
        x_label="epsilon",
        y_label="delta",
        y_scale=Scale.LOG,
    )


def tradeoff_curve(alphas: Sequence[float], *, misses: Sequence[float]) -> Figure:
    """The rate of misses against the rate of false alarms, and the line of no information."""
    return plot(
        Line([0.0, 1.0], [1.0, 0.0], label="no information"),
        Line(alphas, misses, label="this cost"),
        title="Trade-off curve",
        subtitle="every attack lies on or above the curve",
        x_label="false alarms",
        y_label="misses",
    )


def loss_histogram(middles: Sequence[float], *, masses: Sequence[float], width: float, beyond: float) -> Figure:
    """The probability of the loss in bins of one width, and what lies beyond the right edge."""
    return plot(
        Stems(middles, masses),
        ReferenceLine(x=0.0, label="nothing learnt"),
        title="Privacy loss distribution",
        subtitle=f"probability in bins of width {width:.3g}; beyond the right edge {beyond:.2g}",
        x_label="privacy loss",
        y_label="probability",
        y_limits=(0.0, 1.15 * max(masses)),
    )


def per_query_curves(
    queries: Sequence[int], *, rules: Mapping[str, Sequence[float]], epsilon: float, delta: float
) -> Figure:
    """The epsilon of each query against the number of queries, both logarithmic, a line for each rule."""
    return plot(
        *(Line(queries, values, label=name) for name, values in rules.items()),
        title=f"What each query may cost, for ({epsilon:g}, {delta:g}) in all",
        x_label="number of queries",
        y_label="epsilon of each query",
        x_scale=Scale.LOG,
        y_scale=Scale.LOG,
    )


def definition_graph(places: Mapping[str, tuple[float, float]], *, arrows: Sequence[tuple[str, str]]) -> Figure:
    """Definitions of privacy at their places, and a numbered arrow for each implication."""
    return graph(
        places,
        arrows,
        title="Which definition implies which",
        subtitle="an arrow leads from the stronger definition to the weaker; the numbers are explained beside the picture",
        width=820,
        height=560,
    )


def answer_losses(answers: Sequence[Any], *, losses: Sequence[float], marked: tuple[Any, float], said: str) -> Figure:
    """The loss at every likely answer, which are numbers, with one of them marked."""
    answer, loss = marked
    return plot(
        Points(answers, losses),
        Points([answer], [loss], label="this answer"),
        ReferenceLine(y=0, label="nothing learnt"),
        title=_ANSWER_LOSSES,
        subtitle=said,
        x_label="answer",
        y_label="loss",
    )


def named_answer_losses(names: Sequence[str], *, losses: Sequence[float], said: str) -> Figure:
    """The loss at every answer, which are not numbers but have names."""
    bars = Series(list(names), list(losses), label="")
    return horizontal_bars(bars, title=_ANSWER_LOSSES, subtitle=said)


def local_sensitivity_curve(sensitivities: Sequence[float], *, proposed: float | None, said: str) -> Figure:
    """How far one unit moves an answer once 0, 1, 2, ... have changed, and a proposed bound."""
    marks: list[Points | ReferenceLine] = [
        Points(list(range(len(sensitivities))), sensitivities, label="one more unit")
    ]
    if proposed is not None:
        marks.append(ReferenceLine(y=proposed, label="proposed bound"))
    return plot(
        *marks,
        title="How far one unit can move the answer",
        subtitle=said,
        x_label="units changed before",
        y_label="local sensitivity",
    )


def group_bars(
    bars: Sequence[Bar],
    *,
    title: str,
    note: str,
    intervals: bool,
    texts: Sequence[str] | None = None,
    points: bool = False,
    times: bool = False,
    size: tuple[int, int] | None = None,
) -> Figure:
    """One bar or point for each group, with error bars where the answer has intervals; `times` go from left to right."""
    labels, values, lower, upper = zip(*bars, strict=True) if bars else ((), (), (), ())
    low, high = (list(lower), list(upper)) if intervals else (None, None)
    series = Series(list(labels), list(values), low, high, texts=texts)
    shape = BarShape.DOT if points else BarShape.BAR
    width, height = size or (720, 420)
    if times:
        return vertical_bars(series, title=title, note=note, shape=shape, width=width, height=height)
    return horizontal_bars(series, title=title, note=note, shape=shape, width=width)


def bound_errors(bounds: Sequence[int], *, parts: Mapping[str, Sequence[float]], output: str, name: str) -> Figure:
    """Bias, noise and error per group over the candidates for one bound."""
    at = [float(each) for each in bounds]
    lines = [Line(at, values, label=part) for part, values in parts.items()]
    title = f"error of {output} by {name} per unit"
    return plot(*lines, title=title, x_label=f"{name} per unit", y_label="per group")
