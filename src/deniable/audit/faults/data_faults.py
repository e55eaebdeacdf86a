"""NOT PRIVATE. Faults that let keys, domains, parts, samples or a budget follow the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from deniable import noise
from deniable.audit.faults.fault import ONE, Fault, above, at_most, named
from deniable.audit.faults.sensitivity_faults import NOISE
from deniable.core.domain import Categories
from deniable.core.space import rows
from deniable.cost import Bounded
from deniable.mechanisms import private_histogram
from deniable.noise import Entropy

LETTERS = ["a", "a", "b"]
BOTH_LOW = named(*(f"[{-first}, {-second}]" for first in range(8) for second in range(8)))


def _counts(data: Sequence[str], entropy: Entropy) -> dict[str, int]:
    return {key: count + noise.discrete_laplace(1, entropy) for key, count in sorted(Counter(data).items())}


class KeyLeak(Fault):
    """NOT PRIVATE: every group that exists is shown, noise or not."""

    samples = 100
    event = named("['a', 'b', 'rare']", of="answer: keys")
    title, left, right = "key leak", LETTERS, [*LETTERS, "rare"]
    claim, best = Bounded(epsilon=1, delta=Fraction(1, 10**6)), "the key 'rare' is there: only one person has it"

    def function(self, data: Sequence[str], entropy: Entropy) -> dict[str, int]:
        return _counts(data, entropy)


class ThresholdWithoutNoise(Fault):
    """NOT PRIVATE: groups of at least five are shown, by their true size."""

    samples = 100
    event = named("['a']", of="answer: keys")
    title, left, right, best = (
        "threshold without noise",
        ["a"] * 4,
        ["a"] * 5,
        "the key 'a' is there: its true count is on one side of the threshold",
    )

    def function(self, data: Sequence[str], entropy: Entropy) -> dict[str, int]:
        return _counts([key for key in data if Counter(data)[key] >= 5], entropy)


class DeltaNotSplit(Fault):
    """NOT PRIVATE as claimed: each of the twenty keys of one person is shown with probability delta, not delta / 20."""

    samples = 1_000
    event = above(0, of="answer: number of keys")
    title, left, right = "delta not split over partitions", [], list(range(20))
    claim, best = Bounded(epsilon=1, delta=Fraction(1, 100)), "at least one key is shown"

    def function(self, data: Sequence[int], entropy: Entropy) -> frozenset[int]:
        return frozenset(key for key in data if noise.bernoulli(Fraction(1, 100), entropy))


class QuantileCandidatesFromData(Fault):
    """NOT PRIVATE: the median is picked among the values that are there."""

    samples = 1_000
    event = above(76)
    title, left, right, best = (
        "quantile candidates from the data",
        [1, 2, 3],
        [1, 2, 3, 77],
        "the answer is 77, a value that only one person has",
    )

    def function(self, data: Sequence[int], entropy: Entropy) -> int:
        ranks = [-abs(2 * place + 1 - len(data)) for place in range(len(data))]
        return sorted(data)[noise.exponential_choice(np.array(ranks), Fraction(4), entropy)]


class DomainFromData(Fault):
    """NOT PRIVATE: the categories of a histogram are those that occur."""

    samples = 100
    event = above(2, of="answer: number of keys")
    title, left, right, best = (
        "domain from the data",
        LETTERS,
        [*LETTERS, "c"],
        "the histogram has three bins, the third for one person",
    )

    def function(self, data: Sequence[str], entropy: Entropy) -> Any:
        return self._made(data).function(data, entropy)

    def _made(self, data: Sequence[str]) -> Any:
        return rows(Categories(tuple(sorted(set(data))))) >> private_histogram(scale=1)

    def program(self, data: Sequence[str], recorder: Any) -> Any:
        """The same, asking a recorder."""
        return recorder.release(self._made(data), data, d_in=1)


class PartsByRowOrder(Fault):
    """NOT PRIVATE: parts made by the place of a row, so that one row more moves all the others."""

    samples = 200
    event = at_most(0, of="answer[1] - answer[0]")
    title, left, right = "parts by row order", [0, 1] * 4, [1, 0] * 3 + [1]
    best = "the first part is larger than the second, or as large"

    def function(self, data: Sequence[int], entropy: Entropy) -> list[int]:
        return [sum(data[place::2]) + noise.discrete_laplace(1, entropy) for place in (0, 1)]


class SwappedResponse(Fault):
    """NOT PRIVATE: the probability to answer truly is used as the probability not to answer at random."""

    samples = 1_000
    event = named("True")
    title, left, right, best = "randomised response with p swapped", False, True, "the answer is False"

    def function(self, data: bool, entropy: Entropy) -> bool:
        if noise.bernoulli(Fraction(731, 1000), entropy):  # e / (1 + e)
            return data
        return noise.bernoulli(Fraction(1, 2), entropy)


class AmplificationWithoutSecrecy(Fault):
    """NOT PRIVATE as claimed: a sample of a tenth, priced as secret, and published who is in it."""

    title, left, right = "amplification without secrecy", [1] + [0] * 4, [0] * 5
    claim, best, samples = (
        Bounded(epsilon=Fraction(16, 100)),
        "the first person is in the sample and the count is positive",
        10_000,
    )
    event = named("[1, 1]", "[1, 2]", "[1, 3]", "[1, 4]")

    def function(self, data: Sequence[int], entropy: Entropy) -> list[int]:
        inside = [noise.bernoulli(Fraction(1, 10), entropy) for _ in data]
        count = sum(value for value, is_in in zip(data, inside, strict=True) if is_in)
        answer = count + noise.discrete_laplace(1, entropy)
        return [int(inside[0]), answer]


class DoubleSpend(Fault):
    """NOT PRIVATE: two answers for the price of one."""

    samples = 5_000
    event = BOTH_LOW
    title, best = "double spend", "both answers are at most 0"

    def function(self, data: int, entropy: Entropy) -> list[int]:
        return [data + noise.discrete_laplace(1, entropy) for _ in range(2)]

    def program(self, data: int, recorder: Any) -> Any:
        """The same, asking a recorder: one charge, two answers."""
        recorder.charge(ONE)
        return [recorder.release(NOISE, data, d_in=1) for _ in range(2)]


class CheckAfterRun(Fault):
    """NOT PRIVATE: a filter that looks at its budget when the answer is already out."""

    samples = 5_000
    event = BOTH_LOW
    title, best = "a filter that checks after running", "both answers are at most 0"

    def function(self, data: int, entropy: Entropy) -> list[int]:
        answers: list[int] = []
        spent = 0
        while spent <= 1:  # the flaw: the second answer is given before the budget of one is looked at again
            answers.append(data + noise.discrete_laplace(1, entropy))
            spent += 1
        return answers

    def program(self, data: int, recorder: Any) -> Any:
        """The same, asking a recorder: each answer first, its charge afterwards."""
        answers = []
        for _ in range(2):
            answers.append(recorder.release(NOISE, data, d_in=1))
            recorder.charge(ONE)
        return answers
