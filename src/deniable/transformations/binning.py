"""Public bins and categories: which one each row falls in, and how well each of them splits the rows. Keys never come from data."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Any

import numpy as np

from deniable.core import Booleans, Categories, Lattice, LInfinity, Numbers, Space, Transformation, Vectors, step
from deniable.core.cells import cells
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, integer, rational
from deniable.transformations.column_arrays import Steps, floats, steps
from deniable.transformations.row_metrics import SIZED, by_replacement, deterministic, rows_of, rowwise, times

_MOST_KEYS = 2**24
_FINEST_SHARE = 10**6
"""Scores are counted in shares of a row; with at most this many to a row 9·10**12 rows fit 64 bits."""


def categories_of(space: Space, who: str) -> tuple[Hashable, ...]:
    """The public values a column may take, as people read them: categories, or the points of a bounded lattice."""
    element = rows_of(space, who).element
    if isinstance(element, Categories):
        return element.values
    if isinstance(element, Booleans) and not element.missing:
        return (True, False)
    if isinstance(element, Lattice) and element.lower is not None and element.upper is not None and not element.missing:
        if not element.upper - element.lower < _MOST_KEYS:
            raise SpaceMismatch(f"{who} would have more than 2**24 keys, got {element!r}; bin first")
        points = range(element.lower, element.upper + 1)
        return tuple(points) if element.step == 1 else tuple(element.read(point) for point in points)
    raise SpaceMismatch(
        f"{who} needs public categories, never keys from the data, got {element!r}; categorize or bin first"
    )


def places(data: Any, space: Space) -> Steps:
    """The place of each row's value among the public categories; -1 for a value that is none of them."""
    element = rows_of(space, "counting").element
    if isinstance(element, Lattice):
        assert element.lower is not None
        return steps(data, element) - element.lower
    place = {key: index for index, key in enumerate(categories_of(space, "counting"))}
    if isinstance(data, np.ndarray) and data.ndim == 1 and data.dtype.kind in "iufbU":
        distinct, inverse = np.unique(data, return_inverse=True)
        return np.array([place.get(key, -1) for key in distinct.tolist()], dtype=np.int64)[inverse]
    return np.fromiter((_place(place, cell) for cell in cells(data)), dtype=np.int64)


def _place(place: dict[Hashable, int], cell: Any) -> int:
    try:
        return place.get(cell, -1)
    except Exception:  # not hashable, so no category
        return -1


def rising_edges(edges: Sequence[Real]) -> tuple[Fraction, ...]:
    """At least two edges, strictly rising, exact."""
    rising = tuple(rational(edge=edge) for edge in edges)
    if len(rising) < 2 or any(not a < b for a, b in pairwise(rising)):
        raise InvalidArgument(f"edges must be at least two rising numbers, got {shown_edges(edges)}")
    return rising


def shown_edges(edges: Sequence[Real]) -> str:
    """A few of the edges, for a message."""
    first = ", ".join(repr(edge) for edge in list(edges)[:6])
    return f"[{first}{', ...' if len(edges) > 6 else ''}]"


def numeric(space: Space, who: str) -> Numbers | Lattice:
    """The numbers of a column, on a grid or not; anything else is refused."""
    element = rows_of(space, who).element
    if not isinstance(element, Numbers | Lattice) or (isinstance(element, Lattice) and element.missing):
        raise SpaceMismatch(f"{who} works on numbers, got {element!r}; cast, impute or drop missing values first")
    return element


def from_edges(edges: Sequence[Fraction], element: Numbers | Lattice) -> Any:
    """Edges such that value >= edge exactly if it is >= the number returned: whole steps on a grid, else doubles."""
    if isinstance(element, Lattice):
        return _int64([ceil(edge / element.step) for edge in edges])
    return np.array([_double(edge, toward=np.inf) for edge in edges], dtype=np.float64)


def up_to_edges(edges: Sequence[Fraction], element: Numbers | Lattice) -> Any:
    """Edges such that value <= edge exactly if it is <= the number returned."""
    if isinstance(element, Lattice):
        return _int64([floor(edge / element.step) for edge in edges])
    return np.array([_double(edge, toward=-np.inf) for edge in edges], dtype=np.float64)


