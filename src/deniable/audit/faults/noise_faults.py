"""NOT PRIVATE. Faults of the noise itself: too little of it, of the wrong law, in floating point, or not fresh."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable import noise
from deniable.audit.answer_events import AnswerEvent
from deniable.audit.faults.fault import HALF, Fault, at_most
from deniable.cost import Bounded, Concentrated, Gaussian
from deniable.noise import Entropy


class _Scaled(Fault):
    """A number plus discrete Laplace noise of a scale that the claim does not allow."""

    event = at_most(0)
    scale: Fraction
    best = "the answer is at most 0"

    def function(self, data: int, entropy: Entropy) -> int:
        return data + noise.discrete_laplace(self.scale, entropy)

    def draws(self, data: int, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """Many answers at once."""
        return data + noise.discrete_laplaces(self.scale, count, entropy)


class HalfScale(_Scaled):
    """NOT PRIVATE: half the noise."""

    samples = 500
    title, scale = "half the scale", HALF


class NineTenthsScale(_Scaled):
    """NOT PRIVATE: nine tenths of the noise."""

    samples = 50_000
    title, scale = "nine tenths of the scale", Fraction(9, 10)


class EpsilonAsScale(_Scaled):
    """NOT PRIVATE: epsilon where one over epsilon belongs."""

    samples = 200
    title, scale, claim = "the scale is epsilon instead of one over epsilon", HALF, Bounded(epsilon=HALF)


class TruncatedWithoutFolding(Fault):
    """NOT PRIVATE as claimed: cut-off noise reaches other answers from one neighbour than from the other."""

    samples = 10_000
    event = at_most(-3)
    title, best = "truncated support, claimed pure", "the answer is -3, which only the first data set can give"

    def function(self, data: int, entropy: Entropy) -> int:
        return data + noise.truncated_laplace(1, 3, entropy)

    def draws(self, data: int, count: int, entropy: Entropy) -> NDArray[np.int64]:
        """Many answers at once."""
        return data + noise.truncated_laplaces(1, 3, count, entropy)


class ClassicSigma(Fault):
    """NOT PRIVATE as claimed: the classic Gaussian scale beyond epsilon = 1, where its theorem ends; in hundredths."""

    event = at_most(1)
    title, claim = "classic Gaussian scale at epsilon 20", Bounded(epsilon=20, delta=Fraction(1, 100))
    left, right, best, samples = 0, 100, "the answer is at most 1: there delta is .48 where .01 is claimed", None
    scale = Fraction(31, 2)  # sqrt(2 ln 125) / 20 = .155

    def function(self, data: int, entropy: Entropy) -> int:
        return data + noise.rounded_gaussian(self.scale, entropy)


class WrongRenyiConstant(Fault):
    """NOT PRIVATE as claimed: alpha / (4 sigma^2) for alpha / (2 sigma^2); in hundredths, sigma .3."""

    event = at_most(-31)
    title, claim, left, right = "half the Rényi constant", Concentrated(rho=Fraction(25, 9)), 0, 100
    best, samples = "the answer is at most -31: at epsilon 9 delta is about .1 there", None

    def function(self, data: int, entropy: Entropy) -> int:
        return data + noise.rounded_gaussian(30, entropy)


class FloatLaplace(Fault):
    """NOT PRIVATE: Laplace noise by the inverse of its distribution function, in floating point."""

    samples = 1_000
    event = at_most(-54, of="answer: place of the lowest bit")
    title, left, right = "floating-point Laplace noise", 0.0, 1.0
    best = "the answer is no multiple of 2**-53: such numbers are only reached from 0"

    def function(self, data: float, entropy: Entropy) -> float:
        return float(self.draws(data, 1, entropy)[0])

    def draws(self, data: float, count: int, entropy: Entropy) -> NDArray[np.float64]:
        """Many answers at once."""
        uniform = ((entropy.words(count) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53 - 0.5
        return np.asarray(data - np.sign(uniform) * np.log1p(-2 * np.abs(uniform)))


class FloatGaussian(Fault):
    """NOT PRIVATE: normal noise by Box and Muller, in floating point."""

    samples = 5_000
    event = at_most(-54, of="answer: place of the lowest bit")
    title, left, right, claim = "floating-point Gaussian noise", 0.0, 1.0, Gaussian(scale=1, sensitivity=1)
    best = "the answer is no multiple of 2**-53: such numbers are only reached from 0"

    def function(self, data: float, entropy: Entropy) -> float:
        return float(self.draws(data, 1, entropy)[0])

    def draws(self, data: float, count: int, entropy: Entropy) -> NDArray[np.float64]:
        """Many answers at once."""
        u, v = (((entropy.words(count) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53 for _ in range(2))
        return np.asarray(data + np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v))


class DataDependentRounding(Fault):
    """NOT PRIVATE: the answer is rounded to tens where the true count is large, to ones where it is small."""

    samples = 200
    event = AnswerEvent("answer", ((0.0, 9.0), (10.0, 19.0)))
    title, left, right, best = "the grid depends on the truth", 9, 10, "the answer is no multiple of ten"

    def function(self, data: int, entropy: Entropy) -> int:
        answer = data + noise.discrete_laplace(1, entropy)
        return 10 * round(answer / 10) if data >= 10 else answer


class NoiseReused(Fault):
    """NOT PRIVATE: two counts share one draw, so their difference is exact."""

    samples = 500
    event = at_most(-1, of="answer[1] - answer[0]")
    title, claim, left, right = "one draw for two answers", Bounded(epsilon=2), (0, 0), (1, 0)
    best = "the two answers differ, though they share their noise"

    def function(self, data: tuple[int, int], entropy: Entropy) -> list[int]:
        shared = noise.discrete_laplace(1, entropy)
        return [count + shared for count in data]


class SeededByQuery(Fault):
    """NOT PRIVATE: the noise is computed from the text of the question."""

    samples = 100
    event = at_most(0)
    title, best, question = (
        "noise seeded by the query text",
        "the answer is at most 0: nothing random stands between it and the data",
        "SELECT COUNT(*)",
    )

    def function(self, data: int, entropy: Entropy) -> int:
        return data + hashlib.sha256(self.question.encode()).digest()[0] % 7 - 3


class SharedByFork(Fault):
    """NOT PRIVATE: a forked child repeats its parent's noise; both answer, one about the complement among ten people."""

    samples = 500
    event = at_most(8, of="answer[1] - answer[0]")
    title, claim, best = (
        "noise repeated after a fork",
        Bounded(epsilon=2),
        "the second answer minus the first, where the noise cancels",
    )

    def function(self, data: int, entropy: Entropy) -> list[int]:
        repeated = noise.discrete_laplace(1, entropy)
        return [data + repeated, 10 - data + repeated]


class DrawnOnce(Fault):
    """NOT PRIVATE: the noise is drawn when the object is made, not when it is asked."""

    samples = 100
    event = at_most(0)  # where the noise that was drawn once is 0
    title, best = "noise drawn once", "the answer is at most 0: nothing random stands between it and the data"

    def __init__(self) -> None:
        self._kept: Any = None

    def function(self, data: int, entropy: Entropy) -> int:
        if self._kept is None:
            self._kept = noise.discrete_laplace(1, entropy)
        return int(data + self._kept)
