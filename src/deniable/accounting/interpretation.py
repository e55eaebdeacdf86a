"""A loss in words people use: odds, beliefs, guesses and tests. Every number is rounded up, against us.

All of them hold for whatever the attacker knows beforehand, and all read one loss of one release (or of everything together).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from deniable.accounting.bracket import Bracket
from deniable.exact import down, exp, up
from deniable.exact.guards import Real, nonnegative, probability

_FAR = 1 << 12
"""Beyond this loss every number here is what it tends to, rounded up."""


@dataclass(frozen=True, slots=True)
class Belief:
    """How far an attacker's belief can move: it was `prior` and lies between `lower` and `upper` afterwards."""

    prior: float
    lower: float
    upper: float


def odds(epsilon: Real | Bracket) -> float:
    """At most this many times as likely (or as unlikely) is any answer with a person's data as without it: e**epsilon.

    Guarantee: rounded up; it is the definition of pure privacy, in odds.
    """
    loss = _loss(epsilon)
    return up(exp(loss)) if loss <= _FAR else math.inf


def truth_probability(epsilon: Real | Bracket, *, delta: Real = 0) -> float:
    """The best chance of guessing rightly whether a person took part, when both were equally likely.

    Guarantee: at most (e**epsilon + delta)/(e**epsilon + 1) for every attacker; one half means that the answer helps nothing.
    """
    slip, loss = probability(delta=delta), _loss(epsilon)
    if loss > _FAR:
        return 1.0
    grown = exp(loss)
    return min(1.0, up((grown + slip).upper / (grown.lower + 1)))


def posterior(prior: Real, *, epsilon: Real | Bracket) -> Belief:
    """What a belief of `prior` can become after seeing a purely private answer: prior odds times at most e**epsilon either way.

    Guarantee: Bayes' rule on the ratio of likelihoods, which pure privacy bounds. An approximate loss has no such bound: with
    probability up to delta the answer may tell everything.
    """
    chance, loss = probability(prior=prior), _loss(epsilon)
    if loss > _FAR:
        return Belief(float(chance), float(chance == 1), float(chance > 0))
    grown = exp(loss)
    return Belief(
        float(chance),
        down(chance / (chance + (1 - chance) * grown.upper)),
        min(1.0, up(chance * grown.upper / (chance * grown.upper + 1 - chance))),
    )


def detection_power(false_alarms: Real, *, epsilon: Real | Bracket, delta: Real = 0) -> float:
    """How often a test that accuses the innocent with probability `false_alarms` can at most find the one who took part.

    Guarantee: with p missed and q false alarms, p + e**epsilon·q >= 1 - delta and e**epsilon·p + q >= 1 - delta.
    """
    alarm, slip, loss = probability(false_alarms=false_alarms), probability(delta=delta), _loss(epsilon)
    if loss > _FAR:
        return 1.0 if alarm else up(slip)
    grown = exp(loss)
    one_way = grown.upper * alarm + slip
    other_way = 1 - (1 - alarm - slip) / grown.upper if alarm + slip < 1 else Fraction(1)
    return min(1.0, up(min(one_way, other_way)))


def _loss(epsilon: Real | Bracket) -> Fraction:
    return Fraction(epsilon.upper) if isinstance(epsilon, Bracket) else nonnegative(epsilon=epsilon)
