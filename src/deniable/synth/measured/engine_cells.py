"""Tables of cells counted where the rows are: the engine hands out counts of many tables in one pass, and no row.

Guarantee: the same integers as counting the bounded rows; one unit is in at most as many rows, bounded once for all tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from deniable.engines.engine import SparseTable
from deniable.engines.table_space import PrivateTables
from deniable.plan.nodes import UnitRows
from deniable.plan.unit_tables import MOST_TABLE_CELLS, UnitTables
from deniable.synth.attribute import Attribute, Attributes

Integers = NDArray[np.int64]
Level = tuple[int, ...]


class EngineCells:
    """Tables of the cells of bounded rows that stay with their engine; private. What was counted once is kept."""

    def __init__(self, data: PrivateTables, plan: UnitRows, attributes: Attributes) -> None:
        self._data, self._plan, self._attributes = data, plan, attributes
        self._known: dict[Level, SparseTable] = {}
        self._maps: list[Integers | None] = [None] * len(attributes.columns)

    def fetch(self, levels: Iterable[Level]) -> None:
        """Count the tables of all these levels that no table so far holds, in as few passes as they fit."""
        wanted = dict.fromkeys(tuple(sorted(level)) for level in levels)
        missing = [level for level in wanted if self._source(level) is None]
        for part in self._parts(missing):
            plan = UnitTables(self._plan, tuple(map(_cuts, self._attributes.columns)), tuple(part))
            for level, found in zip(part, self._data.counts(plan), strict=True):
                self._known[level] = SparseTable(tuple(map(self._cells, level, found.cells)), found.count)

    def table(self, places: Level, sizes: tuple[int, ...]) -> Integers:
        """How many rows fall into each cell of these columns, as one flat table with the last column fastest."""
        level = tuple(sorted(places))
        self.fetch([level])
        within = self._source(level)
        assert within is not None
        found = self._known[within]
        codes: Integers = np.zeros(found.count.size, dtype=np.int64)
        for place, size in zip(places, sizes, strict=True):
            cells, anew = found.cells[within.index(place)], self._maps[place]
            codes = codes * size + (cells if anew is None else anew[cells])
        counts: Integers = np.zeros(prod(sizes), dtype=np.int64)
        np.add.at(counts, codes, found.count)
        return counts

    def mapped(self, cells: Sequence[Sequence[int] | Integers | None]) -> EngineCells:
        """The same tables with every cell of a column replaced by what `cells` of that column has in its place."""
        other = EngineCells(self._data, self._plan, self._attributes)
        other._known = self._known
        other._maps = [_after(old, each) for old, each in zip(self._maps, cells, strict=True)]
        return other

    def _source(self, level: Level) -> Level | None:
        """The smallest known table from which this one can be added up."""
        if level in self._known:
            return level
        holding = [known for known in self._known if set(level) <= set(known)]
        return min(holding, key=lambda known: self._known[known].count.size, default=None)

    def _parts(self, levels: list[Level]) -> Iterable[list[Level]]:
        """The levels in their order, cut where one pass would count too many cells; tables that are too large alone raise."""
        part: list[Level] = []
        held = 0
        for level in levels:
            size = prod(self._attributes.sizes[place] + 1 for place in level)
            if part and held + size > MOST_TABLE_CELLS:
                yield part
                part, held = [], 0
            part.append(level)
            held += size
        if part:
            yield part

    def _cells(self, place: int, cut: Integers) -> Integers:
        """Cells as attributes number them: below all edges is the missing value, which has the last cell."""
        column = self._attributes.columns[place]
        if not (column.edges and column.missing):
            return cut
        return np.where(cut == 0, column.size - 1, cut - 1)

    def __repr__(self) -> str:
        return "EngineCells(private)"


def _cuts(column: Attribute) -> tuple[int, ...]:
    """Where an engine cuts the values that stand for a column's cells."""
    if not column.edges:
        return tuple(range(1, column.size))
    return column.edges[:-1] if column.missing else column.edges[1:-1]


def _after(first: Integers | None, second: Sequence[int] | Integers | None) -> Integers | None:
    if second is None:
        return first
    anew: Integers = np.asarray(second, dtype=np.int64)
    return anew if first is None else anew[first]
