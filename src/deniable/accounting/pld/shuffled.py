"""Shuffled local reports: the clones' pair of Feldman, McMillan and Talwar (2020), with the number of clones seen.

C ~ Binomial(n-1, e^-eps0) others are clones; A ~ Binomial(C, 1/2) of them say "0"; D says whether the unit keeps its own
answer, with
probability p = e^eps0/(1+e^eps0). The pair compares (A+D, C-A+1-D) with (A+1-D, C-A+D). Given C = c, the first count is m with mass
p b(m-1) + (1-p) b(m) under P and (1-p) b(m-1) + p b(m) under Q, b the masses of Binomial(c, 1/2); the loss follows from
b(m-1)/b(m) = m/(c+1-m).
One more clone never hurts, so counts are grouped: at the lowest of a group to bound from above, at the highest from below. The
atoms are then put into narrow bins: split to a bin's ends from above, merged within it from below.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from deniable.accounting.pld.atoms import Atoms, AtomsPair
from deniable.accounting.pld.floats import Floats, U, float_above, float_below
from deniable.exact import exp

_REACH = 13.5
_FINE = 1e-4


def shuffled(epsilon: Fraction, reports: int) -> AtomsPair:
    """`reports` reports of an eps0-local randomiser through a shuffler."""
    clone, keep = exp(-epsilon, 80), 1 / (1 + exp(-epsilon, 80))
    typical = 1 / math.sqrt((reports - 1) * float(clone.lower) + 1)
    edges = _edges(min(typical, 0.2) / 60, float_above(epsilon))
    above, below = np.zeros(len(edges)), np.zeros((2, len(edges)))
    for weight, loss, own, _ in _outcomes(reports - 1, float_below(clone.lower), float_above(keep.upper), lowest=True):
        loss = np.minimum(loss + 1e-13 * (1 + np.abs(loss)), edges[-1])
        place = np.clip(np.searchsorted(edges, loss, side="right") - 1, 0, len(edges) - 2)
        share = np.clip(np.expm1(edges[place] - loss) / np.expm1(edges[place] - edges[place + 1]), 0.0, 1.0)
        share = np.minimum(share * (1 + 1e-12), 1.0)
        np.add.at(above, place, weight * own * (1 - share))
        np.add.at(above, place + 1, weight * own * share)
    for weight, loss, own, other in _outcomes(
        reports - 1, float_above(clone.upper), float_below(keep.lower), lowest=False
    ):
        place = np.clip(np.searchsorted(edges, loss, side="right") - 1, 0, len(edges) - 1)
        np.add.at(below[0], place, weight * own)
        np.add.at(below[1], place, weight * other)
    error = _rounding(reports)
    kept = (below[0] > 0) & (below[1] > 0)
    merged = np.log(below[0][kept] / below[1][kept])
    order = np.argsort(merged, kind="stable")
    missing = 1e-36 * (1 + reports)
    return AtomsPair(
        Atoms(merged[order] - 4 * error, (below[0][kept] * (1 - 2 * error))[order]),
        Atoms(edges, above * (1 + 2 * error), missing),
        ceiling=float_above(epsilon),
    )


def _edges(width: float, top: float) -> Floats:
    """Bins of equal width near 0, then in geometric progression, up to `top` on both sides."""
    near = width * np.arange(0, 900)
    far = near[-1] * 1.002 ** np.arange(1, 8000)
    half = np.concatenate([near, far])
    half = np.append(half[half < top], top)
    return np.concatenate([-half[:0:-1], half])


def _rounding(reports: int) -> float:
    """Each partial sum of logarithms (below 200 in size) and of masses adds a rounding error; at most so many terms are summed."""
    return 1e-12 + 400 * U * (2 * _REACH * math.sqrt(reports) + 50)


def _outcomes(others: int, chance: float, keep: float, *, lowest: bool) -> list[tuple[float, Floats, Floats, Floats]]:
    """For each group of clone counts: its weight, and for each first count its loss and its masses under P and Q."""
    first, weights = _binomial(others, chance)
    width = max(1, math.floor(_FINE * (first + len(weights) / 2)))
    found = []
    for start in range(0, len(weights), width):
        block = weights[start : start + width]
        count = first + start + (0 if lowest else len(block) - 1)
        at, mass = _binomial(count, 0.5)
        m = at + np.arange(len(mass) + 1, dtype=np.float64)
        before, here = np.append(0.0, mass), np.append(mass, 0.0)
        own, other = keep * before + (1 - keep) * here, (1 - keep) * before + keep * here
        loss = np.log((keep * m + (1 - keep) * (count + 1 - m)) / ((1 - keep) * m + keep * (count + 1 - m)))
        found.append((float(block.sum()), loss, own, other))
    return found


def _binomial(trials: int, chance: float) -> tuple[int, Floats]:
    """The masses of a binomial law around its mean, as far as they are not below about 1e-38, and where they begin.

    From ratios of neighbours, scaled to one; `_rounding` bounds the relative error.
    """
    mean, spread = trials * chance, math.sqrt(trials * chance * (1 - chance))
    first = max(0, math.floor(mean - _REACH * spread - 20))
    last = min(trials, math.ceil(mean + _REACH * spread + 20))
    k = np.arange(first, last, dtype=np.float64)
    logs = np.concatenate([[0.0], np.cumsum(np.log((trials - k) / (k + 1) * (chance / (1 - chance))))])
    weights = np.exp(logs - logs.max())
    return first, weights / float(weights.sum())
