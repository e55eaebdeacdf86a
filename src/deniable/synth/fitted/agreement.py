"""Noisy tables made to agree: inverse-variance weights for what they share, then no negative counts, then margins exactly.

Post-processing: it costs nothing. `docs/theory/consistency.md` says why, and what is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.float64]
_RAKES = 50
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class NoisyPair:
    """A measured table of two columns at the level of their groups, and the variance of the noise in each cell."""

    places: tuple[int, int]
    counts: Counts
    variance: float


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


def agreed(
    ones: Mapping[int, Counts], spreads: Mapping[int, Counts], pairs: Sequence[NoisyPair], total: float
) -> tuple[dict[int, Counts], list[Counts]]:
    """One-way tables and pair tables, none negative, every pair with exactly the one-way tables of its two columns.

    `ones` are noisy counts of groups with the variances `spreads`.
    """
    tables = [pair.counts.copy() for pair in pairs]
    margins = dict(ones)
    for _ in range(_ROUNDS):
        margins = {place: simplex(_margin(place, ones, spreads, pairs, tables), total) for place in ones}
        for pair, table in zip(pairs, tables, strict=True):
            for axis, place in enumerate(pair.places):
                _shift(table, axis, margins[place])
        tables = [simplex(table, total) for table in tables]
    return margins, [raked(table, [margins[p] for p in pair.places]) for pair, table in zip(pairs, tables, strict=True)]


def _margin(
    place: int,
    ones: Mapping[int, Counts],
    spreads: Mapping[int, Counts],
    pairs: Sequence[NoisyPair],
    tables: Sequence[Counts],
) -> Counts:
    """What all tables say about one column, each weighed by the inverse of its variance."""
    weight = 1 / spreads[place]
    total = weight * ones[place]
    for pair, table in zip(pairs, tables, strict=True):
        if place in pair.places:
            axis = pair.places.index(place)
            trust = 1 / (pair.variance * table.shape[1 - axis])
            weight, total = weight + trust, total + trust * table.sum(axis=1 - axis)
    return np.asarray(total / weight)


def _shift(table: Counts, axis: int, margin: Counts) -> None:
    """Add the same to every cell of a line until the lines have this margin."""
    lack = (margin - table.sum(axis=1 - axis)) / table.shape[1 - axis]
    table += lack[:, None] if axis == 0 else lack[None, :]


def raked(table: Counts, margins: Sequence[Counts], rounds: int = _RAKES) -> Counts:
    """A table with no negative cell scaled to these margins; a line that is empty is filled as if columns were independent."""
    total = max(float(margins[0].sum()), 1e-12)
    product = np.outer(margins[0], margins[1]) / total
    fitted = table + 1e-9 * product
    for axis in (0, 1):
        lacking = (fitted.sum(axis=1 - axis) <= 1e-7 * margins[axis]) & (margins[axis] > 0)
        fitted = np.where(lacking[:, None] if axis == 0 else lacking[None, :], product, fitted)
    for _ in range(rounds):
        for axis in (0, 1):
            sums = fitted.sum(axis=1 - axis)
            factor = np.divide(margins[axis], sums, out=np.zeros_like(sums), where=sums > 0)
            fitted = fitted * (factor[:, None] if axis == 0 else factor[None, :])
        if np.abs(fitted.sum(axis=1) - margins[0]).sum() <= 1e-9 * total:
            break
    return fitted
