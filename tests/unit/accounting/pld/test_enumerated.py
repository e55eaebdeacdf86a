"""Compositions added up outcome by outcome, against laws written out here."""

from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from deniable.accounting.pld.composite_pairs import enumerate_atoms
from deniable.accounting.pld.cost_pairs import steps_of
from deniable.accounting.pld.gaussian_pairs import gaussian_pair
from deniable.cost import Bounded, DiscreteLaplace, RandomizedResponse, TruncatedLaplace, composed

mpmath.mp.dps = 50


def truncated(scale, radius, shift):
    """Two laws on the integers: truncated noise around `shift` and around 0."""
    weights = {k: mpmath.exp(-mpf(abs(k)) / scale) for k in range(-radius, radius + 1)}
    total = mpmath.fsum(weights.values())
    with_unit = {k + shift: w / total for k, w in weights.items()}
    return with_unit, {k: w / total for k, w in weights.items()}


def twice(p, q, epsilon):
    """delta of two draws, by all pairs of outcomes."""
    total, factor = mpf(0), mpmath.exp(epsilon)
    for a, b in product(p.keys() | q.keys(), repeat=2):
        mine, other = p.get(a, 0) * p.get(b, 0), q.get(a, 0) * q.get(b, 0)
        total += max(mpf(0), mine - factor * other)
    return total


@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 0.6])
def test_sampled_noise_with_outcomes_only_one_side_can_give(epsilon, added):
    rate = mpf(1) / 4
    p, q = truncated(3, 6, 2)
    drawn = {k: (1 - rate) * q.get(k, 0) + rate * p.get(k, 0) for k in p.keys() | q.keys()}
    right = twice(q, drawn, mpf(epsilon)) if added else twice(drawn, q, mpf(epsilon))
    cost = TruncatedLaplace(scale=3, radius=6, sensitivity=2).sampled(rate=Fraction(1, 4)).repeated(2)
    steps, leaks = steps_of(cost)
    assert not leaks
    pair = enumerate_atoms(tuple((each.swapped if added else each, times) for each, times in steps))
    at = np.array([epsilon])
    low, high = float(pair.line(at, at)[0]), float(pair.upper(at)[0])
    assert low <= right <= high
    assert high - low <= 1e-10 * high + 1e-290


def test_an_order_does_not_matter_and_counts_count():
    parts = [RandomizedResponse(truth=Fraction(3, 5), categories=3), DiscreteLaplace(scale=2, sensitivity=2)]
    forth = enumerate_atoms(steps_of(composed([*parts, parts[0]]))[0])
    back = enumerate_atoms(steps_of(composed([parts[1], parts[0].repeated(2)]))[0])
    assert forth.above.loss == pytest.approx(back.above.loss, abs=1e-12)
    assert float(forth.above.mass.sum()) == pytest.approx(1, abs=1e-12)


def test_too_many_outcomes_and_densities_are_left_to_the_grid():
    many = composed(Bounded(epsilon=1 + Fraction(1, k * k + 1)) for k in range(1, 25))
    assert enumerate_atoms(steps_of(many)[0]) is None
    assert enumerate_atoms(((gaussian_pair(Fraction(1)), 2),)) is None
