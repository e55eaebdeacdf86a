"""Released totals that add up: post-processing of noisy levels, no further look at the data and no further cost.

Declared levels are fitted together by least squares (`docs/theory/totals.md` has the derivation). Under a declared level,
observed groups and the row of all others are moved, each by its share of the variance, until they add up to their parent.
What was measured is kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import ceil, log2, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.plan.nodes import Aggregate, Histogram, RowCount, Total, Units
from deniable.query.columns import Adjustment, Floats, Noisy
from deniable.query.compile import CompiledQuery
from deniable.query.drawing import DrawnSlice

Integers: TypeAlias = NDArray[np.int64]
Axes: TypeAlias = tuple[int, ...]
"""A level, as the places of its keys among all; a level's table has length one along the other axes."""


# Least squares --------------------------------------------------------------------------------------------------------
# A table splits into one part for each subset of its keys (the part that only these keys explain), parts of different
# subsets do not disturb one another, and each level that has all keys of a subset measures its part with a known variance;
# so the best estimate of a part is a weighted mean.


@dataclass(frozen=True, slots=True)
class Fit:
    """What least squares makes of some levels, from public facts alone.

    `weights[part][level]` says how much a level counts for a part; `variance[level]` is that of a fitted cell, and
    `reach[level]` bounds the sum of the absolute weights with which measured cells enter it.
    """

    sizes: tuple[int, ...]
    levels: tuple[Axes, ...]
    weights: Mapping[Axes, Mapping[Axes, float]]
    variance: Mapping[Axes, float]
    reach: Mapping[Axes, float]

    def applied(self, tables: Mapping[Axes, Floats]) -> Floats:
        """The fitted table by all keys; a level's is its sum over the keys outside the level. Further axes are left alone."""
        full = tuple(range(len(self.sizes)))
        total: Floats | None = None
        for part, weights in self.weights.items():
            found = sum((weight * self._part(tables[level], part) for level, weight in weights.items()), np.zeros(()))
            spread = found / self._count(full, part)
            total = spread if total is None else total + spread
        assert total is not None
        return np.broadcast_to(total, (*self.sizes, *next(iter(tables.values())).shape[len(self.sizes) :])).copy()

    def _part(self, table: Floats, part: Axes) -> Floats:
        """The table summed to a subset of its keys and centred along each of them."""
        others = tuple(axis for axis in range(len(self.sizes)) if axis not in part)
        summed: Floats = table.sum(axis=others, keepdims=True)
        for axis in part:
            summed = summed - summed.mean(axis=axis, keepdims=True)
        return summed

    def _count(self, level: Axes, part: Axes) -> int:
        return _cells(self.sizes, level, part)


def _cells(sizes: Sequence[int], level: Axes, part: Axes) -> int:
    return prod(sizes[axis] for axis in level if axis not in part)


def fit(sizes: Sequence[int], variances: Mapping[Axes, float]) -> Fit:
    """The best unbiased estimate from levels whose cells carry independent noise of these variances."""
    levels = tuple(variances)
    parts = {part for level in levels for size in range(len(level) + 1) for part in combinations(level, size)}
    weights, spread = {}, {}
    for part in sorted(parts, key=lambda each: (len(each), each)):
        exact = {
            level: 1 / (variances[level] * _cells(sizes, level, part)) for level in levels if set(part) <= set(level)
        }
        total = sum(exact.values())
        weights[part] = {level: each / total for level, each in exact.items()}
        spread[part] = 1 / total
    variance, reach = {}, {}
    for level in levels:
        inside = [part for part in weights if set(part) <= set(level)]
        shares = {part: 1 / _cells(sizes, level, part) for part in inside}
        left = {part: prod(1 - 1 / sizes[axis] for axis in part) for part in inside}
        variance[level] = sum(shares[part] ** 2 * spread[part] * left[part] for part in inside)
        reach[level] = sum(
            shares[part] * 2 ** len(part) * sum(w * _cells(sizes, other, part) for other, w in weights[part].items())
            for part in inside
        )
    return Fit(tuple(sizes), levels, weights, variance, reach)


# Shares that add up ----------------------------------------------------------------------------------------------------

_FINEST = 20
"""Fitted numbers keep at most so many binary places."""


def binary_places(values: Floats) -> int:
    """How many binary places these numbers, and every sum of some of them, can have and still be exact as floats."""
    largest = float(np.abs(values).sum())
    return min(_FINEST, 51 - ceil(log2(max(1.0, largest))))


def on_grid(values: Floats, places: int) -> Floats:
    """The nearest multiples of 2**-places; sums of them are exact."""
    return np.rint(values * 2.0**places) * 2.0**-places


def whole_shares(total: int, wanted: Floats) -> Integers:
    """Non-negative whole numbers that add up to `total`, as close as can be to what is wanted.

    The nearest point of the simplex, then the largest remainders: no share is a whole one away from it.
    """
    near = _on_simplex(float(total), wanted)
    shares = np.floor(near).astype(np.int64)
    left = total - int(shares.sum())
    order = np.argsort(-(near - shares), kind="stable")
    shares[order[:left]] += 1
    return shares


def _on_simplex(total: float, wanted: Floats) -> Floats:
    """The closest non-negative numbers with this sum: everything is lowered (or raised) by one amount and cut at zero."""
    falling = np.sort(wanted)[::-1]
    amounts = (np.cumsum(falling) - total) / np.arange(1, len(wanted) + 1)
    kept = np.flatnonzero(falling - amounts > 0)
    amount = amounts[kept[-1]] if len(kept) else amounts[-1]
    near: Floats = np.maximum(wanted - amount, 0.0)
    return near


# Columns that add up ---------------------------------------------------------------------------------------------------


