"""A mixture of bell curves fitted to a released table of an ordered column: the modes by which a number is normalised.

Post-processing: the table was released with noise before. The published CTGAN fits its mixture to the data itself, for nothing.
"""

from __future__ import annotations

import numpy as np

from deniable.synth.fitted.record_model import Codes, Floats

MODES = 5
_TURNS = 60
_LEAST_SHARE = 0.01
_LEAST_SPREAD = 0.4
"""A mode is at least so many cells wide."""


def fit_modes(shares: Floats, count: int = MODES) -> tuple[Floats, Floats]:
    """Means and spreads, in cells, of at most `count` modes of a column whose cells have these shares (they add up to one).

    Expectation and maximisation from evenly spread quantiles; a mode that stands for almost nothing is dropped.
    """
    places = np.arange(shares.size, dtype=float)
    marks = (np.arange(count) + 0.5) / count
    means = np.interp(marks, np.cumsum(shares) - shares / 2, places)
    spreads, parts = np.full(count, max(shares.size / (2 * count), 1.0)), np.full(count, 1 / count)
    for _ in range(_TURNS):
        near = responsibilities(places, means, spreads, parts) * shares[:, None]
        parts = np.maximum(near.sum(axis=0), 1e-12)
        means = (near * places[:, None]).sum(axis=0) / parts
        around = (near * (places[:, None] - means) ** 2).sum(axis=0) / parts
        spreads = np.maximum(np.sqrt(around), _LEAST_SPREAD)
    kept = parts >= min(_LEAST_SHARE, float(parts.max()))
    order = np.argsort(means[kept], kind="stable")
    return means[kept][order], spreads[kept][order]


def responsibilities(places: Floats, means: Floats, spreads: Floats, parts: Floats) -> Floats:
    """For every place the chance of each mode."""
    logs = -(((places[:, None] - means) / spreads) ** 2) / 2 - np.log(spreads) + np.log(np.maximum(parts, 1e-12))
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def nearest_modes(shares: Floats, means: Floats, spreads: Floats) -> tuple[Codes, Floats]:
    """Of each cell its likeliest mode, and its place in it: from -1 to 1, by the released rows of the mode below it.

    So places are spread evenly within a mode, whatever its shape.
    """
    mode = responsibilities(np.arange(shares.size, dtype=float), means, spreads, np.ones(means.size)).argmax(axis=1)
    place = np.zeros(shares.size)
    for each in range(means.size):
        inside = np.flatnonzero(mode == each)
        held = shares[inside]
        place[inside] = 2 * (np.cumsum(held) - held / 2) / max(float(held.sum()), 1e-12) - 1
    return mode, np.clip(place, -1.0, 1.0)
