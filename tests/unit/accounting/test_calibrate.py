"""Calibration meets its target on the safe side, hardly wastes anything, and says a round number where there is one."""

from dataclasses import dataclass
from fractions import Fraction

import pytest

from deniable.accounting import calibrate, delta, epsilon, pure, rho, tradeoff
from deniable.accounting.pld import PrivacyLoss
from deniable.cost import Bounded, DiscreteLaplace, Gaussian, Laplace, RandomizedResponse, Selected, Stopping
from deniable.errors import InvalidArgument


def gaussian(scale):
    return Gaussian(scale=scale, sensitivity=1)


def test_pure_targets_come_out_exact():
    found = calibrate(lambda s: Laplace(scale=s, sensitivity=100), epsilon=1)
    assert found.parameter == 100
    assert found == Laplace(scale=100, sensitivity=100)
    assert pure(found) == 1


def test_what_comes_back_is_an_ordinary_cost():
    found = calibrate(gaussian, epsilon=1, delta=1e-6)
    again = gaussian(found.parameter)
    assert found == again
    assert hash(found) == hash(again)
    assert repr(found) == repr(again)
    assert epsilon(found + again, delta=1e-6).upper > 1


@pytest.mark.parametrize("target", [0.1, 1, 8])
def test_epsilon_and_delta_are_met_closely(target):
    found = calibrate(gaussian, epsilon=target, delta=1e-6)
    assert epsilon(found, delta=1e-6) <= target
    assert epsilon(gaussian(found.parameter * (1 - 2e-5)), delta=1e-6) > target


def test_other_targets():
    assert rho(calibrate(lambda s: gaussian(s).repeated(1000), rho=0.5)) <= Fraction(1, 2)
    found = calibrate(gaussian, advantage=0.1)
    assert delta(found, epsilon=0) <= 0.1
    assert delta(gaussian(found.parameter * (1 - 2e-5)), epsilon=0) > 0.1
    found = calibrate(gaussian, true_positive_rate=0.05, false_positive_rate=0.01)
    assert tradeoff(found).power(0.01) <= 0.05
    assert tradeoff(gaussian(found.parameter * 0.999)).power(0.01) > 0.05


def test_rising_parameters_and_whole_ones():
    found = calibrate(lambda e: Bounded(epsilon=e).repeated(100), epsilon=1, delta=1e-6)
    assert epsilon(found, delta=1e-6) <= 1
    assert epsilon(Bounded(epsilon=found.parameter * (1 + 2e-5)).repeated(100), delta=1e-6) > 1
    found = calibrate(lambda k: Bounded(epsilon=0.01).repeated(k), epsilon=1, delta=1e-6)
    assert isinstance(found.parameter, int)
    assert epsilon(found, delta=1e-6) <= 1
    assert epsilon(Bounded(epsilon=0.01).repeated(found.parameter + 1), delta=1e-6) > 1


def test_a_parameter_with_a_narrow_range_of_sense():
    found = calibrate(lambda p: RandomizedResponse(truth=p), epsilon=1)
    assert float(pure(found)) == pytest.approx(1, rel=1e-4)
    assert pure(found) <= 1
    assert calibrate(lambda q: gaussian(1).sampled(rate=q), epsilon=0.5, delta=1e-6).parameter < 1


def test_records_with_numbers_of_their_own_are_left_alone():
    found = calibrate(lambda s: Selected(Laplace(scale=s), stopping=Stopping.POISSON, tries=3), epsilon=1)
    assert found.tries == 3
    assert pure(found) <= 1


@dataclass(frozen=True)
class Answer:
    """A mechanism, as far as calibration cares."""

    scale: float
    parameter: float | None = None

    def cost(self, *, d_in):
        return DiscreteLaplace(scale=self.scale, sensitivity=d_in)

    def accuracy(self, *, confidence):
        assert confidence == Fraction(9, 10)
        return type("Accuracy", (), {"error": Fraction(3) * Fraction(self.scale)})()


def test_mechanisms_need_a_distance_and_carry_their_parameter():
    found = calibrate(lambda s: Answer(s), epsilon=1, d_in=3)
    assert found.parameter == found.scale == 3
    with pytest.raises(InvalidArgument, match="d_in=1"):
        calibrate(lambda s: Answer(s), epsilon=1)


def test_accuracy_is_met_from_below():
    found = calibrate(lambda s: Answer(s), accuracy=60, confidence=0.9, d_in=1)
    assert found.parameter == 20
    with pytest.raises(InvalidArgument, match="only a mechanism has an accuracy"):
        calibrate(lambda s: Laplace(scale=s), accuracy=60)


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"epsilon": 1, "rho": 1},
        {"rho": 1, "delta": 1e-6},
        {"true_positive_rate": 0.1},
        {"advantage": 2},
        {"epsilon": -1},
    ],
)
def test_senseless_targets_are_refused(bad):
    with pytest.raises(InvalidArgument):
        calibrate(gaussian, **bad)


def test_what_cannot_be_reached_is_said():
    with pytest.raises(InvalidArgument, match="no number brings"):
        calibrate(lambda _: Laplace(scale=1), epsilon=0.5)
    with pytest.raises(InvalidArgument, match="no number brings"):
        calibrate(lambda s: gaussian(s) + Bounded(epsilon=0, delta=1e-3), epsilon=1, delta=1e-6)


@pytest.mark.parametrize("chance", [0.5, 0.3, 0.19, 0.1, 0.01, 1e-3, 1e-6])
@pytest.mark.parametrize("kind", [gaussian, lambda s: Laplace(scale=s)], ids=["Gaussian", "Laplace"])
def test_an_epsilon_of_zero_is_met_as_closely_as_any_other(kind, chance):
    found = calibrate(kind, epsilon=0, delta=chance)
    assert delta(found, epsilon=0) <= Fraction(str(chance))
    assert delta(kind(found.parameter * (1 - 2e-5)), epsilon=0) > Fraction(str(chance))


def test_what_was_read_once_is_not_read_again(monkeypatch):
    """A release calibrates what its price calibrated before; other numbers are read anew."""
    honest, asked = PrivacyLoss.epsilon, []
    monkeypatch.setattr(
        PrivacyLoss, "epsilon", lambda self, *delta, **gap: asked.append(self) or honest(self, *delta, **gap)
    )

    def run(scale):
        return Gaussian(scale=scale, sensitivity=1).sampled(rate=Fraction(1, 13)).repeated(29)

    first = calibrate(run, epsilon=1, delta=1e-6)
    once = len(asked)
    assert calibrate(run, epsilon=1, delta=1e-6) == first
    assert len(asked) == once > 1
    calibrate(run, epsilon=1, delta=1e-7)
    assert len(asked) > once
