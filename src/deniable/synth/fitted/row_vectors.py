"""Rows of cells as vectors for networks, and back: one mark for a category, a mode and a place in it for a number.

Guarantee: fixed by released tables alone, and then row by row; every entry is a whole number at most GRID in size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.synth.attribute import Attribute, Attributes
from deniable.synth.fitted.agreement import simplex
from deniable.synth.fitted.mixture import fit_modes, nearest_modes
from deniable.synth.fitted.record_model import Codes, Floats
from deniable.synth.fitted.stored import Marginal

GRID = 1 << 10
"""Steps of an entry to 1."""
WEIGHT_STEPS = 1 << 12
"""Steps of a network's weight to 1. Both are those of `deniable.models`, which this half does without; the other half checks it."""
FEW_CELLS = 12
"""An ordered column with at most so many cells has a mark for each, like a category."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One column's part of a vector: for every cell its mark, and for numbers with modes its place.

    `cells` is how many marks there are; the last one is for missing values where a column has modes and they may be missing.
    """

    size: int
    present: int
    shares: Floats
    means: Floats | None = None
    spreads: Floats | None = None

    @property
    def marks(self) -> int:
        """How many marks there are."""
        return self.size if self.means is None else self.means.size + (self.size > self.present)

    @property
    def width(self) -> int:
        """How many entries of a vector it takes."""
        return self.marks + (self.means is not None)

    def tables(self) -> tuple[Codes, Floats]:
        """The mark and the place of every cell."""
        if self.means is None or self.spreads is None:
            return np.arange(self.size), np.zeros(self.size)
        mode, place = nearest_modes(self.shares[: self.present], self.means, self.spreads)
        if self.size == self.present:
            return mode, place
        return np.append(mode, self.means.size), np.append(place, 0.0)

    def mark_shares(self) -> Floats:
        """The released share of every mark."""
        return np.asarray(np.bincount(self.tables()[0], weights=self.shares, minlength=self.marks), dtype=np.float64)

    def cells(self, marks: Codes, places: Floats) -> Codes:
        """The cell of every mark and place: of the rows with one mark, those with the lowest places get its lowest cells.

        As many rows as the released table says get each cell of a mode.
        """
        if self.means is None:
            return marks
        found = np.full(marks.size, self.size - 1, dtype=np.int64)
        of_cell = self.tables()[0]
        for mode in range(self.means.size):
            rows, inside = np.flatnonzero(marks == mode), np.flatnonzero(of_cell[: self.present] == mode)
            if not inside.size:
                inside = np.array([min(max(round(float(self.means[mode])), 0), self.present - 1)])
            rank = np.empty(rows.size)
            rank[np.argsort(places[rows], kind="stable")] = (np.arange(rows.size) + 0.5) / max(rows.size, 1)
            edges = np.cumsum(self.shares[inside])[:-1] / self.shares[inside].sum()
            found[rows] = inside[np.searchsorted(edges, rank, side="right")]
        return found

    @classmethod
    def of(cls, column: Attribute, released: Marginal) -> Block:
        """The block of a column, from its released table."""
        counts = simplex(released.counts.astype(float), max(float(released.counts.sum()), 1.0))
        shares = (counts + 1e-3 * counts.sum() / counts.size) / (1.001 * counts.sum())
        if not column.ordered or column.present <= FEW_CELLS:
            return cls(column.size, column.present, shares)
        inside = shares[: column.present] / shares[: column.present].sum()
        return cls(column.size, column.present, shares, *fit_modes(inside))


@dataclass(frozen=True, slots=True, eq=False)
class RowVectors:
    """All columns' blocks, one after another."""

    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, attributes: Attributes, released: Sequence[Marginal]) -> RowVectors:
        """The vectors of these columns, each from its released table."""
        return cls(tuple(Block.of(column, table) for column, table in zip(attributes.columns, released, strict=True)))

    @property
    def width(self) -> int:
        """How many entries a vector has."""
        return sum(block.width for block in self.blocks)

    @property
    def starts(self) -> list[int]:
        """Where each block begins."""
        return [sum(block.width for block in self.blocks[:place]) for place in range(len(self.blocks))]

    def vectors(self, columns: Sequence[Codes]) -> Floats:
        """One vector of whole numbers for every row, an entry of GRID first."""
        rows = len(columns[0])
        parts = [np.full((rows, 1), float(GRID))]
        for block, cells in zip(self.blocks, columns, strict=True):
            marks, places = block.tables()
            parts.append((marks[cells][:, None] == np.arange(block.marks)) * float(GRID))
            if block.means is not None:
                parts.append(np.rint(places * GRID)[cells][:, None])
        return np.concatenate(parts, axis=1)

    def cells(self, vectors: Floats) -> tuple[Codes, ...]:
        """The cells of vectors (without the first entry), whatever they are."""
        found = []
        for start, block in zip(self.starts, self.blocks, strict=True):
            marks = vectors[:, start : start + block.marks].argmax(axis=1)
            places = vectors[:, start + block.marks] if block.means is not None else np.zeros(len(vectors))
            found.append(block.cells(marks, places))
        return tuple(found)


def tables_record(vectors: RowVectors) -> list[dict[str, Any]]:
    """The blocks as JSON."""
    return [
        {
            "size": block.size,
            "present": block.present,
            "shares": block.shares.tolist(),
            "means": None if block.means is None else block.means.tolist(),
            "spreads": None if block.spreads is None else block.spreads.tolist(),
        }
        for block in vectors.blocks
    ]


def vectors_of_record(record: Sequence[Mapping[str, Any]]) -> RowVectors:
    """What `tables_record` wrote."""
    return RowVectors(
        tuple(
            Block(
                each["size"],
                each["present"],
                np.array(each["shares"]),
                None if each["means"] is None else np.array(each["means"]),
                None if each["spreads"] is None else np.array(each["spreads"]),
            )
            for each in record
        )
    )
