"""Atoms beside continuous laws: readings against sums over atoms of the Gaussian's own profile, convolved here with 40 digits."""

from fractions import Fraction
from itertools import product

import mpmath
import pytest

from deniable.accounting import delta, epsilon
from deniable.cost import Bounded, DiscreteLaplace, Gaussian, Laplace, Mixed, RandomizedResponse

GAP = 1e-4


def two_points(loss):
    """epsilon-private in the worst way: losses -l and l."""
    share = 1 / (1 + mpmath.exp(-loss))
    return {-loss: 1 - share, loss: share}


def lattice(scale, steps):
    """Discrete Laplace noise moved by `steps`."""
    ratio = mpmath.exp(-1 / scale)
    law = {(steps - 2 * t) / scale: (1 - ratio) / (1 + ratio) * ratio**t for t in range(1, steps)}
    return law | {steps / scale: 1 / (1 + ratio), -steps / scale: ratio**steps / (1 + ratio)}


def response(truth, categories):
    other = (1 - truth) / (categories - 1)
    loss = mpmath.log(truth / other)
    return {loss: truth, -loss: other} | ({mpmath.mpf(0): other * (categories - 2)} if categories > 2 else {})


def power(law, times):
    """Sums of independent losses; alike to 25 digits are one."""
    whole = {mpmath.mpf(0): mpmath.mpf(1)}
    for _ in range(times):
        found = {}
        for (one, p), (two, q) in product(whole.items(), law.items()):
            key = mpmath.nstr(one + two, 25)
            found[key] = found.get(key, 0) + p * q
        whole = {mpmath.mpf(key): mass for key, mass in found.items()}
    return whole


def profile(mu, loss):
    return mpmath.ncdf(mu / 2 - loss / mu) - mpmath.exp(loss) * mpmath.ncdf(-mu / 2 - loss / mu)


def truth(law, times, mu, loss):
    return sum(mass * profile(mu, loss - each) for each, mass in power(law, times).items())


MIXES = [
    (DiscreteLaplace(scale=Fraction(223, 100)), lambda: lattice(mpmath.mpf("2.23"), 1), 5, "1.79", (3, 4, 5, 6)),
    (DiscreteLaplace(scale=5, sensitivity=3), lambda: lattice(mpmath.mpf(5), 3), 10, "1", (4, 8)),
    (RandomizedResponse(truth=Fraction(7, 10)), lambda: response(mpmath.mpf("0.7"), 2), 10, "5", (2, 6)),
    (RandomizedResponse(truth=Fraction(1, 2), categories=4), lambda: response(mpmath.mpf("0.5"), 4), 3, "1.79", (1, 5)),
    (Bounded(epsilon=Fraction(1, 2)), lambda: two_points(mpmath.mpf("0.5")), 50, "1", (5, 20)),
]


@pytest.mark.parametrize(("cost", "law", "times", "scale", "losses"), MIXES)
def test_atoms_and_one_gaussian_are_read_to_many_digits(cost, law, times, scale, losses):
    both = cost.repeated(times) + Gaussian(scale=Fraction(scale), sensitivity=1)
    with mpmath.workdps(40):
        for loss in losses:
            exact = truth(law(), times, 1 / mpmath.mpf(scale), loss)
            found = delta(both, epsilon=loss)
            assert found.lower <= exact <= found.upper
            assert found.gap < 1e-9
            back = epsilon(both, delta=Fraction(found.upper))
            assert back.lower <= loss
            assert back.upper == pytest.approx(loss, rel=1e-6)


def test_the_requested_gap_is_met_beside_several_continuous_laws():
    """Counts, rare Laplace releases and a sum: the mix of an everyday table."""
    cost = (
        DiscreteLaplace(scale=Fraction("5.84"), sensitivity=3).repeated(59)
        + Laplace(scale=Fraction("5.67")).sampled(rate=Fraction("0.00143")).repeated(5)
        + Gaussian(scale=Fraction("2.48"), sensitivity=1)
    )
    found = epsilon(cost, delta=Fraction(1, 10**6))
    assert found.gap <= GAP
    assert found.lower <= 22.1742608 <= found.upper * (1 + 1e-6)
    chance = delta(cost, epsilon=20)
    assert chance.gap <= GAP
    assert chance.lower <= 2.6063999e-05
    assert chance.upper >= 2.6063496e-05


def test_a_public_coin_beside_a_gaussian_is_read_tightly_from_above():
    """The lower end may be wider, and then says why."""
    parts = [(Fraction(1, 4), response, Fraction(3, 5), 3), (Fraction(3, 4), response, Fraction(2, 3), 2)]
    times, mu, loss = 6, mpmath.mpf(1) / 9, Fraction(3, 2)
    cost = Mixed([(share, RandomizedResponse(truth=kept, categories=k)) for share, _, kept, k in parts])
    found = delta(cost.repeated(times) + Gaussian(scale=9, sensitivity=1), epsilon=loss)
    with mpmath.workdps(40):
        law = {}
        for share, made, kept, k in parts:
            for each, mass in made(mpmath.mpf(kept.numerator) / kept.denominator, k).items():
                law[each] = law.get(each, 0) + mass * share.numerator / share.denominator
        exact = truth(law, times, mu, mpmath.mpf(3) / 2)
    assert found.lower <= exact <= found.upper <= exact * (1 + 1e-3)
    assert found.gap <= GAP or found.note
