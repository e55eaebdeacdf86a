"""NOT PRIVATE. Faults of selection: a noisy maximum that says too much, and published broken forms of the sparse vector technique.

The forms are those collected by Lyu, Su and Li (2017), *Understanding the sparse vector technique for differential privacy*.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.audit.answer_events import AnswerEvent
from deniable.audit.faults.fault import Fault, at_most, named
from deniable.noise import Entropy

STEPS = 12
"""Steps of the grid to one: noise finer than the counts, as in the published algorithms."""


def _noises(scale: Any, shape: tuple[int, ...], entropy: Entropy) -> NDArray[np.float64]:
    count = int(np.prod(shape))
    return (noise.discrete_laplaces(Fraction(scale) * STEPS, count, entropy) / STEPS).reshape(shape)


class NoisyMaxValue(Fault):
    """NOT PRIVATE: the noisy maximum of twenty counts says its value, at the price of saying which it is."""

    event = at_most(33)
    title, left, right = "noisy max returns the value", [0] * 20, [1] * 20
    best, samples = "the largest noisy score is at most 33 twelfths", 40_000

    def function(self, data: Sequence[int], entropy: Entropy) -> float:
        return float(self.draws(data, 1, entropy)[0])

    def draws(self, data: Sequence[int], count: int, entropy: Entropy) -> NDArray[np.float64]:
        """Many answers at once."""
        shaken = np.array(data) + _noises(2, (count, len(data)), entropy)
        return np.asarray(np.rint(shaken.max(axis=1) * STEPS))


class _Sparse(Fault):
    """Queries against a noisy threshold; `rho` and `nu` are the scales of the two noises."""

    rho: Any
    nu: Any
    most: int

    def function(self, data: Sequence[int], entropy: Entropy) -> list[bool]:
        return self.draws(data, 1, entropy)[0]

    def draws(self, data: Sequence[int], count: int, entropy: Entropy) -> list[list[bool]]:
        """Many answers at once: what is above the threshold, up to the last one that is allowed."""
        threshold = noise.discrete_laplaces(Fraction(self.rho) * STEPS, count, entropy).reshape(count, 1)
        shaken = np.tile(np.array(data) * STEPS, (count, 1))
        if self.nu:
            many = noise.discrete_laplaces(Fraction(self.nu) * STEPS, count * len(data), entropy)
            shaken = shaken + many.reshape(count, len(data))
        above = shaken >= threshold
        used_up = np.cumsum(above, axis=1) >= self.most
        lengths = np.where(used_up.any(axis=1), used_up.argmax(axis=1) + 1, len(data))
        return [row[:length].tolist() for row, length in zip(above, lengths, strict=True)]


class SparseWithoutQueryNoise(_Sparse):
    """NOT PRIVATE: only the threshold is noisy."""

    samples = 1_000
    event = named("[False, True]")
    title, left, right = "sparse vector without noise on the queries", [0, 1], [1, 0]
    rho, nu, most, best = 2, 0, 2, "the first query is below the threshold and the second above"


class SparseWithoutCutOff(_Sparse):
    """NOT PRIVATE: any number of answers above the threshold at the price of one."""

    event = named("[True, True, True, False, False, False]")
    title, left, right, samples = "sparse vector without a cut-off", [1] * 3 + [0] * 3, [0] * 3 + [1] * 3, 20_000
    rho, nu, most, best = 2, 2, 99, "the first three queries are above the threshold and the others below"


class SparseNoiseNotScaled(_Sparse):
    """NOT PRIVATE: noise on the queries that does not grow with the number of answers allowed."""

    event = named(
        "[False, False, False, True, True, True]",
        "[False, False, False, True, False, True]",
        "[False, False, False, False, True, True]",
        "[False, False, False, True, True, False]",
    )
    title, left, right, samples = (
        "sparse vector, noise not scaled with the hits",
        [1] * 3 + [0] * 3,
        [0] * 3 + [1] * 3,
        20_000,
    )
    rho, nu, most, best = (
        4,
        Fraction(4, 3),
        3,
        "the first three queries are below the threshold and at least two of the others above",
    )


class SparseReturnsValue(Fault):
    """NOT PRIVATE: the query that is above the threshold is answered with the very value that was compared."""

    event = AnswerEvent("answer", ((-999.0, 36.0),))
    title, left, right = "sparse vector returns the compared value", [0] * 5 + [1], [1] * 5 + [0]
    best, samples = "five queries are below the threshold, and the value shown of the last is at most 3", 100_000

    def function(self, data: Sequence[int], entropy: Entropy) -> tuple[int, float]:
        return self._read(self._noisy(data, 1, entropy))[0]

    def draws(self, data: Sequence[int], count: int, entropy: Entropy) -> NDArray[np.float64]:
        """Many answers at once: the value where all but the last were below, else -1000."""
        rows = self._read(self._noisy(data, count, entropy))
        return np.array([value if place == len(data) - 1 else -1000.0 for place, value in rows])

    def _noisy(self, data: Sequence[int], count: int, entropy: Entropy) -> tuple[Any, Any]:
        threshold = _noises(2, (count, 1), entropy)
        return np.array(data) + _noises(2, (count, len(data)), entropy), threshold

    def _read(self, noisy: tuple[Any, Any]) -> list[tuple[int, float]]:
        values, threshold = noisy
        above = values >= threshold
        places = np.where(above.any(axis=1), above.argmax(axis=1), -1)
        return [(int(place), float(np.rint(row[place] * STEPS))) for place, row in zip(places, values, strict=True)]
