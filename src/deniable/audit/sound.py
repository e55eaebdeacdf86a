"""The sound set: every mechanism of deniable at several scales, on neighbours that use much of its price. None may be accused.

A constructor that is missing here fails a test, as one that is missing among the exact laws does.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from deniable import mechanisms as m
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
from deniable.core.distance import plain
from deniable.cost import Cost
from deniable.errors import Retired
from deniable.exact import exp
from deniable.noise import Entropy

NUMBER = Space(Lattice(), AbsoluteDistance())
NUMBERS = Space(Rows(Numbers()), SymmetricDistance())
LETTERS = Space(Rows(Categories(("x", "y"))), SymmetricDistance())
SCORES = Space(Vectors(Lattice(), 3), LInfinity())
PAIR = Space(Vectors(Lattice(), 2), L1())
TABLE = Space(Keyed(Lattice(), None), PartitionDistance(AbsoluteDistance()))
FOUND = Space(Keyed(Lattice(), None), PartitionDistance(AbsoluteDistance(), monotonic=True))
COUNTS = Space(Keyed(Lattice(), None), L1())
SMALL = Space(Lattice(lower=0, upper=4), AbsoluteDistance())
TRIO = rows(Lattice(lower=0, upper=1), size=3)
STREAM = stream(NUMBER)
SAME = Transformation(NUMBER, NUMBER, lambda data, _: data, lambda d_in: d_in)
SIDES = (("n", "a"), ("n", "b"))
RARE = Fraction(1, 50)
GRID: Any = {"lower": 0, "upper": 9, "grid": 1}
SCALES = (Fraction(100), Fraction(1), Fraction(1, 10))
"""About epsilon = .01, 1 and 10 where a mechanism has one scale and sensitivity 1."""


@dataclass(frozen=True, slots=True)
class Sound:
    """A mechanism of ours on two neighbours `d_in` apart; `ask` holds the conversation where it has one."""

    name: str
    mechanism: Any
    left: Any
    right: Any
    d_in: Any = 1
    ask: Callable[[Any], Any] = lambda answer: answer
    enumerable: bool = True

    @property
    def claim(self) -> Cost:
        """Its own price for these neighbours."""
        cost: Cost = self.mechanism.cost(d_in=self.d_in)
        return cost

    def function(self, data: Any, entropy: Entropy) -> Any:
        """One answer."""
        return self.ask(self.mechanism.function(data, entropy))


class Fed(Sound):
    """A mechanism that is fed piece by piece."""

    __slots__ = ()

    def function(self, data: Any, entropy: Entropy) -> Any:
        run, seen = self.mechanism([], entropy=entropy), list[Any]()
        with suppress(Retired):
            seen.extend(run.feed(piece) for piece in data)
        return (*seen, self.ask(run))


def _first_point(data: Any, grid: Any) -> Any:
    return np.array([0, 1, grid.count]), np.array([len(data), 0])


def _leader(leader: Any) -> Any:
    return leader.winner, leader.gap


def _levels(tree: Any) -> Any:
    return [level.tolist() for level in tree.levels]


def _truth(scale: Fraction) -> Fraction:
    """The probability of the truth at about epsilon = 1 / scale, between two answers."""
    odds = exp(1 / scale).upper.limit_denominator(10**6)
    return odds / (1 + odds)


def sound(scale: Fraction) -> list[Sound]:
    """The whole set at one scale."""
    return [*_numbers(scale), *_choices(scale), *_streams(scale), *_keys(scale), *_rows(scale), *_answers(scale)]


def _numbers(scale: Fraction) -> list[Sound]:
    radius = int(3 * scale) + 3
    return [
        Sound("laplace", NUMBER >> m.laplace(scale=scale), 0, 1),
        Sound("gaussian", NUMBER >> m.gaussian(scale=scale), 0, 1),
        Sound("discrete_gaussian", NUMBER >> m.discrete_gaussian(scale=scale), 0, 1),
        Sound("truncated_laplace", NUMBER >> m.truncated_laplace(scale=scale, radius=radius), 0, 1),
        Sound("upper_estimate", NUMBER >> m.upper_estimate(scale=scale, radius=radius), 0, 1),
        Sound("lower_estimate", NUMBER >> m.lower_estimate(scale=scale, radius=radius), 0, 1),
        Sound("bounded_geometric", SMALL >> m.bounded_geometric(scale=scale), 0, 1),
        Sound("staircase", NUMBER >> m.staircase(width=1, scale=scale), 0, 1),
        Sound("noisy_tree", PAIR >> m.noisy_tree(scale=scale, branching=2), [1, 0], [1, 1], ask=_levels),
        Sound(
            "noisy_hierarchy",
            Space(Keyed(Lattice(), SIDES), L1()) >> m.noisy_hierarchy(scales=[scale] * 3),
            dict.fromkeys(SIDES, 1),
            dict(zip(SIDES, (1, 2), strict=True)),
            ask=lambda spine: [level.tolist() for level in spine.measured],
        ),
    ]


def _choices(scale: Fraction) -> list[Sound]:
    noisy: Any = {"threshold": 1, "scale": scale, "query_scale": scale}
    pair = Space(Vectors(Lattice(), 2), LInfinity())
    return [
        Sound("exponential", SCORES >> m.exponential(scale=scale), [3, 0, 0], [2, 1, 1]),
        Sound(
            "exponential_interval",
            NUMBERS
            >> m.exponential_interval(
                pieces=_first_point, spread=plain, lower=0, upper=9, grid=1, scale=scale, author="the sound set"
            ),
            [],
            [1],
        ),
        Sound(
            "exponential_over_integers",
            SCORES >> m.exponential_over_integers(first=0, fall=10, scale=scale),
            [0, 30, 0],
            [1, 29, 1],
        ),
        Sound("report_noisy_max", SCORES >> m.report_noisy_max(scale=scale), [3, 0, 0], [2, 1, 1]),
        Sound("noisy_max_with_gap", pair >> m.noisy_max_with_gap(scale=scale), [3, 0], [2, 1], ask=_leader),
        Sound("noisy_top_k", SCORES >> m.noisy_top_k(k=2, scale=scale), [3, 1, 0], [2, 2, 1]),
        Sound(
            "one_shot_top_k",
            SCORES >> m.one_shot_top_k(k=2, scale=scale),
            [2, 1, 0],
            [1, 0, 1],
            ask=lambda leaders: (leaders.winners, leaders.gaps),
        ),
        Sound("above_threshold", SCORES >> m.above_threshold(**noisy), [2, 2, -2], [3, 3, -3]),
        Sound(
            "above_threshold_with_gap",
            SCORES >> m.above_threshold_with_gap(**noisy),
            [2, 2, -2],
            [3, 3, -3],
            ask=lambda hit: hit and (hit.candidate, hit.gap),
        ),
        Sound("all_above_threshold", SCORES >> m.all_above_threshold(hits=2, **noisy), [0, -2, -2], [1, -3, -3]),
        Sound(
            "query_stream",
            NUMBER >> m.query_stream(sensitivity=1, hits=1, **noisy),
            0,
            1,
            ask=lambda questions: questions.ask(SAME),
        ),
        Sound(
            "release_if_stable",
            TRIO
            >> m.release_if_stable(
                stability=m.median_stability(TRIO), proposal=0, test_scale=scale, delta=RARE, scale=scale
            ),
            [0, 0, 0],
            [0, 0, 1],
        ),
        Sound(
            "propose_test_release",
            NUMBERS
            >> m.propose_test_release(
                distance=len, release=lambda *_: 0, scale=scale, delta=RARE, author="the sound set"
            ),
            [],
            [1],
        ),
    ]


def _streams(scale: Fraction) -> list[Sound]:
    alert: Any = {"threshold": 2, "scale": scale, "query_scale": scale}
    return [
        Fed(
            "alerts",
            STREAM >> m.alerts(monotonic=True, **alert),
            [3, 3, -2],
            [4, 4, -2],
            (2, 2, 1),
            lambda run: run.hits_left,
        ),
        Fed(
            "running_total",
            STREAM >> m.running_total(horizon=3, scale=scale),
            [0, 0, 0],
            [1, 0, 0],
            (1, 1, 1),
            lambda _: None,
        ),
        Fed(
            "stream_maximum",
            STREAM >> m.stream_maximum(scale=scale),
            [6, 0, 0],
            [5, 1, 1],
            (3, 3, 1),
            lambda run: run.finish(),
        ),
    ]


def _keys(scale: Fraction) -> list[Sound]:
    return [
        Sound("most_frequent", COUNTS >> m.most_frequent(scale=scale, delta=RARE), {"a": 2, "b": 1}, {"a": 2, "b": 2}),
        Sound(
            "threshold_histogram",
            TABLE >> m.threshold_histogram(scale=scale, threshold=3 + int(3 * scale)),
            {},
            {"a": 1},
            (1, 1, 1),
        ),
        Sound(
            "select_partitions",
            TABLE >> m.select_partitions(epsilon=1 / scale, delta=Fraction(1, 100)),
            {},
            {"a": 1},
            (1, 1, 1),
        ),
        Sound(
            "private_top_k",
            FOUND >> m.private_top_k(k=1, scale=scale, margin=3 + int(3 * scale), candidates=2),
            {},
            {"a": 1},
            (1, 1, 1),
        ),
        Sound(
            "set_union",
            Space(Rows(Anything()), SymmetricDistance()) >> m.set_union(items=1, scale=scale, delta=Fraction(1, 20)),
            [],
            [["a"]],
            enumerable=False,  # its weights are counted in millionths: a law of millions of outcomes
        ),
    ]


def _rows(scale: Fraction) -> list[Sound]:
    half = Fraction(1, 2)
    return [
        Sound("private_quantile", NUMBERS >> m.private_quantile(q=half, scale=scale, **GRID), [], [9]),
        Sound("private_median", NUMBERS >> m.private_median(scale=scale, **GRID), [8.5], [8.5, 9]),
        Sound("private_minimum", NUMBERS >> m.private_minimum(scale=scale, **GRID), [9], [9, 0]),
        Sound("private_maximum", NUMBERS >> m.private_maximum(scale=scale, **GRID), [0], [0, 9]),
        Sound("private_quantiles", NUMBERS >> m.private_quantiles(qs=[half], scale=scale, ties=1, **GRID), [8], [8, 9]),
        Sound("private_iqr", NUMBERS >> m.private_iqr(scale=scale, ties=1, **GRID), [], [9]),
        Sound(
            "private_bounds",
            NUMBERS >> m.private_bounds(scale=scale, lowest=0, highest=1, confidence=half),
            [],
            [1.5],
            ask=lambda bounds: bounds and (bounds.lower, bounds.upper),
        ),
        Sound(
            "private_upper_bound",
            NUMBERS >> m.private_upper_bound(q=Fraction(3, 4), scale=scale, lower=0, upper=3, grid=1),
            [],
            [3],
        ),
        Sound("private_histogram", LETTERS >> m.private_histogram(scale=scale), ["x"], ["x", "y"]),
        Sound("private_mode", LETTERS >> m.private_mode(scale=scale), [], ["x"]),
        Sound(
            "private_cdf",
            NUMBERS >> m.private_cdf(edges=[0, 1, 2], scale=scale, branching=2),
            [0.5],
            [0.5, 1.5],
            ask=_levels,
        ),
        Sound(
            "private_covariance",
            Space(Rows(Vectors(Lattice(lower=0, upper=2), 1)), SymmetricDistance())
            >> m.private_covariance(scale=scale),
            [[1]],
            [[1], [2]],
            ask=lambda moments: (moments.count, moments.sums[0], moments.products[0, 0]),
        ),
    ]


def _answers(scale: Fraction) -> list[Sound]:
    truth = _truth(scale)
    bit, bits = Space(Booleans(), DiscreteDistance()), Space(Rows(Booleans(), size=1), Hamming())
    level = Space(Lattice(lower=0, upper=4), DiscreteDistance())
    return [
        Sound("randomized_response", bit >> m.randomized_response(truth=truth), True, False),
        Sound("coin_flip", bits >> m.coin_flip(), [True], [False]),
        Sound("local_mean", level >> m.local_mean(truth=truth), 0, 4),
    ]
