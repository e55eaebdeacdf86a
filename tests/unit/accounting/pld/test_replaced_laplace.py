"""Poisson samples of Laplace noise with a unit replaced: the worst pair, against every pair of moves by brute force."""

import math
from fractions import Fraction

import pytest

from deniable.accounting import delta, epsilon
from deniable.cost import DiscreteLaplace, Laplace, Neighbours

RATES = [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]


def mixture(rate, ratio, move, at):
    noise = (1 - ratio) / (1 + ratio)
    return noise * ((1 - rate) * ratio ** abs(at) + rate * ratio ** abs(at - move))


def hockey_stick(rate, ratio, one, other, loss, reach=400):
    """(1-q) n(z) + q n(z - one) against the same with `other`, summed over the integers."""
    sides = ((mixture(rate, ratio, one, z), mixture(rate, ratio, other, z)) for z in range(-reach, reach + 1))
    return math.fsum(max(0.0, p - math.exp(loss) * q) for p, q in sides)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(("scale", "steps"), [(Fraction(2), 1), (Fraction(1), 3), (Fraction(5), 4)])
def test_no_other_pair_of_moves_is_worse(rate, scale, steps):
    """All moves up to `steps`, both ways, both roles: none beats the opposite extremes, and the reading is theirs."""
    ratio, cost = math.exp(-1 / scale), DiscreteLaplace(scale=scale, sensitivity=steps)
    sampled = cost.sampled(rate=rate, neighbours=Neighbours.REPLACE)
    for loss in (0.0, 0.05, 0.2, 0.5, 1.0):
        worst = hockey_stick(float(rate), ratio, steps, -steps, loss)
        moves = range(-steps, steps + 1)
        assert all(hockey_stick(float(rate), ratio, a, b, loss) <= worst + 1e-13 for a in moves for b in moves)
        found = delta(sampled, epsilon=Fraction(loss))
        assert found.lower - 1e-12 <= worst <= found.upper + 1e-12
        assert found.upper <= worst * 1.0001 + 1e-12


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(2), Fraction(10)])
def test_continuous_noise_is_the_limit_of_fine_lattices(rate, scale):
    fine = 200
    discrete = DiscreteLaplace(scale=scale * fine, sensitivity=fine).sampled(rate=rate, neighbours=Neighbours.REPLACE)
    continuous = Laplace(scale=scale).sampled(rate=rate, neighbours=Neighbours.REPLACE)
    for loss in (Fraction(0), Fraction(1, 50), Fraction(1, 5), Fraction(1)):
        limit, found = delta(discrete, epsilon=loss), delta(continuous, epsilon=loss)
        assert found.upper == pytest.approx(limit.upper, rel=0.02, abs=1e-12)
        assert found.upper - found.lower <= 1e-4 * found.upper + 1e-12


def test_many_samples_compose_tightly():
    for cost in (Laplace(scale=2), DiscreteLaplace(scale=2, sensitivity=1)):
        found = epsilon(cost.sampled(rate=Fraction(1, 10), neighbours=Neighbours.REPLACE).repeated(100), delta=1e-6)
        assert found.gap <= 0.01
    once = Laplace(scale=2).sampled(rate=Fraction(1, 10))
    assert (
        epsilon(once, delta=1e-6).upper
        < epsilon(Laplace(scale=2).sampled(rate=Fraction(1, 10), neighbours=Neighbours.REPLACE), delta=1e-6).upper
    )
