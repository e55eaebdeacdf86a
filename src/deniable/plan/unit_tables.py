"""Many tables of counts in one pass: the plan node behind synthetic data where rows stay with their engine."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from deniable.errors import InvalidArgument
from deniable.plan.nodes import UnitRows

MOST_TABLE_CELLS = 1 << 27
"""The tables of one pass together may have so many cells."""


@dataclass(frozen=True, slots=True)
class UnitTables:
    """For each level, how many of the bounded rows are in each combination of cells of its columns.

    `cuts` cut every column of `rows`, read as a count of its own steps: the cell of a value is the number of cuts that are not
    above it. Columns are never missing. A level names columns by their places; of no column it is the number of rows.

    Guarantee: rows are bounded once for all levels, so one unit moves each table by at most `rows.rows` rows.
    """

    rows: UnitRows
    cuts: tuple[tuple[int, ...], ...]
    levels: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if len(self.cuts) != len(self.rows.columns) or any(list(each) != sorted(set(each)) for each in self.cuts):
            raise InvalidArgument("tables need the cuts of every column, each list rising")
        for level in self.levels:
            if list(level) != sorted(set(level)) or not set(level) <= set(range(len(self.cuts))):
                raise InvalidArgument(
                    f"a level names some of the columns in their order, got {level!r} of {len(self.cuts)}"
                )
        if not self.levels or len(set(self.levels)) != len(self.levels):
            raise InvalidArgument("tables need levels that differ")
        if self.cells > MOST_TABLE_CELLS:
            raise InvalidArgument(f"these tables have {self.cells:,} cells together, above {MOST_TABLE_CELLS:,}")

    @property
    def cells(self) -> int:
        """How many cells the tables of all levels have together."""
        return sum(prod(len(self.cuts[place]) + 1 for place in level) for level in self.levels)
