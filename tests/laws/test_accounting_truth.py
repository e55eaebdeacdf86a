"""Five hundred random costs, each against a reference that shares no code with the reading: lower <= truth <= upper.

The truth is never inverted: if delta(lower) >= delta >= delta(upper) by the reference, then the true epsilon lies between.
References: formulas and enumeration with 50 digits (`reference.py` and `laplaces.py` in `tests/unit/accounting`), or a contour
integral (`contour.py`, relative error below 1e-9, allowed for) where a composition is too long to enumerate.
"""

from __future__ import annotations

import math
import random  # noqa: TID251 - public test cases
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from mpmath import mpf

from deniable.accounting import delta, epsilon
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
    TruncatedLaplace,
    composed,
)
from tests.unit.accounting import contour
from tests.unit.accounting.laplaces import laplace_delta
from tests.unit.accounting.reference import atoms, exactly, hockey_stick, sampled_atoms, truth

Truth = Callable[[Fraction | float], "mpf | float"]
DELTAS = [Fraction(1, 10**power) for power in (2, 4, 5, 6, 8, 10, 12, 15, 20)]


def short(rng: random.Random, low: float, high: float) -> Fraction:
    """A number between, uniform in its logarithm, with four digits."""
    return Fraction(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.4g}")


def gaussians(rng: random.Random) -> tuple[Cost, Truth]:
    parts = [(short(rng, 0.1, 50), short(rng, 0.5, 3), rng.randint(1, 30)) for _ in range(rng.randint(1, 4))]
    cost = composed(Gaussian(scale=s, sensitivity=d).repeated(k) for s, d, k in parts)
    one = Gaussian(scale=1, squared_sensitivity=sum(k * d**2 / s**2 for s, d, k in parts))
    return cost, lambda e: truth(one, e)


def laplace(rng: random.Random) -> tuple[Cost, Truth]:
    cost = Laplace(scale=short(rng, 0.2, 20), sensitivity=short(rng, 0.5, 2))
    return cost, lambda e: truth(cost, e)


def laplaces(rng: random.Random) -> tuple[Cost, Truth]:
    scale, times = short(rng, 0.5, 20), rng.randint(2, 6)
    return Laplace(scale=scale).repeated(times), lambda e: laplace_delta(1 / exactly(scale), times, exactly(e))


def one_discrete(rng: random.Random) -> tuple[Cost, Truth]:
    kind = rng.randrange(5)
    cost: Cost
    if kind == 0:
        cost = DiscreteLaplace(scale=short(rng, 0.3, 6), sensitivity=rng.randint(1, 3))
    elif kind == 1:
        cost = DiscreteGaussian(scale=short(rng, 0.3, 6), sensitivity=rng.randint(1, 3))
    elif kind == 2:
        cost = TruncatedLaplace(scale=short(rng, 0.5, 4), radius=rng.randint(4, 80), sensitivity=rng.randint(1, 3))
    elif kind == 3:
        cost = RandomizedResponse(truth=short(rng, 0.51, 0.99), categories=rng.randint(2, 6))
    else:
        cost = Exponential(eta=short(rng, 0.05, 8))
    return cost, lambda e: truth(cost, e)


def repeated_response(rng: random.Random) -> tuple[Cost, Truth]:
    cost = RandomizedResponse(truth=short(rng, 0.52, 0.95), categories=rng.randint(2, 4)).repeated(rng.randint(2, 16))
    return cost, lambda e: truth(cost, e)


def repeated_pure(rng: random.Random) -> tuple[Cost, Truth]:
    """By the binomial law, summed here with 50 digits."""
    each, times = short(rng, 0.005, 1), rng.randint(2, 400)
    e0 = exactly(each)
    high, low = 1 / (1 + mpmath.exp(-e0)), 1 / (1 + mpmath.exp(e0))
    law = [((2 * k - times) * e0, mpmath.binomial(times, k) * high**k * low ** (times - k)) for k in range(times + 1)]

    def value(e: Fraction | float) -> mpf:
        at = exactly(e)
        return mpmath.fsum(mass * (1 - mpmath.exp(at - loss)) for loss, mass in law if loss > at)

    return Bounded(epsilon=each).repeated(times), value


