"""AIM's model: records of a tree whose weights are moved until every measured table is met.

Moving weight between records of the best tree ends, as exact fitting would, near the table of largest entropy among those with
the measured margins; it needs no junction tree and takes cliques of any shape.
"""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np

from deniable.synth.fitted.agreement import raked, simplex, weighted_total
from deniable.synth.fitted.joined_cells import group_sums
from deniable.synth.fitted.pair_choice import spanning_tree
from deniable.synth.fitted.pair_model import dependence, moved_weights, tree_records
from deniable.synth.fitted.record_model import Floats, RecordModel, within_groups
from deniable.synth.fitted.stored import Marginal, TwinMeasurements
from deniable.synth.fitted.twin_randomness import ReleasedWords

_RECORDS = 30_000


def aim_model(stored: TwinMeasurements) -> RecordModel:
    """The model of what has been measured so far; fixed by it."""
    return fit_aim(stored)[0]


def fit_aim(stored: TwinMeasurements) -> tuple[RecordModel, tuple[str, ...]]:
    """The model of an AIM synthesizer, and what a reader should know about its fit."""
    source = ReleasedWords(json.dumps([stored.method, stored.attributes.names, len(stored.marginals)]))
    ones = stored.ones()
    total = weighted_total([float(one.counts.sum()) for one in ones], [one.counts.size * one.variance for one in ones])
    singles, within = {}, []
    for place, one in enumerate(ones):
        cells = simplex(one.counts.astype(float), total)
        singles[place] = group_sums(stored.groups[place], cells)
        within.append(within_groups(stored.groups[place], cells))
    tables = [(table.places, _goal(table, singles, total)) for table in _combined(stored)]
    pairs = _pairs(tables, singles)
    tree = spanning_tree(list(pairs), [dependence(table) for table in pairs.values()], len(ones))
    edges = [list(pairs.items())[each] for each in tree]
    columns = tree_records(singles, edges, _RECORDS, source)
    weights, gap = moved_weights(columns, tables, np.full(_RECORDS, 1 / _RECORDS))
    notes = (
        () if gap <= 0.1 else (f"The fit did not converge: a measured table is still {gap:.3f} (TVD) from the model.",)
    )
    return RecordModel(stored.attributes, stored.groups, tuple(within), tuple(columns), weights, total), notes


def _pairs(tables: list[tuple[tuple[int, ...], Floats]], singles: dict[int, Floats]) -> dict[tuple[int, int], Floats]:
    """A table for every pair that lies in a measured one, with the one-way tables as its margins."""
    found: dict[tuple[int, int], Floats] = {}
    for places, table in sorted(tables, key=lambda each: len(each[0])):
        for a, b in combinations(range(len(places)), 2):
            pair = (places[a], places[b])
            if pair not in found:
                margin = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in (a, b)))
                found[pair] = raked(margin, [singles[place] for place in pair])
    return found


def _combined(stored: TwinMeasurements) -> list[Marginal]:
    """Every measured table of groups once: those that were measured again by the inverse of their variances."""
    found: dict[tuple[int, ...], list[Marginal]] = {}
    for table in stored.marginals:
        if len(table.places) > 1:
            found.setdefault(table.places, []).append(table)
    return [tables[0] if len(tables) == 1 else _mean(tables) for tables in found.values()]


def _mean(tables: list[Marginal]) -> Marginal:
    weights = np.array([1 / table.variance for table in tables])
    mean = sum(w * table.counts for w, table in zip(weights, tables, strict=True)) / weights.sum()
    best = min(tables, key=lambda table: table.variance)
    return Marginal(best.places, np.rint(mean).astype(np.int64), best.scale, best.law, best.grouped)


def _goal(table: Marginal, singles: dict[int, Floats], total: float) -> Floats:
    counts = simplex(table.counts.astype(float), total)
    if counts.ndim == 2 and total > 0:
        first, second = table.places
        return raked(counts, [singles[first], singles[second]])
    return counts
