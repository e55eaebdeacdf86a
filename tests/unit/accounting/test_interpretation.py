"""Losses in words: the bounds are those of randomized response, which reaches all of them."""

import math
from fractions import Fraction

import pytest

import deniable as dp
from deniable.accounting.interpretation import detection_power, odds, posterior, truth_probability
from deniable.errors import InvalidArgument


def test_odds_round_up():
    assert odds(math.log(3)) == pytest.approx(3)
    assert Fraction(odds(1)) > Fraction(271828182845904523, 10**17)
    assert odds(0) == 1.0


def test_guessing_is_a_coin_at_no_loss_and_randomized_response_at_some():
    assert truth_probability(0) == 0.5
    assert truth_probability(math.log(3)) == pytest.approx(0.75)  # the coin flip tells the truth three times in four
    assert truth_probability(0, delta=Fraction(1, 10)) == pytest.approx(0.55)
    assert truth_probability(1000) == 1.0


@pytest.mark.parametrize("prior", [0, 0.01, 0.5, 0.99, 1])
def test_a_belief_moves_by_the_odds_and_no_more(prior):
    belief = posterior(prior, epsilon=math.log(3))
    assert belief.upper == pytest.approx(3 * prior / (3 * prior + 1 - prior))
    assert belief.lower == pytest.approx(prior / (prior + 3 * (1 - prior)))
    still = posterior(prior, epsilon=0)
    assert still.lower == pytest.approx(prior)
    assert still.upper == pytest.approx(prior)


def test_the_power_of_a_test_is_bounded_both_ways():
    """Randomized response with truth 3/4: accusing whoever says yes has a false alarm rate of 1/4 and finds 3/4."""
    assert detection_power(Fraction(1, 4), epsilon=math.log(3)) == pytest.approx(0.75)
    assert detection_power(0, epsilon=5) == 0.0
    assert detection_power(0, epsilon=5, delta=Fraction(1, 100)) == pytest.approx(0.01)
    assert detection_power(Fraction(1, 2), epsilon=math.log(3)) == pytest.approx(1 - 0.5 / 3)
    assert detection_power(1, epsilon=0) == 1.0
    for alarm in (Fraction(1, 100), Fraction(3, 10), Fraction(9, 10)):
        missed = 1 - detection_power(alarm, epsilon=1)
        assert missed + math.e * float(alarm) >= 1 - 1e-12
        assert math.e * missed + float(alarm) >= 1 - 1e-12


def test_a_measured_loss_may_be_read_directly():
    loss = dp.epsilon(dp.costs.RandomizedResponse(truth=Fraction(3, 4)), delta=0)
    assert truth_probability(loss) == pytest.approx(0.75)


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), "1"])
def test_bad_losses_are_refused(wrong):
    with pytest.raises(InvalidArgument, match="epsilon"):
        odds(wrong)
