"""The two-halves test: events are chosen on some of the draws and tested once on the others.

What was chosen does not depend on the draws it is tested with, so each test has its stated error whatever was looked at before;
the errors of all tests of an audit add up to at most its level. Most of it goes to one event that few draws choose and nearly all
the others test; the rest goes to events that need half of the draws to be found.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.audit.answer_columns import Sample, columns
from deniable.audit.answer_events import AnswerEvent, Candidates, candidates
from deniable.audit.claims import ClaimCurve
from deniable.audit.rate_pairs import RatePairs

PROMISING, OTHERS = 0.8, 0.2
"""How the error is shared: the one event chosen on few draws and tested on most, and those chosen on one half of them."""
TESTED = 3
"""Events tested on the second half: the most significant one, the most significant of another column, the largest bound."""
_FEW, _SHARE = 200, 20
_MIDDLE, _MIDDLES, _ANY = 0.5, 0.25, 0.25
"""What is thought likely before any draw: the half-line in the middle of the answer, of another column, and anything else."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One event, tested once: how often it was seen on each side, and what that says about its two probabilities."""

    event: AnswerEvent
    reversed: bool
    """The event is the likelier one on the second data set of the pair."""
    pairs: RatePairs
    excess: float
    epsilon: float

    @property
    def broken(self) -> bool:
        """The claimed curve forbids every pair of rates that the counts leave possible."""
        return self.excess > 0

    def epsilon_at(self, delta: float) -> float:
        """The lower bound on epsilon at another delta; it holds together with all the others."""
        return self.pairs.epsilon(delta)


@dataclass(frozen=True, slots=True)
class Choice:
    """An event, the side on which it was seen more often and the slope of its test, all from draws that are not tested."""

    event: AnswerEvent
    reversed: bool
    slope: float = 1.0


def parts(outputs: Sample, size: int) -> tuple[Sample, Sample]:
    """The first draws and the others."""
    first = {name: column.part(slice(None, size)) for name, column in outputs.items()}
    return first, {name: column.part(slice(size, None)) for name, column in outputs.items()}


def few(draws: int) -> int:
    """How many draws of a side choose the event that is tested on all the others."""
    return min(draws // 2, max(_FEW, draws // _SHARE))


def two_halves(left: Any, right: Any, *, curve: ClaimCurve, error: float) -> list[Trial]:
    """Choose on the first draws of both lists of answers, test on the others; all tests together err with at most `error`."""
    sides, draws = [columns(left), columns(right)], len(left)
    trials: list[Trial] = []
    for size, pick, share in ((few(draws), likeliest, PROMISING), (draws // 2, choose, OTHERS / TESTED)):
        (choose_left, test_left), (choose_right, test_right) = (parts(side, size) for side in sides)
        trials += [
            try_event(choice, test_left, test_right, draws=draws - size, curve=curve, error=error * share)
            for choice in pick(choose_left, choose_right, draws=size, curve=curve)
        ]
    return trials


def _oriented(left: Sample, right: Sample, draws: int) -> Iterator[tuple[Candidates, bool, Any, Any]]:
    """Every group of candidates in both orders, with the rates of its events."""
    for found in candidates(left, right):
        yield found, False, found.left / draws, found.right / draws
        yield found, True, found.right / draws, found.left / draws


def likeliest(left: Sample, right: Sample, *, draws: int, curve: ClaimCurve) -> list[Choice]:
    """The one event that is the most likely to refute, given these few draws and what was thought likely before them.

    The best of many events looks better than it is; half the square of its score is what its luck is weighed against.
    """
    groups = list(_oriented(left, right, draws))
    middles = [(found, found.middle, way, a, b) for found, way, a, b in groups if found.middle is not None]
    listed: list[tuple[float, Choice]] = []
    (first, most), spread = curve.supports()[0], curve.spread
    for found, place, way, a, b in middles:
        score = (a[place] - first * b[place] - most) / np.sqrt(spread(a[place], draws) + spread(b[place], draws))
        event = found.event(place)
        prior = _MIDDLE / 2 if event.of == middles[0][0].event(0).of else _MIDDLES / len(middles)
        listed.append((_evidence(score) + math.log(prior), Choice(event, way, first)))
    for found, way, a, b in groups:
        scores, slopes = curve.scores(a, b, draws)
        top = int(np.argmax(scores))
        prior = math.log(_ANY / len(groups)) - found.alternatives
        listed.append((_evidence(scores[top]) + prior, Choice(found.event(top), way, float(slopes[top]))))
    return [max(listed, key=lambda each: each[0])[1]] if listed else []


def _evidence(score: Any) -> float:
    return float(score) * abs(float(score)) / 2


def choose(left: Sample, right: Sample, *, draws: int, curve: ClaimCurve) -> list[Choice]:
    """At most `TESTED` events that look most promising against the claim."""
    best: dict[str, tuple[float, Choice]] = {}
    largest: tuple[float, Choice] | None = None
    for found, way, often, seldom in _oriented(left, right, draws):
        (scores, slopes), bounds = curve.scores(often, seldom, draws), curve.epsilons(often, seldom, draws)
        top, far = int(np.argmax(scores)), int(np.argmax(bounds))
        event = found.event(top)
        promise = _evidence(scores[top]) - found.alternatives
        if event.of not in best or promise > best[event.of][0]:
            best[event.of] = (promise, Choice(event, way, float(slopes[top])))
        if largest is None or float(bounds[far]) > largest[0]:
            largest = (
                float(bounds[far]),
                Choice(found.event(far), way, _steep(often[far], seldom[far], float(bounds[far]))),
            )
    ranked = sorted(best.values(), key=lambda each: -each[0])
    picked = [choice for _, choice in ranked[: TESTED - 1]] + ([largest[1]] if largest else [])
    return list(dict.fromkeys(picked))


def _steep(often: float, seldom: float, bound: float) -> float:
    """The slope of the line that a large epsilon is read from: of the event, or of its complement."""
    factor = math.exp(min(max(bound, 0.0), 30.0))
    return factor if often + seldom < 1 else 1 / factor


def try_event(choice: Choice, left: Sample, right: Sample, *, draws: int, curve: ClaimCurve, error: float) -> Trial:
    """One event on draws that had no part in choosing it; what is said of its rates holds but for `error`."""
    counts = [choice.event.count(sample, draws=draws) for sample in (left, right)]
    often, seldom = reversed(counts) if choice.reversed else counts
    pairs = RatePairs(often, seldom, draws, choice.slope, error)
    return Trial(choice.event, choice.reversed, pairs, pairs.excess(curve.frontier), pairs.epsilon(curve.delta))


def refutable(curve: ClaimCurve, *, draws: int, error: float) -> tuple[bool, float]:
    """Whether the clearest result possible with so many draws of a side would refute the claim, and the epsilon it would show."""
    tested = draws - few(draws)
    clearest = RatePairs(tested, 0, tested, 1.0, error * PROMISING)
    shown = clearest.epsilon(curve.delta)
    return clearest.excess(curve.frontier) > 0, shown if math.isfinite(shown) else 0.0
