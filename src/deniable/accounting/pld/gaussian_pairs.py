"""Dominating pairs of Gaussian noise and its mixtures, and of costs that only promise a divergence.

Mills' ratio of the normal law, in NumPy alone.

Promise: `mills(x)` is Phi(-x)/phi(x) for x >= -1 with a relative error of at most `MILLS_ERROR`, however large x is.
Everything a Gaussian needs follows from it without losing digits in the tails.

The Gaussian pair: N(mu, 1) against N(0, 1). Its profile is Balle and Wang's (2018), written with Mills' ratio.

With a = epsilon/mu - mu/2 and b = epsilon/mu + mu/2 one has e^epsilon phi(b) = phi(a), so
delta = Phi(-a) - e^epsilon Phi(-b) = phi(a) (mills(a) - mills(b)): no cancellation beyond that of the difference.

Mixtures of Gaussians on the line: a group under sampling, or a unit replaced in a Poisson sample.

P mixes N(a mu, 1) over a = 0, 1, ... and Q mixes N(-b mu, 1) over b = 0, 1, ...: the loss grows with the outcome, so outcomes
above a
threshold are the best events, and the profile grows when weight moves outwards or mu grows. With Q = N(0, 1) this is the group of
Ganesh (2024); with one component each besides 0, the replaced unit (docs/theory/pld-pairs.md).

Costs that only promise a divergence: zero-concentrated or Rényi privacy, as bounds on their profile.

A Rényi bound r at order a > 1 bounds the profile everywhere (Canonne, Kamath and Steinke 2020, Proposition 12):
delta(eps) <= e^((a-1)(r - eps)) (1 - 1/a)^a / (a-1). The least over orders is above the profile of every such mechanism, which is
convex, so connecting its dots is sound. From below we know a mechanism that keeps the promise: the Gaussian, or nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from deniable.accounting.pld.outward import TINY, Floats, U, float_above, float_below, root

MILLS_ERROR = 16 * U
ROOT_TWO_PI = math.sqrt(2 * math.pi)

# (x + 2) Phi(-x)/phi(x) as a polynomial in (x - 4)/(x + 6), which maps [-1, inf) to [-1, 1): the Chebyshev series of
# degree 28, written in powers. Made with 60 digits; truncation error below 2e-18, evaluation error below 5 U.
_COEFFICIENTS = (
    1.419914297481364,
    -0.8369042716098323,
    0.751201752973856,
    -0.5343360265657923,
    0.2648205592180332,
    -0.03588245208830607,
    -0.09400396166712295,
    0.12322234252313864,
    -0.09153069845730065,
    0.04568931849218065,
    -0.013642330044086005,
    0.0002719970252802591,
    0.0018525803693033157,
    -0.0007025867004698462,
    -7.451758948816335e-05,
    0.0001333334415264944,
    -1.6506780135239257e-05,
    -2.0194152825684294e-05,
    5.8435476857399884e-06,
    3.0679860668086024e-06,
    -1.3431191737308074e-06,
    -5.120550263403714e-07,
    2.7286306100224814e-07,
    9.041277439083437e-08,
    -4.938981518523597e-08,
    -1.3760976437156846e-08,
    6.999887163651289e-09,
    1.2004145262261875e-09,
    -5.54221295459604e-10,
)


def mills(x: Floats) -> Floats:
    """Phi(-x)/phi(x) for x >= -1."""
    x = np.minimum(x, 1e100)
    t = (x - 4.0) / (x + 6.0)
    total = np.full_like(t, _COEFFICIENTS[-1])
    for coefficient in _COEFFICIENTS[-2::-1]:
        total *= t
        total += coefficient
    return total / (x + 2.0)


def mills_slope(x: Floats) -> Floats:
    """At least |d mills/dx| for x >= -1: the slope is x mills(x) - 1, and x/(x^2 + 1) < mills(x) < 1/x for x > 0."""
    return 10.0 / (1.0 + x * x)


@dataclass(frozen=True, slots=True)
class GaussianPair:
    """N(mu, 1) against N(0, 1) with mu between `low` and `high`; the profile grows with mu."""

    low: float
    high: float

    ceiling = math.inf
    infinite = 0.0
    kink = 0.0
    lattice = 0.0

    @property
    def swapped(self) -> GaussianPair:
        return self

    def upper(self, epsilon: Floats) -> Floats:
        if self.high == 0:
            return np.full_like(epsilon, TINY)
        return np.minimum(_tail_difference(self.high, epsilon, epsilon, +1.0) + TINY, 1.0)

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        if self.low == 0:
            return np.zeros_like(epsilon)
        return _tail_difference(self.low, at, epsilon, -1.0) - TINY


def gaussian_pair(square: Fraction) -> GaussianPair:
    """The pair with mu^2 equal to an exact number."""
    return GaussianPair(*root(square))


def _tail_difference(mu: float, at: Floats, epsilon: Floats, side: float) -> Floats:
    """Phi(-a) - e^epsilon Phi(-b) for a, b = at/mu -+ mu/2, moved by its rounding error to the given side."""
    center = at / mu
    a, b = center - mu / 2, center + mu / 2
    blur = 2 * U * (center + mu)  # bounds the rounding errors of a and b
    near = np.maximum(a, -1.0)
    low_tail = a < -1.0
    first, second = mills(np.where(low_tail, -a, near)), mills(b)
    first_error = MILLS_ERROR * first + mills_slope(np.where(low_tail, -a, near)) * blur
    second_error = MILLS_ERROR * second + mills_slope(b) * blur
    shift = epsilon - at
    tilt = np.exp(shift)
    tilt_error = (8 + np.abs(shift)) * U * tilt
    density = np.exp(-0.5 * a * a) / ROOT_TWO_PI
    density_error = U * (12 + a * a) + np.abs(a) * blur  # relative
    error = first_error + tilt * second_error + 2 * tilt_error * second
    above = first - tilt * second
    inside = np.where(low_tail, first + tilt * second, above)
    error += 4 * U * (first + tilt * second)
    moved = inside + np.where(low_tail, -side, side) * error
    grown = density * moved * (1 + np.where(low_tail, -side, side) * np.sign(moved) * density_error)
    return np.where(low_tail, 1.0 - grown + side * 2 * U, grown)


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


_LADDER = 1.03 ** np.arange(-40, 41)


class PromisedPair:
    """A profile bounded through Rényi orders; its own swap, as the promise holds both ways."""

    ceiling = math.inf
    infinite = 0.0
    kink = 0.0
    lattice = 0.0

    def __init__(self, *, rho: Fraction | None = None, curve: tuple[tuple[Fraction, Fraction], ...] = ()) -> None:
        self.rho = None if rho is None else float_above(rho)
        orders = [(float_below(a), float_above(r)) for a, r in curve]  # a bound at an order holds at every smaller one
        self.orders, self.losses = np.array([a for a, _ in orders]), np.array([r for _, r in orders])
        self.example = None if rho is None else gaussian_pair(2 * rho)

    @property
    def swapped(self) -> PromisedPair:
        return self

    def upper(self, epsilon: Floats) -> Floats:
        if self.rho is None:
            orders, losses = np.broadcast_arrays(self.orders[:, None], self.losses[:, None])
        else:
            best = 1 + np.maximum(epsilon - self.rho, 0.0) / (2 * self.rho) + 0.3 / math.sqrt(self.rho)
            orders = 1 + (best - 1) * _LADDER[:, None]
            losses = orders * self.rho
        exponent = (orders - 1) * (losses - epsilon) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
        blur = 64 * U * (1 + orders * (losses + epsilon + 1))
        least = np.min(np.exp(np.minimum(exponent + blur, 0.0)), axis=0) * (1 + 16 * U)
        most: Floats = np.minimum(least, self._apart()) + TINY
        return most

    def _apart(self) -> float:
        """At least the total variation: by Kullback and Leibler's divergence, which the least order bounds."""
        divergence = self.rho if self.rho is not None else float(self.losses.min())
        return min(math.sqrt(-math.expm1(-divergence)), math.sqrt(divergence / 2)) * (1 + 64 * U)

    def line(self, at: Floats, epsilon: Floats) -> Floats:
        return np.zeros_like(epsilon) if self.example is None else self.example.line(at, epsilon)
