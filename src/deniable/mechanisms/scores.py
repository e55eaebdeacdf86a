"""Score vectors as selections see them: whole steps in public order, an answer by index or by public key."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from deniable.core.distance import Distance
from deniable.core.mechanism import Likelihood, Mechanism, Utility
from deniable.core.space import Space
from deniable.cost import Cost
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.mechanisms.carried import carried, vector
from deniable.mechanisms.lattice_norms import check_scores, spread
from deniable.noise import Entropy


@dataclass(frozen=True, slots=True)
class Scores:
    """A space of score vectors: how many candidates, the lattice step of a score, and the candidates' public names."""

    space: Space
    count: int
    step: Fraction
    keys: tuple[Hashable, ...] | None

    def steps(self, data: Any) -> NDArray[Any]:
        """The scores in whole steps; scores beyond int64 stay exact as Python integers."""
        return vector(data, self.count, self.keys)

    def named(self, index: int) -> Any:
        """The answer: the candidate's key, or its position when candidates have no names."""
        return index if self.keys is None else self.keys[index]

    def spread(self, d_in: Distance) -> Fraction:
        """How much the changes of the scores can differ among themselves, in the numbers people read."""
        return spread(self.space.metric, d_in, step=self.step) * self.step


def scores(space: Space, who: str) -> Scores:
    """How a selection reads this space; one score alone, or no candidates, is refused."""
    values = carried(space, who)
    if values.size is None:
        raise SpaceMismatch(f"{who} chooses among several scores, got the single number {space.domain!r}")
    if not values.size:
        raise InvalidArgument(f"{who} needs at least one candidate, got none")
    check_scores(space.metric)
    return Scores(space, values.size, values.step, values.keys)


def selection(
    candidates: Scores,
    *,
    pick: Callable[[NDArray[Any], Entropy], Any],
    cost: Callable[[Fraction], Cost],
    utility: Utility,
    likelihood: Likelihood | None = None,
) -> Mechanism:
    """The mechanism that answers `pick(scores in steps, entropy)` and costs `cost(spread)`."""
    return Mechanism(
        candidates.space,
        lambda data, entropy: pick(candidates.steps(data), entropy),
        lambda d_in: cost(candidates.spread(d_in)),
        utility,
        likelihood=likelihood,
    )
