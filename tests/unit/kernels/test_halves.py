"""The noise of two halves together: its law against a plain convolution, its error, and its mean size."""

from fractions import Fraction

import mpmath
import pytest

from deniable.kernels import DiscreteLaplaceNoise, HalvesNoise

SCALES = [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(20)]


def _of(scale):
    return HalvesNoise(scale, "m0", Fraction(1))


def _convolved(scale, at_least):
    """P[sum of two draws >= at_least], added up."""
    q = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
    reach = int(60 * scale) + 60

    def tail(k):
        return q**k / (1 + q) if k > 0 else 1 - q ** (1 - k) / (1 + q)

    return mpmath.fsum((1 - q) / (1 + q) * q ** abs(k) * tail(at_least - k) for k in range(-reach, reach + 1))


@pytest.mark.parametrize("scale", SCALES)
def test_the_tail_is_that_of_two_draws(scale):
    with mpmath.workdps(40):
        for at in (1, 2, 5, int(3 * scale) + 1, int(9 * scale) + 1):
            found, wanted = _of(scale).right_tail(at), _convolved(scale, at)
            assert abs(mpmath.mpf(float(found.midpoint)) / wanted - 1) < 1e-12
            assert found.lower <= found.upper
            assert float(found.width) <= 1e-15


@pytest.mark.parametrize("scale", [*SCALES, Fraction(10**9, 7)])
@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**9)])
def test_the_error_is_enough_and_not_too_much(scale, beta):
    noise = _of(scale)
    error = noise.error(beta)
    assert 2 * noise.right_tail(error + 1).upper <= beta
    assert error == 0 or 2 * noise.right_tail(error).upper > beta
    assert error <= 2 * DiscreteLaplaceNoise(scale).error(beta / 2)


def test_its_variance_is_that_of_two_draws_and_a_bound_on_fits_is_not_claimed():
    assert _of(Fraction(5)).variance == 2 * DiscreteLaplaceNoise(Fraction(5)).variance
    assert _of(Fraction(5)).weighted_error(deviation=Fraction(1), reach=Fraction(1), beta=Fraction(1, 20)) is None


@pytest.mark.parametrize("shift", [0.0, 3.0, -40.0, 400.0])
def test_the_mean_size_is_that_of_the_law(shift):
    noise, reach = _of(Fraction(20)), 1500
    masses = [float((noise.right_tail(k) - noise.right_tail(k + 1)).midpoint) for k in range(1, reach)]
    middle = 1 - 2 * sum(masses)
    mean = middle * abs(shift) + sum(p * (abs(shift + k) + abs(shift - k)) for k, p in enumerate(masses, 1))
    assert noise.mean_size(shift) == pytest.approx(mean, rel=0.002)
