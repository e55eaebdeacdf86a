"""A small SVG writer: plots that are readable by default, in light and in dark, without any library.

`plot` draws numeric marks (lines, steps, bands, points, stems, rules), `vertical_bars` and `horizontal_bars` draw
answers by group with their error bars, `graph` draws boxes and numbered arrows. All return a `Figure`. The same input gives
the same bytes, and names are
escaped: a group called `<script>` is shown, not run.
"""

from deniable.svg.bars import Series, Shape, horizontal_bars, vertical_bars
from deniable.svg.figure import Figure
from deniable.svg.graph import graph
from deniable.svg.marks import Band, Line, Mark, Points, Rule, Stems, Steps
from deniable.svg.plot import plot
from deniable.svg.scale import Scale

__all__ = [
    "Band",
    "Figure",
    "Line",
    "Mark",
    "Points",
    "Rule",
    "Scale",
    "Series",
    "Shape",
    "Stems",
    "Steps",
    "graph",
    "horizontal_bars",
    "plot",
    "vertical_bars",
]
