"""Report noisy max: which candidate scores best after noise, or which k do. Noisy scores are never part of the answer.

Three noises, three laws: Gumbel noise is the exponential mechanism, exponential noise is permute-and-flip, and Laplace noise
on the lattice may also release by how much the winner leads, at no further cost. The k best come by peeling (choose, remove,
choose again) or by one shot of noise over all.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.core.domain import Lattice
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import Bounded, Cost, Exponential, Repeated
from deniable.errors import InvalidArgument
from deniable.exact import Interval, exp, number_of
from deniable.exact.guards import Real, integer, positive
from deniable.kernels.exponential_choice import exponential_score_error, peel
from deniable.kernels.laws import least
from deniable.mechanisms.carried import check_whole
from deniable.mechanisms.scores import Scores, scores, selection
from deniable.noise import Entropy
from deniable.noise.table import VECTOR_LIMIT


class MaxNoise(Enum):
    """The noise added to each score before the best is reported."""

    GUMBEL = "Gumbel: the exponential mechanism, composes best"
    EXPONENTIAL = "exponential: permute-and-flip, never worse than Gumbel in error"
    LAPLACE = "Laplace on the lattice"


@dataclass(frozen=True, slots=True)
class Leader:
    """The winner of a noisy contest, and by how much its noisy score could fall and still win."""

    winner: Any
    gap: int | float


@step
def report_noisy_max(space: Space, *, scale: Real, noise: MaxNoise = MaxNoise.GUMBEL) -> Mechanism:
    """The candidate with the largest score after independent noise of `scale`: its index, or its key when scores are keyed.

    Guarantee: epsilon = spread / scale for all three noises, where scores that move by at most d spread by 2d, or by d when all
    move the same way. With Gumbel noise the loss has bounded range, which composes better. Ties break by public order.
    """
    width, candidates = positive(scale=scale), scores(space, "report_noisy_max")
    steps = width / candidates.step
    return selection(
        candidates,
        pick=lambda values, entropy: candidates.named(winner(values, noise=noise, scale=steps, entropy=entropy)),
        cost=lambda apart: contest_cost(apart, width, noise),
        utility=Utility("score below the best", lambda beta: contest_error(beta, candidates, width, noise)),
    )


@step
def noisy_max_with_gap(space: Space, *, scale: Real) -> Mechanism:
    """The winner by Laplace noise, and by how much its noisy score could fall and still win.

    The gap is counted to the least winning score, so that ties, which public order breaks, cost nothing: it is the lead over
    the next candidate, less one step when that one comes first in public order.

    Guarantee: pure; epsilon = spread / scale, the gap included (Ding, Wang, Zhang and Kifer 2019). It has no bounded range.
    Edge cases: at least two candidates.
    """
    width, candidates = positive(scale=scale), scores(space, "noisy_max_with_gap")
    if not candidates.count > 1:
        raise InvalidArgument("noisy_max_with_gap needs at least two candidates, got one")
    steps, lattice = width / candidates.step, Lattice(candidates.step)

    def lead(values: NDArray[Any], entropy: Entropy) -> Leader:
        noisy = noisy_scores(values, steps, entropy)
        best = int(noisy.argmax())
        second = int(np.delete(noisy, best).argmax())
        second += second >= best
        return Leader(candidates.named(best), lattice.read(spare(noisy, best, second)))

    return selection(
        candidates,
        pick=lead,
        cost=lambda apart: Bounded(epsilon=apart / width),
        utility=Utility("score below the best", lambda beta: contest_error(beta, candidates, width, MaxNoise.LAPLACE)),
    )


def spare(noisy: NDArray[Any], ahead: int, behind: int) -> int:
    """By how many steps `ahead` could fall and still come before `behind`, equal scores going to the lower index."""
    return int(noisy[ahead]) - int(noisy[behind]) - int(behind < ahead)


def noisy_scores(values: NDArray[Any], scale: Fraction, entropy: Entropy) -> NDArray[Any]:
    """Each score plus its own discrete Laplace noise, in steps: exact, as int64 where every one fits, else Python's integers.

    No score is held at the ends of int64: which of two is larger is the answer, so limiting them would not be post-processing.
    """
    check_whole(values)
    if scale > VECTOR_LIMIT:
        return np.array([int(value) + noise.discrete_laplace(scale, entropy) for value in values], dtype=object)
    draws = noise.discrete_laplaces(scale, values.size, entropy)
    if values.dtype == np.int64:
        total: NDArray[Any] = np.add(values, draws)  # wraps silently
        if not (((values ^ total) & (draws ^ total)) < 0).any():
            return total
    sums: NDArray[Any] = np.add(values.astype(object), draws.astype(object))
    return sums


def winner(values: NDArray[Any], *, noise: MaxNoise, scale: Fraction, entropy: Entropy) -> int:
    """The index of the noisy best of whole-numbered scores, `scale` in steps."""
    match noise:
        case MaxNoise.GUMBEL:
            return _gumbel(values, scale, entropy)
        case MaxNoise.EXPONENTIAL:
            return _flip(values, scale, entropy)
        case MaxNoise.LAPLACE:
            return int(noisy_scores(values, scale, entropy).argmax())
        case _:
            assert_never(noise)


def _gumbel(values: NDArray[Any], scale: Fraction, entropy: Entropy) -> int:
    return noise.exponential_choice(values, scale, entropy)


def _flip(values: NDArray[Any], scale: Fraction, entropy: Entropy) -> int:
    return noise.permute_and_flip(values, scale, entropy)


def contest_cost(apart: Fraction, scale: Fraction, noise: MaxNoise) -> Cost:
    """What one winner costs when scores spread by `apart`."""
    return Exponential(eta=apart / scale) if noise is MaxNoise.GUMBEL else Bounded(epsilon=apart / scale)


def contest_error(beta: Fraction, candidates: Scores, scale: Fraction, noise: MaxNoise) -> Fraction:
    """By how much the winner's score can fall short of the best, except with probability `beta`.

    Permute-and-flip falls short of any amount at most as often as the exponential mechanism (McKenna and Sheldon 2020).
    """
    if noise is not MaxNoise.LAPLACE:
        return exponential_score_error(beta, count=candidates.count, scale=scale)
    rivals, steps = candidates.count - 1, scale / candidates.step
    return least(lambda t: rivals * _difference_tail(steps, t).upper <= beta, near=int(2 * steps)) * candidates.step


def _difference_tail(scale: Fraction, more_than: int) -> Interval:
    """P[X - Y > t] for two discrete Laplace draws, t >= 0: a rival overtakes a lead of t only if its noise is t better.

    P[X - Y = d] = ((1 - q)/(1 + q))² q^d (d + (1 + q²)/(1 - q²)) for d >= 0, summed over d > t.
    """
    q = exp(-1 / scale, 96)
    start, rest = more_than + 1, 1 - q
    powers = exp(-Fraction(start) / scale, 96)
    series = powers * (start / rest + q / rest**2)  # sum of d q^d from `start` on
    constant = (1 + q**2) / (1 - q**2) * powers / rest
    return (rest / (1 + q)) ** 2 * (series + constant)


@dataclass(frozen=True, slots=True)
class Leaders:
    """The winners, best first, and by how much each one's noisy score could fall and still come before the next.

    The last gap is to the best candidate that is not listed.
    """

    winners: tuple[Any, ...]
    gaps: tuple[int | float, ...]


@step
def noisy_top_k(space: Space, *, k: int, scale: Real, noise: MaxNoise = MaxNoise.GUMBEL) -> Mechanism:
    """The k candidates with the largest noisy scores, best first, by peeling: choose one, remove it, choose again.

    With Gumbel noise this is the same law as the k largest of one shot of noise (Durfee and Rogers 2019).

    Guarantee: k times the cost of one choice: Exponential(spread / scale) for Gumbel noise, spread / scale each for the others.
    """
    width, candidates, count = positive(scale=scale), scores(space, "noisy_top_k"), integer(k=k, least=1)
    _check_count(count, candidates, spare=0)
    steps = width / candidates.step
    return selection(
        candidates,
        pick=lambda values, entropy: [
            candidates.named(index) for index in peeled(values, count, noise=noise, scale=steps, entropy=entropy)
        ],
        cost=lambda apart: Repeated(contest_cost(apart, width, noise), count),
        utility=_each_error(candidates, width, count, noise),
    )


@step
def one_shot_top_k(space: Space, *, k: int, scale: Real) -> Mechanism:
    """The k largest scores after one shot of Laplace noise, best first, with the gaps between them.

    Guarantee: pure; epsilon = k·spread / scale, all k gaps included (Ding, Wang, Zhang and Kifer 2019).
    Edge cases: more candidates than k, as the last gap is to the best that is not listed.
    """
    width, candidates, count = positive(scale=scale), scores(space, "one_shot_top_k"), integer(k=k, least=1)
    _check_count(count, candidates, spare=1)
    steps, lattice = width / candidates.step, Lattice(candidates.step)

    def leaders(values: NDArray[Any], entropy: Entropy) -> Leaders:
        noisy = noisy_scores(values, steps, entropy)
        order = largest(noisy, count + 1)
        lead = [spare(noisy, int(order[i]), int(order[i + 1])) for i in range(count)]
        return Leaders(tuple(candidates.named(int(i)) for i in order[:count]), tuple(lattice.read(gap) for gap in lead))

    return selection(
        candidates,
        pick=leaders,
        cost=lambda apart: Bounded(epsilon=count * apart / width),
        utility=_each_error(candidates, width, count, MaxNoise.LAPLACE),
    )


def peeled(values: NDArray[Any], k: int, *, noise: MaxNoise, scale: Fraction, entropy: Entropy) -> list[int]:
    """k different indices, each the noisy best of those that are left."""
    scores = np.asarray(values)

    def best_left(left: NDArray[np.int64]) -> NDArray[np.int64]:
        remaining = np.flatnonzero(left[0])
        return remaining[[winner(scores[remaining], noise=noise, scale=scale, entropy=entropy)]]

    return [int(index) for index in peel(1, len(scores), k, best_left)[0]]


def largest(noisy: NDArray[Any], count: int) -> NDArray[np.int64]:
    """The indices of the `count` largest, largest first, ties by position."""
    if count < len(noisy) // 8:
        bound = np.partition(noisy, len(noisy) - count)[len(noisy) - count]
        near = np.flatnonzero(noisy >= bound)
    else:
        near = np.arange(len(noisy))
    return near[np.argsort(~noisy[near], kind="stable")][:count]  # -1 - x: minus the least int64 would be itself


def _check_count(k: int, candidates: Scores, *, spare: int) -> None:
    if not k + spare <= candidates.count:
        raise InvalidArgument(
            f"k must be at most {candidates.count - spare} for {number_of(candidates.count, 'candidate')}, got {k}"
        )


def _each_error(candidates: Scores, scale: Fraction, k: int, noise: MaxNoise) -> Utility:
    """Each choice falls short of the best left by more than this with probability beta/k, so one of them with at most beta."""
    return Utility(
        "score below the best that was left, for every choice",
        lambda beta: contest_error(beta / k, candidates, scale, noise),
    )
