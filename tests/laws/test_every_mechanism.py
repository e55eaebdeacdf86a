"""Every public mechanism, one by one: its exact output law keeps the promised cost, and the promise is not needlessly large.

For each there is a pair of neighbours on which a stated share of the promise is really used up: of epsilon, by the likelihood
ratio of some answer, or of delta where the promise has one. A constructor that is missing here fails the last test.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dp
from deniable import mechanisms as m
from deniable.accounting import epsilon
from deniable.audit.comparison import compare
from deniable.audit.exact_law import OutputLaw, output_law
from deniable.core import (
    L1,
    AbsoluteDistance,
    Anything,
    Booleans,
    Categories,
    DiscreteDistance,
    Hamming,
    Keyed,
    Lattice,
    LInfinity,
    Numbers,
    PartitionDistance,
    Rows,
    Space,
    SymmetricDistance,
    Transformation,
    Vectors,
    rows,
    stream,
)
from deniable.cost import Cost
from deniable.errors import Retired, Unaccountable
from deniable.exact import exp

NUMBER = Space(Lattice(), AbsoluteDistance())
NUMBERS = Space(Rows(Numbers()), SymmetricDistance())
LETTERS = Space(Rows(Categories(("x", "y"))), SymmetricDistance())
SCORES = Space(Vectors(Lattice(), 3), LInfinity())
PAIR = Space(Vectors(Lattice(), 2), L1())
TABLE = Space(Keyed(Lattice(), None), PartitionDistance(AbsoluteDistance()))
FOUND = Space(Keyed(Lattice(), None), PartitionDistance(AbsoluteDistance(), monotonic=True))
COUNTS = Space(Keyed(Lattice(), None), L1())
STREAM = stream(NUMBER)
TRIO = rows(Lattice(lower=0, upper=1), size=3)
SAME = Transformation(NUMBER, NUMBER, lambda data, _: data, lambda d_in: d_in)
HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Case:
    """A mechanism on two neighbours `d_in` apart, and the share of its promise that these two use up."""

    mechanism: Any
    left: Any
    right: Any
    share: Fraction
    d_in: Any = 1
    tail: Fraction = Fraction(1, 10**6)
    ask: Callable[[Any], Any] = lambda answer: answer

    @property
    def cost(self) -> Cost:
        return self.mechanism.cost(d_in=self.d_in)

    def law(self, data: Any) -> OutputLaw:
        return output_law(lambda entropy: self.ask(self.mechanism.function(data, entropy)), tail=self.tail)


@dataclass(frozen=True, slots=True)
class Stream(Case):
    """A mechanism that is fed piece by piece."""

    def law(self, data: Any) -> OutputLaw:
        return output_law(lambda entropy: self._fed(data, entropy), tail=self.tail)

    def _fed(self, pieces: Any, entropy: Any) -> tuple[Any, ...]:
        run, seen = self.mechanism([], entropy=entropy), []
        with suppress(Retired):
            seen.extend(run.feed(piece) for piece in pieces)
        return (*seen, self.ask(run))


def share(numerator: int, denominator: int = 100) -> Fraction:
    return Fraction(numerator, denominator)


ALL = share(999, 1000)
COARSE = Fraction(1, 10**3)
FINE = Fraction(1, 10**5)
LETTER = Space(Rows(Categories(tuple("abcdefgh"))), SymmetricDistance())
MANY = {"lower": 0, "upper": 101, "grid": 1, "noise": m.MaxNoise.GUMBEL, "scale": 3}
LOW, HIGH = [99] * 3 + [101] * 197, [2] * 3 + [0] * 197  # one hundredth of the rows is two
SIDES = (("n", "a"), ("n", "b"))


def _hit(hit):
    return hit and (hit.candidate, hit.gap)


def _levels(tree):
    return [level.tolist() for level in tree.levels]


def _first_point(data, grid):
    return np.array([0, 1, grid.count]), np.array([len(data), 0])


def _coarse_union(monkeypatch):
    """Weights in halves instead of millionths keep the enumeration small; the promise must hold for them as well."""
    monkeypatch.setattr(import_module("deniable.mechanisms.set_union"), "_UNIT", 2)
    mechanism = Space(Rows(Anything()), SymmetricDistance()) >> m.set_union(items=1, scale=1, delta=share(5))
    return Case(mechanism, [], [["a"]], share(70), tail=share(2))


CASES = {
    "laplace": Case(NUMBER >> m.laplace(scale=1), 0, 1, ALL),
    "gaussian": Case(NUMBER >> m.gaussian(scale=1), 0, 1, ALL),
    "discrete_gaussian": Case(NUMBER >> m.discrete_gaussian(scale=1), 0, 1, ALL),
    "truncated_laplace": Case(NUMBER >> m.truncated_laplace(scale=1, radius=3), 0, 1, ALL),
    "upper_estimate": Case(NUMBER >> m.upper_estimate(scale=1, radius=3), 0, 1, ALL),
    "lower_estimate": Case(NUMBER >> m.lower_estimate(scale=1, radius=3), 0, 1, ALL),
    "staircase": Case(NUMBER >> m.staircase(width=3, scale=2), 0, 3, ALL, d_in=3, tail=FINE),
    "bounded_geometric": Case(
        Space(Lattice(lower=0, upper=4), AbsoluteDistance()) >> m.bounded_geometric(scale=1), 0, 1, ALL
    ),
    "exponential": Case(SCORES >> m.exponential(scale=2), [30, 0, 0], [29, 1, 1], ALL),
    "exponential_interval": Case(
        NUMBERS
        >> m.exponential_interval(
            pieces=_first_point, spread=lambda d: d, lower=0, upper=40, grid=1, scale=1, author="a test"
        ),
        [],
        [1],
        share(95),
    ),
    "exponential_over_integers": Case(
        SCORES >> m.exponential_over_integers(first=0, fall=10, scale=2),
        [0, 30, 0],
        [1, 29, 1],
        ALL,
        tail=Fraction(1, 10**12),
    ),
    "report_noisy_max": Case(
        SCORES >> m.report_noisy_max(scale=2, noise=m.MaxNoise.EXPONENTIAL), [30, 0, 0], [29, 1, 1], ALL
    ),
    "noisy_max_with_gap": Case(
        Space(Vectors(Lattice(), 2), LInfinity()) >> m.noisy_max_with_gap(scale=1),
        [3, 0],
        [2, 1],
        share(80),
        tail=FINE,
        ask=lambda leader: (leader.winner, leader.gap),
    ),
    "noisy_top_k": Case(SCORES >> m.noisy_top_k(k=2, scale=2), [30, 15, 0], [29, 16, 1], ALL),
    "one_shot_top_k": Case(
        SCORES >> m.one_shot_top_k(k=2, scale=HALF),
        [2, 1, 0],
        [1, 0, 1],
        share(45),
        tail=FINE,
        ask=lambda leaders: (leaders.winners, leaders.gaps),
    ),
    "above_threshold": Case(
        SCORES >> m.above_threshold(threshold=1, scale=HALF, query_scale=HALF),
        [2, 2, -2],
        [3, 3, -3],
        share(30),
        tail=FINE,
    ),
    "above_threshold_with_gap": Case(
        SCORES >> m.above_threshold_with_gap(threshold=1, scale=HALF, query_scale=HALF),
        [2, 2, -2],
        [3, 3, -3],
        share(30),
        tail=FINE,
        ask=_hit,
    ),
    "all_above_threshold": Case(
        SCORES >> m.all_above_threshold(threshold=1, scale=HALF, query_scale=HALF, hits=2),
        [0, -2, -2],
        [1, -3, -3],
        share(14),
        tail=COARSE,
    ),
    "query_stream": Case(
        NUMBER >> m.query_stream(threshold=3, scale=HALF, query_scale=HALF, sensitivity=1, hits=1),
        0,
        1,
        share(20),
        tail=FINE,
        ask=lambda stream: stream.ask(SAME),
    ),
    "alerts": Stream(
        STREAM >> m.alerts(threshold=2, scale=HALF, query_scale=HALF, monotonic=True),
        [3, 3, -2],
        [4, 4, -2],
        share(30),
        d_in=(2, 2, 1),
        tail=FINE,
        ask=lambda run: run.hits_left,
    ),
    "running_total": Stream(
        STREAM >> m.running_total(horizon=3, scale=HALF),
        [0, 0, 0],
        [1, 0, 0],
        share(95),
        d_in=(1, 1, 1),
        tail=COARSE,
        ask=lambda run: None,
    ),
    "stream_maximum": Stream(
        STREAM >> m.stream_maximum(scale=1),
        [6, 0, 0],
        [5, 1, 1],
        share(95),
        d_in=(3, 3, 1),
        ask=lambda run: run.finish(),
    ),
    "propose_test_release": Case(
        NUMBERS
        >> m.propose_test_release(distance=len, release=lambda data, _: 0, scale=1, delta=share(2), author="a test"),
        [],
        [1],
        share(4),
    ),
    "release_if_stable": Case(
        TRIO
        >> m.release_if_stable(
            stability=m.median_stability(TRIO), proposal=0, test_scale=1, delta=share(2), scale=Fraction(1, 9)
        ),
        [0, 0, 0],
        [0, 0, 1],
        share(4),
    ),
    "most_frequent": Case(
        COUNTS >> m.most_frequent(scale=1, delta=share(2)), {"a": 2, "b": 1}, {"a": 2, "b": 2}, share(99)
    ),
    "threshold_histogram": Case(
        TABLE >> m.threshold_histogram(scale=1, threshold=3), {}, {"a": 1}, ALL, d_in=(1, 1, 1)
    ),
    "select_partitions": Case(
        TABLE >> m.select_partitions(epsilon=1, delta=share(1)), {}, {"a": 1}, ALL, d_in=(1, 1, 1)
    ),
    "private_top_k": Case(
        FOUND >> m.private_top_k(k=1, scale=1, margin=3, candidates=2), {}, {"a": 1}, share(99), d_in=(1, 1, 1)
    ),
    "set_union": _coarse_union,
    "private_quantile": Case(
        NUMBERS >> m.private_quantile(q=HALF, lower=0, upper=40, grid=1, scale=1), [39.5], [39.5, 40], ALL
    ),
    "private_median": Case(NUMBERS >> m.private_median(lower=0, upper=40, grid=1, scale=1), [39.5], [39.5, 40], ALL),
    "private_minimum": Case(NUMBERS >> m.private_minimum(**MANY), LOW, [*LOW, 0], share(97)),
    "private_maximum": Case(NUMBERS >> m.private_maximum(**MANY), HIGH, [*HIGH, 101], share(97)),
    "private_quantiles": Case(
        NUMBERS >> m.private_quantiles(qs=[HALF], lower=0, upper=40, grid=1, scale=1, ties=1), [39], [39, 40], share(93)
    ),
    "private_iqr": Case(NUMBERS >> m.private_iqr(lower=0, upper=9, grid=1, scale=1, ties=1), [], [9], share(20)),
    "private_bounds": Case(
        NUMBERS >> m.private_bounds(scale=1, lowest=0, highest=1, confidence=HALF),
        [],
        [1.5],
        share(98),
        tail=COARSE,
        ask=lambda bounds: bounds and (bounds.lower, bounds.upper),
    ),
    "private_upper_bound": Case(
        NUMBERS >> m.private_upper_bound(q=Fraction(3, 4), scale=1, lower=0, upper=3, grid=1),
        [],
        [3],
        share(99),
        tail=FINE,
    ),
    "private_histogram": Case(LETTERS >> m.private_histogram(scale=1), ["x"], ["x", "y"], share(99), tail=FINE),
    "private_mode": Case(LETTER >> m.private_mode(scale=1), [], ["a"], share(80)),
    "private_cdf": Case(
        NUMBERS >> m.private_cdf(edges=[0, 1, 2], scale=HALF, branching=2),
        [0.5],
        [0.5, 1.5],
        share(95),
        tail=COARSE,
        ask=_levels,
    ),
    "noisy_tree": Case(
        PAIR >> m.noisy_tree(scale=HALF, branching=2), [1, 0], [1, 1], share(95), tail=COARSE, ask=_levels
    ),
    "noisy_hierarchy": Case(
        Space(Keyed(Lattice(), SIDES), L1()) >> m.noisy_hierarchy(scales=[HALF] * 3),
        dict.fromkeys(SIDES, 1),
        dict(zip(SIDES, (1, 2), strict=True)),
        share(48),
        tail=share(2),
        ask=lambda spine: [level.tolist() for level in spine.measured],
    ),
    "private_covariance": Case(
        Space(Rows(Vectors(Lattice(lower=0, upper=2), 1)), SymmetricDistance()) >> m.private_covariance(scale=HALF),
        [[1]],
        [[1], [2]],
        share(95),
        tail=COARSE,
        ask=lambda moments: (moments.count, moments.sums[0], moments.products[0, 0]),
    ),
    "randomized_response": Case(
        Space(Booleans(), DiscreteDistance()) >> m.randomized_response(truth=Fraction(3, 4)), True, False, ALL
    ),
    "coin_flip": Case(Space(Rows(Booleans(), size=1), Hamming()) >> m.coin_flip(), [True], [False], ALL),
    "local_mean": Case(
        Space(Lattice(lower=0, upper=4), DiscreteDistance()) >> m.local_mean(truth=Fraction(3, 4)), 0, 4, ALL
    ),
}
COMBINATORS = {
    "sampled": "test_privacy_amplified.py",
    "shuffled": "test_privacy_amplified.py",
    "in_batches": "test_privacy_amplified.py",
    "best_of": "test_privacy_best_of.py",
    "first_above": "test_privacy_best_of.py",
    "timed": "test_privacy_timing.py",
    "together": "test_privacy_together.py",
}
"""Mechanisms made of mechanisms, whose laws fill files of their own."""
NO_MECHANISM = {
    "Combination", "ConsistentMarginals",
    "Estimate", "Hit", "Law", "Leader", "Leaders", "LearntBounds", "LocalStability", "LossAt",
    "MedianStability", "MaxNoise", "Moments", "NoisySpine",
    "NoisyTree",
    "QueryStream", "Side", "StreamMechanism", "Survey",  # what mechanisms take and answer
    "combine", "consistent", "consistent_marginals",
    "whole_counts", "estimate_mean", "estimate_share", "estimate_shares",  # post-processing
    "keep_probability", "margin_for", "new_key_delta", "threshold_for",  # prices and settings, of public numbers alone
    "local_stability", "median_stability", "stability_plot",  # studies of made-up data
    "loss_at",  # a reading of a loss
}  # fmt: skip


def _ratio(left: OutputLaw, right: OutputLaw, loss: Fraction) -> bool:
    """Is some answer certainly more than e**loss times as likely on one side as on the other?"""
    factor = exp(loss).upper
    return any(
        low > factor * (q.chances.get(answer, (0, 0))[1] + q.unknown)
        for p, q in ((left, right), (right, left))
        for answer, (low, _) in p.chances.items()
    )


@pytest.mark.parametrize("name", CASES)
def test_the_promise_is_kept_and_used_up(name, monkeypatch):
    case = CASES[name] if isinstance(CASES[name], Case) else CASES[name](monkeypatch)
    left, right = case.law(case.left), case.law(case.right)
    verdict = compare(left, right, case.cost)
    assert verdict.kept
    assert not verdict.broken
    try:
        whole = Fraction(epsilon(case.cost, delta=0).upper)
    except Unaccountable:
        assert verdict.reaches(case.share)
    else:
        assert _ratio(left, right, case.share * whole)


@pytest.mark.parametrize("name", ["laplace", "exponential", "threshold_histogram", "private_median"])
def test_a_needlessly_large_promise_is_caught(name):
    """The same mechanism at three times its price would use up a third of it: the test above fails."""
    case = CASES[name]
    left, right = case.law(case.left), case.law(case.right)
    dear = case.cost.repeated(3)
    try:
        assert not _ratio(left, right, case.share * Fraction(epsilon(dear, delta=0).upper))
    except Unaccountable:
        assert not compare(left, right, dear).reaches(case.share)


def test_every_public_mechanism_is_walked():
    constructors = {*m.__all__} | {
        name for name, place in dp._PUBLIC.items() if place.startswith("deniable.mechanisms:")
    }
    assert constructors - NO_MECHANISM == {*CASES, *COMBINATORS}
    for name, file in COMBINATORS.items():
        assert f">> dp.calculus.{name}(" in (Path(__file__).parent / file).read_text(encoding="utf-8")
    assert set(m.__all__) >= NO_MECHANISM


STATED = {
    "stream_maximum": STREAM >> m.stream_maximum(scale=1, pieces=9),
    "set_union": Space(Rows(Anything()), SymmetricDistance()) >> m.set_union(items=1, scale=1, delta=share(5)),
}
"""Made when a test runs, for its own test patches a unit."""


@pytest.mark.parametrize("name", CASES)
def test_every_mechanism_states_its_accuracy(name):
    mechanism = STATED[name] if name in STATED else CASES[name].mechanism
    likely, surely = mechanism.accuracy(confidence=HALF), mechanism.accuracy(confidence=Fraction(99, 100))
    assert likely.measure == surely.measure
    assert likely.error <= surely.error


@pytest.mark.parametrize("beta", [share(5), share(40)])
def test_what_is_far_enough_is_answered(beta):
    """The stated distance, lead and weight are enough and, but for weights (a continuous matter), not more than enough."""

    def silent(mechanism, data, answer):
        law = output_law(lambda entropy: mechanism.function(data, entropy))
        return law.probability(answer).upper

    tested = CASES["propose_test_release"].mechanism
    far = int(tested.accuracy(confidence=1 - beta).error)
    assert silent(tested, [1] * far, None) <= beta < silent(tested, [1] * (far - 1), None)
    leading = CASES["most_frequent"].mechanism
    ahead = int(leading.accuracy(confidence=1 - beta).error)
    assert silent(leading, {"a": ahead + 3, "b": 3}, None) <= beta < silent(leading, {"a": ahead + 2, "b": 3}, None)


def test_answers_that_are_not_the_truth():
    """Hoeffding's bound holds for the exact law of the number of changed answers, and one answer has its own."""
    bits = Space(Rows(Booleans(), size=6), Hamming()) >> m.randomized_response(truth=Fraction(7, 8))
    law = output_law(lambda entropy: sum(not answer for answer in bits.function([True] * 6, entropy)))
    for confidence in (share(50), share(80), share(95), share(99)):
        most = int(bits.accuracy(confidence=confidence).error)
        assert sum(law.probability(wrong).upper for wrong in range(most + 1, 7)) <= 1 - confidence
    one = Space(Booleans(), DiscreteDistance()) >> m.randomized_response(truth=Fraction(7, 8))
    assert (one.accuracy(confidence=share(80)).error, one.accuracy(confidence=share(90)).error) == (0, 1)


def test_one_bit_is_never_further_than_it_says():
    told = Space(Lattice(lower=0, upper=4), DiscreteDistance()) >> m.local_mean(truth=Fraction(3, 4))
    limit = told.accuracy().error
    guesses = [m.estimate_mean(bit, 1, truth=Fraction(3, 4), lower=0, upper=4).value for bit in (1, 0)]
    assert max(abs(guess - number) for guess in guesses for number in range(5)) == limit
