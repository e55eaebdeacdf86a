"""What an engine is: a plan in, exact integers out. It knows nothing of noise or budgets.

Every engine gives the same integers for the same plan, data and order key; the reference engine is the judge.
Guarantee: contributions are bounded after the last step that multiplies rows, so the plan's sensitivities hold; data
never raises: whatever fails all the same is an `EngineFailed` with a constant text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from deniable.plan.nodes import Plan, Relation, UnitRows, UnitVector
from deniable.plan.unit_tables import UnitTables

Integers: TypeAlias = NDArray[np.int64]
KeyValue: TypeAlias = int | bool | str | date | datetime | None
"""A key as engines hold it: numbers are integers on the key's grid, None is a missing value that was kept."""


@dataclass(frozen=True, slots=True, eq=False)
class SparseHistogram:
    """The counts above zero of one Histogram: in group `group[i]` (an index into Result), bin `bin[i]` has `count[i]`."""

    group: Integers
    bin: Integers
    count: Integers


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """The exact integers of one plan; private until noise is added.

    `keys[name][i]` is the key of group i, groups sorted by key (missing first); `columns[name][i]` its integer, always
    int64. Groups with no row are not here: a release adds the declared ones. `level[i]` is the place of group i's level in
    the plan's `grouping`; groups are sorted by it first, and a key outside the level is None. A level without keys (or a
    plan without them) has exactly one group.
    """

    groups: int
    level: Integers
    keys: Mapping[str, tuple[KeyValue, ...]]
    columns: Mapping[str, Integers]
    histograms: Mapping[str, SparseHistogram]

    def __repr__(self) -> str:
        return "Result(private)"


@dataclass(frozen=True, slots=True, eq=False)
class SparseTable:
    """The counts above zero of one table; private. Count `count[i]` is that of the cell `cells[k][i]` of every column k."""

    cells: tuple[Integers, ...]
    count: Integers

    def __repr__(self) -> str:
        return "SparseTable(private)"


@dataclass(frozen=True, slots=True, eq=False)
class RowTable:
    """Rows in columns of 64-bit integers on public grids; private. `missing` says where there is no value (0 stands there).

    `units` labels the unit of each row; None where every row is a unit of its own. Rows are sorted by unit and value.
    """

    units: Integers | None
    columns: Mapping[str, Integers]
    missing: Mapping[str, NDArray[np.bool_]]

    def __repr__(self) -> str:
        return "RowTable(private)"


@runtime_checkable
class Engine(Protocol):
    """Runs plans over the tables it was given."""

    @property
    def name(self) -> str:
        """The engine and its version, public."""
        ...

    def run(self, plan: Plan) -> Result:
        """The plan's integers."""
        ...

    def public(self, relation: Relation) -> Mapping[str, tuple[KeyValue, ...]]:
        """The rows of a relation over public tables only, sorted; a private one is refused."""
        ...

    def close(self) -> None:
        """Let go of the data and remove temporary files."""
        ...


@runtime_checkable
class Keeping(Protocol):
    """An engine that can keep a plan's bounded rows, for later plans to read."""

    def prepare(self, plan: Plan) -> None:
        """Keep the rows of this plan, every unit in the groups it may touch."""
        ...


@runtime_checkable
class RowEngine(Protocol):
    """An engine that can hand out rows, for mechanisms that need them."""

    def rows(self, plan: UnitRows) -> RowTable:
        """The bounded rows of a plan, as integers, the same on every engine."""
        ...


@runtime_checkable
class VectorEngine(Protocol):
    """An engine that adds up joint vectors where the rows are."""

    @property
    def distributed(self) -> bool:
        """Whether the rows are too many for one machine, so that vectors are added up there instead of handing rows out."""
        ...

    def vector(self, plan: UnitVector) -> Integers:
        """The joint vector of a plan, the same on every engine."""
        ...


@runtime_checkable
class TableEngine(Protocol):
    """An engine that counts many tables in one pass where the rows are."""

    @property
    def in_memory(self) -> bool:
        """Whether the rows are in this process's memory already, so that handing them out is no burden."""
        ...

    def tables(self, plan: UnitTables) -> list[SparseTable]:
        """The tables of a plan, one for each level, the same on every engine."""
        ...


@runtime_checkable
class Selective(Protocol):
    """An engine that may lack a feature; see `engines.conformance`."""

    def check(self, plan: Plan) -> None:
        """Refuse a plan that uses what this engine, in this version, computes differently; nothing is run."""
        ...


@runtime_checkable
class Filed(Protocol):
    """An engine whose data lies in files."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The files the curator named; cells are never among them."""
        ...


@runtime_checkable
class Looking(Protocol):
    """An engine that can tell, without touching rows, that its data cannot be reached."""

    def look(self) -> None:
        """Refuse when the data set is closed, or a file of it is gone or was replaced; nothing is run."""
        ...
