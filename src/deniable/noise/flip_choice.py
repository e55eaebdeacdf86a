"""Permute-and-flip over groups of equal candidates: the largest of many scores after exponential noise, exactly.

A group of a million equal candidates costs as much as one. Successes of the candidates' coins are thinned from the stream of
picks that also serves the exponential mechanism; a success counts only if that candidate's coin has not failed before.
`docs/theory/choice.md` has the proof.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.exact import Interval, exp, ln
from deniable.noise.entropy import Entropy
from deniable.noise.uniform import uniform_below, uniform_bits
from deniable.noise.windowed_choice import NOTHING, Arrivals, Pick, Rest, Table

_BITS = 63


def flip_choice(scores: NDArray[Any], *, counts: NDArray[Any], scale: Fraction, entropy: Entropy) -> int:
    """The entry whose candidate wins permute-and-flip, entry i standing for counts[i] candidates of score scores[i].

    Guarantee: P(i) = counts[i] · p_i ∫ (1 - p_i t)^-1 Π_j (1 - p_j t)^counts[j] dt over [0, 1], p = exp((score - best)/scale),
    exactly.
    """
    pick = windowed_flip(
        (np.asarray(scores), np.asarray(counts, dtype=np.int64)), NOTHING, scale=scale, entropy=entropy
    )
    assert pick is not None  # nothing is outside
    return pick.index


def windowed_flip(window: Table, rest: Rest, *, scale: Fraction, entropy: Entropy) -> Pick | None:
    """The winner's entry among window and rest together; None if the rest is not negligible."""
    stream = Arrivals.of(window, rest, scale=scale)
    if stream is None:
        return None
    clock, failed = _Clock(stream.rounds_per_weight), set[tuple[bool, int, int]]()
    for pick in stream.picks(entropy):
        clock.tick(entropy)
        if pick is None:
            continue
        if not pick.lack:
            return pick
        candidate = pick.outside, pick.index, uniform_below(pick.count, entropy)
        if candidate not in failed and clock.spared(pick.lack, entropy):
            return pick
        failed.add(candidate)
    raise AssertionError("the stream of picks has no end")


class _Clock:
    """When the rounds of a Poisson stream of known rate happen: the time is -ln of a product of uniform numbers, over the rate.

    The uniform numbers are read as far as a question needs. All words zero is time zero, at which nothing has failed.
    """

    __slots__ = ("_bits", "_rate", "_words")

    def __init__(self, rate: Fraction) -> None:
        self._rate, self._words, self._bits = rate, list[int](), _BITS

    def tick(self, entropy: Entropy) -> None:
        """One more round."""
        self._words.append(_uniform(self._bits, entropy))

    def spared(self, lack: Fraction, entropy: Entropy) -> bool:
        """Whether a coin with chance exp(-lack), thrown at unit rate since the start, has not failed yet.

        It fails at rate 1 - exp(-lack): the first failure comes after an exponential time, which is compared with the clock.
        """
        own = _uniform(self._bits, entropy)
        while True:
            hazard = (1 - _small(lack, self._bits + 16)) / self._rate
            early, late = self._elapsed()
            if late is not None and late * hazard.upper <= self._wait(own + 1).lower:
                return True
            if own and early * hazard.lower >= self._wait(own).upper:
                return False
            own = _longer(own, entropy)
            self._words = [_longer(word, entropy) for word in self._words]
            self._bits += 64

    def _wait(self, word: int) -> Interval:
        """-ln of word/2**bits."""
        return -ln(Fraction(word, 1 << self._bits), self._bits + 16)

    def _elapsed(self) -> tuple[Fraction, Fraction | None]:
        """-ln of the product of 1 - u, u between word/2**bits and (word + 1)/2**bits; None while it may still be infinite."""
        unit, bits = 1 << self._bits, self._bits + 16
        whole = unit ** len(self._words)
        least, most = (prod(unit - word - more for word in self._words) for more in (1, 0))
        late = -ln(Fraction(least, whole), bits).lower if least else None
        return -ln(Fraction(most, whole), bits).upper, late


def _small(lack: Fraction, bits: int) -> Interval:
    """exp(-lack), off by less than 2**-bits; beyond `bits` scales it is not computed."""
    return exp(-lack, bits) if lack <= bits else Interval(Fraction(0), exp(-bits, bits).upper)


def _uniform(bits: int, entropy: Entropy) -> int:
    head = int(uniform_bits(entropy, 1, _BITS)[0])
    while bits > _BITS:
        head, bits = _longer(head, entropy), bits - 64
    return head


def _longer(word: int, entropy: Entropy) -> int:
    return word << 64 | entropy.bits(64)
