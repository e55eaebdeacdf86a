"""Signs of failure that a twin shows by itself: free, because only released numbers and synthetic records are looked at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deniable.synth.fitted.intervals import measured
from deniable.synth.fitted.noise_sizes import quantile
from deniable.synth.fitted.record_model import RecordModel
from deniable.synth.fitted.stored import Marginal, TwinMeasurements

_COLLAPSED = 0.7
_DUPLICATES = 0.5


def failure_signs(model: RecordModel, stored: TwinMeasurements) -> tuple[str, ...]:
    """Sentences about what went wrong; none when nothing did."""
    return (*_collapse(model, stored), *_copies(model), *_drowned(stored))


def _collapse(model: RecordModel, stored: TwinMeasurements) -> list[str]:
    """Mode collapse: a column of the model has far less entropy than its released one-way table."""
    found = []
    for place, name in enumerate(stored.attributes.names):
        table = measured(stored, (place,))
        if table is None:
            continue
        seen = table.counts * _told(table)
        released, fitted = _entropy(seen.astype(float)), _entropy(model.table([place]))
        if released > 0.1 and fitted < _COLLAPSED * released:
            found.append(
                f"Mode collapse: {name} has entropy {fitted:.2f} in the twin and {released:.2f} in its released table."
            )
    return found


def _entropy(counts: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    total = counts.sum()
    shares = counts[counts > 0] / total if total > 0 else np.ones(1)
    return float(-(shares * np.log2(shares)).sum())


def _copies(model: RecordModel) -> list[str]:
    """Collapse onto few records: one record stands for a large part of all rows although columns have many cells."""
    effective = 1 / float((model.weights**2).sum())
    if model.weights.size < 1000 or effective > (1 - _DUPLICATES) * 0.1 * model.weights.size:
        return []
    return [
        f"Few records carry the weight: {effective:,.0f} of {model.weights.size:,}; combinations are less varied than they look."
    ]


def _told(table: Marginal) -> NDArray[np.bool_]:
    """Which cells can be told from zero; of a table of zeros, none in 99 of 100, however many cells it has."""
    return np.asarray(table.counts > quantile(table, 0.01 / table.counts.size))


def _drowned(stored: TwinMeasurements) -> list[str]:
    """More noise than rows: no cell of a column can be told from zero."""
    found = []
    for place, name in enumerate(stored.attributes.names):
        table = measured(stored, (place,))
        if table is not None and not _told(table).any():
            found.append(f"Noise only: no cell of {name} can be told from zero at this budget.")
    return found
