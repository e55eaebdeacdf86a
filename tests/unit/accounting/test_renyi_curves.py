"""Rényi curves against quadrature and enumeration: never below, hardly above, at whole orders and between."""

from fractions import Fraction

import mpmath
import pytest
from mpmath import mpf

from deniable.accounting.pure_profiles import PureLoss
from deniable.accounting.renyi_curves import PureCurve
from deniable.accounting.renyi_sampling import SampledGaussianCurve, alternating
from deniable.accounting.theorems import RenyiPrivacy
from deniable.cost import (
    Bounded,
    Concentrated,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    Mixed,
    Neighbours,
    Parallel,
    RandomizedResponse,
    Renyi,
    Sampled,
    Sampling,
    TruncatedLaplace,
)
from deniable.exact import Interval
from tests.unit.accounting.reference import atoms, exactly

ORDERS = [Fraction(101, 100), Fraction(3, 2), Fraction(2), Fraction(31, 4), Fraction(40), Fraction(1000)]


def at(cost, order):
    value = RenyiPrivacy().read(cost).at(order)
    return None if value is None else exactly(value)


def enumerated(cost, order):
    moment = mpmath.fsum(
        mass * mpmath.exp((order - 1) * loss) for loss, mass in atoms(cost).items() if loss < mpmath.inf
    )
    return mpmath.log(moment) / (order - 1)


@pytest.mark.parametrize(
    "cost",
    [
        RandomizedResponse(truth=Fraction(3, 4)),
        RandomizedResponse(truth=Fraction(1, 2), categories=7),
        Bounded(epsilon=Fraction(3, 2)),
        DiscreteLaplace(scale=2),
        DiscreteLaplace(scale=3, sensitivity=5),
    ],
    ids=str,
)
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_discrete_curves(cost, order):
    right = enumerated(cost, exactly(order))
    assert right * (1 - mpf(10) ** -20) <= at(cost, order) <= right * (1 + mpf(10) ** -12)


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(12)])
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_laplace_curve(epsilon, order):
    e, a = exactly(epsilon), exactly(order)
    middle = mpmath.quad(lambda x: mpmath.exp(-x + (a - 1) * (e - 2 * x)) / 2, [0, e / 2, e])
    moment = mpmath.exp((a - 1) * e) / 2 + middle + mpmath.exp(-e - (a - 1) * e) / 2
    right = mpmath.log(moment) / (a - 1)
    found = at(Laplace(scale=1 / epsilon), order)
    assert right * (1 - mpf(10) ** -15) <= found <= right * (1 + mpf(10) ** -12)


@pytest.mark.parametrize("eta", [Fraction(1, 100), Fraction(1), Fraction(9)])
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_bounded_range_curve_is_the_worst_two_point_law(eta, order):
    e, a = exactly(eta), exactly(order)
    total = 1 - mpmath.exp(-e)

    def divergence(t):
        other = (mpmath.exp(-t) - mpmath.exp(-e)) / total
        return mpmath.log(other * mpmath.exp(a * t) + (1 - other) * mpmath.exp(a * (t - e))) / (a - 1)

    low, high = mpf(0), e
    for _ in range(120):
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        low, high = (left, high) if divergence(left) < divergence(right) else (low, right)
    right = divergence(low)
    found = at(Exponential(eta=eta), order)
    assert right * (1 - mpf(10) ** -15) <= found <= right * (1 + mpf(10) ** -12)
    assert found <= exactly(eta)


def test_gaussians_of_every_kind_are_linear():
    for cost in (Gaussian(scale=2, sensitivity=1), DiscreteGaussian(scale=2, sensitivity=1), Concentrated(rho=0.125)):
        assert RenyiPrivacy().read(cost).at(Fraction(6)) == Fraction(6, 8)


@pytest.mark.parametrize(
    ("square", "rate", "order"),
    [
        (1, "0.01", Fraction(101, 100)),
        (1, "0.01", Fraction(5, 2)),
        (1, "0.01", Fraction(8)),
        ("0.25", "0.5", Fraction(3, 2)),
        ("0.25", "0.5", Fraction(77, 10)),
        (4, "0.1", Fraction(5, 2)),
        (100, "0.001", Fraction(101, 100)),
        (100, "0.001", Fraction(2)),
    ],
)
def test_the_sampled_gaussian_is_exact_at_every_order(square, rate, order):
    s, q, a = exactly(Fraction(square)), exactly(Fraction(rate)), exactly(order)
    scale = 1 / mpmath.sqrt(s)
    with mpmath.workdps(22):
        points = sorted(
            {-40 * scale, -5 * scale, mpf(0), a + 5 * scale, a + 40 * scale, *(a * k / 12 for k in range(1, 13))}
        )
        moment = mpmath.quad(
            lambda x: mpmath.npdf(x, 0, scale) * ((1 - q) + q * mpmath.exp((2 * x - 1) * s / 2)) ** a, points
        )
        right = mpmath.log(moment) / (a - 1)
    found = exactly(SampledGaussianCurve(Fraction(square), Fraction(rate)).at(order))
    assert found == pytest.approx(right, rel=1e-15)
    assert found >= right * (1 - mpf(10) ** -15)


