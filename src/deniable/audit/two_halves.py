"""The two-halves test: events are chosen on some of the draws and tested once on the others.

What was chosen does not depend on the draws it is tested with, so each test has its stated error whatever was looked at before;
the errors of all tests of an audit add up to at most its level. Most of it goes to one or two events that few draws choose and
nearly all the others test; the rest goes to events that need half of the draws to be found.
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

FAVOURITE, RIVAL, OTHERS = 0.62, 0.2, 0.18
"""How the error is shared: the two events chosen on few draws and tested on most, and those chosen on one half of them."""
TURNED = 0.05
"""What the middle half-line gets the other way round, out of the others' share, where the first draws leave the side open."""
TESTED = 3
"""Events tested on the second half: the most significant one, the most significant of another column, the largest bound."""
_AHEAD, _BEHIND = 1.0, 3.0
"""How far the middle's evidence has to lead to be tested alone, and how far to lie behind to be no favourite."""
_FEW, _LEAST, _MOST, _CLEAR = 200, 50, 8, 2.0
"""The first draws of a side: 200 or one in fifty, twice as many while the better side is not clear, one in eight at most."""
_MIDDLE, _MIDDLES, _ANY = 0.5, 0.25, 0.25
"""What is thought likely before any draw: the half-line in the middle of the answer, of another column, and anything else."""
_Oriented = tuple[Candidates, bool, Any, Any]


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

    @property
    def rates(self) -> tuple[float, float]:
        """The share of the tested draws in which it was seen, on the first data set and on the second."""
        often, seldom = self.pairs.often / self.pairs.draws, self.pairs.seldom / self.pairs.draws
        return (seldom, often) if self.reversed else (often, seldom)

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
    """With how many draws of a side the choice begins of what is tested on all the others."""
    return min(draws // 2, max(_FEW, draws // _LEAST))


def two_halves(left: Any, right: Any, *, curve: ClaimCurve, error: float) -> list[Trial]:
    """Choose on the first draws of both lists of answers, test on the others; all tests together err with at most `error`."""
    sides, draws = [columns(left), columns(right)], len(left)
    early, half = _until_clear(*sides, draws=draws), draws // 2
    chosen = [(early, choice, share) for choice, share in likeliest(*_firsts(sides, early), draws=early, curve=curve)]
    turned = other_side(*_firsts(sides, early), draws=early, curve=curve)
    chosen += [(early, choice, TURNED) for choice in turned]
    others, rest = choose(*_firsts(sides, half), draws=half, curve=curve), OTHERS - TURNED * len(turned)
    chosen += [(half, choice, rest / len(others)) for choice in others]
    return [
        try_event(
            choice, *(parts(side, size)[1] for side in sides), draws=draws - size, curve=curve, error=error * share
        )
        for size, choice, share in chosen
    ]


def _firsts(sides: list[Sample], size: int) -> list[Sample]:
    return [parts(side, size)[0] for side in sides]


def _until_clear(left: Sample, right: Sample, *, draws: int) -> int:
    """How many first draws show on which side the middle half-line is the likelier one; what comes after them is not looked at."""
    size = few(draws)
    while 2 * size <= draws // _MOST and not _is_clear(*_firsts([left, right], size), draws=size):
        size *= 2
    return size


def _is_clear(left: Sample, right: Sample, *, draws: int) -> bool:
    middles = [
        (found.left[at], found.right[at]) for found in candidates(left, right) if (at := found.middle) is not None
    ]
    apart = [abs(a - b) / max(1.0, math.sqrt(a * (1 - a / draws) + b * (1 - b / draws))) for a, b in middles]
    return max(apart, default=math.inf) >= _CLEAR


def _oriented(left: Sample, right: Sample, draws: int) -> Iterator[_Oriented]:
    """Every group of candidates in both orders, with the rates of its events."""
    for found in candidates(left, right):
        yield found, False, found.left / draws, found.right / draws
        yield found, True, found.right / draws, found.left / draws


def likeliest(left: Sample, right: Sample, *, draws: int, curve: ClaimCurve) -> list[tuple[Choice, float]]:
    """The middle half-line and the event that is the most likely to refute, each with its share of the error.

    The best of many events looks better than it is; half the square of its score is what its luck is weighed against.
    """
    groups = list(_oriented(left, right, draws))
    promise, other = _best(_of_all(groups, draws, curve))
    hope, middle = _best(_of_middles(groups, draws, curve))
    if other is None or middle is None:
        return [] if other is None else [(other, FAVOURITE + RIVAL)]
    if hope > promise + _AHEAD or (middle.event, middle.reversed) == (other.event, other.reversed):
        return [(middle, FAVOURITE + RIVAL)]
    ranked = (other, middle) if promise > hope + _BEHIND else (middle, other)
    return list(zip(ranked, (FAVOURITE, RIVAL), strict=True))


def other_side(left: Sample, right: Sample, *, draws: int, curve: ClaimCurve) -> list[Choice]:
    """The middle half-line as the likelier one of the side that looks the unlikelier, if these draws do not say which is which."""
    _, middle = _best(_of_middles(list(_oriented(left, right, draws)), draws, curve))
    if middle is None or _is_clear(left, right, draws=draws):
        return []
    return [Choice(middle.event, not middle.reversed, middle.slope)]


def _of_middles(groups: list[_Oriented], draws: int, curve: ClaimCurve) -> list[tuple[float, Choice]]:
    """The half-lines in the middle, with their evidence and what was thought of them before."""
    found = [(group.event(at), way, a[at], b[at]) for group, way, a, b in groups if (at := group.middle) is not None]
    first, most = curve.supports()[0]
    listed = []
    for event, way, a, b in found:
        score = (a - first * b - most) / math.sqrt(curve.spread(a, draws) + curve.spread(b, draws))
        prior = _MIDDLE / 2 if event.of == found[0][0].of else _MIDDLES / len(found)
        listed.append((_evidence(score) + math.log(prior), Choice(event, way, first)))
    return listed


def _of_all(groups: list[_Oriented], draws: int, curve: ClaimCurve) -> list[tuple[float, Choice]]:
    """The best event of each group, with its evidence and how many it was picked from."""
    listed = []
    for found, way, a, b in groups:
        scores, slopes = curve.scores(a, b, draws)
        top = int(np.argmax(scores))
        prior = math.log(_ANY / len(groups)) - found.alternatives
        listed.append((_evidence(scores[top]) + prior, Choice(found.event(top), way, float(slopes[top]))))
    return listed


def _best(listed: list[tuple[float, Choice]]) -> tuple[float, Choice | None]:
    return max(listed, key=lambda each: each[0], default=(-math.inf, None))


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
    clearest = RatePairs(tested, 0, tested, 1.0, error * (FAVOURITE + RIVAL))
    shown = clearest.epsilon(curve.delta)
    return clearest.excess(curve.frontier) > 0, shown if math.isfinite(shown) else 0.0
