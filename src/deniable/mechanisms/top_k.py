"""The k best candidates: by peeling (choose, remove, choose again) or by one shot of noise over all."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.domain import Lattice
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import Bounded, Repeated
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer, positive
from deniable.kernels.peeling import peel
from deniable.mechanisms.noisy_max import MaxNoise, contest_cost, contest_error, noisy_scores, spare, winner
from deniable.mechanisms.scores import Scores, scores, selection
from deniable.noise import Entropy


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
            f"k must be at most {candidates.count - spare} for {candidates.count} candidates, got {k}"
        )


def _each_error(candidates: Scores, scale: Fraction, k: int, noise: MaxNoise) -> Utility:
    """Each choice falls short of the best left by more than this with probability beta/k, so one of them with at most beta."""
    return Utility(
        "score below the best that was left, for every choice",
        lambda beta: contest_error(beta / k, candidates, scale, noise),
    )
