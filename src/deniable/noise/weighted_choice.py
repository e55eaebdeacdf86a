"""Choices among groups of equal candidates, and many choices at once: P(i) proportional to count · exp(score / scale), exactly.

One choice among single candidates is `exponential_choice`, whose work does not depend on the scores.

Floating point only proposes. Each weight gets a whole number that is certainly not smaller (in units of a power of two); an
index is drawn in proportion to those whole numbers and kept with probability weight / whole number. Where that whole number is
known to be close, the first word almost always decides; certified enclosures decide everything else, and every entry too far
from the best for floating point to follow. Rejection makes the law exact: `docs/theory/choice.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.exact import Interval, exp
from deniable.noise.coin import near_and_beyond, passes
from deniable.noise.series import LARGEST, exp_minus
from deniable.noise.uniform import uniform_bits

if TYPE_CHECKING:
    from deniable.noise.entropy import Entropy

Ints: TypeAlias = NDArray[np.int64]

DRAWN = 62
"""Whole-numbered weights of one choice add up to at least 2**(DRAWN - 2) and less than 2**DRAWN."""
MARGIN = 2.0**-30
"""Far above what `exp_minus`, two products and the conversions can lose together (about 2**-39)."""
_WORD = 63
"""How many bits of the uniform number that keeps or refuses a proposal are read at first."""
_LARGE = 2**30
_SURE = 2**63 - 2**39
"""A proposal of at least _LARGE units, of an entry nearer than LARGEST scales to the best, is too large by less than 2**-28
of it, so a word below this keeps it at once. Further away a proposal may be too large by any factor: that one is always
tested."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Upper weights of several independent choices, one per row.

    `weights[r, i]` is at least counts[r, i] · exp(-gaps[r, i]/scale) · 2**unit[r], and a count of zero has weight zero.
    """

    gaps: NDArray[Any]
    counts: Ints | None
    weights: Ints
    unit: Ints
    scale: Fraction

    def factor(self, row: int, index: int) -> Fraction:
        """count · 2**unit / proposed weight: what exp(-gap/scale) is multiplied by to become a chance."""
        count = 1 if self.counts is None else int(self.counts[row, index])
        return count * Fraction(2) ** int(self.unit[row]) / int(self.weights[row, index])


def proposal(scores: NDArray[Any], *, scale: Fraction, counts: Ints | None = None) -> Proposal:
    """Whole-numbered weights that dominate count · exp((score - best)/scale), best taken over counts above zero."""
    table = scores if scores.dtype == object else scores.astype(np.int64, copy=False)
    gaps = _gaps(table, counts)
    floats = _upper_floats(gaps, counts, scale)
    unit = DRAWN - 1 - np.frexp(floats.sum(axis=1))[1].astype(np.int64)
    weights = _whole(floats, counts, unit)
    return Proposal(gaps, counts, weights, unit, scale)


def upper_weights(gaps: NDArray[Any], counts: Ints | None, unit: Ints, scale: Fraction) -> Ints:
    """Whole numbers of units that are at least count · exp(-gap/scale) · 2**unit."""
    return _whole(_upper_floats(gaps, counts, scale), counts, unit)


def _upper_floats(gaps: NDArray[Any], counts: Ints | None, scale: Fraction) -> NDArray[np.float64]:
    floats = exp_minus(_lacks(gaps, scale))
    floats *= 1.0 + MARGIN if counts is None else counts * (1.0 + MARGIN)
    return floats


def _lacks(gaps: NDArray[Any], scale: Fraction) -> NDArray[np.float64]:
    """Gaps in scales, at most LARGEST; what is below LARGEST is off by less than 2**-45."""
    if gaps.dtype == object:
        exact = [float(min(gap / scale, Fraction(LARGEST))) for gap in gaps.ravel().tolist()]
        return np.array(exact).reshape(gaps.shape)
    # Words are below 2**64: a scale beyond the limits makes every lack vanish, or every lack but zero LARGEST.
    rate = 1.0 / float(min(max(scale, Fraction(1, 10**300)), Fraction(10**300)))
    return np.minimum(gaps.astype(np.float64) * rate, LARGEST)


def _whole(floats: NDArray[np.float64], counts: Ints | None, unit: Ints) -> Ints:
    weights: Ints = np.ldexp(floats, unit[:, None]).astype(np.int64)  # cuts towards zero
    weights += 1 if counts is None else counts > 0
    return weights


def _gaps(table: NDArray[Any], counts: Ints | None) -> NDArray[Any]:
    """best - score, exact: the difference of two int64 always fits an unsigned word. Zero where the count is zero."""
    if counts is None:
        best = table.max(axis=1, keepdims=True)
    else:
        lowest = table.min(axis=1, keepdims=True)
        best = np.where(counts > 0, table, lowest).max(axis=1, keepdims=True)
    wrapped = table if table.dtype == object else table.astype(np.uint64)  # unsigned words wrap to the exact difference
    gaps = best.astype(wrapped.dtype) - wrapped
    return gaps if counts is None else np.where(counts > 0, gaps, 0)


def weighted_choices(
    scores: NDArray[Any], *, scale: Fraction, entropy: Entropy, counts: NDArray[Any] | None = None
) -> NDArray[np.int64]:
    """One index per row of a table of whole-numbered scores.

    Guarantee: row by row and independently, P(i) = counts[i] exp(scores[i]/scale) / sum, exactly. Every row needs an entry
    with a count above zero.
    """
    offer = proposal(
        np.asarray(scores), scale=scale, counts=None if counts is None else np.asarray(counts, dtype=np.int64)
    )
    edges = np.cumsum(offer.weights, axis=1)  # below 2**DRAWN
    best = ((offer.gaps == 0) & (offer.weights > 0)).argmax(axis=1)
    totals, everyone = edges[:, -1], np.arange(len(edges))
    start = (
        edges[everyone, best] - offer.weights[everyone, best]
    )  # the point zero lies in the first of the best entries
    answer = np.zeros(len(edges), dtype=np.int64)
    rows = everyone
    while rows.size:
        points = uniform_bits(entropy, rows.size, DRAWN)
        rows_in = rows[points < totals[rows]]
        turned = points[points < totals[rows]] + start[rows_in]
        picked = _located(edges, rows_in, np.where(turned < totals[rows_in], turned, turned - totals[rows_in]))
        kept = accepted(offer, rows_in, picked, entropy)
        answer[rows_in[kept]] = picked[kept]
        rows = np.setdiff1d(rows, rows_in[kept], assume_unique=True)
    return answer


def weighted_choice(scores: NDArray[Any], *, counts: NDArray[Any], scale: Fraction, entropy: Entropy) -> int:
    """One index of a list of whole-numbered scores, P(i) proportional to counts[i] · exp(scores[i]/scale)."""
    table, sizes = np.asarray(scores)[None, :], np.asarray(counts)[None, :]
    return int(weighted_choices(table, scale=scale, entropy=entropy, counts=sizes)[0])


def _located(edges: Ints, rows: Ints, points: Ints) -> Ints:
    """For each row the first index whose edge lies above the point."""
    if len(edges) == 1:
        return np.searchsorted(edges[0], points, side="right").astype(np.int64)
    below: Ints = (edges[rows] <= points[:, None]).sum(axis=1, dtype=np.int64)
    return below


def accepted(offer: Proposal, rows: Ints, picked: Ints, entropy: Entropy) -> NDArray[np.bool_]:
    """Keep each pick with probability true weight / proposed weight."""
    words = uniform_bits(entropy, rows.size, _WORD)
    close = (offer.weights[rows, picked] >= _LARGE) & (_lacks(offer.gaps[rows, picked], offer.scale) < LARGEST)
    kept = close & (words < _SURE)
    for place in np.flatnonzero(~kept):
        kept[place] = _below(offer, int(rows[place]), int(picked[place]), int(words[place]), entropy)
    return kept


def _below(offer: Proposal, row: int, index: int, word: int, entropy: Entropy) -> bool:
    """Is the uniform number that starts with this word below true weight / proposed weight?

    A proposal is no smaller than count · exp(-LARGEST) units, so factor · exp(-near) is a chance also where part of the exponent
    lies beyond, and that part is a coin of its own.
    """
    near, beyond = near_and_beyond(int(offer.gaps[row, index]) / offer.scale)
    return _below_share(offer.factor(row, index), near, word, entropy) and passes(beyond, entropy)


def _below_share(factor: Fraction, exponent: Fraction, word: int, entropy: Entropy) -> bool:
    """Is the uniform number that starts with this word below factor · exp(-exponent)? More bits while it is open."""
    bits = _WORD
    while True:
        share = exp(-exponent, bits + 16) * factor
        drawn = Interval(Fraction(word, 1 << bits), Fraction(word + 1, 1 << bits))
        if drawn.upper <= share.lower:
            return True
        if drawn.lower >= share.upper:
            return False
        word, bits = word << 64 | entropy.bits(64), bits + 64
