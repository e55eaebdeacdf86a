"""Scores for quantiles: how well each public candidate splits the rows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from deniable.core import Lattice, LInfinity, Space, Transformation, Vectors, step
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, rational
from deniable.transformations.binning import from_edges, up_to_edges
from deniable.transformations.column_arrays import steps
from deniable.transformations.row_metrics import SIZED, by_replacement, deterministic, rows_of, times

_FINEST_SHARE = 10**6
"""Scores are counted in shares of a row; with at most this many to a row 9·10**12 rows fit 64 bits."""


@step
@by_replacement
def quantile_scores(space: Space, *, q: Real, candidates: Sequence[Real]) -> Transformation:
    """For every public candidate, how well it splits the rows: minus its rank's distance from the quantile, as whole numbers.

    The score of c is -max(below(c) - q·n, above(c) - (1 - q)·n, 0), so a true quantile scores zero.

    Guarantee: one added or removed row moves every score by at most max(q, 1 - q).
    """
    share = rational(q=q)
    if not 0 <= share <= 1:
        raise InvalidArgument(f"q must be between 0 and 1, got {q!r}")
    if not share.denominator <= _FINEST_SHARE:
        raise InvalidArgument(f"q must be a fraction with a denominator up to {_FINEST_SHARE}, got {q!r}; round it")
    points = [rational(candidate=c) for c in candidates]
    if not points or any(not a < b for a, b in pairwise(points)):
        raise InvalidArgument("candidates must be rising numbers, at least one; they are public, never data")
    element = rows_of(space, "quantile_scores").element
    if not isinstance(element, Lattice) or element.missing:
        raise SpaceMismatch(f"quantile_scores works on numbers on a grid, got {element!r}; clamp first")
    top, bottom = share.numerator, share.denominator
    low, high = from_edges(points, element), up_to_edges(points, element)

    def scored(data: Any) -> Any:
        values = np.sort(steps(data, element))
        rows = len(values)
        below = np.searchsorted(values, low, side="left").astype(np.int64)
        above = rows - np.searchsorted(values, high, side="right").astype(np.int64)
        # rows in memory, fewer than 2**42, times a denominator up to 10**6
        wrong = np.maximum(below * bottom - top * rows, above * bottom - (bottom - top) * rows)
        return -np.maximum(wrong, 0)

    target = Space(Vectors(Lattice(Fraction(1, bottom)), len(points)), LInfinity())
    reach = max(share, 1 - share)
    factor = Fraction(1) if isinstance(space.metric, SIZED) else reach

    return Transformation(space, target, deterministic(scored), times(factor))
