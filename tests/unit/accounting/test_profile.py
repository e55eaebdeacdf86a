"""A profile is drawn from its upper ends, down to a stated delta."""

import pytest

from deniable import cost as costs
from deniable.accounting import profile
from deniable.errors import InvalidArgument


def test_a_profile_is_drawn():
    figure = profile(costs.Gaussian(scale=2, sensitivity=1)).plot(points=5)
    assert figure.svg.startswith("<svg")
    assert "epsilon" in figure.svg


def test_what_no_epsilon_reaches_is_said():
    leaky = profile(costs.Bounded(epsilon=1, delta=0.01))
    with pytest.raises(InvalidArgument, match="larger one"):
        leaky.plot()


def test_reading_backwards_and_the_advantage():
    curve = profile(costs.Gaussian(scale=2, sensitivity=1))
    assert curve.epsilon(curve(1.0).upper).upper == pytest.approx(1.0, rel=1e-6)
    assert 0.19 < curve.advantage.upper < 0.2