def fit_totals(compiled: CompiledQuery, parts: tuple[DrawnSlice, ...]) -> tuple[DrawnSlice, ...]:
    """The same slices with columns that add up, where adding up is defined; whole numbers if the query asked for them."""
    done = list(parts)
    tables = [index for index, each in enumerate(parts) if not each.part.observed]
    fitted = bool(tables) and (len(tables) > 1 or compiled.whole)  # without declared levels there is none to fit
    for name in sorted(compiled.additive):
        if fitted and all(name in parts[index].columns for index in tables):
            for index, column in zip(tables, _levels(compiled, name, [parts[i] for i in tables]), strict=True):
                done[index] = _with(done[index], name, column)
        _under_parents(compiled, name, done)
    return tuple(done)


def _with(drawn: DrawnSlice, name: str, column: Noisy) -> DrawnSlice:
    return replace(drawn, columns={**drawn.columns, name: column})


def _whole(compiled: CompiledQuery, name: str) -> bool:
    """Whether this column is made whole: wanted, and never negative."""
    aggregate: Aggregate = dict(compiled.plan.aggregates)[name]
    if isinstance(aggregate, Total):
        return compiled.whole and aggregate.lower >= 0
    return compiled.whole and isinstance(aggregate, RowCount | Units | Histogram)


# Declared levels -------------------------------------------------------------------------------------------------------


def _levels(compiled: CompiledQuery, name: str, parts: Sequence[DrawnSlice]) -> list[Noisy]:
    """One column, fitted over all declared levels."""
    names = [key.name for key in compiled.keys.columns if any(key.name in each.part.level for each in parts)]
    sizes = [len(key.domain or ()) for key in compiled.keys.columns if key.name in names]
    axes = [tuple(names.index(key) for key in each.part.level) for each in parts]
    noisy = [each.columns[name] for each in parts]
    solved = fit(sizes, {level: float(column.noise.variance) for level, column in zip(axes, noisy, strict=True)})
    step = float(noisy[0].step)
    tables = {level: _shaped(column, level, sizes) for level, column in zip(axes, noisy, strict=True)}
    full = solved.applied(tables)
    whole = _whole(compiled, name)
    if not whole and _add_up(axes, noisy, sizes):  # the best estimate of numbers that add up is these numbers
        return [
            _fitted(column.measured_values, column.measured_values, column, solved, level)
            for level, column in zip(axes, noisy, strict=True)
        ]
    if whole:
        grain = float(noisy[0].shown_in)
        values = _whole_levels(full * (step / grain), axes, sizes, grain)
    else:
        units = full * step
        even = on_grid(units, binary_places(units))
        values = {level: _summed(even, level, sizes) for level in axes}
    return [
        _fitted(values[level], _summed(full * step, level, sizes), column, solved, level)
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


def _fitted(values: Floats, estimate: Floats, column: Noisy, solved: Fit, level: Axes) -> Noisy:
    shape = column.steps.shape
    deviation = float(np.sqrt(solved.variance[level]))
    adjustment = Adjustment(values.reshape(shape), estimate.reshape(shape), deviation, solved.reach[level])
    return replace(column, adjustment=adjustment)


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


def _under_parents(compiled: CompiledQuery, name: str, done: list[DrawnSlice]) -> None:
    """Make the shown groups of an observed level and its other rows add up to the level of their declared keys."""
    levels = {each.part.level: each for each in done if not each.part.observed}
    for index, other in enumerate(done):
        if not other.part.other or name not in other.columns:
            continue
        parent = levels.get(other.part.sensitivity_level)
        if parent is None:
            _apart(compiled, name, done, (index - 1, index))
        else:
            done[index - 1], done[index] = _beneath(compiled, name, parent, done[index - 1], other)
    if compiled.whole:
        _apart(compiled, name, done, [i for i, each in enumerate(done) if each.part.observed])


def _apart(compiled: CompiledQuery, name: str, done: list[DrawnSlice], places: Sequence[int]) -> None:
    """Nothing to add up to: whole numbers are only made non-negative."""
    for index in places:
        column = done[index].columns.get(name)
        if _whole(compiled, name) and column is not None and column.is_measured:
            values = np.maximum(column.shown(), 0).astype(np.float64) * float(column.shown_in)
            done[index] = _with(done[index], name, _moved(column, values))


def _moved(column: Noisy, values: Floats) -> Noisy:
    return replace(column, adjustment=Adjustment(values, values))


def _beneath(
    compiled: CompiledQuery, name: str, parent: DrawnSlice, shown: DrawnSlice, other: DrawnSlice
) -> tuple[DrawnSlice, DrawnSlice]:
    above = parent.columns[name]
    children = (shown.columns[name], other.columns[name])
    values = [column.measured_values for column in children]
    members: Mapping[tuple[object, ...], list[int]] = _members(compiled, shown, other)
    whole, step = _whole(compiled, name), float(children[0].shown_in)
    for place, group in enumerate(parent.groups):
        here = members[group]
        mine = np.stack([*values[0][here], values[1][place]])
        spread = np.array([*[float(children[0].noise.variance)] * len(here), float(children[1].noise.variance)])
        values[0][here], values[1][place] = _to_parent(above.values[place], mine, spread, whole, step)
    first, second = (_moved(column, found) for column, found in zip(children, values, strict=True))
    return _with(shown, name, first), _with(other, name, second)


def _members(compiled: CompiledQuery, shown: DrawnSlice, other: DrawnSlice) -> Mapping[tuple[object, ...], list[int]]:
    """The shown groups under every group of the declared keys."""
    declared = [name in other.part.sensitivity_level for name in compiled.keys.names]
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
