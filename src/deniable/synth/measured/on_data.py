"""A twin measured against the data: distances of tables, and how well what it teaches works on real rows. Both are charged.

Guarantee: one row is in one cell of the table of scores, and moves each sum of distances by one; `moved` says for one unit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from deniable.core.compositor import grouped
from deniable.core.mechanism import Mechanism
from deniable.core.space import Space
from deniable.core.step import MechanismFamily
from deniable.exact.guards import positive
from deniable.kernels import DiscreteLaplaceNoise, Sensitivity
from deniable.mechanisms.additive import noisy_values
from deniable.noise import Entropy
from deniable.plan.unit_tables import MOST_TABLE_CELLS
from deniable.synth.fitted.cell_regression import CellRegression
from deniable.synth.fitted.record_model import RecordModel
from deniable.synth.fitted.stored import TwinMeasurements
from deniable.synth.measured.coded import CellReading, CellRows, Cells, Contribution
from deniable.synth.measured.table_noise import Integers, distances, grouped_rows

_TRIPLES = 200
"""Of the tables of three columns at most so many are compared, evenly spread over all of them."""
_MOST_GROUPS = 1 << 23
"""Tables with more groups than this are not compared, nor those that no engine would count."""


@dataclass(frozen=True, slots=True)
class OnData:
    """Where the data is read from: its space, how rows become cells, and how far one unit moves them."""

    space: Space
    read: CellReading
    moved: Contribution
    recipe: str

    def of_rows(self, counts: Callable[[CellRows], Integers], moved: Sensitivity, what: str) -> MechanismFamily:
        """Whole numbers of the rows themselves, with discrete Laplace noise of any scale, and that scale."""
        return self._family(lambda data: counts(self.read(data)), moved, what)

    def of_tables(self, counts: Callable[[Cells], Integers], moved: Sensitivity, what: str) -> MechanismFamily:
        """Whole numbers of tables of the rows, counted wherever the rows are, with noise."""
        return self._family(lambda data: counts(self.read.tables(data)), moved, what)

    def _family(self, counts: Callable[[Any], Integers], moved: Sensitivity, what: str) -> MechanismFamily:

        def at(scale: Any) -> Mechanism:
            noise = DiscreteLaplaceNoise(positive(scale=scale))

            def function(data: Any, entropy: Entropy) -> dict[str, Any]:
                noisy = noisy_values(counts(data), noise=noise, entropy=entropy)
                return {"counts": noisy, "scale": float(noise.scale)}

            cost = noise.cost(moved)
            return Mechanism(
                self.space,
                function,
                lambda d_in: grouped(cost, d_in),
                parameter=noise.scale,
                recipe=f"{self.recipe} >> {what}",
            )

        return MechanismFamily(self.space, at)


def score_table(
    on: OnData,
    stored: TwinMeasurements,
    model: CellRegression,
    cuts: Sequence[float],
    target: int,
    wanted: Sequence[int],
    what: str,
) -> MechanismFamily:
    """Real rows by class (wanted or not) and by the bin of their score: one noisy table, from which all else is computed."""
    edges = np.array(cuts)
    width = edges.size + 1

    def counts(rows: CellRows) -> Integers:
        groups = grouped_rows(rows, stored.groups)
        place = np.searchsorted(edges, model.scores(groups.columns), side="right")
        is_wanted = np.isin(rows.columns[target], wanted).astype(np.int64)
        return np.bincount(is_wanted * width + place, minlength=2 * width).reshape(2, width)

    return on.of_rows(counts, on.moved.table, what)


def table_distances(
    on: OnData, stored: TwinMeasurements, model: RecordModel, orders: Sequence[int], what: str
) -> MechanismFamily:
    """For each order (1, 2 or 3 columns) the sum of |real - synthetic| over all tables of groups, and the number of rows.

    One row moves the distance of each table by one, so a sum over many tables moves by their number; each sum is divided by it
    and rounded down, and then one row moves it by at most one.
    """
    chosen = [workload(stored, order) for order in orders]

    def distance(groups: Cells, places: tuple[int, ...]) -> int:
        expected = np.rint(model.group_table(places)).astype(np.int64)  # one at a time: all of them may be large
        return int(distances(groups, [(places, expected)])[0])

    def counts(rows: Cells) -> Integers:
        groups = rows.mapped(stored.groups)
        groups.fetch(places for tables in chosen for places in tables)
        sums = [sum(distance(groups, places) for places in tables) // max(len(tables), 1) for tables in chosen]
        return np.array([*sums, int(rows.table((), ())[0])], dtype=np.int64)

    return on.of_tables(counts, on.moved.totals(len(orders) + 1), what)


def workload(stored: TwinMeasurements, order: int) -> list[tuple[int, ...]]:
    """The tables of so many columns that are compared: all that can be counted, or evenly spread ones where there are too many."""
    tables = [
        places
        for places in combinations(range(len(stored.attributes.columns)), order)
        if prod(stored.group_sizes(places)) <= _MOST_GROUPS and stored.attributes.cells(places) <= MOST_TABLE_CELLS
    ]
    step = max(Fraction(len(tables), _TRIPLES), Fraction(1)) if order > 2 else Fraction(1)
    return [tables[int(step * k)] for k in range(int(len(tables) / step))]
