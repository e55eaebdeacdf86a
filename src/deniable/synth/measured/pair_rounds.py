"""The marginal model's measurements: one-way tables, scores of all pairs, then the pairs that are worth it (or a spanning tree).

All of it is Gaussian noise in one filter, so which pairs are measured, and how well, may depend on earlier answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from deniable.synth.attribute import Attributes
from deniable.synth.fitted.agreement import simplex, weighted_total
from deniable.synth.fitted.joined_cells import group_sums, grouping
from deniable.synth.fitted.pair_choice import Pair, shares, spanning_tree, uncovered, worthwhile
from deniable.synth.fitted.record_model import Floats
from deniable.synth.fitted.stored import Marginal, TwinMeasurements
from deniable.synth.measured.table_noise import Integers, Measurer

ONES, SCORES = 0.3, 0.06
"""The shares of the one-way tables and of the scores; the pairs have the rest."""
FOCUS = 3.0
"""An error in a pair with a focus column counts as much as this many others."""


def measure_pairs(
    measurer: Measurer, *, method: str, focus: tuple[int, ...], apart: Sequence[Sequence[int]] = ()
) -> TwinMeasurements:
    """One-way tables, scores, pairs: by expected error, or with `method` "tree" the spanning tree of the largest scores.

    With `apart` only pairs within one of these sets of columns are looked at; the sets are then independent.
    """
    attributes = measurer.attributes
    pairs = pairs_of(attributes, apart)
    first = ONES if pairs else 1.0
    ones = [
        measurer.table((place,), first * share)
        for place, share in enumerate(shares([float(size) for size in attributes.sizes]))
    ]
    groups, expected = expectation(measurer, ones, pairs)
    if not pairs:
        return TwinMeasurements(method, attributes, tuple(ones), groups)
    scores, scale = measurer.scores(expected, SCORES, groups=groups)
    weights = np.array([FOCUS if set(pair) & set(focus) else 1.0 for pair in pairs])
    sizes = np.array([float(table.size) for _, table in expected])
    rest = 1 - ONES - SCORES
    chosen = _chosen(measurer, expected, scores.astype(float), weights, rest, method)
    tables = [
        measurer.table(pairs[each], rest * share, groups=groups)
        for each, share in zip(chosen, shares([sizes[each] * weights[each] for each in chosen]), strict=True)
    ]
    known = {pair: int(score) for pair, score in zip(pairs, scores, strict=True)}
    return TwinMeasurements(method, attributes, (*ones, *tables), groups, known, scale)


def pairs_of(attributes: Attributes, apart: Sequence[Sequence[int]]) -> list[Pair]:
    """The pairs of columns that are looked at: all, or those within one of these sets."""
    every = combinations(range(len(attributes.columns)), 2)
    return [pair for pair in every if not apart or any(set(pair) <= set(part) for part in apart)]


def _chosen(
    measurer: Measurer,
    expected: list[tuple[tuple[int, ...], Integers]],
    scores: Floats,
    weights: Floats,
    rest: float,
    method: str,
) -> list[int]:
    """Which pairs to measure: from scores that were released, and public sizes."""
    columns = len(measurer.attributes.columns)
    if method == "tree":
        return spanning_tree([(places[0], places[1]) for places, _ in expected], (scores * weights).tolist(), columns)
    cells = np.array([float(table.size) for _, table in expected])
    noise = float(measurer.noise(rest).scale)
    return worthwhile(uncovered(expected, scores, columns), cells, weights, noise)


def expectation(
    measurer: Measurer, ones: list[Marginal], pairs: list[Pair]
) -> tuple[tuple[tuple[int, ...], ...], list[tuple[tuple[int, ...], Integers]]]:
    """The groups of every column, and for every pair the whole numbers that independence would give: from released tables only."""
    columns = measurer.attributes.columns
    total = weighted_total([float(one.counts.sum()) for one in ones], [one.counts.size * one.variance for one in ones])
    groups = tuple(
        grouping(column, one.counts.astype(float), one.variance**0.5, total)
        for column, one in zip(columns, ones, strict=True)
    )
    margins = [simplex(group_sums(group, one.counts), total) for group, one in zip(groups, ones, strict=True)]
    products = [np.rint(np.outer(margins[a], margins[b]) / max(total, 1.0)).astype(np.int64) for a, b in pairs]
    return groups, list(zip(pairs, products, strict=True))
