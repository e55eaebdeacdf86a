"""Ranking whole-numbered scores by their value after continuous noise, exactly.

Continuous noise has no ties, and its theorems need that. A noise variable is drawn rounded down to a fine lattice; should
two candidates fall on the same lattice point, both are read further, digit by digit, until they differ. The digits of an
exponential variable are independent, so reading on is one more table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from deniable.errors import InvalidArgument
from deniable.exact.guards import integer, shown
from deniable.noise.laplace import Digits, layout, lower_tables
from deniable.noise.table import CACHED, VECTOR_LIMIT, AliasTable, hashable, table_scale
from deniable.noise.table_laws import Blocks, Geometric, signed
from deniable.noise.uniform import permutation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deniable.noise.entropy import Entropy

_FINENESS = 40
"""The lattice has at least 2**39 points to one scale, so two candidates almost never share one."""
_FEW = 64


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best candidates, best first, and how far each one's noisy score lies above the next, rounded to the nearest."""

    indices: tuple[int, ...]
    gaps: tuple[int, ...]


def laplace_ranking(
    scores: Sequence[int] | NDArray[np.int64], scale: int | Fraction, count: int, entropy: Entropy
) -> Ranking:
    """The `count` largest scores after independent continuous Laplace noise of this scale, and the gaps between them.

    Guarantee: indices and gaps are an exact function of exact continuous noise. The last gap is to the next candidate
    that is not listed; where there is none it is left out.
    """
    return _shuffled(scores, _race(hashable(scale), True, entropy.word_bits), count, entropy)


def exponential_ranking(
    scores: Sequence[int] | NDArray[np.int64], scale: int | Fraction, count: int, entropy: Entropy
) -> Ranking:
    """The `count` largest scores after independent exponential noise of this scale; see `laplace_ranking`."""
    return _shuffled(scores, _race(hashable(scale), False, entropy.word_bits), count, entropy)


class Race:
    """Continuous noise of one scale: lattice noise, and the digits below the lattice."""

    __slots__ = ("_deeper", "_digit_bits", "_noise", "_scale", "_word_bits", "largest_digit", "lattice")

    def __init__(self, scale: Fraction, *, two_sided: bool, word_bits: int, fineness: int = _FINENESS) -> None:
        # two lattice points to a score at least, or gaps could not be rounded; one only where tests ask for ties
        finest = fineness - scale.numerator.bit_length() + scale.denominator.bit_length()
        self.lattice = max(finest, min(fineness, 1))
        self._scale, self._word_bits = scale * (1 << self.lattice), word_bits
        digits, bits = layout(self._scale)
        width = 1 << (digits * bits)
        lower = lower_tables(self._scale, digits=digits, bits=bits, word_bits=word_bits)
        if two_sided:
            top = AliasTable(Blocks(self._scale, width, shift=0), word_bits=word_bits, label=signed)
        else:
            top = AliasTable(Geometric(width / self._scale), word_bits=word_bits)
        self._noise = Digits(top, lower, bits=bits)
        self._digit_bits = max(word_bits // 8, 1)
        self.largest_digit = (1 << self._digit_bits) - 1
        self._deeper: dict[int, AliasTable] = {}

    def draws(self, count: int, entropy: Entropy) -> list[int]:
        """Noise rounded down to the lattice."""
        if count < _FEW or self._scale > VECTOR_LIMIT:
            return [self._noise.draw(entropy) for _ in range(count)]
        noise: list[int] = self._noise.draws(count, entropy).tolist()
        return noise

    def digit(self, index: int, depth: int, entropy: Entropy) -> int:
        """The next bits of candidate `index`'s exponential variable, `depth` digits below the lattice.

        The word is turned by the index: a uniform word stays uniform, and silence, whose words are all zero, still ranks.
        """
        if depth not in self._deeper:
            step = 1 / (self._scale * (1 << (self._digit_bits * (depth + 1))))
            self._deeper[depth] = AliasTable(Geometric(step, 1 << self._digit_bits), word_bits=self._word_bits)
        table, turn = self._deeper[depth], ~(index >> (self._digit_bits * depth)) & self.largest_digit
        return table.decoded(entropy.word() ^ (turn << table.shift), entropy)


@lru_cache(maxsize=CACHED)
def _race(given: int | Fraction, two_sided: bool, word_bits: int) -> Race:
    return Race(table_scale(given), two_sided=two_sided, word_bits=word_bits)


class _Runner:
    """One candidate: its noisy score in lattice points, and the digits below that were read so far."""

    __slots__ = ("_digits", "_negative", "index", "place")

    def __init__(self, index: int, place: int, *, negative: bool) -> None:
        self.index, self.place, self._negative, self._digits = index, place, negative, list[int]()

    def digit(self, depth: int, race: Race, entropy: Entropy) -> int:
        while len(self._digits) <= depth:
            digit = race.digit(self.index, len(self._digits), entropy)
            self._digits.append(race.largest_digit - digit if self._negative else digit)  # negatives count downwards
        return self._digits[depth]


class Runners:
    """The candidates of one race; compares the parts of their noisy scores that lie below the lattice."""

    __slots__ = ("_entropy", "_race", "runners")

    def __init__(self, scores: list[int], race: Race, entropy: Entropy) -> None:
        self._race, self._entropy = race, entropy
        self.runners = [
            _Runner(i, (score << race.lattice) + noise, negative=noise < 0)
            for i, (score, noise) in enumerate(zip(scores, race.draws(len(scores), entropy), strict=True))
        ]

    def fractions(self, a: _Runner, b: _Runner) -> int:
        """Below or above zero as a's fraction is below or above b's: digits are read until they differ."""
        depth, difference = 0, 0
        while not difference and a is not b:
            difference = a.digit(depth, self._race, self._entropy) - b.digit(depth, self._race, self._entropy)
            depth += 1
        return difference

    def behind(self, a: _Runner, b: _Runner) -> int:
        """A comparison that sorts the best first."""
        return b.place - a.place or self.fractions(b, a)

    def gap(self, a: _Runner, b: _Runner) -> int:
        """How far a leads b, to the nearest whole score: only a lead of exactly one half needs the fractions.

        They differ by less than one lattice point, and a half is a whole number of points: the lattice is finer than scores.
        """
        unit = 1 << self._race.lattice
        whole, part = divmod(a.place - b.place, unit)
        return whole + (2 * part > unit or (2 * part == unit and self.fractions(a, b) > 0))


def _shuffled(scores: Sequence[int] | NDArray[np.int64], race: Race, count: int, entropy: Entropy) -> Ranking:
    """The ranking, computed in a random order: how long sorting takes then says nothing about how the scores lay."""
    whole = [integer(score=score) for score in (scores.tolist() if isinstance(scores, np.ndarray) else scores)]
    order = permutation(len(whole), entropy).tolist()
    found = ranked([whole[i] for i in order], race, count, entropy)
    return Ranking(tuple(order[i] for i in found.indices), found.gaps)


def ranked(scores: list[int], race: Race, count: int, entropy: Entropy) -> Ranking:
    """The ranking, computed in the order given."""
    if not 1 <= integer(count=count) <= len(scores):
        raise InvalidArgument(f"count must be between 1 and the number of scores, {len(scores)}, got {shown(count)}")
    field = Runners(scores, race, entropy)
    best = sorted(field.runners, key=cmp_to_key(field.behind))[: count + 1]
    return Ranking(
        indices=tuple(runner.index for runner in best[:count]),
        gaps=tuple(field.gap(a, b) for a, b in pairwise(best)),
    )
