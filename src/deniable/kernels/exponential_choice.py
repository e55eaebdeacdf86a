"""Choosing by exponential weights: the best of a few, the k best by peeling, and one among all integers.

Peeling chooses one, leaves it out and chooses again. Guarantee: k rounds cost k times what one choice costs, by composition; a
later round's candidates depend on earlier choices alone. The error of one choice at beta/k holds for all k rounds together with
probability 1 - beta.

Among all integers, P(n) is proportional to exp(score(n) / scale), with scores on a finite run of them and, beyond each end, scores
that fall by a fixed amount for ever. The tails are geometric series, so the normalising sum is known in closed form; where a tail
does not fall the sum is infinite, and the choice is refused. Proof and cost: `docs/theory/integer-choice.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, lcm
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.errors import InvalidArgument
from deniable.exact import Interval, exp, ln, number_of
from deniable.exact.guards import integer, positive
from deniable.noise import Entropy
from deniable.noise.weighted_choice import weighted_choice

Left: TypeAlias = NDArray[np.int64]
"""For every row of candidates 1 where one is still to be chosen, 0 where it was."""
_FLATTEST = 1 << 40
"""A tail that falls by less than a scale over so many integers is refused: its candidates could not be told apart."""
_STEEPEST = 1 << 1000
"""A tail that falls by more scales from one integer to the next is refused: no table of its places could be built."""
_BITS = 128
_NEGLIGIBLE = 256


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


@dataclass(frozen=True, slots=True)
class Tails:
    """How far scores fall from one integer to the next beyond the left and the right end; None where there is nothing beyond."""

    left: Fraction | None
    right: Fraction | None
    scale: Fraction

    def __post_init__(self) -> None:
        positive(scale=self.scale)
        for name, fall in (("left", self.left), ("right", self.right)):
            if fall is not None and not fall > 0:
                raise InvalidArgument(f"the {name} tail must fall, or the weights add up to infinity; got fall {fall}")
            if fall is not None and not self.scale / fall <= _FLATTEST:
                raise InvalidArgument(f"the {name} tail falls by {fall} a step, too little for a scale of {self.scale}")
            if fall is not None and not fall <= self.scale * _STEEPEST:
                raise InvalidArgument(
                    f"the {name} tail falls by more than 2**1000 scales a step; end the candidates there"
                )

    @property
    def falls(self) -> tuple[Fraction | None, Fraction | None]:
        """Both falls, left first."""
        return self.left, self.right

    def rate(self, fall: Fraction) -> Interval:
        """The ratio of two neighbouring weights of a tail: exp(-fall / scale)."""
        return exp(-fall / self.scale, _BITS)

    def beyond(self, fall: Fraction | None) -> Interval:
        """What a whole tail weighs, in weights of the end it hangs on: q / (1 - q)."""
        if fall is None:
            return Interval.point(0)
        ratio = self.rate(fall)
        return ratio / (1 - ratio)


def integer_choice(scores: Sequence[int] | NDArray[Any], tails: Tails, entropy: Entropy) -> int:
    """A place in the list of whole-numbered scores, or before (negative) or behind it.

    Guarantee: P(place) is proportional to exp(score / scale), exactly, over the list and both tails. Redrawn a number of times that
    depends on the weights, less than eight on average.
    """
    while (place := attempt(scores, tails, entropy)) is None:
        pass
    return place


def attempt(scores: Sequence[int] | NDArray[Any], tails: Tails, entropy: Entropy) -> int | None:
    """One proposal: each place with probability proportional to its weight, or None.

    A tail is cut into blocks of b places, b·fall at least a scale. It is proposed as b equal candidates, of which the u-th is kept
    with probability q**u; a geometric count says by how many blocks it lies further out. Everything else is kept only where that
    count is zero, so that all weights carry the same factor 1 - q**b.
    """
    values, unit = _with_tails(scores, tails)
    blocks = [1 if fall is None else ceil(tails.scale / fall) for fall in tails.falls]
    counts = [0 if fall is None else size for fall, size in zip(tails.falls, blocks, strict=True)]
    many = np.array([counts[0], *[1] * len(scores), counts[1]], dtype=np.int64)
    chosen = weighted_choice(values, counts=many, scale=tails.scale * unit, entropy=entropy) - 1
    further = [_further(fall, size, tails, entropy) for fall, size in zip(tails.falls, blocks, strict=True)]
    side = 0 if chosen < 0 else 1 if chosen >= len(scores) else None
    if any(count for at, count in enumerate(further) if at != side):
        return None
    if side is None:
        return chosen
    fall = tails.falls[side]
    assert fall is not None
    within = noise.uniform_below(blocks[side], entropy)
    if not noise.bernoulli_exp(within * fall / tails.scale, entropy):
        return None
    away = 1 + within + blocks[side] * further[side]
    return -away if side == 0 else len(scores) - 1 + away


def _further(fall: Fraction | None, block: int, tails: Tails, entropy: Entropy) -> int:
    return 0 if fall is None else noise.geometric(tails.scale / (fall * block), entropy)


def _with_tails(scores: Sequence[int] | NDArray[Any], tails: Tails) -> tuple[NDArray[Any], int]:
    """The first place of each tail, the list between them, and the unit that makes all of them whole numbers."""
    exact = [int(score) for score in scores]
    unit = lcm(*(fall.denominator for fall in tails.falls if fall is not None), 1)
    ends = [(score - (fall or 0)) * unit for score, fall in zip((exact[0], exact[-1]), tails.falls, strict=True)]
    return np.array([int(ends[0]), *(score * unit for score in exact), int(ends[1])], dtype=object), unit


def chance_of(scores: Sequence[int], tails: Tails, place: int) -> Interval:
    """P(place), enclosed."""
    return exp((_score(scores, tails, place) - max(scores)) / tails.scale, _BITS) / total_weight(scores, tails)


def log_chance(scores: Sequence[int], tails: Tails, place: int) -> Interval:
    """ln P(place), enclosed; also where P(place) is too small to write down."""
    return (_score(scores, tails, place) - max(scores)) / tails.scale - ln(total_weight(scores, tails), _BITS)


def total_weight(scores: Sequence[int], tails: Tails) -> Interval:
    """What all integers weigh together, in weights of the best: the list one by one, each tail as a geometric series."""
    weights = [_weight((max(scores) - score) / tails.scale) for score in scores]
    total = tails.beyond(tails.left) * weights[0] + tails.beyond(tails.right) * weights[-1]
    for weight in weights:
        total = (total + weight).rounded(_BITS)
    return total


def _weight(lack: Fraction) -> Interval:
    """exp(-lack) as a part of a sum that is at least one: beyond _NEGLIGIBLE scales it is only known to be small."""
    return exp(-lack, _BITS) if lack <= _NEGLIGIBLE else Interval(Fraction(0), exp(-_NEGLIGIBLE, _BITS).upper)


def _score(scores: Sequence[int], tails: Tails, place: int) -> Fraction:
    """What a place scores, inside the list or beyond it; a place where nothing is has no score and is refused."""
    if 0 <= place < len(scores):
        return Fraction(scores[place])
    fall = tails.left if place < 0 else tails.right
    if fall is None:
        raise InvalidArgument(
            f"place {place} lies beyond the end of {number_of(len(scores), 'candidate')}, where there are none"
        )
    away, end = (-place, scores[0]) if place < 0 else (place - len(scores) + 1, scores[-1])
    return end - fall * away


def shortfall(beta: Fraction, *, count: int, tails: Tails) -> Fraction:
    """By how much the chosen score can fall short of the best, except with probability `beta`; rounded up.

    Of all candidates those that fall short by t or more weigh at most (count - 1 + Σ 1/(1 - q)) e**(-t/scale), the best weighs one.
    """
    candidates = Fraction(count - 1) + sum(1 + tails.beyond(fall).upper for fall in tails.falls if fall is not None)
    odds = candidates * (1 - beta) / beta
    return tails.scale * ln(odds).upper if odds > 1 else Fraction(0)
