"""The marginal model's measurements: one-way tables, scores of all pairs, a spanning tree, then the pairs it does not explain.

All of it is Gaussian noise in one filter, so which pairs are measured, and how well, may depend on earlier answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from deniable.synth.attribute import Attributes
from deniable.synth.fitted.agreement import simplex, weighted_total
from deniable.synth.fitted.joined_cells import group_sums, grouping
from deniable.synth.fitted.pair_choice import Pair, shares, spanning_tree, uncovered, worthwhile
from deniable.synth.fitted.pair_model import implied_pairs
from deniable.synth.fitted.record_model import Floats
from deniable.synth.fitted.stored import Marginal, TwinMeasurements
from deniable.synth.measured.table_noise import Integers, Measurer

ONES, SCORES, AGAIN = 0.3, 0.05, 0.04
"""The shares of the one-way tables, of the scores, and of scores against what a measured tree says; the pairs have the rest."""
FIRST, LEAST, DOUBT = 0.9, 0.1, 1.5
"""The tree has at most the first part of what pairs have before others are scored; less than the second is not added to it. Of the
scores of the others so many scales of their noise are taken off, for the largest of many are large by chance."""
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
    cells = weights * np.array([float(table.size) for _, table in expected])
    asked = _Asked(measurer, pairs, groups, weights, cells)
    tables = _measured(asked, TwinMeasurements(method, attributes, tuple(ones), groups), expected, scores.astype(float))
    known = {pair: int(score) for pair, score in zip(pairs, scores, strict=True)}
    return TwinMeasurements(method, attributes, (*ones, *tables), groups, known, scale)


def pairs_of(attributes: Attributes, apart: Sequence[Sequence[int]]) -> list[Pair]:
    """The pairs of columns that are looked at: all, or those within one of these sets."""
    every = combinations(range(len(attributes.columns)), 2)
    return [pair for pair in every if not apart or any(set(pair) <= set(part) for part in apart)]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What pairs are measured by: their places, the weight of an error in each, and their cells, weighed by that."""

    measurer: Measurer
    pairs: list[Pair]
    groups: tuple[tuple[int, ...], ...]
    weights: Floats
    cells: Floats

    def tables(self, chosen: Sequence[int], share: float) -> list[Marginal]:
        """The tables of these pairs, which share what they have for the least total error."""
        parts = zip(chosen, shares([self.cells[each] for each in chosen]), strict=True)
        return [self.measurer.table(self.pairs[each], share * part, groups=self.groups) for each, part in parts]

    def part(self, chosen: Sequence[int]) -> float:
        """How much these pairs need beside others, for the least total error."""
        return float((self.cells[chosen] ** (2 / 3)).sum())

    def against(self, tables: Mapping[Pair, Floats], chosen: Sequence[int]) -> tuple[Floats, float]:
        """How far each of these pairs is from a released table, in rows, with noise; and the scale of that noise."""
        whole = [(self.pairs[each], np.rint(tables[self.pairs[each]]).astype(np.int64)) for each in chosen]
        scores, scale = self.measurer.scores(whole, AGAIN, groups=self.groups)
        return scores.astype(float), float(scale)

    def worthwhile(self, lost: Floats, among: Sequence[int], share: float) -> list[int]:
        """Those of these pairs that are worth their noise where this share pays for it."""
        sizes, noise = (self.cells / self.weights)[among], float(self.measurer.noise(share).scale)
        return [among[each] for each in worthwhile(lost, sizes, self.weights[among], noise)]


def _measured(
    asked: _Asked, stored: TwinMeasurements, expected: list[tuple[tuple[int, ...], Integers]], scores: Floats
) -> list[Marginal]:
    """The tree's pairs first, with the part that a forecast gives them; then what is worst beside what they say of all others.

    From scores that were released, and public sizes.
    """
    columns, every, rest = len(stored.attributes.columns), list(range(len(asked.pairs))), 1 - ONES - SCORES
    if stored.method == "tree":
        return asked.tables(spanning_tree(asked.pairs, (scores * asked.weights).tolist(), columns), rest)
    tree = spanning_tree(asked.pairs, scores.tolist(), columns)
    chosen = asked.worthwhile(uncovered(expected, scores, columns), every, rest)
    first = [each for each in chosen if each in tree]
    if not first or len(first) == len(chosen):
        return asked.tables(chosen, rest)
    rest -= AGAIN
    spent = rest * min(asked.part(first) / asked.part(chosen), FIRST)
    tables = asked.tables(first, spent)
    others = [each for each in every if each not in first]
    wrong, scale = asked.against(implied_pairs(replace(stored, marginals=(*stored.marginals, *tables))), others)
    more = asked.worthwhile(wrong - DOUBT * scale, others, rest - spent)
    again = rest * asked.part(first) / asked.part([*first, *more]) - spent
    if again > LEAST * spent:
        tables += asked.tables(first, again)
        spent += again
    return [*tables, *asked.tables(more, rest - spent)]


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
