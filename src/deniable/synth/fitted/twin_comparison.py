"""How a twin compares with what was released: distances of tables and propensities; free, for nothing private is looked at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deniable.synth.fitted.agreement import simplex
from deniable.synth.fitted.record_model import Floats, RecordModel
from deniable.synth.fitted.stored import Marginal, TwinMeasurements


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