def repeated_discrete(rng: random.Random) -> tuple[Cost, Truth]:
    kind = rng.randrange(3)
    cost: Cost
    if kind == 0:
        cost = DiscreteLaplace(scale=short(rng, 0.5, 3), sensitivity=rng.randint(2, 3)).repeated(rng.randint(2, 6))
    elif kind == 1:
        cost = DiscreteGaussian(scale=short(rng, 0.5, 2.5), sensitivity=1).repeated(rng.randint(2, 4))
    else:
        cost = TruncatedLaplace(scale=short(rng, 0.5, 2), radius=rng.randint(30, 90)).repeated(rng.randint(2, 4))
    return cost, lambda e: truth(cost, e)


def mixed_discrete(rng: random.Random) -> tuple[Cost, Truth]:
    parts: list[Cost] = [
        RandomizedResponse(truth=short(rng, 0.52, 0.9), categories=rng.randint(2, 4)),
        DiscreteLaplace(scale=short(rng, 0.8, 5), sensitivity=rng.randint(1, 2)),
        Bounded(epsilon=short(rng, 0.05, 1), delta=rng.choice([Fraction(0), Fraction(1, 10**21)])),
    ]
    cost = Composed(tuple(rng.sample(parts, rng.randint(2, 3))))
    return cost, lambda e: truth(cost, e)


def with_leaks(rng: random.Random) -> tuple[Cost, Truth]:
    """Thresholds: a leak shows everything with its probability."""
    scale, chance, times = short(rng, 0.5, 20), Fraction(1, 10 ** rng.randint(21, 24)), rng.randint(1, 5)
    noise = Gaussian(scale=scale, sensitivity=1)
    kept = (1 - exactly(chance)) ** times
    return noise + Bounded(epsilon=0, delta=chance).repeated(times), lambda e: 1 - kept + kept * truth(noise, e)


def sampled_discrete(rng: random.Random) -> tuple[Cost, Truth]:
    """Sampled releases with few losses, both directions enumerated."""
    kind, rate, times = rng.randrange(2), short(rng, 0.01, 0.9), rng.randint(1, 5)
    base: Cost = RandomizedResponse(truth=short(rng, 0.52, 0.95), categories=rng.randint(2, 4))
    if kind == 1:
        base = Bounded(epsilon=short(rng, 0.1, 3))
    ways = [sampled_atoms(base, rate, times, added=added) for added in (False, True)]
    return base.sampled(rate=rate).repeated(times), lambda e: max(hockey_stick(way, exactly(e)) for way in ways)


def sampled_once(rng: random.Random) -> tuple[Cost, Truth]:
    cost = Gaussian(scale=short(rng, 0.3, 6), sensitivity=1).sampled(rate=short(rng, 0.001, 0.9))
    return cost, lambda e: truth(cost, e)


def _sampled_value(parts: list[tuple[float, float, int]], others: contour.Parts = ()) -> Truth:
    """Both directions of sampled Gaussians (mu, rate, times); adding a unit is left out where it cannot be the worse one."""

    def value(at: Fraction | float) -> float:
        e = float(at)
        removed = contour.delta([*((contour.SampledNormal(mu, q), k) for mu, q, k in parts), *others], e)
        added = [*((contour.SampledNormal(mu, q, added=True), k) for mu, q, k in parts), *others]
        ceiling = math.inf if others else -sum(k * math.log1p(-q) for _, q, k in parts)
        if e >= ceiling or contour.at_most(added, e) <= removed:
            return removed
        return max(removed, contour.delta(added, e))

    return value


def training_run(rng: random.Random) -> tuple[Cost, Truth]:
    scale, rate = short(rng, 0.7, 4), short(rng, 0.002, 0.1)
    times = int(short(rng, 20 / float(rate), 30_000))
    cost = Gaussian(scale=scale, sensitivity=1).sampled(rate=rate).repeated(times)
    return cost, _sampled_value([(float(1 / scale), float(rate), times)])


def changing_run(rng: random.Random) -> tuple[Cost, Truth]:
    rate, times = short(rng, 0.005, 0.1), rng.randint(100, 1000)
    scales = [short(rng, 0.8, 4) for _ in range(2)]
    cost = composed(Gaussian(scale=s, sensitivity=1).sampled(rate=rate).repeated(times) for s in scales)
    return cost, _sampled_value([(float(1 / s), float(rate), times) for s in scales])


