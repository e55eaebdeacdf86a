"""NOT PRIVATE. What every planted fault states: its claim, two neighbours, the event that gives it away, the draws it takes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

from deniable.audit.answer_events import AnswerEvent
from deniable.cost import Bounded, Cost
from deniable.noise import Entropy


def at_most(end: float, *, of: str = "answer") -> AnswerEvent:
    """The event that a number of the answer is no larger."""
    return AnswerEvent(of, ((-math.inf, end),))


def above(end: float, *, of: str = "answer") -> AnswerEvent:
    """The event that a number of the answer is larger."""
    return AnswerEvent(of, ((end, math.inf),))


def named(*names: str, of: str = "answer") -> AnswerEvent:
    """The event that a part of the answer reads like one of these."""
    return AnswerEvent(of, names=names)


ONE = Bounded(epsilon=1)
HALF = Fraction(1, 2)


class Fault:
    """NOT PRIVATE: a mechanism that breaks `claim` on the neighbours `left` and `right`, for an audit to find.

    `best` says in words which event tells the two apart, `event` is that event. `samples` is the smallest number of draws, of 100,
    200, 500, 1000 and so on, with which twelve audits of twelve found it (of the sparse vector and of NoisyMaxValue: five of
    five); None where only the exact law does.
    A fault with a `program` is also found by replay, without any draws. It is no `Mechanism`: no compositor accepts it.
    """

    title: ClassVar[str]
    claim: ClassVar[Cost] = ONE
    left: ClassVar[Any] = 0
    right: ClassVar[Any] = 1
    best: ClassVar[str]
    event: ClassVar[AnswerEvent]
    samples: ClassVar[int | None] = 1_000

    def function(self, data: Any, entropy: Entropy) -> Any:
        """One answer about made-up data."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """What is wrong, in words."""
        return self.title
