"""NOT PRIVATE. What every planted fault states: its claim, two neighbours, the event that gives it away, the draws it takes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

from deniable.cost import Bounded, Cost
from deniable.noise import Entropy

ONE = Bounded(epsilon=1)
HALF = Fraction(1, 2)


class Fault:
    """NOT PRIVATE: a mechanism that breaks `claim` on the neighbours `left` and `right`, for an audit to find.

    `best` is the event that tells the two apart best. `samples` draws suffice to see it; None where only the exact law does.
    A fault with a `program` is also found by replay, without any draws. It is no `Mechanism`: no compositor accepts it.
    """

    title: ClassVar[str]
    claim: ClassVar[Cost] = ONE
    left: ClassVar[Any] = 0
    right: ClassVar[Any] = 1
    best: ClassVar[str]
    samples: ClassVar[int | None] = 5_000

    def function(self, data: Any, entropy: Entropy) -> Any:
        """One answer about made-up data."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """What is wrong, in words."""
        return self.title
