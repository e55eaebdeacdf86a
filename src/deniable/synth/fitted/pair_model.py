"""From one-way tables and pairs to a model: tables that agree, a tree in closed form, and weight moved between its records.

`docs/theory/spanning-tree.md` and `docs/theory/moving-records.md` say what each step does and when it stops.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from deniable.synth.fitted.agreement import NoisyPair, agreed, simplex, weighted_total
from deniable.synth.fitted.joined_cells import group_sums
from deniable.synth.fitted.pair_choice import Pair, spanning_tree
from deniable.synth.fitted.record_model import Codes, Floats, RecordModel, conditional, within_groups
from deniable.synth.fitted.stored import TwinMeasurements
from deniable.synth.fitted.twin_randomness import WordSource, rounded, shuffled

RECORDS = (10_000, 100_000)
"""A model has at least and at most so many records; between them twice the noisy number of rows."""
_SWEEPS = 30
_FAR = 3.0
_DAMPING = 0.7
_ENOUGH = 0.002


def fit_pairs(stored: TwinMeasurements, source: WordSource) -> tuple[RecordModel, tuple[str, ...]]:
    """The model of a default or a tree synthesizer, and what a reader should know about its fit."""
    total, singles, pairs = agreed_tables(stored)
    ones, within = stored.ones(), []
    for place, one in enumerate(ones):
        within.append(within_groups(stored.groups[place], simplex(one.counts.astype(float), total)))
    places, tables = list(pairs), list(pairs.values())
    tree = spanning_tree(places, [dependence(table) for table in tables], len(ones))
    count = int(min(max(2 * total, RECORDS[0]), RECORDS[1]))
    columns = tree_records(singles, [(places[k], tables[k]) for k in tree], count, source)
    weights = np.full(count, 1 / count)
    notes: tuple[str, ...] = ()
    if len(tree) < len(pairs):
        weights, gap = moved_weights(columns, list(zip(places, tables, strict=True)), weights)
        notes = _told(gap)
    model = RecordModel(stored.attributes, stored.groups, tuple(within), tuple(columns), weights, total)
    return model, notes


def agreed_tables(stored: TwinMeasurements) -> tuple[float, dict[int, Floats], dict[Pair, Floats]]:
    """The number of rows, the one-way tables of groups, and the measured pairs, made to agree and none negative."""
    ones = stored.ones()
    total = weighted_total([float(one.counts.sum()) for one in ones], [one.counts.size * one.variance for one in ones])
    margins, spreads = {}, {}
    for place, one in enumerate(ones):
        group = np.array(stored.groups[place])
        margins[place] = group_sums(group, one.counts)
        spreads[place] = group_sums(group, np.full(group.size, one.variance))
    pairs: dict[Pair, NoisyPair] = {}
    for table in stored.marginals:
        if len(table.places) == 2:
            pair = NoisyPair((table.places[0], table.places[1]), table.counts.astype(float), table.variance)
            pairs[pair.places] = together(pairs[pair.places], pair) if pair.places in pairs else pair
    singles, tables = agreed(margins, spreads, list(pairs.values()), total)
    return total, singles, dict(zip(pairs, tables, strict=True))


def together(first: NoisyPair, second: NoisyPair) -> NoisyPair:
    """Two measurements of one table as one, weighed by the inverse of their variances."""
    trust = 1 / first.variance + 1 / second.variance
    counts = (first.counts / first.variance + second.counts / second.variance) / trust
    return NoisyPair(first.places, counts, 1 / trust)


def implied_pairs(stored: TwinMeasurements) -> dict[Pair, Floats]:
    """What the measured pairs, a tree or a forest of them, say of every pair: dependence runs along the tree alone."""
    total, singles, pairs = agreed_tables(stored)
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
    """The distance between a table and the product of its margins, in rows."""
    total = max(float(table.sum()), 1e-12)
    return float(np.abs(table - np.outer(table.sum(axis=1), table.sum(axis=0)) / total).sum())


def tree_records(
    singles: dict[int, Floats], edges: Sequence[tuple[tuple[int, int], Floats]], count: int, source: WordSource
) -> list[Codes]:
    """Records of a tree: each root by its one-way table, each child given its parent; what no edge reaches is independent."""
    reach: dict[int, list[tuple[int, Floats]]] = {place: [] for place in singles}
    for (first, second), table in edges:
        reach[first].append((second, table))
        reach[second].append((first, table.T))
    columns: dict[int, Codes] = {}
    for root in singles:
        if root in columns:
            continue
        values = np.repeat(np.arange(singles[root].size), rounded(singles[root], count, source))
        columns[root] = values[shuffled(count, source)]
        open_ = [root]
        while open_:
            parent = open_.pop()
            for child, table in reach[parent]:
                if child not in columns:
                    columns[child] = conditional(columns[parent], table, source)
                    open_.append(child)
    return [columns[place] for place in sorted(columns)]


def moved_weights(
    columns: Sequence[Codes], tables: Sequence[tuple[tuple[int, ...], Floats]], weights: Floats
) -> tuple[Floats, float]:
    """Weight moved between records until every table is met, and the largest distance (TVD) that is left.

    A sweep multiplies the weight of every record by a damped ratio of what its cell should hold and what it holds.
    """
    goals = []
    for places, table in tables:
        codes = np.zeros(weights.size, dtype=np.int64)
        for place, size in zip(places, table.shape, strict=True):
            codes = codes * size + columns[place]
        goals.append((codes, table.ravel() / max(float(table.sum()), 1e-12)))
    last = gap = np.inf
    for _ in range(_SWEEPS):
        last, gap = gap, 0.0
        for codes, goal in goals:
            held = np.bincount(codes, weights=weights, minlength=goal.size)
            gap = max(gap, float(np.abs(held - goal).sum()) / 2)
            ratio = np.divide(goal, held, out=np.ones_like(goal), where=held > 0)
            weights = weights * (np.clip(ratio, 1 / _FAR, _FAR) ** _DAMPING)[codes]
        weights = weights / weights.sum()
        if gap <= _ENOUGH or last - gap < _ENOUGH * gap:
            break
    return weights, gap


def _told(gap: float) -> tuple[str, ...]:
    if gap <= 0.05:
        return ()
    return (
        f"The fit did not converge: a measured table is still {gap:.3f} (TVD) from the model; the tables contradict one another.",
    )
