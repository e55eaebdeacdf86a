"""Privacy loss distributions against what is known exactly: brackets hold the truth, and hold it closely."""

from fractions import Fraction
from math import comb

import mpmath
import pytest

from deniable import cost as costs
from deniable.accounting.pld import PrivacyLoss
from deniable.exact import gaussian_delta

mpmath.mp.dps = 60


def delta_of_atoms(atoms, times, epsilon):
    """The exact delta of `times` releases with these (loss, probability) atoms: all compositions of counts, at high precision."""
    law = {mpmath.mpf(0): mpmath.mpf(1)}
    for _ in range(times):
        after = {}
        for loss, chance in law.items():
            for more, weight in atoms:
                key = mpmath.nstr(loss + more, 40)
                after[key] = after.get(key, mpmath.mpf(0)) + chance * weight
        law = {mpmath.mpf(key): chance for key, chance in after.items()}
    return mpmath.fsum(chance * (1 - mpmath.exp(epsilon - loss)) for loss, chance in law.items() if loss > epsilon)


def holds(bracket, truth, gap=0.02):
    assert bracket.lower <= truth * (1 + mpmath.mpf(10) ** -12)
    assert bracket.upper >= truth * (1 - mpmath.mpf(10) ** -12)
    if truth > 1e-30:
        assert (bracket.upper - bracket.lower) <= gap * bracket.upper


@pytest.mark.parametrize(("times", "epsilon"), [(1, 0.3), (3, 1.0), (8, 2.0), (20, 5.0)])
def test_discrete_laplace_at_sensitivity_two(times, epsilon):
    scale = 3
    q = mpmath.exp(-mpmath.mpf(1) / scale)
    unit = mpmath.mpf(1) / scale
    pmf = {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-400, 401)}
    atoms = {}
    for k, chance in pmf.items():
        loss = (abs(k - 2) - abs(k)) * unit
        atoms[loss] = atoms.get(loss, mpmath.mpf(0)) + chance
    truth = delta_of_atoms(list(atoms.items()), times, epsilon)
    found = PrivacyLoss(costs.DiscreteLaplace(scale=scale, sensitivity=2).repeated(times)).delta(epsilon)
    holds(found, truth)


@pytest.mark.parametrize("times", [1, 5, 40])
def test_randomized_response_is_binomial(times):
    truth_chance = Fraction(3, 4)
    a = mpmath.log(3)
    for epsilon in (0.5, 2.0, 10.0):
        exact = mpmath.fsum(
            comb(times, k)
            * mpmath.mpf(3) ** k
            / mpmath.mpf(4) ** times
            * (1 - mpmath.exp(epsilon - (2 * k - times) * a))
            for k in range(times + 1)
            if (2 * k - times) * a > epsilon
        )
        found = PrivacyLoss(costs.RandomizedResponse(truth=truth_chance).repeated(times)).delta(epsilon)
        holds(found, exact)


@pytest.mark.parametrize(("scales", "epsilon"), [((1, 2, 3), 1.5), ((5,) * 10, 1.0), ((Fraction(1, 2),), 6.0)])
def test_gaussians_compose_to_one(scales, epsilon):
    mu_square = sum(1 / Fraction(s) ** 2 for s in scales)
    cost = costs.composed([costs.Gaussian(scale=s, sensitivity=1) for s in scales])
    mu = Fraction(float(mpmath.sqrt(mpmath.mpf(mu_square.numerator) / mu_square.denominator)))
    truth = gaussian_delta(mu, Fraction(epsilon))
    found = PrivacyLoss(cost).delta(epsilon)
    assert found.lower <= float(truth.upper) * (1 + 1e-9)
    assert found.upper >= float(truth.lower) * (1 - 1e-9)


@pytest.mark.parametrize(("rate", "scale", "epsilon"), [(0.01, 1, 0.2), (0.5, 2, 0.3), (0.001, 0.5, 1.0)])
def test_one_sampled_gaussian_step_has_its_closed_form(rate, scale, epsilon):
    """Remove: t = s² ln((e^ε - 1 + q)/q) + 1/2, δ = (1-q)Q(t/s) + qQ((t-1)/s) - e^ε Q(t/s)."""
    q, s, e = mpmath.mpf(str(rate)), mpmath.mpf(str(scale)), mpmath.mpf(epsilon)
    t = s**2 * mpmath.log((mpmath.exp(e) - 1 + q) / q) + mpmath.mpf(1) / 2

    def tail(x):
        return mpmath.erfc(x / mpmath.sqrt(2)) / 2

    truth = (1 - q) * tail(t / s) + q * tail((t - 1) / s) - mpmath.exp(e) * tail(t / s)
    found = PrivacyLoss(costs.Gaussian(scale=scale, sensitivity=1).sampled(rate=rate)).delta(epsilon)
    holds(found, truth, gap=1e-3)


def test_the_training_run_of_the_tour():
    run = costs.Gaussian(scale=1, sensitivity=1).sampled(rate=0.01).repeated(10_000)
    found = PrivacyLoss(run).epsilon(1e-6)
    assert 6.906 < found.lower <= found.upper < 6.909


@pytest.mark.parametrize("delta", [1e-6, 1e-12, 1e-20])
def test_small_deltas_stay_sound_and_finite(delta):
    found = PrivacyLoss(costs.Gaussian(scale=2, sensitivity=1).repeated(4)).epsilon(delta)
    low = gaussian_delta(Fraction(1), Fraction(found.upper))
    assert float(low.lower) <= delta * (1 + 1e-6)
    assert found.upper < 20


def test_a_threshold_adds_its_delta():
    plain = PrivacyLoss(costs.DiscreteLaplace(scale=2)).delta(0.25)
    kept = PrivacyLoss(costs.DiscreteLaplace(scale=2) + costs.Bounded(epsilon=0, delta=Fraction(1, 1000))).delta(0.25)
    assert kept.upper >= plain.lower + 0.0009 * (1 - plain.upper)
