"""The cells of a column, from public facts alone: categories, bins, grid points, calendar cuts, and one cell for missing values.

Guarantee: nothing here has seen a row. Whatever a cell is turned back into is a value the codebook allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidArgument
from deniable.exact.guards import shown

CELLS = 100
"""A number with more grid points than this, and no bins, is cut into this many cells of equal width."""
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Attribute:
    """One column as cells numbered from 0.

    Categories and booleans have `labels`. Numbers and times have `edges` on the grid of `step`: cell k holds the grid points
    from `edges[k]` up to, not including, `edges[k + 1]`. With `missing` one more cell, the last, holds missing values. With
    `open` the labels are values that passed a private threshold, and the last label stands for all others.
    """

    name: str
    type: str
    labels: tuple[str, ...] = ()
    edges: tuple[int, ...] = ()
    step: Fraction = Fraction(1)
    missing: bool = True
    open: bool = False

    @property
    def present(self) -> int:
        """How many cells hold a value."""
        return len(self.labels) or len(self.edges) - 1

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.present + self.missing

    @property
    def ordered(self) -> bool:
        """Whether neighbouring cells hold neighbouring values."""
        return bool(self.edges)

    @property
    def absent(self) -> int:
        """What stands for a missing value where values are read: just below every value."""
        return self.edges[0] - 1 if self.edges else self.present

    def encode(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cell of every value, given as its grid point or as its place in the list of categories."""
        if not self.edges:
            return np.clip(values, 0, self.size - 1)
        cells = np.searchsorted(np.array(self.edges), values, side="right") - 1
        inside = np.clip(cells, 0, self.present - 1)
        return np.where(values < self.edges[0], self.size - 1, inside) if self.missing else inside

    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The least and the greatest value of every cell that holds a value, as plain numbers."""
        if not self.edges:
            places = np.arange(self.present, dtype=float)
            return places, places
        edges = np.array(self.edges, dtype=float) * float(self.step)
        return edges[:-1], edges[1:] - float(self.step)

    def cell_label(self, cell: int) -> str:
        """A cell in words."""
        if self.missing and cell == self.size - 1:
            return "missing"
        if self.labels:
            return self.labels[cell]
        low, high = self._edge(cell), self._edge(cell + 1, last=True)
        return low if low == high else f"{low}..{high}"

    def _edge(self, place: int, *, last: bool = False) -> str:
        point = self.edges[place] - last
        if self.type in ("date", "timestamp"):
            return str(_EPOCH + timedelta(days=point))
        value = point * self.step
        return str(value.numerator) if value.denominator == 1 else f"{float(value):g}"

    def to_record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "name": self.name,
            "type": self.type,
            "labels": list(self.labels),
            "edges": list(self.edges),
            "step": str(self.step),
            "missing": self.missing,
            **({"open": True} if self.open else {}),  # so that twins stored earlier stay the same
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Attribute:
        """What `to_record` wrote."""
        return cls(
            record["name"],
            record["type"],
            tuple(record["labels"]),
            tuple(record["edges"]),
            Fraction(record["step"]),
            record["missing"],
            record.get("open", False),
        )


@dataclass(frozen=True, slots=True)
class Attributes:
    """The columns of a synthesizer, in their order."""

    columns: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        if not self.columns:
            raise InvalidArgument("a synthesizer needs at least one column")
        names = self.names
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InvalidArgument(f"columns must be named once, got {twice[0]!r} again")

    @property
    def names(self) -> list[str]:
        """What the columns are called."""
        return [column.name for column in self.columns]

    @property
    def sizes(self) -> list[int]:
        """How many cells each has."""
        return [column.size for column in self.columns]

    def place(self, name: str) -> int:
        """The number of a column."""
        if name not in self.names:
            raise InvalidArgument(f"there is no column {shown(name)}; the columns are {', '.join(self.names)}")
        return self.names.index(name)

    def places(self, names: str | Sequence[str]) -> tuple[int, ...]:
        """The numbers of several columns, each named once."""
        given = [names] if isinstance(names, str) else list(names)
        found = tuple(self.place(name) for name in given)
        if not found or len(set(found)) != len(found):
            raise InvalidArgument(f"name at least one column, and each once; got {given!r}")
        return found

    def cells(self, places: Sequence[int]) -> int:
        """How many cells the table of these columns has."""
        return prod(self.sizes[place] for place in places)
