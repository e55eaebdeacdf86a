"""Exact choice among weighted candidates.

Scores may be private, so the work depends on how many candidates there are and not on their scores. Floating point only
proposes: each candidate gets an interval of integers that surely holds its weight, and a draw that falls between the two
ends is decided by exact arithmetic on that one candidate's weight, or drawn again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import lcm
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidArgument
from deniable.exact.guards import integer, nonnegative, positive, rational, shown
from deniable.noise.coin import below_exp
from deniable.noise.redraw import drawn
from deniable.noise.series import LARGEST, RELATIVE_ERROR, exp_minus
from deniable.noise.table import AliasTable
from deniable.noise.table_laws import Rational
from deniable.noise.uniform import uniform_below

if TYPE_CHECKING:
    from deniable.noise.entropy import Entropy

_HUGE = 1 << 500

Scores: TypeAlias = Sequence[int | Fraction] | NDArray[np.int64]


def categorical(weights: Sequence[int | Fraction], entropy: Entropy) -> int:
    """An index i with probability exactly weights[i] / sum(weights).

    Guarantee: the law is exact; the work does not depend on what is drawn.
    """
    sums = list(accumulate(_whole_weights(weights)))
    return bisect_right(sums, uniform_below(sums[-1], entropy))


def categoricals(weights: Sequence[int | Fraction], count: int, entropy: Entropy) -> NDArray[np.int64]:
    """`count` independent draws of `categorical`."""
    table = AliasTable(Rational(tuple(_whole_weights(weights))), word_bits=entropy.word_bits)
    return drawn(integer(count=count, least=0), lambda size: table.draws(size, entropy))


def _whole_weights(weights: Sequence[int | Fraction]) -> list[int]:
    """The same proportions in whole numbers."""
    exact = [nonnegative(weight=weight) for weight in weights]
    scale = lcm(*(weight.denominator for weight in exact))
    if not sum(exact) > 0:
        raise InvalidArgument(f"weights must have a positive sum, got {shown(weights)}")
    return [weight.numerator * (scale // weight.denominator) for weight in exact]


def exponential_choice(scores: Scores, scale: int | Fraction, entropy: Entropy) -> int:
    """An index i with probability proportional to exactly exp(scores[i] / scale).

    The same as the largest score after Gumbel noise of this scale. Guarantee: the law is exact; the work depends on the
    number of scores only, and the number of redraws is independent of what is kept.
    """
    lacks = _Lacks(scores, scale)
    bits = entropy.word_bits - 2 - lacks.count.bit_length()  # all weights together fit one word
    weights = exp_minus(lacks.floats) * 2.0**bits
    inner = np.floor(weights * (1 - 2 * RELATIVE_ERROR)).astype(np.int64)
    inner[lacks.floats >= LARGEST] = 0
    outer = np.ceil(weights * (1 + 2 * RELATIVE_ERROR)).astype(np.int64) + 1
    ends = np.cumsum(outer)  # count of them, each below 2**bits + 2: less than one word
    while True:
        place = uniform_below(int(ends[-1]), entropy)
        i = int(np.searchsorted(ends, place, side="right"))
        place -= int(ends[i]) - int(outer[i])
        if place < inner[i] or below_exp(lacks.exact(i), place, bits, entropy):
            return lacks.original(i)


def permute_and_flip(scores: Scores, scale: int | Fraction, entropy: Entropy) -> int:
    """The first index, in a uniform order, whose coin of probability exp((scores[i] - max)/scale) comes up.

    The same as the largest score after exponential noise of this scale. All coins are thrown and one of the successes is
    drawn uniformly, which is the same law without the telling stop. Guarantee: the law is exact; the work depends on the
    number of scores only.
    """
    lacks = _Lacks(scores, scale)
    words = entropy.words(lacks.count)
    unit = 2.0**-entropy.word_bits
    lead = exp_minus(lacks.floats) - words.astype(np.float64) * unit
    success = lead > 0
    for i in np.flatnonzero(np.abs(lead) <= 2 * RELATIVE_ERROR + unit).tolist():
        success[i] = below_exp(lacks.exact(i), int(words[i]), entropy.word_bits, entropy)
    chosen = np.flatnonzero(success)
    return lacks.original(int(chosen[uniform_below(chosen.size, entropy)]))


class _Lacks:
    """How far each score lies below the best, in units of the scale: as floats up to LARGEST, and exactly.

    The best score changes places with the first, so that zero words choose the best.
    """

    __slots__ = ("_best", "_rate", "_scores", "count", "floats")

    def __init__(self, scores: Scores, scale: int | Fraction) -> None:
        self._scores, unit = _whole_scores(scores)
        if not len(self._scores):
            raise InvalidArgument("scores must not be empty, got []")
        self._rate = unit / positive(scale=scale)
        self.count, self._best = len(self._scores), int(np.argmax(self._scores))
        # Capped, the product stays finite; whatever reaches a cap is far beyond LARGEST, or is zero.
        rate = float(min(self._rate, Fraction(_HUGE)))
        self.floats = np.minimum(_differences(self._scores, self._best) * rate, LARGEST)
        self.floats[[0, self._best]] = self.floats[[self._best, 0]]

    def original(self, i: int) -> int:
        """The caller's index of candidate i."""
        return self._best if i == 0 else 0 if i == self._best else i

    def exact(self, i: int) -> Fraction:
        """The lack of candidate i."""
        return (int(self._scores[self._best]) - int(self._scores[self.original(i)])) * self._rate


def _whole_scores(scores: Scores) -> tuple[NDArray[np.int64] | NDArray[np.object_], Fraction]:
    """The scores as integers (int64 where they fit, else Python's) and the size of their unit."""
    if isinstance(scores, np.ndarray) and scores.dtype.kind in "iu":
        return scores.astype(object) if scores.dtype == np.uint64 else scores.astype(np.int64), Fraction(1)
    exact = [rational(score=score) for score in scores]
    common = lcm(*(score.denominator for score in exact))
    whole = [score.numerator * (common // score.denominator) for score in exact]
    fits = all(-(1 << 63) <= score < 1 << 63 for score in whole)
    return np.array(whole, dtype=np.int64 if fits else object), Fraction(1, common)


def _differences(scores: NDArray[np.int64] | NDArray[np.object_], best: int) -> NDArray[np.float64]:
    """scores[best] - scores as correctly rounded floats, at most _HUGE."""
    if scores.dtype == np.int64:
        wrapped: NDArray[np.int64] = np.subtract(scores[best], scores, dtype=np.int64)
        return wrapped.view(np.uint64).astype(np.float64)
    return np.array([float(min(scores[best] - score, _HUGE)) for score in scores])
