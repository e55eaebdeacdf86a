"""Released totals that add up: post-processing of noisy levels, no further look at the data and no further cost.

Declared levels are fitted together by least squares. Under a declared level, observed groups and the row of all others are
moved, each by its share of the variance, until they add up to their parent. What was measured is kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from deniable.kernels.integer_noise import weighted_error
from deniable.plan.nodes import Aggregate, Histogram, Rows, Total, Units
from deniable.query.drawing import Drawn
from deniable.query.fitting import Axes, Fit, Floats, fit
from deniable.query.lowering import Lowered
from deniable.query.outputs import Band, Column, Noisy
from deniable.query.sharing import binary_places, on_grid, whole_shares


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A column moved so that it adds up: its numbers, the least-squares estimate they came from, and what was measured.

    `deviation` is the standard deviation of the estimate (None when only the measured interval is known to hold), `reach` the
    sum of absolute weights of the measured cells in it, which bounds what rounding to the grid adds;
    `whole` numbers are whole multiples of what the column is shown in.
    """

    values: Floats
    estimate: Floats
    measured: Noisy
    deviation: float | None
    reach: float
    whole: bool

    def around(self, beta: Fraction) -> Band:
        """An interval that fails with probability at most beta, around the estimate or around what was measured.

        Which of the two is decided from public facts: the narrower. It is widened where the number lies outside it.
        """
        raw = self.measured.around(beta)
        half = self._half_width(beta)
        low, high = raw.lower, raw.upper
        if half is not None and half < self.measured.noise.error(beta) * float(self.measured.step):
            low, high = self.estimate - half, self.estimate + half
        return Band(self.values, np.minimum(low, self.values), np.maximum(high, self.values))

    def _half_width(self, beta: Fraction) -> float | None:
        if self.deviation is None:
            return None
        deviation, reach = Fraction(self.deviation), Fraction(self.reach)
        within = weighted_error(self.measured.noise.law, deviation=deviation, reach=reach, beta=beta)
        return None if within is None else float(within) * float(self.measured.step) * (1 + 1e-9)


def consistent(lowered: Lowered, parts: tuple[Drawn, ...]) -> tuple[Drawn, ...]:
    """The same slices with columns that add up, where adding up is defined; whole numbers if the query asked for them."""
    done = list(parts)
    tables = [index for index, each in enumerate(parts) if not each.part.observed]
    for name in sorted(lowered.additive):
        if all(name in parts[index].columns for index in tables) and (len(tables) > 1 or lowered.whole):
            for index, column in zip(tables, _levels(lowered, name, [parts[i] for i in tables]), strict=True):
                done[index] = _with(done[index], name, column)
        _under_parents(lowered, name, done)
    return tuple(done)


def _with(drawn: Drawn, name: str, column: Column) -> Drawn:
    return replace(drawn, columns={**drawn.columns, name: column})


def _noisy(drawn: Drawn, name: str) -> Noisy:
    column = drawn.columns[name]
    return column.measured if isinstance(column, Fitted) else column  # type: ignore[return-value]


def _whole(lowered: Lowered, name: str) -> bool:
    """Whether this column is made whole: wanted, and never negative."""
    aggregate: Aggregate = dict(lowered.plan.aggregates)[name]
    if isinstance(aggregate, Total):
        return lowered.whole and aggregate.lower >= 0
    return lowered.whole and isinstance(aggregate, Rows | Units | Histogram)


# Declared levels -------------------------------------------------------------------------------------------------------


