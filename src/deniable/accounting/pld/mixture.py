"""Mixtures of Gaussians on the line: a group under sampling, or a unit replaced in a Poisson sample.

P mixes N(a mu, 1) over a = 0, 1, ... and Q mixes N(-b mu, 1) over b = 0, 1, ...: the loss grows with the outcome, so outcomes
above a
threshold are the best events, and the profile grows when weight moves outwards or mu grows. With Q = N(0, 1) this is the group of
Ganesh (2024); with one component each besides 0, the replaced unit (docs/theory/pld-pairs.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from deniable.accounting.pld.floats import TINY, Floats, U, float_above, float_below, root
from deniable.accounting.pld.normal import MILLS_ERROR, ROOT_TWO_PI, mills

Weights = tuple[float, ...]
"""The weights of the components at mu, 2 mu, ...; the rest lies at 0."""

_FAR = 700.0
"""Beyond this e^epsilon is no float."""


@dataclass(frozen=True, slots=True)
class Mixtures:
    """One pair of mixtures with all numbers exact."""

    mu: float
    ahead: Weights
    behind: Weights

    def threshold(self, loss: Floats) -> Floats:
        """About the outcome with this loss (far out if none has it)."""
        low = np.full_like(loss, -50.0 - self.mu * (len(self.ahead) + len(self.behind)))
        high = -low
        for _ in range(70):
            middle = (low + high) / 2
            below = self.loss(middle)[0] < loss
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return low

    def loss(self, outcome: Floats) -> tuple[Floats, Floats]:
        """ln P/Q at outcomes, and a bound for its rounding error."""
        top, top_error = self._log(self.ahead, outcome)
        bottom, bottom_error = self._log(self.behind, -outcome)
        return top - bottom, top_error + bottom_error + 2 * U * (np.abs(top) + np.abs(bottom))

    def _log(self, weights: Weights, outcome: Floats) -> tuple[Floats, Floats]:
        """ln of a mixture's density over the standard normal one."""
        logs = [np.full_like(outcome, math.log(max(_rest(weights), 1e-300)))]
        for place, weight in enumerate(weights, 1):
            shift = place * self.mu
            logs.append(math.log(max(weight, 1e-300)) + shift * outcome - shift * shift / 2)
        total = np.logaddexp.reduce(logs)
        reach = len(weights) * self.mu
        return total, U * (64 + 8 * (reach * np.abs(outcome) + reach * reach) + 16 * len(weights))

    def event(self, outcome: Floats, epsilon: Floats, side: float) -> tuple[Floats, Floats]:
        """P - e^epsilon Q of all outcomes above these, moved to the given side; and at least P of it."""
        epsilon = np.minimum(epsilon, _FAR)
        scale = np.exp(epsilon)
        ahead, behind = sum(self.ahead), sum(self.behind)
        shared = -np.expm1(epsilon) - ahead + scale * behind  # the weights at 0, subtracted before they are rounded
        terms = [(shared, _tail(outcome))]
        terms += [
            (np.full_like(outcome, w), _tail(outcome - i * self.mu, i * self.mu)) for i, w in enumerate(self.ahead, 1)
        ]
        chance = sum((w * tail[0] for w, tail in terms[1:]), (1 - ahead) * terms[0][1][0])
        terms += [(-w * scale, _tail(outcome + i * self.mu, i * self.mu)) for i, w in enumerate(self.behind, 1)]
        value = sum((weight * tail for weight, (tail, _) in terms), np.zeros_like(outcome))
        count = len(terms)
        error = sum((np.abs(w) * (error + 4 * U * count * tail) for w, (tail, error) in terms), np.zeros_like(outcome))
        error += 16 * U * (np.abs(np.expm1(epsilon)) + (2 + epsilon) * (ahead + scale * behind)) * terms[0][1][0]
        return value + side * error, chance * (1 + 1e-9) + TINY


def _rest(weights: Weights) -> float:
    return 1 - math.fsum(weights)


def _tail(x: Floats, shift: float = 0.0) -> tuple[Floats, Floats]:
    """Phi(-x) and a bound for its error, given that x itself is off by at most 4 U (1 + |x| + shift)."""
    size = np.abs(x)
    density = np.exp(-0.5 * size * size) / ROOT_TWO_PI
    small = mills(size) * density
    error = small * (MILLS_ERROR + U * (24 + 2 * size * size)) + 8 * U * (1 + size + shift) * density
    return np.where(x < 0, 1 - small, small), error + np.where(x < 0, 2 * U, 0.0) + TINY


class MixturePair:
    """A pair of mixtures between two exact ones."""

    infinite = 0.0
    kink = 0.0
    lattice = 0.0

    def __init__(self, low: Mixtures, high: Mixtures) -> None:
        self.low, self.high = low, high

    @property
    def swapped(self) -> MixturePair:
        low, high = self.low, self.high
        return MixturePair(Mixtures(low.mu, low.behind, low.ahead), Mixtures(high.mu, high.behind, high.ahead))

    @property
    def ceiling(self) -> float:
        if self.high.ahead:
            return math.inf
        rest = _rest(self.high.behind) - 4 * U
        return -math.log(rest) * (1 + 1e-12) if rest > 0 else math.inf

    def upper(self, epsilon: Floats) -> Floats:
        """The best threshold t has loss epsilon. Ours is a little below: the outcomes between gain at most e^miss - 1 each.

        P of all outcomes above it is a bound too, however large epsilon is; beyond the ceiling there is none.
        """
        law = self.high
        outcome = law.threshold(epsilon)
        outcome = outcome - 1e-13 * (1 + np.abs(outcome))
        loss, error = law.loss(outcome)
        for _ in range(8):
            outcome = np.where(loss + error <= epsilon, outcome, outcome - 1e-11 * (1 + np.abs(outcome)))
            loss, error = law.loss(outcome)
        value, chance = law.event(outcome, epsilon, +1.0)
        missed = np.maximum(epsilon - loss, 0.0) + error
        late = np.where(loss >= epsilon - 1.0, np.expm1(np.minimum(missed, 1.0)) * chance, chance)
        found = np.fmin(np.where(epsilon < _FAR, value + late + TINY, 1.0), chance)
        found = np.where(loss + error <= epsilon, np.clip(found, TINY, 1.0), 1.0)
        return np.where(epsilon >= self.ceiling, TINY, found)

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        found = self.low.event(self.low.threshold(at), epsilon, -1.0)[0]
        return np.where(epsilon < _FAR, found, -np.inf)


def sampled_group(square: Fraction, rate: Fraction, size: int) -> MixturePair:
    """`size` units, each in the sample with probability `rate`, each moving the mean by at most mu = sqrt(square)."""
    chances = [math.comb(size, i) * rate**i * (1 - rate) ** (size - i) for i in range(1, size + 1)]
    low, high = root(square)
    return MixturePair(
        Mixtures(low, tuple(float_below(chance) for chance in chances), ()),
        Mixtures(high, tuple(float_above(chance) for chance in chances), ()),
    )


def sampled_replacement(square: Fraction, rate: Fraction) -> MixturePair:
    """One unit of a Poisson sample replaced: it moves the mean to one side, its replacement to the other."""
    low, high = root(square)
    few, many = (float_below(rate),), (float_above(rate),)
    return MixturePair(Mixtures(low, few, few), Mixtures(high, many, many))