def gaussian_and_laplace(rng: random.Random) -> tuple[Cost, Truth]:
    wide, scale, times = short(rng, 0.3, 5), short(rng, 1, 20), rng.randint(1, 40)
    cost = Gaussian(scale=wide, sensitivity=1) + Laplace(scale=scale).repeated(times)
    parts = [(contour.normal(float(1 / wide)), 1), (contour.laplace(float(1 / scale)), times)]
    return cost, lambda e: contour.delta(parts, float(e))


def gaussian_and_response(rng: random.Random) -> tuple[Cost, Truth]:
    wide, times = short(rng, 0.3, 5), rng.randint(1, 40)
    other = RandomizedResponse(truth=short(rng, 0.52, 0.9), categories=rng.randint(2, 5))
    law = atoms(other)
    parts = [
        (contour.normal(float(1 / wide)), 1),
        (contour.finite([*map(float, law)], [*map(float, law.values())]), times),
    ]
    return Gaussian(scale=wide, sensitivity=1) + other.repeated(times), lambda e: contour.delta(parts, float(e))


FAMILIES: dict[Callable[[random.Random], tuple[Cost, Truth]], int] = {
    gaussians: 70,
    laplace: 30,
    laplaces: 40,
    one_discrete: 70,
    repeated_response: 40,
    repeated_pure: 40,
    repeated_discrete: 40,
    mixed_discrete: 40,
    with_leaks: 20,
    sampled_discrete: 30,
    sampled_once: 30,
    training_run: 20,
    changing_run: 5,
    gaussian_and_laplace: 15,
    gaussian_and_response: 10,
}
FLOATS = {training_run, changing_run, gaussian_and_laplace, gaussian_and_response}


def test_there_are_five_hundred():
    assert sum(FAMILIES.values()) == 500


def disagreements(family: Any, number: int) -> list[str]:
    """What is wrong with the readings of one random cost, in words."""
    rng = random.Random(f"{family.__name__} {number}")
    cost, true = family(rng)
    chance = DELTAS[number % len(DELTAS)]
    slack = Fraction(contour.ERROR) if family in FLOATS else Fraction(0)
    wrong = []
    found = epsilon(cost, delta=chance)
    if found.lower == math.inf and true(10**6) > exactly(chance):
        return []  # more than delta has an infinite loss
    if not 0 <= found.lower <= found.upper < math.inf:
        return [f"{cost} at {float(chance)}: {found.lower} .. {found.upper}"]
    if found.lower > 0 and not true(found.lower) >= exactly(chance * (1 - slack)):
        wrong.append(f"{cost}: epsilon at {float(chance)} is below {found.lower!r}")
    if not true(found.upper) <= exactly(chance * (1 + slack)):
        wrong.append(f"{cost}: epsilon at {float(chance)} is above {found.upper!r}")
    if found.gap > 1e-4:
        wrong.append(f"{cost}: epsilon at {float(chance)} between {found.lower} and {found.upper}, gap {found.gap:.2g}")
    at = Fraction(f"{found.upper * rng.uniform(0.2, 0.999):.6g}")
    read, right = delta(cost, epsilon=at), true(at)
    if not 0 <= read.lower <= read.upper <= 1:
        wrong.append(f"{cost} at epsilon {float(at)}: {read.lower} .. {read.upper}")
    if not exactly(Fraction(read.lower) * (1 - slack)) <= right <= exactly(Fraction(read.upper) * (1 + slack)):
        wrong.append(
            f"{cost}: delta at {float(at)} is {mpmath.nstr(right, 12)}, not in {read.lower!r} .. {read.upper!r}"
        )
    if read.gap > 1e-4:
        wrong.append(f"{cost}: delta at {float(at)} between {read.lower} and {read.upper}, gap {read.gap:.2g}")
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_the_truth_lies_in_every_bracket(family):
    wrong = [line for number in range(FAMILIES[family]) for line in disagreements(family, number)]
    assert not wrong, "\n".join(wrong)
