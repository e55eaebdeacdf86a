"""Quantiles over a public grid of candidates, by the exponential mechanism on rank distance: plain functions on counts.

A candidate's score is -max(below - q·n, above - (1 - q)·n, 0), where `below` and `above` count the values on either side of
it and n all values: how many values too many lie on one side. A true quantile scores zero, also when many values are equal.
One added or removed value moves a score by at most max(q, 1 - q). Scores are whole multiples of 1/denominator(q): no rounding.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, probability

Counts: TypeAlias = NDArray[np.int64]

_FINEST = 10**6
_MOST_ROWS = 2**42
_FARTHEST = 2**61


def share(q: Real) -> Fraction:
    """The quantile's share, exact; a denominator beyond a million would only invite overflow."""
    fraction = probability(q=q)
    if not fraction.denominator <= _FINEST:
        raise InvalidArgument(f"q must have a denominator of at most {_FINEST}, got {q!r}; round it to six decimals")
    return fraction


def rank_scores(below: NDArray[Any], above: NDArray[Any], total: NDArray[Any] | int, q: Fraction) -> Counts:
    """Minus the rank distance of each candidate, in units of 1/denominator(q).

    Exact: `_MOST_ROWS` rows times the finest denominator is below 2**62; more rows are counted in Python's integers.
    """
    low, high = _excess(below, above, total, q, reach=0)
    wrong: Counts = np.maximum(np.maximum(low, high), 0)
    return -wrong


def lower_end_scores(
    below: NDArray[Any], above: NDArray[Any], total: NDArray[Any] | int, q: Fraction, *, reach: int, first: NDArray[Any]
) -> Counts:
    """Scores by which a value `reach` below the rank of the quantile is chosen, in units of 1/denominator(q).

    The `first` candidate is below every value there is, so that too many values below it is nothing it can be blamed for.
    Each score moves as those of `rank_scores` do. Some candidate scores zero: `docs/theory/quantile-intervals.md`.
    """
    low, high = _excess(below, above, total, q, reach=reach)
    wrong: Counts = np.maximum(np.maximum(np.where(first, 0, low + reach), high - reach), 0)
    return -wrong


def upper_end_scores(
    below: NDArray[Any], above: NDArray[Any], total: NDArray[Any] | int, q: Fraction, *, reach: int, last: NDArray[Any]
) -> Counts:
    """The same for a value `reach` above the rank of the quantile: `lower_end_scores` of the values in reverse."""
    return lower_end_scores(above, below, total, 1 - q, reach=reach, first=last)


def _excess(
    below: NDArray[Any], above: NDArray[Any], total: NDArray[Any] | int, q: Fraction, *, reach: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """How many values too many lie below and above each candidate, in units of 1/denominator(q); exact with `reach` added."""
    top, bottom = q.numerator, q.denominator
    everything = np.asarray(total, dtype=np.int64)
    kind = np.int64 if int(everything.max(initial=0)) <= _MOST_ROWS and reach <= _FARTHEST else object
    everything = everything.astype(kind)
    low = np.asarray(below, dtype=np.int64).astype(kind) * bottom - everything * top
    high = np.asarray(above, dtype=np.int64).astype(kind) * bottom - everything * (bottom - top)
    return low, high


def crowded_scores(below: Counts, above: Counts, crowd: Counts, *, total: int, q: Fraction, most: int) -> Counts:
    """Scores of candidates when `crowd` of the values above one lie before the next: counting those at the candidate costs `most`.

    Without this a cell that holds almost all values would leave no candidate near the quantile. The better of two scores that
    each move by at most max(q, 1 - q) moves by no more.
    """
    strict = rank_scores(below, above, total, q)
    return np.maximum(strict, rank_scores(below, above - crowd, total, q) - most)


def rank_spread(q: Fraction) -> Fraction:
    """How far one added or removed value can move two scores apart: 2·max(q, 1 - q)."""
    return 2 * max(q, 1 - q)