def _int64(points: list[int]) -> Steps:
    """Public points as int64; beyond its range there are no values."""
    return np.array([min(max(point, -(2**63)), 2**63 - 1) for point in points], dtype=np.int64)


def _double(edge: Fraction, *, toward: float) -> float:
    """The double nearest to the edge on the side of `toward`, or the edge itself."""
    try:
        near = float(edge)
    except OverflowError:
        return np.inf if edge > 0 else -np.inf
    beyond = Fraction(near) - edge
    return near if beyond == 0 or (beyond > 0) == (toward > 0) else float(np.nextafter(near, toward))


def values_of(data: Any, element: Numbers | Lattice) -> Any:
    """A column's values in the form its edges have; missing values lie below everything."""
    if isinstance(element, Lattice):
        return steps(data, element)
    values = floats(data)
    return np.where(np.isnan(values), -np.inf, values)


def bin_numbers(data: Any, inner: Any, element: Numbers | Lattice) -> Any:
    """Which bin each value falls in, given the inner edges as `from_edges` makes them; missing values fall in the first."""
    return np.searchsorted(inner, values_of(data, element), side="right")


@step
def bins(space: Space, *, edges: Sequence[Real]) -> Transformation:
    """The number (from 0) of the bin each value falls in: bin i holds edges[i] <= value < edges[i+1], exactly. The first and last
    bin take what lies beyond them, and missing values go to the first.

    Guarantee: distances do not grow; the result is never missing.
    """
    rising = rising_edges(edges)
    element = numeric(space, "bins")
    inner = from_edges(rising[1:-1], element)
    target = Lattice(Fraction(1), 0, len(rising) - 2)
    return rowwise(space, target, lambda data: bin_numbers(data, inner, element).astype(np.int64))


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
    """Each row as a vector with a single one, at the place of its public category; a value that is none is all zeros.

    Guarantee: distances do not grow.
    """
    keys = categories_of(space, "one_hot")
    bit = Lattice(Fraction(1), 0, 1)

    def coded(data: Any) -> Any:
        place = places(data, space)
        table = np.zeros((len(place), len(keys)), dtype=np.int64)
        known = np.flatnonzero(place >= 0)
        table[known, place[known]] = 1
        return table

    return rowwise(space, Vectors(bit, len(keys)), coded)


@step
@by_replacement
def quantile_scores(space: Space, *, q: Real, candidates: Sequence[Real]) -> Transformation:
    """For every public candidate, how well it splits the rows: minus its rank's distance from the quantile, as whole numbers.

    The score of c is -max(below(c) - q·n, above(c) - (1 - q)·n, 0), so a true quantile scores zero.

    Guarantee: one added or removed row moves every score by at most max(q, 1 - q).
    """
    share = rational(q=q)
    if not 0 <= share <= 1:
        raise InvalidArgument(f"q must be between 0 and 1, got {q!r}")
    if not share.denominator <= _FINEST_SHARE:
        raise InvalidArgument(f"q must be a fraction with a denominator up to {_FINEST_SHARE}, got {q!r}; round it")
    points = [rational(candidate=c) for c in candidates]
    if not points or any(not a < b for a, b in pairwise(points)):
        raise InvalidArgument("candidates must be rising numbers, at least one; they are public, never data")
    element = rows_of(space, "quantile_scores").element
    if not isinstance(element, Lattice) or element.missing:
        raise SpaceMismatch(f"quantile_scores works on numbers on a grid, got {element!r}; clamp first")
    top, bottom = share.numerator, share.denominator
    low, high = from_edges(points, element), up_to_edges(points, element)

    def scored(data: Any) -> Any:
        values = np.sort(steps(data, element))
        rows = len(values)
        below = np.searchsorted(values, low, side="left").astype(np.int64)
        above = rows - np.searchsorted(values, high, side="right").astype(np.int64)
        # rows in memory, fewer than 2**42, times a denominator up to 10**6
        wrong = np.maximum(below * bottom - top * rows, above * bottom - (bottom - top) * rows)
        return -np.maximum(wrong, 0)

    target = Space(Vectors(Lattice(Fraction(1, bottom)), len(points)), LInfinity())
    reach = max(share, 1 - share)
    factor = Fraction(1) if isinstance(space.metric, SIZED) else reach

    return Transformation(space, target, deterministic(scored), times(factor))
