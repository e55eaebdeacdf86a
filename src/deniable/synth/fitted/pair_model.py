"""From measured tables to a model: tables that agree, a junction tree of those it can hold, and weight moved for the others.

`docs/theory/clique-trees.md` and `docs/theory/moving-records.md` say what each step does and when it stops.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from deniable.synth.fitted.agreement import Places, agreed_tables, simplex
from deniable.synth.fitted.clique_tree import CliqueTree, fitted_tree, fitting, tree_records
from deniable.synth.fitted.pair_choice import Pair
from deniable.synth.fitted.record_model import Codes, Floats, RecordModel, within_groups
from deniable.synth.fitted.stored import TwinMeasurements
from deniable.synth.fitted.twin_randomness import WordSource

RECORDS = (10_000, 100_000)
"""A model has at least and at most so many records; between them twice the noisy number of rows, or five for each measured cell."""
TREE_CELLS = 1 << 17
"""The cliques of a model have at most so many cells together."""
_SWEEPS = 30
_FAR = 3.0
_DAMPING = 0.7
_ENOUGH = 0.002


def fit_tables(
    stored: TwinMeasurements,
    source: WordSource,
    *,
    records: int | None = None,
    most: int = TREE_CELLS,
    tree: CliqueTree | None = None,
) -> tuple[RecordModel, tuple[str, ...]]:
    """The model of a marginal synthesizer, and what a reader should know about its fit.

    A junction tree of at most `most` cells holds the one-way tables and, the most dependent first, as many others as it can, unless
    a `tree` is given that holds them.
    """
    agreed = agreed_tables(stored)
    total, several = agreed.total, sorted(agreed.several.items(), key=lambda each: -dependence(each[1]))
    if tree is None:
        goals = [*(((place,), single) for place, single in agreed.singles.items()), *several]
        sizes = stored.group_sizes(range(len(stored.groups)))
        tree = fitted_tree(*fitting(goals, sizes, most), sizes)
    columns, weights = tree_records(
        tree, records or record_count(total, sum(table.size for _, table in several)), source
    )
    weights, gap = moved_weights(columns, several, weights)
    within = [
        within_groups(stored.groups[one.places[0]], simplex(one.counts.astype(float), total)) for one in stored.ones()
    ]
    return RecordModel(stored.attributes, stored.groups, tuple(within), tuple(columns), weights, total), _told(gap)


def record_count(total: float, cells: int = 0) -> int:
    """How many records a model of so many rows has that are to meet tables of so many cells."""
    return int(min(max(2 * total, 5 * cells, RECORDS[0]), RECORDS[1]))


def implied_pairs(stored: TwinMeasurements) -> dict[Pair, Floats]:
    """What the measured pairs, a tree or a forest of them, say of every pair: dependence runs along the tree alone."""
    agreed = agreed_tables(stored)
    total, singles, pairs = agreed.total, agreed.singles, agreed.pairs
    reach: dict[int, list[tuple[int, Floats]]] = {place: [] for place in singles}
    for (first, second), table in pairs.items():
        for parent, child, given in ((first, second, table), (second, first, table.T)):
            sums = given.sum(axis=1, keepdims=True)
            reach[parent].append((child, np.divide(given, sums, out=np.zeros_like(given), where=sums > 0)))
    found: dict[Pair, Floats] = {}
    for root, single in singles.items():
        open_ = [(root, -1, np.diag(single))]
        while open_:
            place, before, joint = open_.pop()
            if root < place:
                found[root, place] = joint
            open_ += [(child, place, joint @ chances) for child, chances in reach[place] if child != before]
    return {
        pair: found[pair] if pair in found else np.outer(singles[pair[0]], singles[pair[1]]) / max(total, 1.0)
        for pair in combinations(singles, 2)
    }


def dependence(table: Floats) -> float:
    """The distance between a table and the product of its one-way tables, in rows."""
    total = max(float(table.sum()), 1e-12)
    product = np.array(total)
    for axis in range(table.ndim):
        single = table.sum(axis=tuple(other for other in range(table.ndim) if other != axis)) / total
        product = np.multiply.outer(product, single)
    return float(np.abs(table - product).sum())


def moved_weights(
    columns: Sequence[Codes], tables: Sequence[tuple[Places, Floats]], weights: Floats
) -> tuple[Floats, float]:
    """Weight moved between records until every table is met, and the largest distance (TVD) that is left.

    A sweep multiplies the weight of every record by a damped ratio of what its cell should hold and what it holds.
    """
    goals = [(places, table / max(float(table.sum()), 1e-12)) for places, table in tables]
    left = np.inf
    for _ in range(_SWEEPS):
        last, left, worst = left, 0.0, 0.0
        for places, goal in goals:
            codes, held = _held(columns, places, goal, weights)
            apart = float(np.abs(held - goal.ravel()).sum()) / 2
            worst, left = max(worst, apart), left + apart
            ratio = np.divide(goal.ravel(), held, out=np.ones_like(held), where=held > 0)
            weights = weights * (np.clip(ratio, 1 / _FAR, _FAR) ** _DAMPING)[codes]
        weights = weights / weights.sum()
        if worst <= _ENOUGH or last - left < _ENOUGH * left:  # of all tables: the worst alone may rise before it falls
            break
    return weights, max((_apart(columns, goal, weights) for goal in goals), default=0.0)


def _held(columns: Sequence[Codes], places: Places, goal: Floats, weights: Floats) -> tuple[Codes, Floats]:
    """The cell of every record, found anew each time (kept for all tables they would take gigabytes), and what each cell holds."""
    codes = np.zeros(weights.size, dtype=np.int64)
    for place, size in zip(places, goal.shape, strict=True):
        codes = codes * size + columns[place]
    return codes, np.asarray(np.bincount(codes, weights=weights, minlength=goal.size), dtype=np.float64)


def _apart(columns: Sequence[Codes], goal: tuple[Places, Floats], weights: Floats) -> float:
    places, shares = goal
    return float(np.abs(_held(columns, places, shares, weights)[1] - shares.ravel()).sum()) / 2


def _told(gap: float) -> tuple[str, ...]:
    if gap <= 0.05:
        return ()
    return (
        f"The fit did not converge: a measured table is still {gap:.3f} (TVD) from the model; the tables contradict one another.",
    )
