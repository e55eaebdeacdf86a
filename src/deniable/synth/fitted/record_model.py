"""The one form of every fitted model: weighted records of groups, and how cells are spread within their group.

Everything a twin says (rows, tables, averages) comes from here, so they agree with one another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidArgument
from deniable.synth.attribute import Attributes
from deniable.synth.fitted.joined_cells import group_sums
from deniable.synth.fitted.twin_randomness import WordSource, rounded, shuffled, uniforms

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class RecordModel:
    """Records of groups with weights that add up to one, and for every column the chance of each cell within its group.

    `total` is the noisy number of rows.
    """

    attributes: Attributes
    groups: tuple[tuple[int, ...], ...]
    within: tuple[Floats, ...]
    columns: tuple[Codes, ...]
    weights: Floats
    total: float

    def group_table(self, places: Sequence[int]) -> Floats:
        """The model's counts of groups."""
        sizes = [max(self.groups[place]) + 1 for place in places]
        codes = reduce(
            lambda held, k: held * sizes[k] + self.columns[places[k]], range(1, len(places)), self.columns[places[0]]
        )
        table = np.bincount(codes, weights=self.weights, minlength=int(np.prod(sizes))).reshape(sizes)
        return np.asarray(self.total * table, dtype=np.float64)

    def table(self, places: Sequence[int]) -> Floats:
        """The model's counts of cells: within groups, columns are independent."""
        table = self.group_table(places)
        for axis, place in enumerate(places):
            group = np.array(self.groups[place])
            shape = [1] * len(places)
            shape[axis] = group.size
            table = np.take(table, group, axis=axis) * self.within[place].reshape(shape)
        return table

    def cells(self, rows: int, source: WordSource, allowed: Mapping[int, Floats] | None = None) -> tuple[Codes, ...]:
        """So many rows of cells; with `allowed`, of some columns the share of each cell that is wanted, given that."""
        allowed = allowed or {}
        weights = self.weights
        within = list(self.within)
        for place, shares in allowed.items():
            within[place] = self.within[place] * shares
            weights = weights * group_sums(self.groups[place], within[place])[self.columns[place]]
        if not weights.sum() > 0:
            raise InvalidArgument("the model has no row that fits where=; ask for a condition it holds some chance for")
        picked = np.repeat(np.arange(weights.size), rounded(weights, rows, source))[shuffled(rows, source)]
        return tuple(
            spread(column[picked], np.array(self.groups[place]), within[place], source)
            for place, column in enumerate(self.columns)
        )


def spread(groups: Codes, group: Codes, within: Floats, source: WordSource) -> Codes:
    """A cell for every row, in the group it has: as often as its chance says, to the nearest row."""
    chances = np.zeros((int(group.max()) + 1, group.size))
    chances[group, np.arange(group.size)] = within
    return conditional(groups, chances, source)


def conditional(given: Codes, table: Floats, source: WordSource) -> Codes:
    """One value for every row, drawn from the row of `table` that `given` names; counts come out as expected, to the nearest row.

    Rows with the same `given` are in random order, so nothing else about them decides which of the values they get.
    """
    order = shuffled(given.size, source, given)
    held = np.bincount(given, minlength=table.shape[0])
    sums = table.sum(axis=1, keepdims=True)
    chances = np.where(sums > 0, table / np.where(sums > 0, sums, 1.0), 1 / table.shape[1])
    steps = np.floor(np.cumsum(chances * held[:, None], axis=1) + uniforms(held.size, source)[:, None])
    steps[:, -1] = held
    times = np.diff(np.minimum(steps, held[:, None]), prepend=0, axis=1).astype(np.int64)
    values = np.empty(given.size, dtype=np.int64)
    values[order] = np.repeat(np.tile(np.arange(table.shape[1]), table.shape[0]), times.ravel())
    return values


def within_groups(groups: Sequence[int], counts: Floats) -> Floats:
    """The chance of each cell within its group: by its count; alike where the group has none."""
    group = np.array(groups)
    sums = group_sums(group, counts)[group]
    alike = 1 / np.bincount(group)[group]
    return np.where(sums > 0, counts / np.where(sums > 0, sums, 1.0), alike)
