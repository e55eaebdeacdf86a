"""What one unit adds to a total, and never more: sums of whole-number vectors by unit, each cut to a norm, and then added.

All arithmetic is on integers. Where floating point does the work every number is a whole one below 2**53, so the order of the
additions, the number of threads and the presence of other rows change nothing.

Guarantee: with one unit more or less the total moves by a vector of Euclidean length at most `norm`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from deniable.engines.engine import RowTable
from deniable.engines.table_space import RemoteRows
from deniable.errors import InvalidArgument
from deniable.models.encoding import Whole

EXACT = 1 << 53
"""Whole numbers below this are exact in floating point."""

_CHUNK = 1 << 15
"""Rows that are looked at together."""


@dataclass(frozen=True, slots=True, eq=False)
class PrivateRows:
    """The rows of a model's columns, as codes, held for one release; `starts` is where each unit begins, None if rows are units."""

    codes: dict[str, Whole]
    count: int
    starts: Whole | None
    labels: Whole | None
    kept: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    """What was computed from these rows once and is needed again at every step of the same release."""

    @classmethod
    def of(cls, data: RowTable | RemoteRows) -> PrivateRows:
        """The rows an engine hands out, sorted by unit."""
        table = data.table() if isinstance(data, RemoteRows) else data
        codes = dict(table.columns)
        count = len(next(iter(codes.values())))
        if table.units is None:
            return cls(codes, count, None, None)
        fresh = np.ones(count, dtype=bool)
        fresh[1:] = table.units[1:] != table.units[:-1]
        return cls(codes, count, np.flatnonzero(fresh), table.units)

    @property
    def units(self) -> int:
        """How many units there are."""
        return self.count if self.starts is None else len(self.starts)

    def taken(self, chosen: NDArray[np.bool_]) -> PrivateRows:
        """The rows of the chosen units (a flag for each)."""
        rows = np.flatnonzero(chosen if self.starts is None else np.repeat(chosen, self._sizes()))
        codes = {name: column.take(rows) for name, column in self.codes.items()}
        kept = {name: held.take(rows, axis=0) for name, held in self.kept.items()}
        if self.starts is None or self.labels is None:
            return PrivateRows(codes, len(rows), None, None, kept)
        sizes = self._sizes()[chosen]
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64) if len(sizes) else sizes
        return PrivateRows(codes, len(rows), starts, self.labels[rows], kept)

    def _sizes(self) -> Whole:
        """How many rows each unit has, where units may have several."""
        assert self.starts is not None
        return np.diff(np.append(self.starts, self.count))

    def blocks(self, most: int = _CHUNK) -> Iterator[tuple[slice, Whole | None]]:
        """Rows up to so many at a time, whole units together; with where units begin in the block."""
        if self.starts is None:
            for first in range(0, self.count, most):
                yield slice(first, min(first + most, self.count)), None
            return
        ends = np.append(self.starts, self.count)
        unit = 0
        while unit < len(self.starts):
            stop = max(int(np.searchsorted(ends, ends[unit] + most, side="right")) - 1, unit + 1)
            yield slice(int(ends[unit]), int(ends[stop])), self.starts[unit:stop] - ends[unit]
            unit = stop

    def __repr__(self) -> str:
        return "PrivateRows(private)"


