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
    top, bottom = q.numerator, q.denominator
    everything = np.asarray(total, dtype=np.int64)
    kind = np.int64 if int(everything.max(initial=0)) <= _MOST_ROWS else object
    everything = everything.astype(kind)
    low = np.asarray(below, dtype=np.int64).astype(kind) * bottom - everything * top
    high = np.asarray(above, dtype=np.int64).astype(kind) * bottom - everything * (bottom - top)
    wrong: Counts = np.maximum(np.maximum(low, high), 0)
    return -wrong


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
