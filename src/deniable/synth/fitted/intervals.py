"""How wrong a twin can be: intervals for every cell of a table, from the released noise alone, and a bound on its distance.

A measured table, or a margin of one, has its noise. A pair that was not measured has its score: the released distance between the
pair and the product of its one-way tables, so the truth is no further from the product than that. What no measurement covers is a
term of its own.

A twin's own value is not what was released: tables that contradict one another are made to agree, and nothing may be negative. So
every interval is widened to hold the twin's value, and `fit` says how far the twin is from what was released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidArgument
from deniable.exact import number_of
from deniable.synth.attribute import Attribute
from deniable.synth.fitted.agreement import simplex, weighted_total
from deniable.synth.fitted.joined_cells import group_sums
from deniable.synth.fitted.noise_sizes import absolute_quantile, quantile, sum_quantile
from deniable.synth.fitted.record_model import RecordModel
from deniable.synth.fitted.stored import Marginal, TwinMeasurements

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class TableError:
    """A table of the twin with an interval for every cell, and how far (TVD) the whole can be from the data.

    `labels` name the cells along each column; `basis` says what the intervals rest on, and `fit` how far (TVD) the twin is from
    that. Every interval holds the twin's own value. They are for the bounded rows that were
    measured: noise and what was not measured, not what bounds on units left out.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    estimate: Floats
    lower: Floats
    upper: Floats
    tvd: float
    fit: float
    confidence: float
    basis: str

    def rows(self) -> list[tuple[tuple[str, ...], float, float, float]]:
        """Cell by cell: its labels, the twin's count, the lowest and the highest count."""
        return [
            (
                tuple(labels[at] for labels, at in zip(self.labels, place, strict=True)),
                float(self.estimate[place]),
                float(self.lower[place]),
                float(self.upper[place]),
            )
            for place in np.ndindex(*self.estimate.shape)
        ]

    def __str__(self) -> str:
        head = (
            f"{' x '.join(self.columns)}: within TVD {self.tvd:.3f} of the data, of which the fit has {self.fit:.3f} "
            f"({self.basis}; {self.confidence:.0%} each)"
        )
        lines = [
            f"  {' / '.join(cell)}: {value:.0f} [{low:.0f}, {high:.0f}]" for cell, value, low, high in self.rows()[:40]
        ]
        more = self.estimate.size - len(lines)
        return "\n".join([head, *lines, *([f"  … {number_of(more, 'more cell')}: .rows()"] if more > 0 else [])])

    __repr__ = __str__


def table_error(
    model: RecordModel, stored: TwinMeasurements, places: tuple[int, ...], *, confidence: float = 0.95
) -> TableError:
    """Intervals for the table of these columns: of cells for one column, of groups for several."""
    if not 0 < confidence < 1:
        raise InvalidArgument(f"confidence must be between 0 and 1, got {confidence!r}")
    estimate = model.table(places) if len(places) == 1 else model.group_table(places)
    lower, upper, centre, noise, basis = _bounds(model, stored, places, confidence)
    fit = 0.0 if centre is None else float(np.abs(np.maximum(centre, 0.0) - estimate).sum())
    apart = 0.0 if centre is None else float(np.abs(centre - estimate).sum())
    total = max(model.total, 1.0)
    return TableError(
        tuple(stored.attributes.names[place] for place in places),
        tuple(group_labels(stored, place, cells=len(places) == 1) for place in places),
        estimate,
        np.clip(lower, 0.0, estimate),
        np.maximum(upper, estimate),
        min((apart + noise + total_error(stored, (1 - confidence) / 2)) / (2 * total), 1.0),
        min(fit / (2 * total), 1.0),
        confidence,
        basis,
    )


def _bounds(
    model: RecordModel, stored: TwinMeasurements, places: tuple[int, ...], confidence: float
) -> tuple[Floats, Floats, Floats | None, float, str]:
    """Lowest and highest counts, the table around which they are, and the most that absolute errors of that table add up to."""
    chance = 1 - confidence
    found = measured(stored, places)
    if found is not None:
        half = quantile(found, chance)
        counts = found.counts.astype(float)
        noise = absolute_quantile(found, chance / 2)
        return counts - half, counts + half, counts, noise, _measured_basis(stored, places)
    if len(places) == 1:
        raise InvalidArgument(f"column {stored.attributes.names[places[0]]} is in no table that this method measured")
    if len(places) == 2 and tuple(sorted(places)) in stored.scores:
        return *_scored_bounds(model, stored, places, chance), "implied: by its score, not measured itself"
    low, high = _frechet_bounds(model, stored, places, chance)
    return low, high, None, np.inf, "implied: by its one-way tables alone"


def _measured_basis(stored: TwinMeasurements, places: tuple[int, ...]) -> str:
    itself = any(set(table.places) == set(places) for table in stored.marginals)
    return "measured" if itself else "measured as part of a larger table"