def _levels(lowered: Lowered, name: str, parts: Sequence[Drawn]) -> list[Fitted]:
    """One column, fitted over all declared levels."""
    names = [key.name for key in lowered.keys.columns if any(key.name in each.part.level for each in parts)]
    sizes = [len(key.domain or ()) for key in lowered.keys.columns if key.name in names]
    axes = [tuple(names.index(key) for key in each.part.level) for each in parts]
    noisy = [_noisy(each, name) for each in parts]
    solved = fit(sizes, {level: float(column.noise.variance) for level, column in zip(axes, noisy, strict=True)})
    step = float(noisy[0].step)
    tables = {level: _shaped(column, level, sizes) for level, column in zip(axes, noisy, strict=True)}
    full = solved.applied(tables)
    whole = _whole(lowered, name)
    if not whole and _add_up(axes, noisy, sizes):  # the best estimate of numbers that add up is these numbers
        return [
            _fitted(column.values, column.values, column, solved, level, whole)
            for level, column in zip(axes, noisy, strict=True)
        ]
    if whole:
        grain = float(lowered.grains[name])
        values = _whole_levels(full * (step / grain), axes, sizes, grain)
    else:
        units = full * step
        even = on_grid(units, binary_places(units))
        values = {level: _summed(even, level, sizes) for level in axes}
    return [
        _fitted(values[level], _summed(full * step, level, sizes), column, solved, level, whole)
        for level, column in zip(axes, noisy, strict=True)
    ]


def _add_up(axes: Sequence[Axes], noisy: Sequence[Noisy], sizes: Sequence[int]) -> bool:
    """Whether the levels agree as they were measured: on everything that two of them both tell, in whole steps."""
    widest = max((int(np.abs(column.steps.astype(np.float64)).sum()) for column in noisy), default=0)
    kind = np.int64 if widest < 2**61 else object  # sums of some of them fit 64 bits, or are Python's whole numbers
    exact = {level: _shaped(column, level, sizes, kind) for level, column in zip(axes, noisy, strict=True)}
    return all(
        bool(np.all(_summed(exact[a], both, sizes) == _summed(exact[b], both, sizes)))
        for a, b in combinations(axes, 2)
        for both in [tuple(axis for axis in a if axis in b)]
    )


def _fitted(values: Floats, estimate: Floats, column: Noisy, solved: Fit, level: Axes, whole: bool) -> Fitted:
    shape = column.steps.shape
    deviation = float(np.sqrt(solved.variance[level]))
    return Fitted(values.reshape(shape), estimate.reshape(shape), column, deviation, solved.reach[level], whole)


def _shaped(column: Noisy, level: Axes, sizes: Sequence[int], kind: Any = np.float64) -> Any:
    """A level's cells as a table with one axis for every key, of length one where the key is rolled up."""
    lengths = [size if axis in level else 1 for axis, size in enumerate(sizes)]
    return column.steps.astype(kind).reshape((*lengths, *column.steps.shape[1:]))


def _summed(full: Any, level: Axes, sizes: Sequence[int]) -> Any:
    others = tuple(axis for axis in range(len(sizes)) if axis not in level)
    return full.sum(axis=others, keepdims=True)


def _whole_levels(full: Floats, axes: Sequence[Axes], sizes: Sequence[int], step: float) -> dict[Axes, Floats]:
    """Every level in whole steps, shared out from the coarsest level down; levels that do not nest follow the finest."""
    falling = sorted(axes, key=len)
    every = tuple(range(len(sizes)))
    nested = all(set(a) < set(b) for a, b in pairwise(falling))
    chain = [*(falling if nested else [()]), *([every] if falling[-1] != every or not nested else [])]
    flat = full.reshape((*sizes, -1))
    parents = np.maximum(np.rint(_summed(flat, chain[0], sizes)), 0.0)
    above = chain[0]
    for level in chain[1:]:
        parents, above = _shared(parents, _summed(flat, level, sizes), above), level
    finest = parents.reshape(_summed(full, above, sizes).shape)
    return {level: _summed(finest, level, sizes) * step for level in axes}


def _shared(parents: Floats, wanted: Floats, above: Axes) -> Floats:
    """Children in whole numbers: each parent's number shared among the children under it, for every further bin."""
    shares = np.zeros_like(wanted)
    for cell in np.ndindex(*parents.shape[:-1]):
        under = tuple(place if axis in above else slice(None) for axis, place in enumerate(cell))
        for place in range(parents.shape[-1]):
            found = wanted[(*under, place)]
            shares[(*under, place)] = whole_shares(int(parents[(*cell, place)]), found.ravel()).reshape(found.shape)
    return shares


