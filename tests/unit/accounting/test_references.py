"""The references themselves, against one another: a formula, quadrature with 40 digits, and the contour integral."""

import math

import mpmath
import pytest
from mpmath import mpf

from deniable.cost import Laplace
from tests.unit.accounting import contour
from tests.unit.accounting.laplaces import laplace_delta
from tests.unit.accounting.reference import normal_delta, truth


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("depth", [1.0, 4.0, 9.0])
def test_the_contour_integral_of_a_normal_law(mu, depth):
    epsilon = depth * mu + mu * mu / 2
    found = contour.delta([(contour.normal(mu / math.sqrt(7)), 7)], epsilon)
    assert found == pytest.approx(float(normal_delta(mpf(mu), mpf(epsilon))), rel=1e-11)


def _one_step(rate: mpf, epsilon: mpf) -> mpf:
    """Any real epsilon: removing a unit from a sampled Gaussian with mu = 1."""
    if mpmath.exp(epsilon) <= 1 - rate:
        return 1 - mpmath.exp(epsilon)
    place = mpmath.log((mpmath.exp(epsilon) - 1 + rate) / rate) + mpf(1) / 2
    tail, moved = mpmath.ncdf(-place), mpmath.ncdf(1 - place)
    return (1 - rate) * tail + rate * moved - mpmath.exp(epsilon) * tail


@pytest.mark.parametrize(("rate", "epsilon"), [("0.5", 1.0), ("0.5", 8.0), ("0.2", 3.0)])
def test_the_contour_integral_of_two_sampled_steps(rate, epsilon):
    """Against quadrature over the first answer of the exact profile of the second."""
    q, e = mpf(rate), mpf(epsilon)

    def density(y: mpf) -> mpf:
        ratio = 1 - q + q * mpmath.exp(y - mpf(1) / 2)
        return mpmath.npdf(y) * ratio * _one_step(q, e - mpmath.log(ratio))

    with mpmath.workdps(40):
        right = mpmath.quad(density, [-12, -6, -3, 0, 3, 6, 9, 12, 16, 20])
    found = contour.delta([(contour.SampledNormal(1.0, float(q)), 2)], epsilon)
    assert found == pytest.approx(float(right), rel=1e-9)


@pytest.mark.parametrize("epsilon", [-0.4, 0.1, 0.3])
def test_repeated_laplace_noise_once_and_twice(epsilon):
    a, e = mpf(1) / 2, mpf(epsilon)
    if epsilon > 0:
        assert mpmath.almosteq(laplace_delta(a, 1, e), truth(Laplace(scale=2), epsilon), 1e-15)

    def once(at: mpf) -> mpf:
        return 1 - mpmath.exp(at) if at < -a else max(mpf(0), 1 - mpmath.exp((at - a) / 2))

    knots = sorted({-a, min(max(e - a, -a), a), min(max(e + a, -a), a), a})
    inside = mpmath.quad(lambda z: mpmath.exp((z - a) / 2) / 4 * once(e - z), knots)
    right = once(e - a) / 2 + mpmath.exp(-a) / 2 * once(e + a) + inside
    assert mpmath.almosteq(laplace_delta(a, 2, e), right, 1e-12)


def test_a_contour_with_laplace_and_normal_parts_is_a_mean_over_the_laplace_loss():
    a, mu, e = mpf(1) / 3, mpf(1), mpf("1.5")

    def density(z: mpf) -> mpf:
        return mpmath.exp((z - a) / 2) / 4 * normal_delta(mu, e - z)

    right = normal_delta(mu, e - a) / 2 + mpmath.exp(-a) / 2 * normal_delta(mu, e + a) + mpmath.quad(density, [-a, a])
    found = contour.delta([(contour.normal(1.0), 1), (contour.laplace(1 / 3), 1)], 1.5)
    assert found == pytest.approx(float(right), rel=1e-11)
