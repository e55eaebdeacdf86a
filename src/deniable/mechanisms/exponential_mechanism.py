"""The exponential mechanism: over finitely many candidates, over all integers, and over an interval of lattice points.

On an interval the score is constant between a few edges. Each piece has weight (number of points) · exp(score/scale); a piece
is drawn exactly, then a point in it uniformly: together that is the exponential mechanism over every single point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.core.cells import whole
from deniable.core.distance import Distance
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import Exponential
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact import Interval
from deniable.exact.guards import Real, integer, nonnegative, positive, rational, shown
from deniable.kernels.exponential_choice import Tails, exponential_score_error, integer_choice, log_chance, shortfall
from deniable.mechanisms.grid import Grid, public_grid
from deniable.mechanisms.likelihoods import ChoiceLikelihood
from deniable.mechanisms.scores import Scores, scores, selection
from deniable.noise import Entropy
from deniable.noise.weighted_choice import weighted_choice

_SHOWN = 20
Pieces = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Edges of the pieces (one more than pieces, whole lattice points, increasing) and their whole-numbered scores."""


@step
def exponential(space: Space, *, scale: Real) -> Mechanism:
    """Choose a candidate with probability proportional to exp(score / scale): its index, or its key when scores are keyed.

    A larger `scale` is more private. The score itself is never part of the answer.

    Guarantee: bounded range with eta = spread / scale, hence epsilon = eta; the spread of scores that move by at most d is
    2d, or d when all move the same way. Exact: weights are never rounded.
    Edge cases: private keys and empty candidate lists are refused when built.
    """
    width = positive(scale=scale)
    candidates = scores(space, "exponential")
    steps = width / candidates.step
    return selection(
        candidates,
        pick=lambda values, entropy: candidates.named(noise.exponential_choice(values, steps, entropy)),
        cost=lambda apart: Exponential(eta=apart / width),
        utility=Utility(
            "score below the best", lambda beta: exponential_score_error(beta, count=candidates.count, scale=width)
        ),
        likelihood=ChoiceLikelihood(candidates, steps),
    )


@step
def exponential_over_integers(
    space: Space, *, first: int, fall: Real | tuple[Real | None, Real | None], scale: Real
) -> Mechanism:
    """Choose an integer with probability proportional to exp(score / scale), among infinitely many.

    The data scores the integers `first`, `first` + 1, ... one after another. Beyond the last and before the first of them each
    integer scores `fall` less than its inner neighbour: one number for both sides, or (left, right) with None for a side where the
    candidates end. A fall of zero is refused, for then the weights add up to infinity.

    Guarantee: as `exponential`: a tail moves with the end it hangs on, so the scores spread no further than those of the data.
    Exact: the infinite sum is a geometric series and is never cut.
    """
    width, start = positive(scale=scale), integer(first=first)
    candidates = scores(space, "exponential_over_integers")
    if candidates.keys is not None:
        raise SpaceMismatch("exponential_over_integers chooses among integers, got scores with keys of their own")
    left, right = (None if each is None else rational(fall=each) / candidates.step for each in _both(fall))
    tails = Tails(left, right, width / candidates.step)
    return selection(
        candidates,
        pick=lambda values, entropy: start + integer_choice(values, tails, entropy),
        cost=lambda apart: Exponential(eta=apart / width),
        utility=Utility(
            "score below the best",
            lambda beta: shortfall(beta, count=candidates.count, tails=tails) * candidates.step,
        ),
        likelihood=IntegerLikelihood(candidates, tails, start),
    )


def _both(fall: Real | tuple[Real | None, Real | None]) -> tuple[Real | None, Real | None]:
    if not isinstance(fall, tuple):
        return fall, fall
    if len(fall) != 2:
        raise InvalidArgument(f"fall is one number, or (left, right), got {shown(fall)}")
    return fall


@dataclass(frozen=True, slots=True)
class IntegerLikelihood:
    """An integer with probability proportional to exp(score / scale)."""

    candidates: Scores
    tails: Tails
    first: int

    def loss(self, answer: Any, left: Any, right: Any) -> Interval:
        number = whole(answer)
        if number is None:
            raise InvalidArgument(f"answer {shown(answer)} is no integer")
        here, there = (log_chance(self._steps(data), self.tails, number - self.first) for data in (left, right))
        return here - there

    def answers(self, left: Any, right: Any) -> Sequence[Any]:
        low = 0 if self.tails.left is None else _SHOWN
        high = 0 if self.tails.right is None else _SHOWN
        return range(self.first - low, self.first + self.candidates.count + high)

    def _steps(self, data: Any) -> list[int]:
        return [int(score) for score in self.candidates.steps(data).tolist()]


def interval_choice(edges: NDArray[Any], scores: NDArray[Any], *, scale: Fraction, entropy: Entropy) -> int:
    """A lattice point of [edges[0], edges[-1]), each with probability proportional to exp(score of its piece / scale).

    Piece i holds the points edges[i], ..., edges[i+1] - 1; empty pieces are allowed.
    """
    counts = np.diff(np.asarray(edges, dtype=np.int64))
    piece = weighted_choice(np.asarray(scores), counts=counts, scale=scale, entropy=entropy)
    return int(edges[piece]) + noise.uniform_below(int(counts[piece]), entropy)


@step
def exponential_interval(
    space: Space,
    *,
    pieces: Callable[[Any, Grid], Pieces],
    spread: Callable[[Distance], Real],
    lower: Real,
    upper: Real,
    grid: Real,
    scale: Real,
    author: str,
) -> Mechanism:
    """Choose a point between `lower` and `upper` with probability proportional to exp(score / scale), pieces by pieces.

    `pieces(data, grid)` cuts the grid into pieces of constant whole-numbered score; `spread(d_in)` says how far two scores can
    move apart. Both are the author's claim, which `claims` carries along.

    Guarantee: given that claim, bounded range with eta = spread / scale.
    """
    points, width = public_grid(lower, upper, grid), positive(scale=scale)

    def answer(data: Any, entropy: Entropy) -> int | float:
        try:
            edges, scores = pieces(data, points)
        except Exception:  # the author's function; an error would be a release
            edges, scores = np.array([0, points.count]), np.array([0])
        return points.read(interval_choice(edges, scores, scale=width, entropy=entropy))

    return Mechanism(
        space,
        answer,
        lambda d_in: Exponential(eta=nonnegative(spread=spread(d_in)) / width),
        Utility("score below the best", lambda beta: exponential_score_error(beta, count=points.count, scale=width)),
        (f"{author}: {getattr(pieces, '__name__', 'pieces')}",),
    )