def cut(vectors: Whole, norm: int) -> Whole:
    """Each row of whole numbers, shortened towards zero until its Euclidean length is at most `norm`.

    A length whose square 64 bits hold is rounded up to a whole number; of a longer row the entries are rounded up to fewer bits
    first (docs/theory/ghost-norms.md). All of it looks at one row alone. Entries times `norm` stay below 2**62: `check_cut` and
    `check_network` refuse the rest, from public bounds.
    """
    sizes = np.abs(vectors)
    bits = np.frexp(sizes.max(axis=1, initial=0).astype(np.float64))[1] + ((vectors.shape[1] - 1).bit_length() + 1) // 2
    shift = np.maximum(bits - 30, 0).astype(np.int64)[:, None]
    coarse = (sizes >> shift) + (shift > 0)
    reach = roots_up((coarse * coarse).sum(axis=1))[:, None] << shift
    shorter = np.sign(vectors) * (sizes * norm // np.maximum(reach, norm))
    return np.where(reach > norm, shorter, vectors)


def roots_up(squares: Whole) -> Whole:
    """The least whole number whose square is at least each of these."""
    root = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    root = np.where(root * root > squares, root - 1, root)
    return np.where(root * root < squares, root + 1, root)


def by_unit(vectors: Whole, starts: Whole | None) -> Whole:
    """The sum of each unit's rows."""
    if starts is None or not len(vectors):
        return vectors
    return np.add.reduceat(vectors, starts, axis=0)


def cut_total(vectors: Whole, starts: Whole | None, norm: int) -> Whole:
    """The units' sums, each cut to `norm`, added."""
    return np.asarray(cut(by_unit(vectors, starts), norm).sum(axis=0, dtype=np.int64), dtype=np.int64)


def check_cut(*, entry: int, square: int, norm: int) -> None:
    """Refuse sums of one unit, entries and squared length at most these, that could not be cut to `norm` in 64 bits."""
    if not (entry * norm < 1 << 62 and square < 1 << 62):
        raise InvalidArgument(
            f"one unit's sums could reach a length of {float(root_up(square)):.3g} steps, too many to cut exactly in 64 bits; "
            "use fewer features or fewer rows per unit"
        )


def norm_square(one_row: int, rows: int) -> int:
    """The squared length a unit's sum is cut to: one row's own where a unit has one, else that of the root of its rows.

    Of several rows it is the square of a whole number, as sums are cut to whole lengths: what is cut is what is charged.
    """
    return one_row if rows == 1 else root_up(one_row * rows) ** 2


def gram(
    rows: PrivateRows, matrix: Whole | NDArray[np.float64], *, norm: int, pairs: Sequence[tuple[int, ...]] | None = None
) -> Whole:
    """The sums of every row's products of two of its entries: those of `pairs`, or the upper triangle, row after row of it.

    Where rows are units, each row's products are at most `norm` long by their public bounds; else units' sums are cut to it.
    """
    upper = np.triu_indices(matrix.shape[1]) if pairs is None else tuple(np.array(pairs, dtype=np.int64).T)
    total = np.zeros(len(upper[0]), dtype=np.int64)
    for block, starts in rows.blocks():
        part = matrix[block]
        if starts is None:
            held = part.astype(np.float64, copy=False)
            total += (held.T @ held)[upper].astype(np.int64)
            continue
        for first in range(0, len(starts), max(1, (1 << 22) // len(total))):
            last = min(first + max(1, (1 << 22) // len(total)), len(starts))
            end = int(starts[last]) if last < len(starts) else len(part)
            some = part[int(starts[first]) : end].astype(np.int64)
            total += cut_total(some[:, upper[0]] * some[:, upper[1]], starts[first:last] - starts[first], norm)
    return total


def weighted(rows: PrivateRows, matrix: NDArray[np.float64], weights: NDArray[np.float64], *, norm: int) -> Whole:
    """The sum over rows of each row of `matrix` times its weights, all of them whole numbers: one vector for each weight column.

    Where rows are units, each row's product is at most `norm` long by its public bounds; else units' sums are cut to it.
    """
    total = np.zeros((matrix.shape[1], weights.shape[1]), dtype=np.int64)
    for block, starts in rows.blocks():
        left, right = matrix[block], weights[block]
        if starts is None:
            total += (left.T @ right).astype(np.int64)
            continue
        products = (left[:, :, None] * right[:, None, :]).astype(np.int64).reshape(len(left), -1)
        total += cut_total(products, starts, norm).reshape(total.shape)
    return total


def root_up(square: int) -> int:
    """The least whole number whose square is at least this."""
    root = isqrt(square)
    return root if root * root == square else root + 1


def check_exact(name: str, largest: int) -> None:
    """Refuse, from public bounds, what could leave the whole numbers that floating point holds exactly."""
    if not largest < EXACT:
        raise InvalidArgument(
            f"{name} could reach {largest:.3g}, beyond 2**53, where sums are exact; use fewer features or fewer rows per unit"
        )
