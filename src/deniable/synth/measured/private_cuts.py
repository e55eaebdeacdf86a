"""Private quantile bins: a noisy table of fine public cells, paid for apart, from which cells of about equal counts are cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from deniable.synth.attribute import Attribute, Attributes
from deniable.synth.fitted.agreement import simplex
from deniable.synth.fitted.record_model import Floats
from deniable.synth.measured.table_noise import Measurer

PREPROCESSING = 0.1
"""The share of the whole that cutting cells may cost."""
FINE = 1024
"""A number that is to be cut by quantiles is first read in so many cells of equal width, or in its grid points."""


def cut_by_quantiles(measurer: Measurer, wanted: Sequence[tuple[int, int]]) -> Measurer:
    """The measurer with each of these columns (its place, the number of cells) cut anew; it has the rest of the allowance.

    Guarantee: one noisy table for each column, charged to the same filter; the cuts are made of released counts.
    """
    columns = list(measurer.attributes.columns)
    cells: list[Sequence[int] | None] = [None] * len(columns)
    for place, count in wanted:
        table = measurer.table((place,), PREPROCESSING / len(wanted))
        cells[place] = quantile_cells(columns[place], table.counts.astype(float), count)
        columns[place] = _recut(columns[place], cells[place] or ())
    return measurer.recut(Attributes(tuple(columns)), cells, PREPROCESSING)


def quantile_cells(attribute: Attribute, counts: Floats, count: int) -> tuple[int, ...]:
    """The new cell of every fine cell: at most `count` stretches of about equal counts; missing values keep a cell of their own."""
    held = simplex(counts[: attribute.present], max(float(counts[: attribute.present].sum()), 1.0))
    before = np.concatenate([[0.0], np.cumsum(held)[:-1]]) / max(float(held.sum()), 1e-12)
    band = np.minimum((before * count).astype(np.int64), count - 1)
    numbers = np.concatenate([[0], np.cumsum(np.diff(band) > 0)])
    missing = [int(numbers[-1]) + 1] if attribute.missing else []
    return (*numbers.tolist(), *missing)


def _recut(attribute: Attribute, cells: Sequence[int]) -> Attribute:
    starts = [place for place in range(attribute.present) if not place or cells[place] != cells[place - 1]]
    return replace(attribute, edges=(*(attribute.edges[place] for place in starts), attribute.edges[-1]))
