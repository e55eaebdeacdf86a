"""Every sampler on every word sequence: decided mass <= formula <= decided + undecided mass, outcome by outcome.

Words are shrunk to a few bits through the entropy source, so that the refinement of ambiguous words, which 64-bit words
almost never reach, decides a large part of the mass here. The formulas are computed by mpmath, at far higher precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import mpmath as mp
import pytest

from deniable import noise
from deniable.noise import Entropy
from deniable.noise import coin as coins
from deniable.noise.gaussian import StepSampler
from deniable.noise.race import Race, ranked
from deniable.noise.table import AliasTable
from deniable.noise.table_laws import Blocks, Steps, signed
from deniable.testing import Enumeration, enumerated

mp.mp.dps = 50
SLACK = mp.mpf(10) ** -40
"""What mpmath may be off by."""

Draw = Callable[[Entropy], object]
Law = Callable[[object], mp.mpf]


def real(x: Fraction | int) -> mp.mpf:
    return mp.mpf(Fraction(x).numerator) / Fraction(x).denominator


def normal_mass(k: int, scale: Fraction | int) -> mp.mpf:
    """Phi((k + 1/2)/scale) - Phi((k - 1/2)/scale), on the side where nothing cancels."""
    low, high = (-abs(k) - mp.mpf(1) / 2) / real(scale), (-abs(k) + mp.mpf(1) / 2) / real(scale)
    return mp.ncdf(high) - mp.ncdf(low)


def laplace(scale: Fraction | int) -> Law:
    q = mp.exp(-1 / real(scale))
    return lambda k: (1 - q) / (1 + q) * q ** abs(k)


def truncated(mass: Law, radius: int) -> Law:
    total = mp.fsum(mass(k) for k in range(-radius, radius + 1))
    return lambda k: mass(k) / total if abs(k) <= radius else mp.mpf(0)


def geometric(scale: Fraction | int) -> Law:
    q = mp.exp(-1 / real(scale))
    return lambda k: (1 - q) * q**k


def rounded(scale: Fraction | int) -> Law:
    return lambda k: normal_mass(k, scale)


@lru_cache
def gaussian_total(scale: Fraction | int) -> mp.mpf:
    return mp.nsum(lambda k: mp.exp(-(k**2) / (2 * real(scale) ** 2)), [-mp.inf, mp.inf])


def discrete(scale: Fraction | int) -> Law:
    return lambda k: mp.exp(-(mp.mpf(k) ** 2) / (2 * real(scale) ** 2)) / gaussian_total(scale)


def coin(p: mp.mpf) -> Law:
    return lambda heads: p if heads else 1 - p


def uniform(n: int) -> Law:
    return lambda _: mp.mpf(1) / n


def weighted(weights: list[mp.mpf]) -> Law:
    return lambda i: weights[i] / mp.fsum(weights)


def softmax(scores: list[float]) -> Law:
    return weighted([mp.exp(score) for score in scores])


def flipped(lacks: list[Fraction]) -> Law:
    """Permute-and-flip, by summing over every set of successes."""
    coins = [mp.exp(-real(x)) for x in lacks]

    def law(i: int) -> mp.mpf:
        total = mp.mpf(0)
        for pattern in range(1 << len(coins)):
            successes = [j for j in range(len(coins)) if pattern >> j & 1]
            chance = mp.fprod(c if j in successes else 1 - c for j, c in enumerate(coins))
            total += chance / len(successes) if i in successes else 0
        return total

    return law


@dataclass(frozen=True)
class Case:
    name: str
    draw: Draw
    law: Law
    word_bits: int
    depth: int
    most: float = 0.01  # undecided mass at this depth


def first(array: object) -> int:
    return int(array[0])


def ranks(scores: list[int], *, two_sided: bool) -> Draw:
    """Who comes first after noise of scale 3/2, on a lattice as coarse as the scores, so that ties are read further."""
    return lambda e: ranked(scores, race(two_sided, e.word_bits), 1, e).indices[0]


@lru_cache
def race(two_sided: bool, word_bits: int) -> Race:
    return Race(Fraction(3, 2), two_sided=two_sided, word_bits=word_bits, fineness=0)


def laplace_leads(lead: int) -> Law:
    """P(second leads) where its score is higher by `lead`: the difference of two Laplace variables of scale 3/2."""
    d = lead / real(Fraction(3, 2))
    behind = mp.exp(-d) * (1 + d / 2) / 2
    return lambda i: 1 - behind if i == 1 else behind


def tries(shape: Fraction | int, gamma: Fraction) -> Law:
    """The truncated negative binomial law by its published formula, the logarithmic one at shape 0."""
    left, eta = 1 - real(gamma), real(shape)
    if shape == 0:
        return lambda k: left**k / (k * -mp.log(real(gamma)))
    whole = real(gamma) ** -eta - 1
    return lambda k: left**k / whole * mp.fprod((i + eta) / (i + 1) for i in range(k))


def poisson(mean: Fraction | int) -> Law:
    return lambda k: mp.exp(-real(mean)) * real(mean) ** k / mp.factorial(k)


HALF, THIRD = Fraction(1, 2), Fraction(1, 3)

WEIGHTS = [1, 0, THIRD, 2]
FIVE_HALVES = Fraction(5, 2)
SEVENTHS, FIVE_THIRDS, SEVEN_FIFTHS = Fraction(3, 7), Fraction(5, 3), Fraction(7, 5)

CASES = [
    Case("geometric tries", lambda e: noise.truncated_negative_binomial(1, THIRD, e), tries(1, THIRD), 6, 3),
    Case(
        "tries of shape 5/2",
        lambda e: noise.truncated_negative_binomial(FIVE_HALVES, HALF, e),
        tries(FIVE_HALVES, HALF),
        6,
        3,
    ),
    Case("logarithmic tries", lambda e: noise.truncated_negative_binomial(0, THIRD, e), tries(0, THIRD), 6, 3),
    Case(
        "tries of shape -1/2", lambda e: noise.truncated_negative_binomial(-HALF, THIRD, e), tries(-HALF, THIRD), 6, 3
    ),
    Case("few tries", lambda e: noise.poisson(HALF, e), poisson(HALF), 6, 3),
    Case("more tries", lambda e: noise.poisson(Fraction(7, 2), e), poisson(Fraction(7, 2)), 6, 3),
    Case("bernoulli", lambda e: noise.bernoulli(SEVENTHS, e), coin(mp.mpf(3) / 7), 8, 3, 1e-6),
    Case("bernoullis", lambda e: bool(noise.bernoullis(SEVENTHS, 1, e)[0]), coin(mp.mpf(3) / 7), 8, 3, 1e-6),
    Case("bernoulli_exp", lambda e: noise.bernoulli_exp(SEVENTHS, e), coin(mp.exp(-mp.mpf(3) / 7)), 8, 3, 1e-6),
    Case("uniform_below", lambda e: noise.uniform_below(11, e), uniform(11), 8, 3, 1e-5),
    Case("uniform_below, wide", lambda e: noise.uniform_below(300, e), uniform(300), 8, 3, 0.01),
    Case("uniforms_below", lambda e: first(noise.uniforms_below(11, 1, e)), uniform(11), 5, 3, 0.1),
    Case("geometric", lambda e: noise.geometric(3, e), geometric(3), 8, 3, 1e-3),
    Case("geometrics", lambda e: first(noise.geometrics(3, 1, e)), geometric(3), 8, 3, 1e-3),
    Case("laplace", lambda e: noise.discrete_laplace(SEVEN_FIFTHS, e), laplace(SEVEN_FIFTHS), 10, 3, 1e-4),
    Case("laplace, tiny", lambda e: noise.discrete_laplace(Fraction(1, 9), e), laplace(Fraction(1, 9)), 8, 3, 1e-5),
    Case("laplaces", lambda e: first(noise.discrete_laplaces(SEVEN_FIFTHS, 1, e)), laplace(SEVEN_FIFTHS), 8, 3, 1e-3),
    Case("laplace in digits", lambda e: noise.discrete_laplace(40, e), laplace(40), 7, 2, 0.5),
    Case("laplaces in digits", lambda e: first(noise.discrete_laplaces(40, 1, e)), laplace(40), 7, 2, 0.5),
    Case("truncated laplace", lambda e: noise.truncated_laplace(2, 4, e), truncated(laplace(2), 4), 8, 3, 1e-4),
    Case(
        "truncated laplaces",
        lambda e: first(noise.truncated_laplaces(2, 4, 1, e)),
        truncated(laplace(2), 4),
        8,
        3,
        1e-4,
    ),
    Case("rounded", lambda e: noise.rounded_gaussian(FIVE_THIRDS, e), rounded(FIVE_THIRDS), 10, 3, 1e-4),
    Case(
        "rounded, many", lambda e: first(noise.rounded_gaussians(FIVE_THIRDS, 1, e)), rounded(FIVE_THIRDS), 8, 3, 1e-3
    ),
    Case("rounded, tiny", lambda e: noise.rounded_gaussian(THIRD, e), rounded(THIRD), 8, 3, 1e-5),
    Case("truncated gaussian", lambda e: noise.truncated_gaussian(2, 3, e), truncated(rounded(2), 3), 8, 3, 1e-4),
    Case(
        "truncated gaussians",
        lambda e: first(noise.truncated_gaussians(2, 3, 1, e)),
        truncated(rounded(2), 3),
        8,
        3,
        1e-4,
    ),
    Case("discrete", lambda e: noise.discrete_gaussian(FIVE_THIRDS, e), discrete(FIVE_THIRDS), 10, 3, 1e-4),
    Case(
        "discrete, many",
        lambda e: first(noise.discrete_gaussians(FIVE_THIRDS, 1, e)),
        discrete(FIVE_THIRDS),
        8,
        3,
        1e-3,
    ),
    Case("categorical", lambda e: noise.categorical(WEIGHTS, e), weighted([3, 0, 1, 6]), 8, 3, 1e-5),
    Case("categoricals", lambda e: first(noise.categoricals(WEIGHTS, 1, e)), weighted([3, 0, 1, 6]), 8, 3, 1e-5),
    Case(
        "exponential choice", lambda e: noise.exponential_choice([0, 3, HALF], 2, e), softmax([0, 1.5, 0.25]), 8, 2, 0.4
    ),
    Case("exponential, far", lambda e: noise.exponential_choice([0, 300], 2, e), softmax([0, 150]), 8, 2, 0.2),
    Case("permute and flip", lambda e: noise.permute_and_flip([0, 1], 2, e), flipped([HALF, Fraction(0)]), 5, 3, 0.2),
    Case("laplace ranking", ranks([0, 1], two_sided=True), laplace_leads(1), 4, 4, 0.6),
    Case("exponential ranking", ranks([0, 1], two_sided=False), flipped([THIRD * 2, Fraction(0)]), 4, 4, 0.6),
    Case("permutation", lambda e: tuple(noise.permutation(3, e).tolist()), uniform(6), 4, 4, 0.25),
    Case("permutation of one", lambda e: tuple(noise.permutation(1, e).tolist()), uniform(1), 4, 1, 0),
    Case("sample", lambda e: tuple(noise.sample_without_replacement(4, 2, e).tolist()), uniform(12), 6, 3, 0.01),
]


def assert_law(found: Enumeration[object], law: Law, most: float) -> None:
    assert sum(found.decided.values()) + found.undecided == 1
    assert found.undecided <= most
    for outcome, mass in found.decided.items():
        true = law(outcome)
        assert real(mass) <= true + SLACK, f"{outcome}: more than its probability"
        assert true <= real(mass + found.undecided) + SLACK, f"{outcome}: less than its probability"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_law(case: Case) -> None:
    assert_law(enumerated(case.draw, word_bits=case.word_bits, depth=case.depth), case.law, case.most)


@pytest.mark.parametrize("case", [c for c in CASES if c.most <= 0.01], ids=lambda case: case.name)
def test_undecided_mass_falls_geometrically(case: Case) -> None:
    rest = [enumerated(case.draw, word_bits=case.word_bits, depth=depth).undecided for depth in range(case.depth + 1)]
    falls = [later / earlier for earlier, later in pairwise(rest[1:]) if earlier]
    assert all(fall <= Fraction(1, 4) for fall in falls), [float(fall) for fall in falls]


PROPOSALS = {
    "cells": (Steps(Fraction(3, 2), 1, HALF), 2, 4, 4, 0.1),
    "cells in blocks": (Steps(Fraction(5, 2), 2, HALF), 1, 5, 3, 0.25),
    "points": (Steps(Fraction(3, 2), 1, Fraction(0)), 0, 5, 3, 0.01),
    "points in blocks": (Steps(Fraction(5, 2), 2, Fraction(0)), 0, 5, 3, 0.01),
    "cells up to a radius": (Steps(Fraction(5, 2), 2, HALF, 3), 1, 5, 3, 0.25),
}
"""Law, binary places of a position, word size, depth, undecided mass."""


@pytest.mark.parametrize("vector", [False, True], ids=["scalar", "vector"])
@pytest.mark.parametrize("name", PROPOSALS)
def test_proposals_keep_every_value_in_proportion(name: str, vector: bool) -> None:
    """A kept proposal has the law wanted, so one more proposal after a refusal changes nothing: work and value part ways."""
    law, fine_bits, word_bits, depth, most = PROPOSALS[name]
    sampler = StepSampler(law, fine_bits=fine_bits, word_bits=word_bits)

    def propose(entropy: Entropy) -> int | None:
        if not vector:
            return sampler.proposal(entropy)
        values, refused = sampler.proposals(1, entropy)
        return None if refused[0] else int(values[0])

    depth, most = (3, 4 * most) if vector else (depth, most)
    found = enumerated(propose, word_bits=word_bits, depth=depth)
    target = rounded(law.scale) if law.inset else discrete(law.scale)
    target = target if law.radius is None else truncated(target, law.radius)
    kept = kept_share(law)
    assert_law(found, lambda k: 1 - kept if k is None else kept * target(k), most)


def kept_share(law: Steps) -> mp.mpf:
    """The total under the curve over the total under the steps."""
    scale, reach = real(law.scale), 60
    radius = law.radius if law.radius is not None else reach * law.width
    top, bottom = range(-(radius - 1) // law.width - 1, radius // law.width + 1), range(-radius, radius + 1)
    steps = mp.fsum(law.width * mp.exp(-(real(law.near(block)) ** 2) / (2 * scale**2)) for block in top)
    if law.inset:
        return mp.fsum(normal_mass(k, law.scale) for k in bottom) * scale * mp.sqrt(2 * mp.pi) / steps
    return mp.fsum(mp.exp(-(mp.mpf(k) ** 2) / (2 * scale**2)) for k in bottom) / steps


def test_a_sampler_that_does_not_refine_is_caught() -> None:
    """Give what the first word leaves open to outcome zero, as a sampler "exact up to 2**-64" would."""
    table = AliasTable(Blocks(SEVEN_FIFTHS), word_bits=8, label=signed)

    def careless(entropy: Entropy) -> int:
        word = entropy.word()
        return table.decoded(word, entropy) if word < table.limit else 0

    with pytest.raises(AssertionError, match="0: more than its probability"):
        assert_law(enumerated(careless, word_bits=8, depth=1), laplace(SEVEN_FIFTHS), 0)


def test_two_draws_are_independent() -> None:
    """Both values of a vector draw together have the product law."""
    found = enumerated(lambda e: tuple(noise.discrete_laplaces(HALF, 2, e).tolist()), word_bits=6, depth=3)
    single = laplace(HALF)
    assert_law(found, lambda pair: single(pair[0]) * single(pair[1]), 0.01)


FAR_EXPONENTS = [Fraction(0), Fraction(7, 2), Fraction(4), Fraction(31, 7), Fraction(6)]


@pytest.mark.parametrize("exponent", FAR_EXPONENTS)
def test_a_coin_of_a_tiny_chance_is_several_coins(exponent: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """With FAR shrunk to three the part beyond, decided by a geometric draw, carries most of the exponent."""
    monkeypatch.setattr(coins, "FAR", 3)
    found = enumerated(lambda e: noise.bernoulli_exp(exponent, e), word_bits=3, depth=6)
    assert_law(found, coin(mp.exp(-real(exponent))), 1e-3)


@pytest.mark.parametrize("exponent", FAR_EXPONENTS[2:])
def test_a_coin_that_forgets_what_lies_beyond_is_caught(exponent: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coins, "FAR", 3)
    monkeypatch.setattr(coins, "passes", lambda *_: True)
    found = enumerated(lambda e: noise.bernoulli_exp(exponent, e), word_bits=3, depth=6)
    with pytest.raises(AssertionError, match="probability"):
        assert_law(found, coin(mp.exp(-real(exponent))), 1e-3)
