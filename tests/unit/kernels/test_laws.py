"""The certified laws against mpmath at high precision, and the errors they promise."""

from fractions import Fraction

import mpmath
import pytest

from deniable.kernels import Law, noise_of
from deniable.kernels.integer_noise import joint_error
from deniable.kernels.laws import least

SCALES = [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(20), Fraction(60)]


def _mp(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def _tail(law: Law, scale: Fraction, at_least: int) -> mpmath.mpf:
    s = _mp(scale)
    match law:
        case Law.LAPLACE | Law.STAIRCASE:  # stairs one step wide
            q = mpmath.exp(-1 / s)
            return q**at_least / (1 + q) if at_least > 0 else 1 - q ** (1 - at_least) / (1 + q)
        case Law.GAUSSIAN:
            return mpmath.erfc((at_least - mpmath.mpf(1) / 2) / s / mpmath.sqrt(2)) / 2
        case Law.DISCRETE_GAUSSIAN:
            bells = [mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * s * s)) for k in range(int(15 * scale) + 15)]
            everything = 2 * mpmath.fsum(bells) - 1
            return mpmath.fsum(bells[at_least:]) / everything


def _holds(interval, value) -> bool:
    return _mp(interval.lower) <= value <= _mp(interval.upper)


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("scale", SCALES)
def test_masses_and_tails_hold_the_exact_value(law: Law, scale: Fraction):
    with mpmath.workdps(60):
        for at in {0, 1, 3, int(scale), int(3 * scale) + 1}:
            tail, following = _tail(law, scale, at), _tail(law, scale, at + 1)
            got = noise_of(law, scale).tail(at)
            assert _holds(got, tail), (law, scale, at)
            assert got.width <= max(Fraction(1, 10**15), Fraction(1, 2) / scale / scale if scale > 12 else 0)
            assert _holds(noise_of(law, scale).mass(at), tail - following)
            assert _holds(noise_of(law, scale).mass(-at), tail - following)


@pytest.mark.parametrize("law", list(Law))
def test_tails_of_both_sides_add_up(law: Law):
    for at in range(-6, 7):
        both = noise_of(law, Fraction(2)).tail(at) + noise_of(law, Fraction(2)).tail(1 - at)
        assert 1 in both


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("scale", [*SCALES, Fraction(10**9, 7)])
@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**9)])
def test_the_error_bound_is_enough_and_not_too_much(law: Law, scale: Fraction, beta: Fraction):
    noise = noise_of(law, scale)
    error = noise.error(beta)
    assert noise.beyond(error).upper <= beta
    assert error == 0 or noise.beyond(error - 1).upper > beta


def test_the_largest_of_many_errors_is_wider():
    noise = noise_of(Law.LAPLACE, Fraction(5))
    one, many = noise.error(Fraction(1, 20)), noise.error(Fraction(1, 20), count=1000)
    assert joint_error([(noise, 500), (noise, 500)], Fraction(1, 20)) == many
    assert noise.error(Fraction(1, 20), count=1) == one
    assert one == 15  # 2 q^(t+1) / (1 + q) with q = exp(-1/5): 0.0448 at 15 steps, 0.0547 at 14
    assert many == 49


def test_least_finds_the_first_whatever_the_guess():
    for answer in range(12):
        for near in (-3, 0, 1, 5, 40):
            assert least(lambda t, a=answer: t >= a, near=near) == answer
