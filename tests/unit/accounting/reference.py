"""High-precision references that share no code with what they check: mpmath, enumeration, quadrature."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import mpmath
from mpmath import mpf

from deniable.cost import (
    Bounded,
    Composed,
    Cost,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    RandomizedResponse,
    Repeated,
    Sampled,
    TruncatedLaplace,
)

mpmath.mp.dps = 50
Atoms = dict[mpf, mpf]
"""Privacy loss -> probability under the first law; infinite losses under mpmath.inf."""


def exactly(value: Fraction | float | int) -> mpf:
    number = Fraction(value)
    return mpf(number.numerator) / number.denominator


def normal_delta(mu: mpf, epsilon: mpf) -> mpf:
    """Balle and Wang's formula, with digits to spare for its cancellation (both tails are relatively exact)."""
    with mpmath.workdps(100):
        a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        return mpmath.ncdf(a) - mpmath.exp(epsilon) * mpmath.ncdf(b)


def hockey_stick(atoms: Atoms, epsilon: mpf) -> mpf:
    return mpmath.fsum(
        mass * (1 if loss == mpmath.inf else max(mpf(0), 1 - mpmath.exp(epsilon - loss)))
        for loss, mass in atoms.items()
    )


def convolved(one: Atoms, two: Atoms) -> Atoms:
    found: Atoms = {}
    for a, p in one.items():
        for b, q in two.items():
            key = _rounded(a + b)
            found[key] = found.get(key, mpf(0)) + p * q
    return found


def _rounded(value: mpf) -> mpf:
    return value if value == mpmath.inf else mpmath.nint(value * mpf(10) ** 30) / mpf(10) ** 30


@cache
def atoms(cost: Cost) -> Atoms:
    """The loss law of a cost made of releases with finitely many losses (tails below 1e-45 counted as infinite losses)."""
    match cost:
        case Composed(costs):
            found: Atoms = {mpf(0): mpf(1)}
            for each in costs:
                found = convolved(found, atoms(each))
            return found
        case Repeated(each, times):
            found = {mpf(0): mpf(1)}
            for _ in range(times):
                found = convolved(found, atoms(each))
            return found
        case Bounded(epsilon, delta):
            e, d = exactly(epsilon), exactly(delta)
            chance = (1 - d) / (1 + mpmath.exp(-e))
            return _gathered([(e, chance), (-e, 1 - d - chance), (mpmath.inf, d)])
        case RandomizedResponse(truth, categories):
            p = exactly(truth)
            other = (1 - p) / (categories - 1)
            ratio = mpmath.log(p / other)
            return _gathered([(ratio, p), (-ratio, other), (mpf(0), (categories - 2) * other)])
        case DiscreteLaplace(scale, steps, 1):
            return _shifted(lambda x: mpmath.exp(-abs(x) / exactly(scale)), int(120 * scale) + steps + 2, steps)
        case TruncatedLaplace(scale, radius, steps):
            return _shifted(lambda x: mpmath.exp(-abs(x) / exactly(scale)), radius, steps)
        case DiscreteGaussian(scale, _, 1, largest):
            reach = int(16 * scale) + largest + 2
            return _shifted(lambda x: mpmath.exp(-(x**2) / (2 * exactly(scale) ** 2)), reach, largest)
        case _:
            raise NotImplementedError(cost)


def sampled_atoms(base: Cost, rate: Fraction, times: int, *, added: bool) -> Atoms:
    """The loss law of `times` Poisson-sampled releases, a unit removed (or added); the base has no infinite losses."""
    q = exactly(rate)
    pairs = []
    for loss, mass in atoms(base).items():
        other = mass * mpmath.exp(-loss)  # under the second law, which is the sample without the unit
        drawn = (1 - q) * other + q * mass
        pairs.append((mpmath.log(other / drawn), other) if added else (mpmath.log(drawn / other), drawn))
    one, found = _gathered(pairs), {mpf(0): mpf(1)}
    for _ in range(times):
        found = convolved(found, one)
    return found


def _gathered(pairs: list[tuple[mpf, mpf]]) -> Atoms:
    found: Atoms = {}
    for loss, mass in pairs:
        if mass:
            found[_rounded(loss)] = found.get(_rounded(loss), mpf(0)) + mass
    return found


def _shifted(weight: object, reach: int, steps: int) -> Atoms:
    """Noise on [-reach, reach] against itself moved by `steps`; what the neighbour cannot give is an infinite loss."""
    weights = {x: weight(mpf(x)) for x in range(-reach, reach + 1)}  # type: ignore[operator]
    total = mpmath.fsum(weights.values())
    pairs = []
    for x, mass in weights.items():
        other = weights.get(x - steps)
        pairs.append((mpmath.inf if other is None else mpmath.log(mass / other), mass / total))
    return _gathered(pairs)


def truth(cost: Cost, epsilon: Fraction | float) -> mpf:
    """delta of a cost at epsilon, by whichever reference covers it."""
    e = exactly(epsilon)
    match cost:
        case Gaussian(scale, square):
            return normal_delta(mpmath.sqrt(exactly(square / scale**2)), e)
        case Repeated(Gaussian(scale, square), times):
            return normal_delta(mpmath.sqrt(exactly(times * square / scale**2)), e)
        case Laplace(scale, sensitivity, 1):
            return max(mpf(0), 1 - mpmath.exp((e - exactly(sensitivity / scale)) / 2))
        case Exponential(eta):
            return _range_delta(exactly(eta), e)
        case Sampled(Gaussian(scale, square), rate):
            return _sampled_normal(mpmath.sqrt(exactly(square / scale**2)), exactly(rate), e)
        case _:
            return hockey_stick(atoms(cost), e)


def _range_delta(eta: mpf, epsilon: mpf) -> mpf:
    """The largest two-point law of range eta, by ternary search over its upper loss."""
    if epsilon >= eta:
        return mpf(0)

    def delta(t: mpf) -> mpf:
        mine = (1 - mpmath.exp(t - eta)) / (1 - mpmath.exp(-eta))
        other = (mpmath.exp(-t) - mpmath.exp(-eta)) / (1 - mpmath.exp(-eta))
        return mine - mpmath.exp(epsilon) * other

    low, high = mpf(0), eta
    for _ in range(300):
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        low, high = (left, high) if delta(left) < delta(right) else (low, right)
    return max(mpf(0), delta(low))


def _sampled_normal(mu: mpf, rate: mpf, epsilon: mpf) -> mpf:
    """Both directions of one Poisson-sampled Gaussian, where the likelihood ratio is monotone: a threshold on the line."""
    with mpmath.workdps(80):
        place = mpmath.log((mpmath.exp(epsilon) - 1 + rate) / rate) / mu + mu / 2
        tail, moved = mpmath.ncdf(-place), mpmath.ncdf(mu - place)
        removed = (1 - rate) * tail + rate * moved - mpmath.exp(epsilon) * tail
        inner = (mpmath.exp(-epsilon) - 1 + rate) / rate
        if inner <= 0:
            return removed
        place = mpmath.log(inner) / mu + mu / 2
        below, shifted = mpmath.ncdf(place), mpmath.ncdf(place - mu)
        added = below - mpmath.exp(epsilon) * ((1 - rate) * below + rate * shifted)
        return max(removed, added)
