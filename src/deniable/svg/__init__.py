"""A small SVG writer: plots that are readable by default, in light and in dark, without any library.

`plot` draws numeric marks (lines, steps, bands, points, stems, rules), `vertical_bars` and `horizontal_bars` draw
answers by group with their error bars, `shaded_table` draws a table, `graph` draws boxes and numbered arrows. All return a
`Figure`. The same input gives the same bytes, and names are escaped: a group called `<script>` is shown, not run.
"""

from deniable.svg.axes import Scale
from deniable.svg.bars import BarShape, Series, ShadedCell, horizontal_bars, shaded_table, vertical_bars
from deniable.svg.chart import plot
from deniable.svg.elements import Figure
from deniable.svg.graph import graph
from deniable.svg.marks import Line, Mark, Points, ReferenceLine, ShadedBand, Stems, StepLine

__all__ = [
    "BarShape",
    "Figure",
    "Line",
    "Mark",
    "Points",
    "ReferenceLine",
    "Scale",
    "Series",
    "ShadedBand",
    "ShadedCell",
    "Stems",
    "StepLine",
    "graph",
    "horizontal_bars",
    "plot",
    "shaded_table",
    "vertical_bars",
]
