"""From exact integers to noisy ones: the only place where a query's noise is drawn, once, from the entropy it is handed.

Groups are laid out before any value is looked at: every declared group of a level in public order, or the observed ones sorted
by key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.engines.engine import Result, SparseHistogram
from deniable.kernels.peeling import peel
from deniable.mechanisms.carried import saturated_sum
from deniable.noise import Entropy
from deniable.noise.weighted_choice import weighted_choices
from deniable.plan.facts import LARGEST
from deniable.query.choices import Ordered, Ranked
from deniable.query.lowering import Lowered
from deniable.query.outputs import Column, Noisy
from deniable.query.pricing import Bill
from deniable.query.ranking import Occupied, ranked_choices
from deniable.query.slices import Slice, column_of

Integers: TypeAlias = NDArray[np.int64]

_CELLS = 1 << 22
"""Private choices are made for so many (group, bin) cells at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Noisy columns and private choices for the groups of one slice that may be shown.

    Groups name all keys, None for those the slice rolls up. Columns and choices have the plan's own names.
    """

    part: Slice
    groups: tuple[tuple[Any, ...], ...]
    columns: Mapping[str, Column]
    choices: Mapping[str, tuple[tuple[int, ...], ...]]


def drawn(lowered: Lowered, result: Result, bill: Bill, entropy: Entropy) -> tuple[Drawn, ...]:
    """Slice by slice: noise on everything measured, then the threshold, then the private choices in the groups that remain.

    Guarantee: costs at most `bill.cost`: each additive column gets the noise it was priced with, each group at most the
    choices it was priced with, observed groups show only at the priced threshold, and other rows are asked after the
    groups they stand for have been hidden.
    """
    found: list[Drawn] = []
    levels: dict[int, tuple[_Layout, Integers]] = {}
    for part in lowered.slices:
        layout = _hidden(lowered, part, *levels[part.place]) if part.other else _layout(lowered, result, part)
        noisy = _noisy(lowered, result, layout, part, bill, entropy)
        shown = _shown(part, noisy, bill, len(layout.groups))
        levels[part.place] = (layout, shown)
        chosen = {name: _choices(layout, result, lowered, name, part, bill, shown, entropy) for name in lowered.choices}
        if len(shown) == len(layout.groups):
            found.append(Drawn(part, layout.groups, noisy, chosen))
            continue
        groups = tuple(layout.groups[i] for i in shown)
        kept = {name: Noisy(column.steps[shown], column.step, column.noise) for name, column in noisy.items()}
        found.append(Drawn(part, groups, kept, chosen))
    return tuple(found)


def _noisy(
    lowered: Lowered, result: Result, layout: _Layout, part: Slice, bill: Bill, entropy: Entropy
) -> dict[str, Noisy]:
    noisy = {}
    for entry in lowered.needs.additive:
        name = column_of(entry.name)
        if entry.name == part.named(name):
            exact = layout.dense(result, name, lowered.bins.get(name))
            noise = bill.noises[entry.name]
            sums = saturated_sum(exact, noise.draw(exact.size, entropy).reshape(exact.shape))
            noisy[name] = Noisy(sums, entry.moved.step, noise)
    return noisy


def _shown(part: Slice, noisy: Mapping[str, Noisy], bill: Bill, count: int) -> Integers:
    """Which groups may be shown: all declared ones, and the observed ones at or above their threshold."""
    if not part.observed or part.other:
        return np.arange(count)
    threshold = next(each for each in bill.thresholds if each.column == part.named(column_of(each.column)))
    return np.flatnonzero(noisy[column_of(threshold.column)].steps >= threshold.at)


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """Where each of the result's groups stands among those of a slice: row `rows[i]` at `place[i]`; `merging`: some meet."""

    groups: tuple[tuple[Any, ...], ...]
    rows: Integers
    place: Integers
    merging: bool = False

    def dense(self, result: Result, name: str, bins: int | None) -> Integers:
        """A column (or a histogram, groups by bins) over all groups; groups without rows are zero."""
        if bins is None:
            return _added(len(self.groups), self.place, result.columns[name][self.rows], merging=self.merging)
        return self.histogram(result, result.histograms[name], np.arange(len(self.groups)), bins)

    def histogram(self, result: Result, sparse: SparseHistogram, groups: Integers, bins: int) -> Integers:
        """The counts of some groups, all bins."""
        rows, here = self._asked(result, sparse, groups)
        counts = np.zeros((len(groups), bins), dtype=np.int64)  # numbers of rows: no engine holds 2**62 of them
        np.add.at(counts, (rows, sparse.bin[here]), sparse.count[here])
        return counts

    def occupied(self, result: Result, sparse: SparseHistogram, groups: Integers) -> Occupied:
        """The bins that hold rows in some groups."""
        rows, here = self._asked(result, sparse, groups)
        return Occupied.added(len(groups), rows, sparse.bin[here], sparse.count[here])

    def _asked(self, result: Result, sparse: SparseHistogram, groups: Integers) -> tuple[Integers, Integers]:
        """Which entries of a histogram lie in these groups, and in which of them."""
        asked = np.full(len(self.groups), -1, dtype=np.int64)
        asked[groups] = np.arange(len(groups))
        at = np.full(result.groups, -1, dtype=np.int64)
        at[self.rows] = asked[self.place]
        rows = at[sparse.group]
        here = np.flatnonzero(rows >= 0)
        return rows[here], here


