"""Randomized response: each person answers truthfully with a known chance, so every single answer can be denied.

The curator need not be trusted: the noise is added before anything leaves the person (the local model). `local_estimates`
turns many such answers into unbiased estimates. `Survey` plans one before it is held: what it costs each person and how close
its shares come, as in `calibrate(lambda n: Survey(truth=3/4, people=n), accuracy=0.02)`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from deniable import noise
from deniable.core.cells import cells, countable, whole
from deniable.core.distance import Distance, distance, plain
from deniable.core.domain import Booleans, Categories, Domain, Lattice, Rows
from deniable.core.mechanism import Accuracy, Mechanism, Utility
from deniable.core.metric import DiscreteDistance, Hamming
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import FREE, Cost, RandomizedResponse, Repeated
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact import ln, sqrt
from deniable.exact.guards import Real, integer
from deniable.mechanisms.likelihoods import CoinLikelihood, ResponseLikelihood
from deniable.noise import Entropy


@step
def randomized_response(space: Space, *, truth: Real) -> Mechanism:
    """Keep an answer with probability `truth`, else give one of the other answers, each equally likely.

    On one answer (True/False, or one of public categories) it returns one answer; on rows of public size compared position by
    position (a person's bit vector, or one answer per person) it treats every position on its own.

    Guarantee: pure; epsilon = ln(truth·(k - 1)/(1 - truth)) for each answer that differs, k the number of possible answers.
    Edge cases: `truth` must be at least 1/k and below 1.
    """
    many = isinstance(space.domain, Rows)
    answers = _answers(space.domain.element if isinstance(space.domain, Rows) else space.domain)
    _check_metric(space)
    price = RandomizedResponse(truth=truth, categories=len(answers))
    places = {countable(answer): place for place, answer in enumerate(answers)}
    respond = _responder(answers, price.truth)

    def one(data: Any, entropy: Entropy) -> Any:
        return respond([places.get(countable(data), 0)], entropy)[0]

    def each(data: Any, entropy: Entropy) -> list[Any]:
        return respond([places.get(countable(answer), 0) for answer in cells(data)], entropy)

    return Mechanism(
        space,
        each if many else one,
        lambda d_in: _per_answer(price, d_in),
        _untruths(space, price.truth),
        likelihood=ResponseLikelihood(answers, price.truth, many),
    )


@step
def coin_flip(space: Space) -> Mechanism:
    """The oldest survey trick: on heads tell the truth, on tails let a second coin answer; the truth is told 3 times in 4.

    Guarantee: pure; epsilon = ln 3 for each answer that differs.
    """
    if _answers(space.domain.element if isinstance(space.domain, Rows) else space.domain) != (True, False):
        raise SpaceMismatch(
            f"coin_flip answers yes or no, got {space.domain!r}; use randomized_response for more answers"
        )
    return randomized_response(truth=Fraction(3, 4)).build(space)


@step
def local_mean(space: Space, *, truth: Real) -> Mechanism:
    """One bit about a number between public bounds: True with a chance that grows with the number, then randomized response.

    The number is rounded at random to one of its bounds, so the expected answer is linear in it; `estimate_mean` inverts that.

    Guarantee: pure; epsilon = ln(truth/(1 - truth)), whatever the number. Lattice values beyond the bounds count as the bounds.
    """
    domain = space.domain
    if not (
        isinstance(domain, Lattice) and domain.lower is not None and domain.upper is not None and not domain.missing
    ):
        raise SpaceMismatch(f"local_mean needs a number with public lower and upper bounds, got {domain!r}")
    if not domain.lower < domain.upper:
        raise SpaceMismatch(f"local_mean needs lower below upper, got {domain!r}")
    _check_metric(space)
    low, width = domain.lower, domain.upper - domain.lower
    price = RandomizedResponse(truth=truth, categories=2)

    def chance(data: Any) -> Fraction:
        share = Fraction(min(max((whole(data) or 0) - low, 0), width), width)
        return 1 - price.truth + (2 * price.truth - 1) * share

    return Mechanism(
        space,
        lambda data, entropy: bool(noise.bernoulli(chance(data), entropy)),
        lambda d_in: _per_answer(price, d_in),
        _told(price.truth, width * domain.step),
        likelihood=CoinLikelihood(chance),
    )


def _untruths(space: Space, truth: Fraction) -> Utility:
    """How many of n answers are not the truth: at most (1 - truth)·n + √(n·ln(1/beta)/2), by Hoeffding's inequality."""
    size = space.domain.size if isinstance(space.domain, Rows) else 1
    assert size is not None  # Hamming distance needs a public size

    def wrong(beta: Fraction) -> Fraction:
        if (1 - truth) * size <= beta:  # no answer is changed, except with this probability
            return Fraction(0)
        return min(Fraction(size), _whole((1 - truth) * size + sqrt(ln(1 / beta) * size / 2).upper))

    return Utility("answers that are not the truth", wrong)


def _whole(value: Fraction) -> Fraction:
    """The whole number at or below."""
    return Fraction(value.numerator // value.denominator)


def _told(truth: Fraction, width: Fraction) -> Utility:
    """One bit is worth little: what `estimate_mean` makes of it alone lies within this of the number, always."""

    def error(_: Fraction) -> Fraction:
        if truth == Fraction(1, 2):
            raise InvalidArgument("a coin that is heads half of the time says nothing, so no error holds: raise truth")
        return width * truth / (2 * truth - 1)

    return Utility("value estimated from this answer alone", error)


def _answers(domain: Domain) -> tuple[Hashable, ...]:
    match domain:
        case Booleans(missing=False):
            return (True, False)
        case Categories(values) if len(values) > 1:
            return values
        case _:
            raise SpaceMismatch(
                f"randomized response needs True/False or at least two public categories, got {domain!r}"
            )


def _check_metric(space: Space) -> None:
    if not isinstance(space.metric, Hamming if isinstance(space.domain, Rows) else DiscreteDistance):
        raise SpaceMismatch(
            f"randomized response compares one answer by DiscreteDistance or rows by Hamming, got {space.metric!r}"
        )


def _per_answer(price: RandomizedResponse, d_in: Distance) -> Cost:
    changed = int(plain(d_in))  # whole answers change: a distance below one is none
    return FREE if not changed else price if changed == 1 else Repeated(price, changed)


def _responder(answers: tuple[Hashable, ...], truth: Fraction) -> Callable[[list[int], Entropy], list[Any]]:
    size = len(answers)

    def respond(places: list[int], entropy: Entropy) -> list[Any]:
        told = np.asarray(places, dtype=np.int64)
        kept = noise.bernoullis(truth, told.size, entropy)
        turn = noise.uniforms_below(size - 1, told.size, entropy) + 1  # a step to one of the other answers
        return [answers[place] for place in np.where(kept, told, (told + turn) % size).tolist()]

    return respond


@dataclass(frozen=True, slots=True)
class Survey:
    """So many `people`, each of whom tells the truth with probability `truth`, else one of the other categories."""

    truth: Real
    people: int
    categories: int = 2
    parameter: Any = None

    def __post_init__(self) -> None:
        price = RandomizedResponse(truth=self.truth, categories=self.categories)
        integer(people=self.people, least=1)
        if not price.truth * self.categories > 1:
            raise InvalidArgument(
                f"truth must be above 1/{self.categories}, or answers say nothing, got {self.truth!r}"
            )
        object.__setattr__(self, "truth", price.truth)

    def cost(self, *, d_in: Distance | Real = 1) -> Cost:
        """What it costs a person to answer once; for several people who change, so many answers."""
        price, people = RandomizedResponse(truth=self.truth, categories=self.categories), int(plain(distance(d_in)))
        return FREE if not people else price if people == 1 else Repeated(price, people)

    def accuracy(self, *, confidence: Real = Fraction(19, 20), simultaneous: bool = False) -> Accuracy:
        """How far the unbiased estimate of a category's share can be from its share among these people.

        Hoeffding's inequality: answers are independent, and an estimate is their mean stretched by 1/(truth - other).
        """
        everywhere = None if self.categories == 2 else lambda beta: self._error(beta / self.categories)
        told = Utility("share of each category" if everywhere else "share", self._error, everywhere)
        return told.accuracy(confidence=confidence, simultaneous=simultaneous)

    def _error(self, beta: Fraction) -> Fraction:
        kept = Fraction(self.truth)
        other = (1 - kept) / (self.categories - 1)
        return sqrt(ln(2 / beta) / (2 * self.people)).upper / (kept - other)
