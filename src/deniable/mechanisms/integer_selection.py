"""The exponential mechanism over all integers, of which finitely many have scores of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deniable.core.cells import whole
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import Exponential
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact import Interval
from deniable.exact.guards import Real, integer, positive, rational, shown
from deniable.kernels.integer_choice import Tails, integer_choice, log_chance, shortfall
from deniable.mechanisms.scores import Scores, scores, selection

_SHOWN = 20


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
