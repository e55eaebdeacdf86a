"""Choosing the best by exponential weights, and the k best by peeling: choose one, leave it out, choose again.

Guarantee: k rounds cost k times what one choice costs, by composition; a later round's candidates depend on earlier choices alone.
The error of one choice at beta/k holds for all k rounds together with probability 1 - beta.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.exact import ln
from deniable.exact.guards import integer

Left: TypeAlias = NDArray[np.int64]
"""For every row of candidates 1 where one is still to be chosen, 0 where it was."""


def peel(rows: int, candidates: int, k: int, pick: Callable[[Left], NDArray[np.int64]]) -> NDArray[np.int64]:
    """For each row k different candidates in the order of choice; `pick` chooses one of those that are left, in every row."""
    rounds = integer(k=k, least=0, greatest=candidates)
    left = np.ones((rows, candidates), dtype=np.int64)
    chosen, everyone = np.empty((rows, rounds), dtype=np.int64), np.arange(rows)
    for place in range(rounds):
        chosen[:, place] = pick(left)
        left[everyone, chosen[:, place]] = 0
    return chosen


def exponential_score_error(beta: Fraction, *, count: int, scale: Fraction) -> Fraction:
    """By how much the chosen score can fall short of the best, except with probability `beta`.

    Worst case: one best candidate and count - 1 that all fall short by the error t, where P[one of those] is
    (count - 1) e**(-t/scale) / (1 + (count - 1) e**(-t/scale)); rounded up.
    """
    odds = (count - 1) * (1 - beta) / beta
    return scale * ln(odds).upper if odds > 1 else Fraction(0)
