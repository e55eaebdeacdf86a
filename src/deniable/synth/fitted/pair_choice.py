"""Which pairs to measure and how well: from released scores and public sizes, by expected error."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

Pair = tuple[int, int]


def spanning_tree(pairs: Sequence[Pair], weights: Sequence[float], columns: int) -> list[int]:
    """The pairs (their places in the list) of a tree of greatest total weight; of a forest where pairs do not reach a column."""
    root = list(range(columns))

    def top(place: int) -> int:
        while root[place] != place:
            place = root[place]
        return place

    found = []
    for each in sorted(range(len(pairs)), key=lambda k: (-weights[k], k)):
        first, second = (top(place) for place in pairs[each])
        if first != second:
            root[first] = second
            found.append(each)
    return found


def worthwhile(
    scores: NDArray[np.float64], cells: NDArray[np.float64], weights: NDArray[np.float64], noise: float
) -> list[int]:
    """Pairs to measure, one after another, while each lowers the error that is expected of all pairs together.

    A pair that is left out is wrong by its score. Pairs that are measured share the budget by (weight·cells)^(2/3), the least total
    error; with `noise`, the scale on one table that has all of the budget, their errors add up to noise·sqrt(2/π)·(Σ …)^(3/2).
    """
    lost = np.maximum(scores, 0.0) * weights
    part = (weights * cells) ** (2 / 3)
    factor = noise * sqrt(2 / pi)
    chosen: list[int] = []
    held, left, best = 0.0, float(lost.sum()), float(lost.sum())
    open_ = np.ones(scores.size, dtype=bool)
    while open_.any():
        totals = np.where(open_, left - lost + factor * (held + part) ** 1.5, np.inf)
        each = int(np.argmin(totals))
        if not totals[each] < best:
            break
        best, held, left = float(totals[each]), held + float(part[each]), left - float(lost[each])
        open_[each] = False
        chosen.append(each)
    return chosen


def shares(cells: Sequence[float]) -> list[float]:
    """How tables of these sizes share a budget: by cells^(2/3), which makes the sum of their errors least."""
    parts = [max(size, 1.0) ** (2 / 3) for size in cells]
    return [part / sum(parts) for part in parts]
