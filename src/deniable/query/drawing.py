"""From exact integers to noisy ones: the only place where a query's noise is drawn, once, from the entropy it is handed.

Groups are laid out before any value is looked at: every declared group of a level in public order, or the observed ones sorted
by key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.engines.engine import Result, SparseHistogram
from deniable.kernels import ColumnNoise, HalvesNoise
from deniable.mechanisms.carried import saturated_sum
from deniable.noise import Entropy
from deniable.plan.facts import LARGEST
from deniable.query.allocation import Allocation
from deniable.query.columns import Noisy, SliceColumn
from deniable.query.compile import CompiledQuery
from deniable.query.found_values import draw_found
from deniable.query.measurements import HalvedMean, Slice
from deniable.query.ranking import Occupied

Integers: TypeAlias = NDArray[np.int64]

_HALF_MOST = LARGEST // 2
"""Noisy halves are kept to this, so that their sum is within what totals are kept to."""

_CELLS = 1 << 22
"""Private choices are made for so many (group, bin) cells at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnSlice:
    """Noisy columns and private choices for the groups of one slice that may be shown.

    Groups name all keys, None for those the slice rolls up. Columns and choices have the plan's own names.
    """

    part: Slice
    groups: tuple[tuple[Any, ...], ...]
    columns: Mapping[str, Noisy]
    choices: Mapping[str, tuple[tuple[Any, ...], ...]]


def draw_slices(
    compiled: CompiledQuery, result: Result, allocation: Allocation, entropy: Entropy
) -> tuple[DrawnSlice, ...]:
    """Slice by slice: noise on everything measured, then the threshold, then the private choices in the groups that remain.

    Guarantee: costs at most `allocation.cost`: each additive column gets the noise it was priced with, each group at most the
    choices it was priced with, observed groups show only at the priced threshold, and other rows are asked after the
    groups they stand for have been hidden.
    """
    if compiled.found:
        return (_found(compiled, result, allocation, entropy),)
    slices: list[DrawnSlice] = []
    levels: dict[int, tuple[_Layout, Integers]] = {}
    for part in compiled.slices:
        layout = _hidden(compiled, part, *levels[part.place]) if part.other else _layout(compiled, result, part)
        noisy = _noisy(compiled, result, layout, part, allocation, entropy)
        shown = _shown(part, noisy, allocation, len(layout.groups))
        levels[part.place] = (layout, shown)
        chosen = _choices(compiled, result, layout, part, allocation, shown, entropy)
        if len(shown) == len(layout.groups):
            slices.append(DrawnSlice(part, layout.groups, noisy, chosen))
            continue
        groups = tuple(layout.groups[i] for i in shown)
        kept = {name: replace(column, steps=column.steps[shown]) for name, column in noisy.items()}
        slices.append(DrawnSlice(part, groups, kept, chosen))
    return tuple(slices)


def _found(compiled: CompiledQuery, result: Result, allocation: Allocation, entropy: Entropy) -> DrawnSlice:
    (selection,), (margin,) = compiled.measurements.found, allocation.margins
    chosen = draw_found(selection, allocation.etas[selection.key], margin.at, result, entropy)
    return DrawnSlice(compiled.slices[0], ((),), {}, {selection.key.column: (chosen,)})


def _noisy(
    compiled: CompiledQuery, result: Result, layout: _Layout, part: Slice, allocation: Allocation, entropy: Entropy
) -> dict[str, Noisy]:
    noisy = {}
    for mean in allocation.means:
        total, count = (layout.dense(result, key.column, None) for key in (mean.total, mean.count))
        for key, steps in _halved(mean, total, count, allocation.noises, entropy).items():
            noise = allocation.noises[key]
            assert isinstance(noise, HalvesNoise)
            noisy[key.column] = Noisy(steps, noise.step, noise, compiled.grains[key.column])
    for entry in compiled.measurements.additive:
        name = entry.key.column
        noise = allocation.noises[entry.key]
        if entry.key == part.key(name) and not isinstance(noise, HalvesNoise):
            exact = layout.dense(result, name, compiled.bins.get(name))
            sums = saturated_sum(exact, noise.draw(exact.size, entropy).reshape(exact.shape))
            noisy[name] = Noisy(sums, entry.sensitivity.step, noise, compiled.grains[name])
    return noisy


