"""Private choices that follow from a histogram: which of its bins to pick, and how many."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Ranked:
    """A choice of a quantile from a histogram of `bins` bins."""

    histogram: str
    q: Fraction
    bins: int


@dataclass(frozen=True, slots=True)
class Ordered:
    """A choice of the `k` fullest bins of a histogram, one after another."""

    histogram: str
    k: int
    bins: int