# Observed groups and the others, under a declared parent ----------------------------------------------------------------


def _under_parents(lowered: Lowered, name: str, done: list[Drawn]) -> None:
    """Make the shown groups of an observed level and its other rows add up to the level of their declared keys."""
    levels = {each.part.level: each for each in done if not each.part.observed}
    for index, other in enumerate(done):
        if not other.part.other or name not in other.columns:
            continue
        parent = levels.get(other.part.moved_by)
        if parent is None:
            _apart(lowered, name, done, (index - 1, index))
        else:
            done[index - 1], done[index] = _beneath(lowered, name, parent, done[index - 1], other)
    if lowered.whole:
        _apart(lowered, name, done, [i for i, each in enumerate(done) if each.part.observed])


def _apart(lowered: Lowered, name: str, done: list[Drawn], places: Sequence[int]) -> None:
    """Nothing to add up to: whole numbers are only made non-negative."""
    for index in places:
        column = done[index].columns.get(name)
        if _whole(lowered, name) and isinstance(column, Noisy):
            grain = lowered.grains[name]
            values = np.maximum(column.shown(grain), 0).astype(np.float64) * float(grain)
            done[index] = _with(done[index], name, _moved(column, values, whole=True))


def _moved(column: Noisy, values: Floats, whole: bool) -> Fitted:
    return Fitted(values, values, column, None, 0.0, whole)


def _beneath(lowered: Lowered, name: str, parent: Drawn, shown: Drawn, other: Drawn) -> tuple[Drawn, Drawn]:
    above = parent.columns[name]
    children = (_noisy(shown, name), _noisy(other, name))
    values = [column.values.astype(np.float64) for column in children]
    members: Mapping[tuple[object, ...], list[int]] = _members(lowered, shown, other)
    whole, step = _whole(lowered, name), float(lowered.grains[name])
    for place, group in enumerate(parent.groups):
        here = members[group]
        mine = np.stack([*values[0][here], values[1][place]])
        spread = np.array([*[float(children[0].noise.variance)] * len(here), float(children[1].noise.variance)])
        values[0][here], values[1][place] = _to_parent(above.values[place], mine, spread, whole, step)
    first, second = (_moved(column, found, whole) for column, found in zip(children, values, strict=True))
    return _with(shown, name, first), _with(other, name, second)


def _members(lowered: Lowered, shown: Drawn, other: Drawn) -> Mapping[tuple[object, ...], list[int]]:
    """The shown groups under every group of the declared keys."""
    declared = [name in other.part.moved_by for name in lowered.keys.names]
    found: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for index, group in enumerate(shown.groups):
        found[tuple(v if d else None for v, d in zip(group, declared, strict=True))].append(index)
    return found


def _to_parent(total: Floats, mine: Floats, spread: Floats, whole: bool, step: float) -> tuple[Floats, Floats]:
    """Children of one parent, the last being the others: moved by their shares of the variance, the rest left to the last."""
    bins = mine.reshape(len(mine), -1)
    totals = np.asarray(total, dtype=np.float64).reshape(-1)
    gap = totals - bins.sum(axis=0)
    if not (whole or gap.any()):
        return mine[:-1], mine[-1]
    moved = bins + np.outer(spread / spread.sum(), gap)
    if whole:
        shares = [whole_shares(round(t / step), moved[:, i] / step) for i, t in enumerate(totals)]
        moved = np.stack(shares, axis=1).astype(np.float64) * step
    else:
        moved = on_grid(moved, binary_places(np.append(moved.ravel(), totals)))
        moved[-1] = totals - moved[:-1].sum(axis=0)
    return moved[:-1].reshape(-1, *mine.shape[1:]), moved[-1].reshape(mine.shape[1:])