def measured(stored: TwinMeasurements, places: Sequence[int]) -> Marginal | None:
    """The measured table of these columns, in their order, or the margin of one, with the least noise; None if there is none.

    A table of cells serves where one of groups is wanted and the columns are not grouped, and the other way round.
    """
    best: Marginal | None = None
    for table in stored.marginals:
        if not places or not set(places) <= set(table.places) or not _fits(stored, table, places):
            continue
        found = table.margin(places)
        if best is None or found.variance < best.variance:
            best = found
    return best


def _fits(stored: TwinMeasurements, table: Marginal, places: Sequence[int]) -> bool:
    """Whether the table has what is wanted of these columns: cells of one, groups of several."""
    return table.grouped == (len(places) > 1) or all(
        stored.group_count(place) == stored.attributes.sizes[place] for place in places
    )


def _one_way(stored: TwinMeasurements, place: int, chance: float) -> tuple[Floats, Floats]:
    """Lowest and highest counts of a column's groups."""
    table = measured(stored, (place,))
    if table is None:
        size = stored.group_count(place)
        return np.zeros(size), np.full(size, np.inf)
    group = np.array(stored.groups[place])
    sums, members = group_sums(group, table.counts), np.bincount(group)
    half = np.array([quantile(table, chance, count) for count in members.tolist()])
    return sums - half, sums + half


def _scored_bounds(
    model: RecordModel, stored: TwinMeasurements, places: tuple[int, ...], chance: float
) -> tuple[Floats, Floats, Floats, float]:
    """Around the product of one-way tables that the score was measured against, as far as half the score goes.

    Half of it, because counts that are too high add up to those that are too low, but for the difference of the totals.
    """
    pair = (min(places), max(places))
    product = expected(stored, pair)
    product = product if places == pair else product.T
    noise = NormalDist().inv_cdf(1 - chance / 4) * float(stored.score_scale) + 0.5
    distance = max(stored.scores[pair] + noise, 0.0)
    apart = abs(float(product.sum()) - model.total) + total_error(stored, chance / 4)
    half = (distance + apart) / 2
    low, high = _frechet_bounds(model, stored, places, chance / 4)
    return np.maximum(product - half, low), np.minimum(product + half, high), product, distance


def expected(stored: TwinMeasurements, pair: tuple[int, int]) -> Floats:
    """The product of one-way tables that a pair's score was measured against."""
    ones = {one.places[0]: one for one in stored.ones()}
    total = weighted_total(
        [float(one.counts.sum()) for one in ones.values()], [one.counts.size * one.variance for one in ones.values()]
    )
    first, second = (simplex(group_sums(stored.groups[place], ones[place].counts), total) for place in pair)
    return np.rint(np.outer(first, second) / max(total, 1.0))


def total_error(stored: TwinMeasurements, chance: float) -> float:
    """How far the twin's number of rows can be from the true one: its own noise, or that of all one-way tables together."""
    counted = [table for table in stored.marginals if not table.places]
    if counted:
        return quantile(counted[0], chance) + 1  # the number of rows is never below one
    ones = stored.ones()
    trust = sum(1 / (one.counts.size * one.variance) for one in ones)
    parts = [(one, np.full(one.counts.size, 1 / (one.counts.size * one.variance * trust))) for one in ones]
    return sum_quantile(parts, chance) if parts else np.inf


def _frechet_bounds(
    model: RecordModel, stored: TwinMeasurements, places: tuple[int, ...], chance: float
) -> tuple[Floats, Floats]:
    """What one-way tables alone say of a cell: no more than any of its margins, no less than they must overlap."""
    each = chance / (len(places) + 1)
    sizes = stored.group_sizes(places)
    most = model.total + total_error(stored, each)
    high, low = np.full(sizes, most), np.zeros(sizes)
    for axis, place in enumerate(places):
        lower, upper = _one_way(stored, place, each)
        shape = [1] * len(places)
        shape[axis] = lower.size
        high = np.minimum(high, upper.reshape(shape))
        low = low + lower.reshape(shape)
    return np.maximum(low - (len(places) - 1) * most, 0.0), np.maximum(high, 0.0)


def group_labels(stored: TwinMeasurements, place: int, *, cells: bool = False) -> tuple[str, ...]:
    """The names of a column's groups: a range for neighbouring cells, a list for rare categories; or of its cells."""
    column = stored.attributes.columns[place]
    if cells:
        return tuple(column.cell_label(cell) for cell in range(column.size))
    found = []
    for group in range(stored.group_count(place)):
        members = [cell for cell, each in enumerate(stored.groups[place]) if each == group]
        found.append(_joined(column, members))
    return tuple(found)


def _joined(column: Attribute, members: list[int]) -> str:
    if len(members) == 1:
        return column.cell_label(members[0])
    if column.ordered:
        present = [cell for cell in members if cell < column.present]
        span = f"{column.cell_label(present[0]).split('..')[0]}..{column.cell_label(present[-1]).split('..')[-1]}"
        return span if len(present) == len(members) else f"{span}, missing"
    return ", ".join(column.cell_label(cell) for cell in members)