def _added(size: int, place: Integers, values: Integers, *, merging: bool) -> Integers:
    """Values added up where they meet, exactly, limited to what an engine's total is limited to.

    Both halves of every value are added apart: 2**31 groups of at most 2**31 each stay within int64.
    """
    if not merging:
        column = np.zeros(size, dtype=np.int64)
        column[place] = values
        return column
    high, low = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    np.add.at(high, place, values >> 31)
    np.add.at(low, place, values & (2**31 - 1))
    whole = [(int(h) << 31) + int(k) for h, k in zip(high, low, strict=True)]
    return np.array([min(max(value, -LARGEST), LARGEST) for value in whole], dtype=np.int64)


def _layout(lowered: Lowered, result: Result, part: Slice) -> _Layout:
    """The groups of a level: all declared ones, or those found."""
    keys = lowered.keys
    rows = np.flatnonzero(result.level == part.place)
    every = tuple(zip(*(result.keys[name] for name in keys.names), strict=True)) if keys.columns else ((),)
    found = every if len(rows) == len(every) else tuple(every[row] for row in rows.tolist())
    if part.observed:
        return _Layout(found, rows, np.arange(len(found), dtype=np.int64))
    declared = tuple(keys.declared(part.level))
    where = {group: index for index, group in enumerate(declared)}
    return _Layout(declared, rows, np.fromiter((where[group] for group in found), dtype=np.int64, count=len(found)))


def _hidden(lowered: Lowered, part: Slice, level: _Layout, shown: Integers) -> _Layout:
    """The hidden groups of a level, put together: one group for each combination of its declared keys."""
    keys = lowered.keys
    declared = [name in part.moved_by for name in keys.names]
    label = [lowered.other if name in part.level and name not in part.moved_by else None for name in keys.names]
    together = tuple(keys.declared(part.moved_by))
    where = {group: index for index, group in enumerate(together)}
    kept = np.setdiff1d(np.arange(len(level.groups)), shown)
    at = [where[tuple(v if d else None for v, d in zip(level.groups[i], declared, strict=True))] for i in kept.tolist()]
    groups = tuple(tuple(v if d else t for v, d, t in zip(g, declared, label, strict=True)) for g in together)
    return _Layout(groups, level.rows[kept], np.array(at, dtype=np.int64), merging=True)


def _choices(
    layout: _Layout,
    result: Result,
    lowered: Lowered,
    name: str,
    part: Slice,
    bill: Bill,
    shown: Integers,
    entropy: Entropy,
) -> tuple[tuple[int, ...], ...]:
    choice = lowered.choices[name]
    selection = next(entry for entry in lowered.needs.selections if entry.name == part.named(name))
    temperature = selection.temperature(bill.etas[part.named(name)])
    sparse = result.histograms[choice.histogram]
    if isinstance(choice, Ranked):
        picked = ranked_choices(
            layout.occupied(result, sparse, shown), choice, temperature=temperature, entropy=entropy
        )
        return tuple((index,) for index in picked.tolist())
    fullest: list[Integers] = []
    for start in range(0, len(shown), max(1, _CELLS // choice.bins)):
        some = shown[start : start + max(1, _CELLS // choice.bins)]
        counts = layout.histogram(result, sparse, some, choice.bins)
        fullest.append(_fullest(choice, counts, temperature, entropy))
    return tuple(tuple(row) for block in fullest for row in block.tolist())


def _fullest(choice: Ordered, counts: Integers, temperature: Fraction, entropy: Entropy) -> Integers:
    """One row of chosen bins for each group, each chosen among those that are left."""
    return peel(
        len(counts),
        choice.bins,
        min(choice.k, choice.bins),
        lambda left: weighted_choices(counts, scale=temperature, entropy=entropy, counts=left),
    )
