"""The two-halves test: events are chosen on one half of the draws and tested once on the other.

What was chosen does not depend on the draws it is tested with, so each test has its stated error whatever was looked at before;
the errors of all tests of an audit add up to at most its level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.audit.answer_columns import Sample, columns
from deniable.audit.answer_events import AnswerEvent, candidates
from deniable.audit.claims import ClaimCurve
from deniable.audit.clopper_pearson import lower_bound, upper_bound

TESTED = 3
"""Events tested for each pair: the most significant one, the most significant of another column, the largest bound."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One event, tested once: how often it was seen on each side, and what that says about its two probabilities."""

    event: AnswerEvent
    reversed: bool
    """The event is the likelier one on the second data set of the pair."""
    draws: int
    often: int
    seldom: int
    at_least: float
    at_most: float
    excess: float
    epsilon: float

    @property
    def broken(self) -> bool:
        """The claimed curve forbids this pair of rates."""
        return self.excess > 0


@dataclass(frozen=True, slots=True)
class Choice:
    """An event and the side on which it was seen more often, both from the choosing half."""

    event: AnswerEvent
    reversed: bool


def halves(outputs: Sequence[Any] | Any) -> tuple[Sample, Sample, int, int]:
    """The draws as columns, in two halves, and how many draws each has."""
    sample, middle = columns(outputs), len(outputs) // 2
    first = {name: column.part(slice(None, middle)) for name, column in sample.items()}
    second = {name: column.part(slice(middle, None)) for name, column in sample.items()}
    return first, second, middle, len(outputs) - middle


def two_halves(left: Any, right: Any, *, curve: ClaimCurve, error: float) -> list[Trial]:
    """Choose on the first half of both lists of answers, test on the second; all tests together err with at most `error`."""
    (choose_left, test_left, size, rest), (choose_right, test_right, _, _) = halves(left), halves(right)
    chosen = choose(choose_left, choose_right, draws=size, curve=curve)
    return [
        try_event(choice, test_left, test_right, draws=rest, curve=curve, error=error / TESTED) for choice in chosen
    ]


def choose(left: Sample, right: Sample, *, draws: int, curve: ClaimCurve) -> list[Choice]:
    """At most `TESTED` events that look most promising against the claim."""
    best: dict[str, tuple[float, float, Choice]] = {}
    largest: tuple[float, Choice] | None = None
    for found in candidates(left, right):
        for is_reversed, often, seldom in ((False, found.left, found.right), (True, found.right, found.left)):
            rates = often / draws, seldom / draws
            scores, bounds = curve.scores(*rates, draws), curve.epsilons(*rates, draws)
            top, far = int(np.argmax(scores)), int(np.argmax(bounds))
            event = found.event(top)
            if event.of not in best or float(scores[top]) > best[event.of][0]:
                best[event.of] = (float(scores[top]), float(bounds[top]), Choice(event, is_reversed))
            if largest is None or float(bounds[far]) > largest[0]:
                largest = (float(bounds[far]), Choice(found.event(far), is_reversed))
    ranked = sorted(best.values(), key=lambda each: (-each[0], -each[1]))
    picked = [choice for _, _, choice in ranked[: TESTED - 1]] + ([largest[1]] if largest else [])
    return list(dict.fromkeys(picked))


def try_event(choice: Choice, left: Sample, right: Sample, *, draws: int, curve: ClaimCurve, error: float) -> Trial:
    """One event on draws that had no part in choosing it; both its bounds hold at once but for `error`."""
    counts = [choice.event.count(sample, draws=draws) for sample in (left, right)]
    often, seldom = reversed(counts) if choice.reversed else counts
    at_least = lower_bound(often, draws, error=error / 2)
    at_most = upper_bound(seldom, draws, error=error / 2)
    return Trial(
        choice.event,
        choice.reversed,
        draws,
        often,
        seldom,
        at_least,
        at_most,
        curve.excess(at_least, at_most),
        curve.epsilon(at_least, at_most),
    )


def refutable(curve: ClaimCurve, *, draws: int, error: float) -> tuple[bool, float]:
    """Whether the clearest result possible with so many tested draws would refute the claim, and the epsilon it would show."""
    at_least = lower_bound(draws, draws, error=error / 2)
    at_most = upper_bound(0, draws, error=error / 2)
    shown = curve.epsilon(at_least, at_most)
    return curve.excess(at_least, at_most) > 0, shown if math.isfinite(shown) else 0.0
