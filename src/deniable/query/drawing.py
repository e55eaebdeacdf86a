"""From exact integers to noisy ones: the only place where a query's noise is drawn, once, from the entropy it is handed.

Groups are laid out before any value is looked at: every declared group in public order, or the observed ones sorted by key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.engines.engine import Result, SparseHistogram
from deniable.mechanisms.choice import choices
from deniable.noise import Entropy
from deniable.query.lowering import Lowered, Ordered, Ranked
from deniable.query.outputs import Noisy
from deniable.query.pricing import Bill

Integers: TypeAlias = NDArray[np.int64]

_CELLS = 1 << 22
"""Private choices are made for so many (group, bin) cells at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Noisy columns and private choices for the groups that may be shown."""

    groups: tuple[tuple[Any, ...], ...]
    columns: Mapping[str, Noisy]
    choices: Mapping[str, tuple[tuple[int, ...], ...]]


def drawn(lowered: Lowered, result: Result, bill: Bill, entropy: Entropy) -> Drawn:
    """Noise on everything measured, then the threshold, then the private choices in the groups that remain.

    Guarantee: costs at most `bill.cost`: each additive column gets the noise it was priced with, each group at most the
    choices it was priced with, and observed groups show only at the priced threshold.
    """
    layout = _layout(lowered, result)
    noisy = {}
    for part in lowered.needs.additive:
        exact = layout.dense(result, part.name, lowered.bins.get(part.name))
        noise = bill.noises[part.name]
        noisy[part.name] = Noisy(exact + noise.draw(exact.size, entropy).reshape(exact.shape), part.moved.step, noise)
    shown = np.arange(len(layout.groups))
    if bill.threshold is not None:
        shown = np.flatnonzero(noisy[bill.threshold.column].steps >= bill.threshold.at)
    chosen = {name: _choices(layout, result, lowered, name, bill, shown, entropy) for name in lowered.choices}
    if len(shown) == len(layout.groups):
        return Drawn(layout.groups, noisy, chosen)
    groups = tuple(layout.groups[i] for i in shown)
    kept = {name: Noisy(column.steps[shown], column.step, column.noise) for name, column in noisy.items()}
    return Drawn(groups, kept, chosen)


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """Where each of the result's groups stands among the groups to show."""

    groups: tuple[tuple[Any, ...], ...]
    place: Integers

    def dense(self, result: Result, name: str, bins: int | None) -> Integers:
        """A column (or a histogram, groups by bins) over all groups; groups without rows are zero."""
        if bins is None:
            column = np.zeros(len(self.groups), dtype=np.int64)
            column[self.place] = result.columns[name]
            return column
        sparse = result.histograms[name]
        table = np.zeros((len(self.groups), bins), dtype=np.int64)
        table[self.place[sparse.group], sparse.bin] = sparse.count
        return table

    def histogram(self, sparse: SparseHistogram, groups: Integers, bins: int) -> Integers:
        """The counts of some groups, all bins."""
        row = np.full(len(self.groups), -1, dtype=np.int64)
        row[groups] = np.arange(len(groups))
        rows = row[self.place[sparse.group]]
        here = rows >= 0
        counts = np.zeros((len(groups), bins), dtype=np.int64)
        counts[rows[here], sparse.bin[here]] = sparse.count[here]
        return counts


def _layout(lowered: Lowered, result: Result) -> _Layout:
    keys = lowered.keys
    found = tuple(zip(*(result.keys[name] for name in keys.names), strict=True)) if keys.columns else ((),)
    if keys.observed or not keys.columns:
        return _Layout(found, np.arange(len(found), dtype=np.int64))
    declared = tuple(keys.declared())
    where = {group: index for index, group in enumerate(declared)}
    return _Layout(declared, np.fromiter((where[group] for group in found), dtype=np.int64, count=len(found)))


def _choices(
    layout: _Layout, result: Result, lowered: Lowered, name: str, bill: Bill, shown: Integers, entropy: Entropy
) -> tuple[tuple[int, ...], ...]:
    choice = lowered.choices[name]
    selection = next(part for part in lowered.needs.selections if part.name == name)
    temperature = selection.temperature(bill.etas[name])
    picked: list[Integers] = []
    for start in range(0, len(shown), max(1, _CELLS // choice.bins)):
        part = shown[start : start + max(1, _CELLS // choice.bins)]
        counts = layout.histogram(result.histograms[choice.histogram], part, choice.bins)
        picked.append(_chosen(choice, counts, temperature, entropy))
    return tuple(tuple(int(index) for index in row) for block in picked for row in block)


def _chosen(choice: Ranked | Ordered, counts: Integers, temperature: Fraction, entropy: Entropy) -> Integers:
    """One row of chosen bins for each group."""
    if isinstance(choice, Ranked):
        below = np.cumsum(counts, axis=1) - counts
        scores = rank_scores(below, counts, choice.q.numerator, choice.q.denominator)
        return choices(scores, scale=temperature * choice.q.denominator, entropy=entropy)[:, None]
    left = np.ones_like(counts)
    picked = np.empty((len(counts), min(choice.k, choice.bins)), dtype=np.int64)
    for place in range(picked.shape[1]):
        picked[:, place] = choices(counts, scale=temperature, entropy=entropy, counts=left)
        left[np.arange(len(left)), picked[:, place]] = 0
    return picked


def rank_scores(below: Integers, at: Integers, numerator: int, denominator: int) -> Integers:
    """How far each candidate is from the quantile numerator/denominator, in ranks times the denominator; zero is best.

    A candidate is right when at most a share q of the rows lies below it and at most a share 1 - q above it. One row moves
    a score by at most max(q, 1 - q) ranks.
    """
    n = (below + at)[..., -1:]
    above = n - below - at
    too_high = below * denominator - numerator * n
    too_low = above * denominator - (denominator - numerator) * n
    scores: Integers = -np.maximum(np.maximum(too_high, too_low), 0)
    return scores
