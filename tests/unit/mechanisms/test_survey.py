"""The number of people planned for a wanted error: it is reached, and one person fewer would not reach it."""

import math
from fractions import Fraction
from math import comb

import pytest

import deniable as dp
from deniable.core import Hamming, Lattice, Rows, Space
from deniable.cost import FREE, RandomizedResponse, Repeated
from deniable.errors import InvalidArgument
from deniable.mechanisms import laplace
from deniable.transformations import mean, variance

TRUTH = Fraction(3, 4)


def _tail(people: int, yes: int, error: Fraction) -> Fraction:
    """P[|estimate - share| > error], exactly: the yeses of those who have one and of those who have not are two binomials."""
    laws = [
        [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        for n, p in ((yes, TRUTH), (people - yes, 1 - TRUTH))
    ]
    chances = {}
    for a, first in enumerate(laws[0]):
        for b, second in enumerate(laws[1]):
            chances[a + b] = chances.get(a + b, 0) + first * second
    other, share = 1 - TRUTH, Fraction(yes, people)
    return sum(p for k, p in chances.items() if abs((Fraction(k, people) - other) / (TRUTH - other) - share) > error)


@pytest.mark.parametrize("people", [1, 5, 20])
@pytest.mark.parametrize("confidence", [Fraction(1, 2), Fraction(19, 20)])
def test_the_error_of_a_share_holds_for_every_share(people, confidence):
    error = dp.calculus.Survey(truth=TRUTH, people=people).accuracy(confidence=confidence).error
    assert all(_tail(people, yes, error) <= 1 - confidence for yes in range(people + 1))


def test_the_error_is_that_of_hoeffdings_inequality():
    """2·exp(-2n((p - r)t)²) is beta at the stated t, to the last digits."""
    for people, categories in ((10, 2), (1000, 5)):
        kept, other = 0.75, 0.25 / (categories - 1)
        t = float(
            dp.calculus.Survey(truth=TRUTH, people=people, categories=categories)
            .accuracy(confidence=Fraction(9, 10))
            .error
        )
        assert 2 * math.exp(-2 * people * ((kept - other) * t) ** 2) == pytest.approx(0.1, rel=1e-9)


def survey(people):
    return dp.calculus.Survey(truth=TRUTH, people=people, categories=4)


def sized_mean(people):
    space = Space(Rows(Lattice(lower=0, upper=100), people), Hamming())
    return space >> mean() >> laplace(scale=Fraction(100, people) if people == int(people) else 1)


def sized_variance(people):
    space = Space(Rows(Lattice(lower=0, upper=10), people), Hamming())
    return space >> variance() >> laplace(scale=Fraction(100, people))


@pytest.mark.parametrize(("plan", "wanted"), [(survey, Fraction(1, 50)), (sized_mean, 2), (sized_variance, 3)])
def test_planned_people_are_just_enough(plan, wanted):
    planned = dp.calibrate(plan, accuracy=wanted)
    people = planned.parameter
    assert isinstance(people, int)
    assert plan(people).accuracy().error <= wanted < plan(people - 1).accuracy().error


def test_shares_of_all_categories_at_once_need_more_people():
    assert survey(100).accuracy(simultaneous=True).error > survey(100).accuracy().error
    two = dp.calculus.Survey(truth=TRUTH, people=100)
    assert two.accuracy(simultaneous=True).error == two.accuracy().error


def test_a_survey_costs_each_person_one_answer():
    price = RandomizedResponse(truth=TRUTH, categories=4)
    assert [survey(9).cost(d_in=d) for d in (0, 1, 2)] == [FREE, price, Repeated(price, 2)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"truth": Fraction(1, 4), "people": 5, "categories": 4}, "say nothing"),
        ({"truth": TRUTH, "people": 0}, "people"),
    ],
)
def test_surveys_that_make_no_sense_are_refused(given, message):
    with pytest.raises(InvalidArgument, match=message):
        dp.calculus.Survey(**given)
