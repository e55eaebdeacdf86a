"""NOT PRIVATE. Faults of sensitivity: one person moves the number further than its noise was made for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.audit.faults.fault import Fault, above, at_most, named
from deniable.core.domain import Lattice, Numbers
from deniable.core.mechanism import Mechanism
from deniable.core.metric import AbsoluteDistance
from deniable.core.space import Space
from deniable.mechanisms import laplace
from deniable.noise import Entropy

WHOLE = Space(Lattice(), AbsoluteDistance())
NOISE: Mechanism = WHOLE >> laplace(scale=1)
REAL = Space(Numbers(), AbsoluteDistance())


class _Summed(Fault):
    """A number computed from rows, plus discrete Laplace noise of scale 1."""

    scale: Any = 1
    best = "the answer is near the larger of the two sums"

    def number(self, data: Any) -> int:
        """What the noise is added to."""
        raise NotImplementedError

    def function(self, data: Any, entropy: Entropy) -> Any:
        return self.number(data) + noise.discrete_laplace(self.scale, entropy)

    def draws(self, data: Any, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """Many answers at once."""
        return self.number(data) + noise.discrete_laplaces(self.scale, count, entropy)


class ChangeOneForAddRemove(_Summed):
    """NOT PRIVATE: values in [100, 101] move the sum by 1 when one is changed, and by 100 when one comes or goes."""

    samples = 100
    event = above(50)
    title, left, right = "sensitivity of changing a row, for rows that come and go", [100], []

    def number(self, data: Sequence[int]) -> int:
        return sum(min(max(value, 100), 101) for value in data)


class ClipAfterSum(_Summed):
    """NOT PRIVATE: the total is limited, not each row."""

    samples = 100
    event = above(25)
    title, left, right = "clip after sum", [1], [1, 50]

    def number(self, data: Sequence[int]) -> int:
        return min(max(sum(data), 0), 100)

    def program(self, data: Sequence[int], recorder: Any) -> Any:
        """The same, asking a recorder."""
        return recorder.release(NOISE, self.number(data), d_in=1)


class SquaredBound(_Summed):
    """NOT PRIVATE: a sum of squares with noise for the bound of the values."""

    samples = 100
    event = above(50)
    title, left, right, scale = "R for R squared", [], [10], 10

    def number(self, data: Sequence[int]) -> int:
        return sum(min(abs(value), 10) ** 2 for value in data)


class SaturatingReordered(_Summed):
    """NOT PRIVATE: a running sum that saturates at 3, over rows whose order depends on how many there are."""

    samples = 200
    event = above(0)
    title, left, right = "saturating sums re-ordered", [1] * 6 + [-1] * 6, [1] * 6 + [-1] * 6 + [0]

    def number(self, data: Sequence[int]) -> int:
        total = 0
        for value in data if len(data) % 2 else data[::-1]:
            total = min(max(total + value, -3), 3)
        return total


class FirstRowsAcrossUnits(_Summed):
    """NOT PRIVATE: the bound on rows keeps the first ten of the whole sorted table instead of one of each person."""

    samples = 100
    event = above(5)
    title = "first rows of a sort across units"
    left = [("other", 0)] * 10
    right = [("other", 0)] * 10 + [("person", 1)] * 10

    def number(self, data: Sequence[tuple[str, int]]) -> int:
        return sum(value for _, value in sorted(data, key=lambda row: -row[1])[:10])


class BatchSizeDivisor(_Summed):
    """NOT PRIVATE: a mean over the batch's own size with noise for the expected ten; in hundredths."""

    samples = 200
    event = above(50)
    title, left, right, scale = "the batch's own size as divisor", [100], [100, -100], 20

    def number(self, data: Sequence[int]) -> int:
        return sum(data) // len(data)


class PerBatchClipping(_Summed):
    """NOT PRIVATE: the mean gradient of ten is clipped instead of each gradient; in hundredths of the norm."""

    samples = 200
    event = above(50)
    title, left, right, scale = "per-batch clipping", [0] * 10, [0] * 9 + [10_000], 20

    def number(self, data: Sequence[int]) -> int:
        return min(max(sum(data) // 10, -100), 100)


class SensitivityZero(Fault):
    """NOT PRIVATE: the query is said to have sensitivity zero, so its noise has scale zero."""

    samples = 100
    event = at_most(0)
    title, best = "sensitivity zero", "the answer is at most 0: nothing random stands between it and the data"

    def function(self, data: int, entropy: Entropy) -> int:
        return data

    def program(self, data: int, recorder: Any) -> Any:
        """The same, asking a recorder."""
        return recorder.release(NOISE, data, d_in=0)


class TrueDivisor(Fault):
    """NOT PRIVATE: a noisy sum divided by the true number of rows."""

    samples = 500
    event = above(-2, of="answer: place of the lowest bit")
    title, left, right, best = (
        "true n as divisor",
        [1, 1],
        [1, 1, 1],
        "the answer is a multiple of a half, as sums of two rows are",
    )

    def function(self, data: Sequence[int], entropy: Entropy) -> float:
        return (sum(data) + noise.discrete_laplace(1, entropy)) / len(data)

    def program(self, data: Sequence[int], recorder: Any) -> Any:
        """The same, asking a recorder."""
        return recorder.release(NOISE, sum(data), d_in=1) / len(data)


class NanThroughClip(Fault):
    """NOT PRIVATE: clipping by comparisons lets NaN through, and one NaN makes the sum NaN."""

    samples = 100
    event = named("NaN", of="answer: kind of number")
    title, left, right, best = "NaN through clip", [1.0], [1.0, math.nan], "the answer is NaN"

    def number(self, data: Sequence[float]) -> float:
        """The sum of what was clipped."""
        return sum((0.0 if value < 0 else 1.0 if value > 1 else value) for value in data)

    def function(self, data: Sequence[float], entropy: Entropy) -> float:
        return self.number(data) + noise.discrete_laplace(1, entropy)

    def program(self, data: Sequence[float], recorder: Any) -> Any:
        """The same, asking a recorder."""
        return recorder.release(NOISE, self.number(data), d_in=1)


class UnboundedContribution(Fault):
    """NOT PRIVATE: a histogram in which one person is in five bins, with noise for one."""

    samples = 1_000
    event = above(2, of="answer: sum")
    title, left, right = "histogram without the contribution bound", [0] * 5, [1] * 5
    best = "the sum of the bins is above 2"

    def function(self, data: Sequence[int], entropy: Entropy) -> NDArray[np.int64]:
        return np.array(data) + noise.discrete_laplaces(1, len(data), entropy)


class HalvedScoreSensitivity(Fault):
    """NOT PRIVATE: the exponential mechanism as if scores moved by half of what they move."""

    samples = 5_000
    event = at_most(0)
    title, left, right, best = (
        "halved score sensitivity",
        [1] + [0] * 10,
        [0] + [1] * 10,
        "the first candidate wins, answer 0",
    )

    def function(self, data: Sequence[int], entropy: Entropy) -> int:
        return noise.exponential_choice(np.array(data), Fraction(1), entropy)