def _halved(
    mean: HalvedMean, total: Integers, count: Integers, noises: Mapping[SliceColumn, ColumnNoise], entropy: Entropy
) -> dict[SliceColumn, Integers]:
    """The difference of both noisy halves, which is that of the total, and their sum, which is that of the count."""
    noise = noises[mean.total]
    assert isinstance(noise, HalvesNoise)
    exact = mean.halves.of(total, count)
    above, below = np.clip(
        saturated_sum(exact, noise.half.draw(exact.size, entropy).reshape(exact.shape)), -_HALF_MOST, _HALF_MOST
    )
    return {mean.total: above - below, mean.count: above + below}


def _shown(part: Slice, noisy: Mapping[str, Noisy], allocation: Allocation, count: int) -> Integers:
    """Which groups may be shown: all declared ones, and the observed ones at or above their threshold."""
    if not part.observed or part.other:
        return np.arange(count)
    threshold = next(each for each in allocation.thresholds if each.column == part.key(each.column.column))
    return np.flatnonzero(noisy[threshold.column.column].steps >= threshold.at)


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


def _layout(compiled: CompiledQuery, result: Result, part: Slice) -> _Layout:
    """The groups of a level: all declared ones, or those found."""
    keys = compiled.keys
    rows = np.flatnonzero(result.level == part.place)
    every = tuple(zip(*(result.keys[name] for name in keys.names), strict=True)) if keys.columns else ((),)
    found = every if len(rows) == len(every) else tuple(every[row] for row in rows.tolist())
    if part.observed:
        return _Layout(found, rows, np.arange(len(found), dtype=np.int64))
    declared = tuple(keys.declared(part.level))
    where = {group: index for index, group in enumerate(declared)}
    return _Layout(declared, rows, np.fromiter((where[group] for group in found), dtype=np.int64, count=len(found)))


def _hidden(compiled: CompiledQuery, part: Slice, level: _Layout, shown: Integers) -> _Layout:
    """The hidden groups of a level, put together: one group for each combination of its declared keys."""
    keys = compiled.keys
    declared = [name in part.sensitivity_level for name in keys.names]
    label = [
        compiled.other if name in part.level and name not in part.sensitivity_level else None for name in keys.names
    ]
    together = tuple(keys.declared(part.sensitivity_level))
    where = {group: index for index, group in enumerate(together)}
    kept = np.setdiff1d(np.arange(len(level.groups)), shown)
    at = [where[tuple(v if d else None for v, d in zip(level.groups[i], declared, strict=True))] for i in kept.tolist()]
    groups = tuple(tuple(v if d else t for v, d, t in zip(g, declared, label, strict=True)) for g in together)
    return _Layout(groups, level.rows[kept], np.array(at, dtype=np.int64), merging=True)


def _choices(
    compiled: CompiledQuery,
    result: Result,
    layout: _Layout,
    part: Slice,
    allocation: Allocation,
    shown: Integers,
    entropy: Entropy,
) -> dict[str, tuple[tuple[int, ...], ...]]:
    """What is chosen in the groups that are shown."""
    chosen = {}
    for name, choice in compiled.choices.items():
        key = part.key(name)
        selection = next(each for each in compiled.measurements.selections if each.key == key)
        temperature = selection.temperature(allocation.etas[key])
        histogram = _ShownBins(layout, result, choice.histogram, shown)
        chosen[name] = choice.pick(histogram, temperature=temperature, beta=allocation.betas[name], entropy=entropy)
    return chosen


@dataclass(frozen=True, slots=True, eq=False)
class _ShownBins:
    """A histogram of the groups that are shown, as private choices look at it."""

    layout: _Layout
    result: Result
    column: str
    shown: Integers

    def occupied(self) -> Occupied:
        """The bins that hold rows."""
        return self.layout.occupied(self.result, self.result.histograms[self.column], self.shown)

    def blocks(self, bins: int) -> Iterator[Integers]:
        """Rows in all bins, some groups at a time."""
        size = max(1, _CELLS // bins)
        for start in range(0, len(self.shown), size):
            some = self.shown[start : start + size]
            yield self.layout.histogram(self.result, self.result.histograms[self.column], some, bins)
