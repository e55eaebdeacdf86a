"""Multiplicative weights over a whole domain: all past measurements, until it has really converged; an average of its last sweeps.

`docs/theory/mwem.md` has the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from deniable.synth.attribute import Attributes
from deniable.synth.fitted.agreement import simplex
from deniable.synth.fitted.record_model import Codes, Floats, RecordModel
from deniable.synth.fitted.stored import Marginal, TwinMeasurements

TOLERANCE = 1e-4
SWEEPS = 200
_SLOWER = 20
"""After so many sweeps steps are half as long: tables that contradict one another a little then settle between them."""


def domain_columns(attributes: Attributes) -> tuple[Codes, ...]:
    """Every combination of cells, one record each."""
    grid = np.indices(attributes.sizes).reshape(len(attributes.sizes), -1)
    return tuple(column.astype(np.int64) for column in grid)


def cell_numbers(columns: Sequence[Codes], table: Marginal) -> Codes:
    """The number of each record's cell in a measured table."""
    codes = np.zeros(columns[0].size, dtype=np.int64)
    for place, size in zip(table.places, table.counts.shape, strict=True):
        codes = codes * size + columns[place]
    return codes


def reweighted(weights: Floats, goals: Sequence[tuple[Codes, Floats]]) -> tuple[Floats, bool]:
    """Multiplicative weights over all goals, sweep after sweep, until one moves less than `TOLERANCE`; and whether it got there.

    They are the average over the sweeps since the last one whose number is a power of two: at most the second half of them.
    The weights before a sweep are kept as a copy: comparing an array with itself would stop after the first sweep.
    """
    total, count = np.zeros_like(weights), 0
    for sweep in range(SWEEPS):
        before, rate = weights.copy(), 1 / (1 + sweep / _SLOWER)
        for codes, goal in goals:
            held = np.bincount(codes, weights=weights, minlength=goal.size)
            weights = weights * np.exp(rate * (goal - held) / np.maximum(np.maximum(goal, held), 1e-9))[codes]
            weights = weights / weights.sum()
        total, count = (weights, 1) if (sweep + 1) & sweep == 0 else (total + weights, count + 1)
        if float(np.abs(weights - before).sum()) <= TOLERANCE:
            return total / count, True
    return total / count, False


Goals = tuple[tuple[Codes, Floats], ...]


def advanced(columns: Sequence[Codes], weights: Floats, goals: Goals, table: Marginal) -> tuple[Floats, Goals, bool]:
    """One round: the weights after learning from one more table beside all earlier ones, and whether that converged."""
    goals = (*goals, (cell_numbers(columns, table), _goal(table)))
    weights, done = reweighted(weights, goals)
    return weights, goals, done


def _goal(table: Marginal) -> Floats:
    positive = simplex(table.counts.astype(float), max(float(table.counts.sum()), 1.0))
    return np.asarray(positive.ravel() / positive.sum())


def noisy_rows(stored: Sequence[Marginal]) -> float:
    """The noisy number of rows, never below one."""
    return max(float(next(table for table in stored if not table.places).counts.sum()), 1.0)


def fit_mwem(stored: TwinMeasurements) -> tuple[RecordModel, tuple[str, ...]]:
    """The model of an MWEM synthesizer: exact weights for every combination of cells."""
    tables = [table for table in stored.marginals if table.places]
    columns = domain_columns(stored.attributes)
    weights, converged = np.full(columns[0].size, 1 / columns[0].size), True
    goals = cast("Goals", ())
    for table in tables:
        weights, goals, converged = advanced(columns, weights, goals, table)
    within = tuple(np.ones(size) for size in stored.attributes.sizes)
    model = RecordModel(stored.attributes, stored.groups, within, columns, weights, noisy_rows(stored.marginals))
    notes = (
        ()
        if converged
        else (f"The fit did not converge in {SWEEPS} sweeps: the measured tables contradict one another.",)
    )
    return model, notes
