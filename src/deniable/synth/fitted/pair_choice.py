"""Which pairs to measure and how well: from released scores and public sizes, by expected error."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray

Pair = tuple[int, int]
_BELIEF = 0.9


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


def uncovered(
    expected: Sequence[tuple[Sequence[int], NDArray[np.int64]]], scores: NDArray[np.float64], columns: int
) -> NDArray[np.float64]:
    """Of every pair's score what the spanning tree of the largest scores does not explain: a forecast, from released numbers.

    In parts of the largest score two columns can have, dependence is taken to multiply along the tree; of what that explains of a
    pair beside the tree a tenth is kept, for it is only a forecast.
    """
    pairs = [(places[0], places[1]) for places, _ in expected]
    total = max(float(max((table.sum() for _, table in expected), default=0)), 1.0)
    largest = np.full(columns, 1e-6)
    for (first, second), (_, table) in zip(pairs, expected, strict=True):
        for place, axis in ((first, 1), (second, 0)):
            shares = table.sum(axis=axis) / max(float(table.sum()), 1.0)
            largest[place] = max(1 - float((shares**2).sum()), 1e-6)
    scale = [2 * total * sqrt(largest[first] * largest[second]) for first, second in pairs]
    part = np.clip(scores / np.array(scale), 0.0, 1.0)
    tree = spanning_tree(pairs, scores.tolist(), columns)
    along = _along(columns, {pairs[each]: float(part[each]) for each in tree})
    explained = np.array([along[pair] for pair in pairs]) / np.maximum(part, 1e-9)
    kept = 1 - _BELIEF * np.minimum(explained, 1.0)
    kept[tree] = 1.0
    return np.asarray(scores * kept)


def _along(columns: int, edges: dict[Pair, float]) -> NDArray[np.float64]:
    """For every two columns the product of what the edges between them have; 0 where none lead from one to the other."""
    reach: list[list[tuple[int, float]]] = [[] for _ in range(columns)]
    for (first, second), part in edges.items():
        reach[first].append((second, part))
        reach[second].append((first, part))
    found = np.zeros((columns, columns))
    for root in range(columns):
        open_ = [(root, -1, 1.0)]
        while open_:
            place, before, part = open_.pop()
            found[root, place] = part
            open_ += [(after, place, part * edge) for after, edge in reach[place] if after != before]
    return found


def worthwhile(
    scores: NDArray[np.float64], cells: NDArray[np.float64], weights: NDArray[np.float64], noise: float
) -> list[int]:
    """Pairs to measure, one after another, while each lowers the error that is expected of all pairs together.

    A pair that is left out is wrong by its score, or by what of it the others do not explain. Pairs that are measured share the
    budget by (weight·cells)^(2/3), the least total error; with `noise`, the scale on one table that has all of the budget, their
    errors add up to noise·sqrt(2/π)·(Σ …)^(3/2).
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
