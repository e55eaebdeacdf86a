"""Calibration of mechanisms: to a loss, to a wanted error, and against the classic formulas."""

from fractions import Fraction

import pytest

import deniable as dp
from deniable.accounting.classic import classic_gaussian_scale
from deniable.core.domain import Lattice, Vectors
from deniable.core.metric import AbsoluteDistance, LInfinity
from deniable.core.space import Space

NUMBER = Space(Lattice(), AbsoluteDistance())
SCORES = Space(Vectors(Lattice(), 20), LInfinity())
STREAM = dp.calculus.stream(NUMBER)


@pytest.mark.parametrize("step", [dp.calculus.gaussian, dp.calculus.discrete_gaussian])
@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (0.3, 1e-5)])
def test_gaussians_are_calibrated_by_their_own_exact_delta(step, epsilon, delta):
    """The analytic (rounded) and exact (discrete) calibrations need less noise than the classic formula, and keep the target."""
    made = dp.calibrate(lambda s: NUMBER >> step(scale=s), d_in=1, epsilon=epsilon, delta=delta)
    assert made.loss(d_in=1, delta=delta).upper <= epsilon
    assert made.parameter < float(classic_gaussian_scale(epsilon=epsilon, delta=delta))
    tighter = NUMBER >> step(scale=made.parameter * 0.99)
    assert tighter.loss(d_in=1, delta=delta).upper > epsilon


def test_the_readme_calibration():
    made = dp.calibrate(lambda s: NUMBER >> dp.calculus.laplace(scale=s), d_in=100, epsilon=1)
    assert made.parameter == 100
    assert made.loss(d_in=100).upper <= 1


@pytest.mark.parametrize(
    "build",
    [
        lambda s: NUMBER >> dp.calculus.laplace(scale=s),
        lambda s: NUMBER >> dp.calculus.gaussian(scale=s),
        lambda s: NUMBER >> dp.calculus.discrete_gaussian(scale=s),
        lambda s: SCORES >> dp.calculus.exponential(scale=s),
        lambda s: SCORES >> dp.calculus.report_noisy_max(scale=s, noise=dp.calculus.MaxNoise.LAPLACE),
        lambda s: SCORES >> dp.calculus.noisy_top_k(k=3, scale=s),
        lambda s: SCORES >> dp.calculus.above_threshold(threshold=9, scale=s),
        lambda s: (
            dp.calculus.rows(dp.calculus.numbers()) >> dp.calculus.private_median(lower=0, upper=100, grid=1, scale=s)
        ),
        lambda s: (
            dp.calculus.rows(dp.calculus.numbers())
            >> dp.calculus.private_quantiles(qs=[0.25, 0.75], lower=0, upper=100, grid=1, scale=s)
        ),
        lambda s: STREAM >> dp.calculus.running_total(horizon=100, scale=s),
    ],
)
def test_every_mechanism_is_calibrated_from_a_wanted_error(build):
    made = dp.calibrate(build, accuracy=50, confidence=0.9)
    assert made.accuracy(confidence=0.9).error <= 50
    assert build(made.parameter * 1.2).accuracy(confidence=0.9).error > 50


def test_selections_and_streams_are_calibrated_to_a_loss():
    best = dp.calibrate(lambda s: SCORES >> dp.calculus.exponential(scale=s), d_in=1, epsilon=1)
    assert best.parameter == 2
    alert = dp.calibrate(
        lambda s: STREAM >> dp.calculus.alerts(threshold=100, scale=s, query_scale=2 * s, monotonic=True),
        d_in=(1, 1, 1),
        epsilon=1,
    )
    assert alert.parameter == pytest.approx(1.5)
    coin = dp.calibrate(lambda t: dp.costs.RandomizedResponse(truth=t), epsilon=1)
    assert coin.truth < Fraction(74, 100)


def test_accuracy_prints_for_people():
    told = str((NUMBER >> dp.calculus.laplace(scale=5)).accuracy())
    assert "15" in told
    assert "value" in told