def test_an_alternating_sum_of_moments_is_enclosed_by_few_terms():
    found = alternating([Interval.point(Fraction(1, k + 1)) for k in range(30)])
    assert exactly(found.lower) < mpmath.log(2) < exactly(found.upper)
    assert found.width < Fraction(1, 10**20)


def moment_bound(p, q, order):
    """Divergence of two laws on a few points."""
    return mpmath.log(mpmath.fsum(x**order * y ** (1 - order) for x, y in zip(p, q, strict=True))) / (order - 1)


@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 3), Fraction(9, 10)])
@pytest.mark.parametrize("order", [Fraction(3, 2), Fraction(2), Fraction(5), Fraction(21, 2), Fraction(40)])
def test_sampling_any_curve_is_sound_in_both_directions(rate, order):
    """The base is randomised response, presented only by its Rényi curve, so the general bounds are at work."""
    base = RandomizedResponse(truth=Fraction(3, 4))
    listed = Renyi((Fraction(k), RenyiPrivacy().read(base).at(Fraction(k))) for k in range(2, 120))
    p, q, r = [mpf(3) / 4, mpf(1) / 4], [mpf(1) / 4, mpf(3) / 4], exactly(rate)
    mixed = [(1 - r) * b + r * a for a, b in zip(p, q, strict=True)]
    a = exactly(order)
    worst = max(moment_bound(mixed, q, a), moment_bound(q, mixed, a))
    found = at(listed.sampled(rate=rate), order)
    assert worst <= found
    assert found <= at(listed, order) if order >= 2 else True
    same = Sampled(listed, rate=rate, how=Sampling.WITHOUT_REPLACEMENT, neighbours=Neighbours.REPLACE)
    third = [mpf(1) / 2, mpf(1) / 2]  # a middle law, within the same distance of both
    one = [(1 - r) * c + r * a_ for a_, c in zip(p, third, strict=True)]
    two = [(1 - r) * c + r * b for b, c in zip(q, third, strict=True)]
    assert moment_bound(one, two, a) <= at(same, order)


def test_sampling_a_pure_loss_is_quadratically_small():
    small = Renyi((Fraction(k), Fraction(k, 100)) for k in range(2, 100)).sampled(rate=Fraction(1, 1000))
    assert at(small, Fraction(4)) < mpf(10) ** -5 * 4


def test_mixtures_and_parts():
    one, two = Laplace(scale=1), Gaussian(scale=1, sensitivity=1)
    a = Fraction(5)
    first, second = at(one, a), at(two, a)
    assert at(Parallel((one, two)), a) == max(first, second)
    right = mpmath.log(mpmath.exp(4 * first) / 4 + 3 * mpmath.exp(4 * second) / 4) / 4
    assert at(Mixed([(Fraction(1, 4), one), (Fraction(3, 4), two)]), a) == pytest.approx(right, rel=1e-15)


def test_listed_orders_interpolate_soundly_and_end_where_they_end():
    curve = RenyiPrivacy().read(Laplace(scale=1))
    listed = Renyi((order, curve.at(order)) for order in (Fraction(2), Fraction(4), Fraction(9)))
    for order in (Fraction(5, 4), Fraction(3), Fraction(7), Fraction(9)):
        assert at(listed, order) >= at(Laplace(scale=1), order)
    assert at(listed, Fraction(3)) < at(Laplace(scale=1), Fraction(4))
    assert at(listed, Fraction(91, 10)) is None


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_groups_by_the_triangle_inequality_are_sound(size):
    """Against the Gaussian, whose group curve is known exactly: size² rho."""
    base = Renyi((1 + Fraction(k, 2), Fraction(1, 8) * (1 + Fraction(k, 2))) for k in range(1, 400))
    found = at(base.group(size), Fraction(3))
    assert mpf(size**2) * 3 / 8 <= found <= mpf(size**2) * 3 / 8 * 4


def test_truncated_noise_leaks_beside_its_curve():
    loss = RenyiPrivacy().read(TruncatedLaplace(scale=2, radius=10))
    assert loss.leaks
    assert loss.at(Fraction(4)) <= Fraction(1, 2)


@pytest.mark.parametrize("order", [Fraction(17, 16), Fraction(2), Fraction(1000)])
def test_a_huge_pure_loss_is_its_own_divergence(order: Fraction) -> None:
    just, above = (PureCurve(PureLoss(epsilon=Fraction(epsilon))).at(order) for epsilon in (200, 201))
    assert 0 <= 200 - just < Fraction(1, 10**9)  # the formula, where it still has digits of a size
    assert above == 201
    assert PureCurve(PureLoss(epsilon=Fraction(10**9))).at(order) == 10**9
