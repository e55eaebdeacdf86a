"""Noisy tables made to agree: what all of them say together, then no negative counts, then margins exactly.

Post-processing: it costs nothing. `docs/theory/consistency.md` says why, and what is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from deniable.kernels.residuals import NoisyTable, Residuals, residuals
from deniable.synth.fitted.joined_cells import group_sums
from deniable.synth.fitted.stored import TwinMeasurements

Counts = NDArray[np.float64]
Places = tuple[int, ...]
_RAKES = 50
_TINY = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class AgreedTables:
    """The number of rows, the one-way tables of groups, and every measured table of several columns; none is negative."""

    total: float
    singles: Mapping[int, Counts]
    several: Mapping[Places, Counts]

    @property
    def pairs(self) -> dict[tuple[int, int], Counts]:
        """The measured tables of two columns."""
        return {(places[0], places[1]): table for places, table in self.several.items() if len(places) == 2}


def agreed_tables(stored: TwinMeasurements) -> AgreedTables:
    """Tables of groups that agree with one another: a pair with its one-way tables, a larger table with its pairs."""
    ones = stored.ones()
    total = weighted_total([float(one.counts.sum()) for one in ones], [one.counts.size * one.variance for one in ones])
    said = residuals(noisy_tables(stored))
    singles = {place: simplex(said.table((place,)), total) for place in range(len(stored.groups))}
    measured = sorted({table.places for table in stored.marginals if len(table.places) > 1}, key=lambda p: (len(p), p))
    within: set[Places] = {pair for places in measured for pair in combinations(places, 2)}
    pairs = {pair: _pair(said, pair, singles, total) for pair in sorted(within)}
    several = {
        places: pairs[places] if len(places) == 2 else _larger(said, places, pairs, total) for places in measured
    }
    return AgreedTables(total, singles, several)


def noisy_tables(stored: TwinMeasurements) -> Iterable[NoisyTable]:
    """Every measured table, at the level of groups: a one-way table has cells, which add up, and its groups their mean variance."""
    for table in stored.marginals:
        counts = table.counts.astype(float)
        if not table.grouped:
            counts = group_sums(stored.groups[table.places[0]], counts)
        yield NoisyTable(table.places, counts, table.variance * table.counts.size / counts.size)


def _pair(said: Residuals, pair: Places, singles: Mapping[int, Counts], total: float) -> Counts:
    return raked(simplex(said.table(pair), total), [singles[place] for place in pair])


def _larger(said: Residuals, places: Places, pairs: Mapping[Places, Counts], total: float) -> Counts:
    """A table of three columns or more, scaled to the pairs in it, one after another."""
    table = simplex(said.table(places), total)
    table = table + _TINY * max(total, 1.0) / table.size
    for _ in range(_RAKES):
        gap = 0.0
        for axes in combinations(range(len(places)), 2):
            rest = tuple(axis for axis in range(len(places)) if axis not in axes)
            goal = np.expand_dims(pairs[tuple(places[axis] for axis in axes)], rest)
            sums = table.sum(axis=rest, keepdims=True)
            gap += float(np.abs(sums - goal).sum())
            table = table * np.divide(goal, sums, out=np.zeros_like(sums), where=sums > 0)
        if gap <= 1e-4 * total:
            break
    return table


def simplex(counts: Counts, total: float) -> Counts:
    """The nearest table (least squares) with no negative cell and this total."""
    flat = counts.ravel()
    if total <= 0:
        return np.zeros_like(counts)
    order = np.sort(flat)[::-1]
    excess = (np.cumsum(order) - total) / np.arange(1, flat.size + 1)
    last = int(np.nonzero(order > excess)[0][-1])
    return np.asarray(np.maximum(counts - excess[last], 0.0))


def weighted_total(sums: Sequence[float], variances: Sequence[float]) -> float:
    """One total from several, by the inverse of their variances; never below zero."""
    weights = 1 / np.array(variances, dtype=float)
    return max(float((weights * np.array(sums)).sum() / weights.sum()), 0.0)


def raked(table: Counts, margins: Sequence[Counts], rounds: int = _RAKES) -> Counts:
    """A table with no negative cell scaled to these margins; what scaling leaves is spread as if columns were independent."""
    total = max(float(margins[0].sum()), 1e-12)
    fitted = table + _TINY * np.outer(margins[0], margins[1]) / total
    for _ in range(rounds):
        fitted = _scaled(_scaled(fitted, margins[0], 0), margins[1], 1)
        if np.abs(fitted.sum(axis=1) - margins[0]).sum() <= 1e-9 * total:
            return fitted
    fitted = _scaled(_scaled(fitted, margins[0], 0, most=1.0), margins[1], 1, most=1.0)
    lacking = [np.maximum(margin - fitted.sum(axis=1 - axis), 0.0) for axis, margin in enumerate(margins)]
    return np.asarray(fitted + np.outer(lacking[0], lacking[1]) / max(float(lacking[0].sum()), 1e-12))


def _scaled(table: Counts, margin: Counts, axis: int, most: float = np.inf) -> Counts:
    """The table with its lines scaled to these sums, none by more than `most`."""
    sums = table.sum(axis=1 - axis)
    factor = np.minimum(np.divide(margin, sums, out=np.zeros_like(sums), where=sums > 0), most)
    return np.asarray(table * np.expand_dims(factor, 1 - axis))
