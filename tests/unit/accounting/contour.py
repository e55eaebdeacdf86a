"""A second reference, for compositions too long to enumerate: delta as a contour integral of the moment generating function.

For every s > 0, delta(epsilon) is 1/(2 pi i) times the integral of M(z) e^(-z epsilon)/(z (z + 1)) along Re z = s, with
M(z) = E e^(z L) under the first law, because 1/(z (z + 1)) is the Laplace transform of 1 - e^-u. Through the saddle point the
integrand dies like a normal density, and the trapezoidal rule converges exponentially. No grid of losses and no convolution:
nothing is shared with the code under test. Its relative error in floats is about 1e-11 (`test_references.py`); `ERROR` allows
a hundred times that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Complexes = NDArray[np.complex128]
Floats = NDArray[np.float64]
LogMoment = Callable[[Complexes], Complexes]
"""ln M(z) for an array of z; any branch, as it is only multiplied by whole numbers and exponentiated."""

ERROR = 1e-9
_DIGITS = 40.0


def normal(mu: float) -> LogMoment:
    """N(mu, 1) against N(0, 1)."""
    return lambda z: mu * mu / 2 * z * (z + 1)


def laplace(loss: float) -> LogMoment:
    """Continuous Laplace noise whose largest loss is `loss`."""

    def log_moment(z: Complexes) -> Complexes:
        order = z + 1
        first, second = order / (2 * order - 1), (order - 1) / (2 * order - 1)
        return (order - 1) * loss + np.log(first + second * np.exp(-(2 * order - 1) * loss))

    return log_moment


def finite(losses: Sequence[float], masses: Sequence[float]) -> LogMoment:
    """Finitely many finite losses."""
    loss, mass = np.array(losses, dtype=float), np.array(masses, dtype=float)

    def log_moment(z: Complexes) -> Complexes:
        top = float(loss.max())
        return z * top + np.log(np.exp(np.multiply.outer(z, loss - top)) @ mass)

    return log_moment


@dataclass(frozen=True)
class SampledNormal:
    """(1-q) N(0, 1) + q N(mu, 1) against N(0, 1), or the other way round; its moments by the trapezoidal rule on the line."""

    mu: float
    rate: float
    added: bool = False

    def __call__(self, z: Complexes) -> Complexes:
        s, reach = float(z.real.max()), float(np.abs(z.imag).max())
        low, high = -13.0 - self.mu * s * self.added, 13.0 + self.mu * (1 + s)
        step = min(0.08, 2 * math.pi / (16 + 2.5 * self.mu * (reach + s + 1)))
        y = np.arange(math.floor(low / step), math.ceil(high / step) + 1) * step
        ratio = np.logaddexp(math.log1p(-self.rate), math.log(self.rate) + self.mu * y - self.mu**2 / 2)
        power = -z if self.added else 1 + z
        found = np.empty(len(z), dtype=np.complex128)
        for start in range(0, len(z), 64):
            some = slice(start, start + 64)
            exponent = np.multiply.outer(power[some], ratio) - y * y / 2
            top = exponent.real.max(axis=1)
            total = np.exp(exponent - top[:, None]).sum(axis=1)
            found[some] = top + np.log(total) + math.log(step / math.sqrt(2 * math.pi))
        return found


Parts = Sequence[tuple[LogMoment, int]]


def delta(parts: Parts, epsilon: float) -> float:
    """delta of a composition in one direction; some part must have a density, or the integral does not converge fast."""
    s, height = _saddle(parts, epsilon)
    step = 2 * math.pi / _period(parts, epsilon, s, height)
    total, start, block = 0.0, 0, 24
    while True:
        places = np.arange(start, start + block)
        z = s + 1j * step * places
        terms = np.exp(_exponent(parts, z) - z * epsilon - height) / (z * (z + 1))
        if start == 0:
            terms[0] /= 2
        total += math.fsum(terms.real)
        if float(np.abs(terms[-6:]).max()) < 1e-15 * abs(total) or start > 200_000:
            return math.exp(height) * total * step / math.pi
        start += block


def at_most(parts: Parts, epsilon: float) -> float:
    """An upper bound for `delta`, at once: no value of the kernel at the saddle point exceeds 1."""
    return math.exp(min(_saddle(parts, epsilon)[1], 0.0))


def _exponent(parts: Parts, z: Complexes) -> Complexes:
    found = np.zeros(len(z), dtype=np.complex128)
    for log_moment, times in parts:
        found += times * log_moment(z)
    return found


def _period(parts: Parts, epsilon: float, s: float, height: float) -> float:
    """The rule with step 2 pi/X adds e^(n s X) delta(epsilon + n X) for all n != 0: an X that makes these negligible."""
    further = s * np.array([1.05, 1.1, 1.2, 1.4, 1.8, 2.5])
    heights = np.array([_height(parts, epsilon, other) for other in further])
    above = float(np.min((heights - height + _DIGITS) / (further - s)))
    return max(above, (max(-height, 0.0) + _DIGITS) / s)


def _height(parts: Parts, epsilon: float, s: float) -> float:
    """ln of M(s) e^(-s epsilon)."""
    return float(_exponent(parts, np.array([complex(s)])).real[0]) - s * epsilon


def _saddle(parts: Parts, epsilon: float) -> tuple[float, float]:
    """The best s, climbing a ladder until it gets worse and refining twice, and the logarithm of M(s) e^(-s epsilon) there."""

    def goal(s: float) -> float:
        return _height(parts, epsilon, s) - math.log(s * (s + 1))

    best, ratio = 1e-3, 2.0
    for ratio in (2.0, 1.2, 1.03):
        while goal(best * ratio) < goal(best):
            best *= ratio
        while goal(best / ratio) < goal(best):
            best /= ratio
    return best, _height(parts, epsilon, best)
