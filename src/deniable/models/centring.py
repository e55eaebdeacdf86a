"""Rows on a scale of their own: moved by released means, shortened to a released length (docs/theory/whole-number-training.md).

Columns between public bounds are long vectors of which most is the same for everybody. One noisy answer, the sums of all columns
and of the squares of numbers, says where the middle of the rows is and how long a row usually is from there. Rows are moved to
that middle and shortened to that length, so that one row's push, and the noise that hides it, are smaller.

Guarantee: given the answer, a row's push is a function of that row alone and at most UNIT long.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from deniable.models.encoding import GRID, Encoding, Whole
from deniable.models.unit_totals import PrivateRows, roots_up, weighted

Floats = NDArray[np.float64]

UNIT = 1 << 12
"""Steps of the longest push."""


def number_columns(encoding: Encoding) -> NDArray[np.bool_]:
    """Which columns of an encoding are numbers, the intercept not among them."""
    return np.array([False, *(each.is_number for each in encoding.features for _ in range(each.width))], dtype=bool)


def sums_square(encoding: Encoding) -> int:
    """The squared length of what one row adds to the sums: entries that are not zero, and squares of numbers, at most GRID each."""
    return GRID**2 * (encoding.most + int(number_columns(encoding).sum()))


def column_sums(rows: PrivateRows, encoding: Encoding, *, norm: int) -> Whole:
    """The sum of every column (the first counts rows), then the sums of the squares of numbers, all in steps of 1/GRID."""
    features = rows.kept["features"]
    squares = features[:, number_columns(encoding)] ** 2 // GRID
    return weighted(rows, np.concatenate([features, squares], axis=1), np.ones((rows.count, 1)), norm=norm)[:, 0]


@dataclass(frozen=True, slots=True, eq=False)
class Centre:
    """Where the middle of the rows is, in steps of 1/GRID, how long a row may be from there, and the noisy number of rows."""

    means: Whole
    reach: int
    count: float

    @classmethod
    def of(cls, encoding: Encoding, sums: Whole) -> Centre:
        """From noisy column sums; whatever these are, means lie within the bounds and the reach is that of a usual row."""
        numbers, width = number_columns(encoding), encoding.width
        count = max(float(sums[0]) / GRID, 1.0)
        shares = np.clip(sums[:width] / (GRID * count), np.where(numbers, -1.0, 0.0), 1.0)
        spread = shares * (1 - shares)
        spread[numbers] = np.clip(sums[width:] / (GRID * count) - shares[numbers] ** 2, 0, 1)
        means = np.rint(shares * GRID).astype(np.int64)
        means[0] = spread[0] = 0
        return cls(means, ceil(GRID * float(np.sqrt(1 + spread.sum()))), count)

    @property
    def length(self) -> float:
        """The length that becomes 1, on the scale on which columns run from -1 to 1."""
        return self.reach / GRID

    def pushes(self, features: Floats) -> Floats:
        """Every row from the middle, in units of the reach, cut towards zero and shortened where it is longer than that.

        Exact: whole numbers below 2**24 whose quotient is no whole number are too far from one to be rounded to it.
        """
        moved = features - self.means.astype(np.float64)
        squares = (moved * moved).sum(axis=1).astype(np.int64)
        longest = np.maximum(roots_up(squares), self.reach).astype(np.float64)
        moved *= UNIT
        moved /= longest[:, None]
        return np.asarray(np.trunc(moved, out=moved), dtype=np.float64)

    def plain(self) -> Floats:
        """The matrix from weights of pushes to weights of the columns themselves."""
        turned = np.eye(len(self.means)) / self.length
        turned[0, 1:] -= self.means[1:] / GRID / self.length
        return turned
