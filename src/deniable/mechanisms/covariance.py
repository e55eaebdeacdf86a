"""Means, covariances and correlations of several bounded columns, from one noisy release of exact sums of products.

Every column is centred at the middle of its public bounds and counted in whole steps, so sums of products are exact integers;
they are formed by floating-point matrix products over blocks so small that no rounding can occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.core.cells import cells, parts, row_total, whole
from deniable.core.distance import Distance
from deniable.core.domain import Lattice, Rows, Vectors
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.metric import ChangeOne, Hamming
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import Cost, Gaussian
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, positive
from deniable.kernels import RoundedGaussianNoise
from deniable.mechanisms.additive import noisy_values
from deniable.mechanisms.carried import whole as within_int64
from deniable.mechanisms.lattice_norms import added_or_removed, rows_of
from deniable.noise import Entropy

_EXACT = 1 << 53
_LEAST, _MOST = -(2**63), 2**63 - 1
_FINEST = 1 << 16
"""Steps between the bounds: products stay below 2**30, so sums of billions of rows fit 63 bits."""


@dataclass(frozen=True)
class Moments:
    """Noisy count, sums and sums of products of centred columns; read it as often as you like, it costs nothing more."""

    count: float
    sums: NDArray[np.float64]
    products: NDArray[np.float64]
    centre: float

    @property
    def mean(self) -> NDArray[np.float64]:
        """The estimated mean of every column."""
        return self.sums / max(self.count, 1.0) + self.centre

    @cached_property
    def covariance(self) -> NDArray[np.float64]:
        """The estimated covariance matrix, moved to the nearest one that has no negative variance in any direction."""
        size = max(self.count, 1.0)
        away = self.sums / size
        raw = self.products / size - np.outer(away, away)
        values, vectors = np.linalg.eigh(raw)
        near: NDArray[np.float64] = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return (near + near.T) / 2.0

    @property
    def correlation(self) -> NDArray[np.float64]:
        """The estimated correlation matrix; a column without variance correlates with nothing."""
        spread = np.sqrt(np.diag(self.covariance))
        safe = np.where(spread > 0, spread, 1.0)
        matrix: NDArray[np.float64] = np.clip(self.covariance / np.outer(safe, safe), -1.0, 1.0)
        np.fill_diagonal(matrix, 1.0)
        return matrix


@step
def private_covariance(space: Space, *, scale: Real) -> Mechanism:
    """`Moments` of rows of bounded numbers: count, means, covariance and correlation together, by Gaussian noise.

    `scale` is the noise in units in which every column reaches from -1 to 1 around the middle of its bounds: a product of two
    columns gets the noise scale·(half range)². All columns share one lattice and one pair of bounds.

    Guarantee: one Gaussian release. For k columns a row added or removed moves count, sums and products by at most
    1 + k + k(k+1)/2 in squared L2 (in those units); a changed row leaves the count alone.
    """
    lattice, columns = _columns(space)
    low, high = lattice.lower or 0, lattice.upper or 0
    middle, half = (low + high) // 2, -(-(high - low) // 2)
    width = positive(scale=scale)
    entries, product = np.triu_indices(columns), RoundedGaussianNoise(width * half * half)

    def release(data: Any, entropy: Entropy) -> Moments:
        centred = np.clip(_table(data, columns, low), low, high) - middle
        sums, products = exact_moments(centred, half)
        count = len(centred) + noise.rounded_gaussian(width, entropy)
        noisy_sums = noisy_values(sums, noise=RoundedGaussianNoise(width * half), entropy=entropy)
        upper = noisy_values(products[entries], noise=product, entropy=entropy)
        return _moments(count, noisy_sums, upper, columns, lattice.step, middle)

    def cost(d_in: Distance) -> Cost:
        rows = added_or_removed(space.metric, d_in)
        counted = 0 if isinstance(space.metric, ChangeOne | Hamming) else 1
        each = counted + columns + columns * (columns + 1) // 2
        return Gaussian(scale=width, squared_sensitivity=rows * rows * each)

    return Mechanism(
        space,
        release,
        cost,
        Utility(
            "value of each sum of products",
            lambda beta: product.error(beta) * lattice.step**2,
            lambda beta: product.error(beta, count=len(entries[0])) * lattice.step**2,
        ),
    )


def _columns(space: Space) -> tuple[Lattice, int]:
    rows: Rows = rows_of(space, "private_covariance")
    match rows.element:
        case Vectors(Lattice(lower=int() as low, upper=int() as high, missing=False) as lattice, length) if low < high:
            if not (length >= 1 and high - low <= _FINEST):
                raise InvalidArgument(
                    f"private_covariance needs at least one column of at most {_FINEST} steps, got {length} of {high - low}"
                )
            return lattice, length
        case _:
            raise SpaceMismatch(
                f"private_covariance needs rows of numbers on a lattice with public bounds, got {rows.element!r}"
            )


def _table(data: Any, columns: int, low: int) -> NDArray[np.int64]:
    """Rows of whole numbers; what is none, and what a short row lacks, is the lower bound."""
    if isinstance(data, np.ndarray) and data.dtype.kind == "i" and data.ndim == 2 and data.shape[1] == columns:
        return data.astype(np.int64, copy=False)
    table = np.full((row_total(data), columns), low, dtype=np.int64)
    for place, row in enumerate(cells(data)):
        for column, cell in enumerate(parts(row)[:columns]):
            step = whole(cell)
            table[place, column] = low if step is None else min(max(step, _LEAST), _MOST)
    return table


def exact_moments(centred: NDArray[np.int64], reach: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sums and sums of products of whole numbers within ±reach: exact.

    A block of r rows has products and partial sums below r·reach² <= 2**53 in absolute value, so doubles hold every one of them
    exactly, whatever the order in which a matrix product adds. Blocks are added as Python integers and kept within int64.
    """
    columns = centred.shape[1]
    block = max(1, _EXACT // max(reach * reach, 1))
    products = np.zeros((columns, columns), dtype=object)
    for start in range(0, len(centred), min(block, 1 << 16)):
        part = centred[start : start + min(block, 1 << 16)].astype(np.float64)
        products += (part.T @ part).astype(np.int64)
    return centred.sum(axis=0, dtype=np.int64), within_int64(
        products
    )  # entries below 2**16: 2**47 rows would have to be added


def _moments(
    count: int, sums: NDArray[np.int64], upper: NDArray[np.int64], columns: int, step: Fraction, middle: int
) -> Moments:
    width = float(step)
    matrix = np.zeros((columns, columns))
    matrix[np.triu_indices(columns)] = upper * width * width
    full = matrix + np.triu(matrix, 1).T
    return Moments(float(count), sums.astype(np.float64) * width, full, float(middle * step))
