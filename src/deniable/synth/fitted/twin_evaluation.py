"""What a twin shows by itself: its distance from the released tables, and signs of failure.

All of it is free: only released numbers, synthetic records and a network's own trace are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from deniable.synth.fitted.agreement import simplex
from deniable.synth.fitted.intervals import measured
from deniable.synth.fitted.noise_sizes import quantile
from deniable.synth.fitted.record_model import Floats, RecordModel
from deniable.synth.fitted.stored import Marginal, TwinMeasurements

_COLLAPSED = 0.7
_DUPLICATES = 0.5
_VANISHED, _NOTHING = 1e-3, 1e-6
_APART = 0.15
_WORSE = 0.05


@dataclass(frozen=True, slots=True)
class ReleasedComparison:
    """Mean distances (TVD) between the twin and the released tables of one, two and three columns, where there are any.

    `propensity` is the mean squared distance from one half of the chance, given a cell of a released table, that a row is released
    rather than synthetic: 0 where they cannot be told apart, 1/4 where they always can. Noise counts against the twin.
    """

    tvd: dict[int, float]
    worst: tuple[tuple[str, ...], float]
    propensity: float

    def __str__(self) -> str:
        parts = [f"{order}-way {value:.4f}" for order, value in self.tvd.items()]
        names, value = self.worst
        return (
            f"mean TVD from released tables: {', '.join(parts)}; worst {' x '.join(names)} {value:.4f}; "
            f"propensity {self.propensity:.5f}"
        )

    __repr__ = __str__


def compare_released(model: RecordModel, stored: TwinMeasurements) -> ReleasedComparison:
    """Every released table beside the twin's own."""
    gaps: dict[int, list[float]] = {}
    propensities, worst = [], ((), 0.0)  # type: tuple[list[float], tuple[tuple[str, ...], float]]
    for table in stored.marginals:
        if not table.places:
            continue
        released, twin = _pair(model, table)
        gap = float(np.abs(released - twin).sum()) / 2
        gaps.setdefault(len(table.places), []).append(gap)
        propensities.append(_propensity(released, twin))
        if gap >= worst[1]:
            worst = (tuple(stored.attributes.names[place] for place in table.places), gap)
    tvd = {order: float(np.mean(found)) for order, found in sorted(gaps.items())}
    return ReleasedComparison(tvd, worst, float(np.mean(propensities)) if propensities else 0.0)


def _pair(model: RecordModel, table: Marginal) -> tuple[Floats, Floats]:
    released = simplex(table.counts.astype(float), max(model.total, 1.0))
    twin = model.group_table(table.places) if table.grouped else model.table(table.places)
    return released / max(released.sum(), 1e-12), twin / max(twin.sum(), 1e-12)


def _propensity(released: Floats, twin: Floats) -> float:
    both = released + twin
    chance = np.divide(released, both, out=np.full_like(both, 0.5), where=both > 0)
    return float((both / 2 * (chance - 0.5) ** 2).sum())


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


def _entropy(counts: Floats) -> float:
    total = counts.sum()
    shares = counts[counts > 0] / total if total > 0 else np.ones(1)
    return float(-(shares * np.log2(shares)).sum())


def _copies(model: RecordModel) -> list[str]:
    """Collapse onto few records: one record stands for a large part of all rows although columns have many cells.

    Not where there is one record for every combination of cells: its weight is that combination's chance, however small.
    """
    if model.weights.size == prod(max(group) + 1 for group in model.groups):
        return []
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


@dataclass(slots=True)
class TrainingTrace:
    """For every step how long the discriminator's word to the generator was, and now and then how far its columns are off."""

    pushes: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)

    def signs(self) -> tuple[str, ...]:
        """What went wrong, in sentences; none where nothing did."""
        return (*vanishing_gradient(self.pushes), *non_convergence(self.gaps))


def vanishing_gradient(pushes: Sequence[float]) -> list[str]:
    """The discriminator stopped telling the generator anything: its word fell to a thousandth of what it had been."""
    if not pushes:
        return []
    part = max(len(pushes) // 4, 1)
    most, last = float(np.max(pushes)), float(np.median(pushes[-part:]))
    if last > max(_VANISHED * most, _NOTHING):
        return []
    return [
        f"Vanishing gradient: the discriminator's word to the generator fell from {most:.2g} to {last:.2g}, so that it learned "
        "nothing more."
    ]


def non_convergence(gaps: Sequence[float]) -> list[str]:
    """The generator's columns ended far from the released ones, or further than they had been."""
    if not gaps:
        return []
    last, best = gaps[-1], min(gaps)
    if last <= _APART and last <= best + _WORSE:
        return []
    return [
        f"Non-convergence: the generator's columns ended at a distance (TVD) of {last:.2f} from the released ones, "
        f"at best it was {best:.2f}."
    ]
