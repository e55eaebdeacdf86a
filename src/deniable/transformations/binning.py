"""Public bins and categories: which one each row falls in. Keys never come from data."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from deniable.core import Categories, Lattice, Numbers, Space, Transformation, Vectors, step
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, integer, rational
from deniable.transformations.reading import cells, floats, steps
from deniable.transformations.rows import rows_of, rowwise


def categories_of(space: Space, who: str) -> tuple[Hashable, ...]:
    """The public values a column may take: categories, or the whole numbers within bounds."""
    element = rows_of(space, who).element
    if isinstance(element, Categories):
        return element.values
    if isinstance(element, Lattice) and element.lower is not None and element.upper is not None and not element.missing:
        return tuple(range(element.lower, element.upper + 1))
    raise SpaceMismatch(
        f"{who} needs public categories, never keys from the data, got {element!r}; categorize or bin first"
    )


def rising_edges(edges: Sequence[Real]) -> tuple[Fraction, ...]:
    """At least two edges, strictly rising, exact."""
    rising = tuple(rational(edge=edge) for edge in edges)
    if len(rising) < 2 or any(not a < b for a, b in pairwise(rising)):
        raise InvalidArgument(f"edges must be at least two rising numbers, got {list(edges)!r}")
    return rising


def bin_numbers(data: Any, inner: Any, space: Space) -> Any:
    """Which bin each value falls in, given the inner edges; missing values fall in the first."""
    element = rows_of(space, "binning").element
    values = steps(data) * float(element.step) if isinstance(element, Lattice) else floats(data)
    values = np.where(np.isnan(values), -np.inf, values)
    return np.searchsorted(inner, values, side="right")


@step
def bins(space: Space, *, edges: Sequence[Real]) -> Transformation:
    """The number (from 0) of the bin each value falls in; the first and last bin take what lies beyond them, and missing values
    go to the first.

    Guarantee: distances do not grow; the result is never missing.
    """
    rising = rising_edges(edges)
    element = rows_of(space, "bins").element
    if not isinstance(element, Numbers | Lattice) or (isinstance(element, Lattice) and element.missing):
        raise SpaceMismatch(f"bins works on numbers, got {element!r}")
    inner = np.array([float(edge) for edge in rising[1:-1]])
    target = Lattice(Fraction(1), 0, len(rising) - 2)
    return rowwise(space, target, lambda data: bin_numbers(data, inner, space).astype(np.int64))


@step
def log_bands(space: Space, *, lowest: int, highest: int) -> Transformation:
    """The power of two band of each value: 0 for zero, missing and tiny values, else 1 + the exponent within [lowest, highest].

    Signs are kept: negative values have negative bands. Exponents come from the bits of the number (frexp), never from a logarithm.

    Guarantee: distances do not grow; zero, subnormal, NaN and infinite values have declared bands.
    """
    low, high = integer(lowest=lowest), integer(highest=highest)
    if not low <= high:
        raise InvalidArgument(f"lowest must not exceed highest, got {lowest!r} > {highest!r}")
    element = rows_of(space, "log_bands").element
    if not isinstance(element, Numbers):
        raise SpaceMismatch(f"log_bands works on numbers, got {element!r}")
    most = high - low + 1

    def banded(data: Any) -> Any:
        values = floats(data)
        clean = np.where(np.isnan(values), 0.0, values)
        finite = np.where(np.isinf(clean), 1.0, clean)
        exponent = np.frexp(finite)[1].astype(np.int64) - 1
        band = np.clip(exponent - low + 1, 0, most)
        band = np.where(np.isinf(clean), most, np.where(clean == 0, 0, band))
        return np.where(clean < 0, -band, band).astype(np.int64)

    return rowwise(space, Lattice(Fraction(1), -most, most), banded)


@step
def one_hot(space: Space) -> Transformation:
    """Each row as a vector with a single one, at the place of its public category.

    Guarantee: distances do not grow.
    """
    keys = categories_of(space, "one_hot")
    place = {key: index for index, key in enumerate(keys)}
    bit = Lattice(Fraction(1), 0, 1)

    def coded(data: Any) -> Any:
        rows = cells(data)
        table = np.zeros((len(rows), len(keys)), dtype=np.int64)
        table[np.arange(len(rows)), [place[row] for row in rows]] = 1
        return table

    return rowwise(space, Vectors(bit, len(keys)), coded)
