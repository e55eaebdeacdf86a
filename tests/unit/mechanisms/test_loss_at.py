"""The loss at one answer, against the exact law of the mechanism's own code."""

from fractions import Fraction

import pytest

import deniable as dp
from deniable.audit.exact_law import output_law
from deniable.core.domain import Categories, Keyed, Lattice, Rows, Vectors
from deniable.core.metric import L1, L2, AbsoluteDistance, DiscreteDistance, Hamming, LInfinity
from deniable.core.space import Space
from deniable.errors import InvalidArgument
from deniable.exact import Interval, ln

NUMBER = Space(Lattice(), AbsoluteDistance())
TENTHS = Space(Lattice(Fraction(1, 10)), AbsoluteDistance())
ANSWER = Space(Categories(("a", "b", "c")), DiscreteDistance())
SCORES = Space(Vectors(Lattice(Fraction(1, 2)), 3), LInfinity())
BOUNDED = Space(Lattice(lower=0, upper=4), DiscreteDistance())
BITS = Space(Rows(dp.calculus.Booleans(), size=3), Hamming())
ROWS = dp.calculus.rows(dp.calculus.integers(lower=0, upper=3))

CASES = {
    "laplace": (NUMBER >> dp.calculus.laplace(scale=Fraction(3, 2)), 2, 3),
    "laplace far": (NUMBER >> dp.calculus.laplace(scale=1), 0, 5),
    "gaussian": (NUMBER >> dp.calculus.gaussian(scale=Fraction(3, 2)), 2, 3),
    "gaussian narrow": (NUMBER >> dp.calculus.gaussian(scale=Fraction(1, 2)), 0, 2),
    "discrete gaussian": (NUMBER >> dp.calculus.discrete_gaussian(scale=2), -1, 1),
    "tenths": (TENTHS >> dp.calculus.laplace(scale=Fraction(1, 5)), 0, 3),
    "vector": (Space(Vectors(Lattice(), 2), L1()) >> dp.calculus.laplace(scale=1), [1, 2], [2, 1]),
    "gaussian vector": (Space(Vectors(Lattice(), 2), L2()) >> dp.calculus.gaussian(scale=1), [1, 2], [0, 4]),
    "keyed": (
        Space(Keyed(Lattice(), ("x", "y")), L1()) >> dp.calculus.laplace(scale=1),
        {"x": 1, "y": 0},
        {"x": 1, "y": 2},
    ),
    "response": (ANSWER >> dp.calculus.randomized_response(truth=Fraction(3, 5)), "a", "c"),
    "response nonsense": (ANSWER >> dp.calculus.randomized_response(truth=Fraction(3, 5)), "?", "c"),
    "responses": (
        BITS >> dp.calculus.randomized_response(truth=Fraction(3, 4)),
        [True, True, False],
        [True, False, True],
    ),
    "coin": (Space(dp.calculus.Booleans(), DiscreteDistance()) >> dp.calculus.coin_flip(), True, False),
    "local mean": (BOUNDED >> dp.calculus.local_mean(truth=Fraction(3, 4)), 1, 4),
    "exponential": (SCORES >> dp.calculus.exponential(scale=Fraction(1, 2)), [0, 1, 3], [1, 1, 2]),
    "exponential keys": (
        Space(Keyed(Lattice(), ("x", "y")), LInfinity()) >> dp.calculus.exponential(scale=2),
        {"x": 3, "y": 1},
        {"x": 2, "y": 2},
    ),
    "counted": (ROWS >> dp.calculus.count() >> dp.calculus.laplace(scale=2), [0, 1, 2], [0, 1]),
    "totals": (ROWS >> dp.calculus.total() >> dp.calculus.gaussian(scale=2), [0, 1, 2], [0, 1]),
}


def answered(name, answer):
    """An answer of a law as the mechanism gives it."""
    if name == "keyed":
        return dict(answer)
    return list(answer) if isinstance(answer, tuple) else answer


@pytest.mark.parametrize("name", CASES)
def test_the_loss_is_that_of_the_exact_law(name):
    mechanism, left, right = CASES[name]
    laws = [output_law(lambda entropy, data=data: mechanism.function(data, entropy)) for data in (left, right)]
    likely = [answer for answer in laws[0].chances if min(law.probability(answer).lower for law in laws) > 1e-6]
    assert len(likely) > 1
    for answer in likely:
        here, there = (law.probability(answer) for law in laws)
        true = Interval(ln(here.lower / there.upper).lower, ln(here.upper / there.lower).upper)
        found = dp.calculus.loss_at(mechanism, answered(name, answer), left=left, right=right)
        assert found.lower <= true.upper
        assert true.lower <= found.upper
        assert found.upper - found.lower <= 1e-12
        back = dp.calculus.loss_at(mechanism, answered(name, answer), left=right, right=left)
        assert back.lower == -found.upper


@pytest.mark.parametrize("name", ["laplace", "laplace far", "tenths", "response", "coin"])
def test_a_purely_private_loss_stays_within_epsilon_and_reaches_it(name):
    mechanism, left, right = CASES[name]
    apart = {"laplace far": 5, "tenths": Fraction(3, 10)}.get(name, 1)
    epsilon = mechanism.loss(d_in=apart)
    law = output_law(lambda entropy: mechanism.function(left, entropy))
    losses = [dp.calculus.loss_at(mechanism, answer, left=left, right=right) for answer in law.chances]
    assert max(abs(each.lower) for each in losses) <= epsilon.upper
    assert max(each.upper for each in losses) >= epsilon.lower


@pytest.mark.parametrize("scale", [Fraction(1, 100), Fraction(1), Fraction(10**9), Fraction(10**40)])
@pytest.mark.parametrize("answer", [0, 7, 10**6, 10**30])
def test_a_rounded_gaussian_is_read_far_out_and_on_fine_grids(scale, answer):
    """Between the losses of the continuous law at the ends of the answer's cell, which rounding averages."""
    found = dp.calculus.loss_at(NUMBER >> dp.calculus.gaussian(scale=scale), answer, left=1, right=0)
    ends = [(2 * (answer + side) - 1) / (2 * scale * scale) for side in (Fraction(-1, 2), Fraction(1, 2))]
    slack = Fraction(1, 1 << 47) + abs(ends[1]) * Fraction(1, 1 << 50)
    assert ends[0] - slack <= Fraction(found.upper)
    assert Fraction(found.lower) <= ends[1] + slack


def test_wrong_answers_and_mechanisms_without_a_law_are_refused():
    laplace, left, right = CASES["tenths"]
    for wrong in (Fraction(1, 20), "1", None, float("nan"), True):
        with pytest.raises(InvalidArgument):
            dp.calculus.loss_at(laplace, wrong, left=left, right=right)
    vector, left, right = CASES["vector"]
    for wrong in ([1], [1, 2, 3], 5, [1, 2**63 - 1], {"x": 1, "y": 2}):
        with pytest.raises(InvalidArgument):
            dp.calculus.loss_at(vector, wrong, left=left, right=right)
    for name, wrong in (("response", "d"), ("responses", [True]), ("local mean", 1), ("exponential", 3)):
        mechanism, left, right = CASES[name]
        with pytest.raises(InvalidArgument):
            dp.calculus.loss_at(mechanism, wrong, left=left, right=right)
    with pytest.raises(InvalidArgument, match="closed form"):
        dp.calculus.loss_at(NUMBER >> dp.calculus.truncated_laplace(scale=1, radius=3), 1, left=0, right=1)
    with pytest.raises(InvalidArgument, match="processed"):
        dp.calculus.loss_at(CASES["laplace"][0] >> abs, 1, left=0, right=1)


def test_a_step_that_draws_has_no_closed_form():
    shortened = ROWS >> dp.calculus.resize(size=1, constant=0) >> dp.calculus.total() >> dp.calculus.laplace(scale=1)
    with pytest.raises(InvalidArgument, match="draws at random"):
        dp.calculus.loss_at(shortened, 1, left=[1, 2], right=[1])
    sampled = ROWS >> dp.calculus.sampled(dp.calculus.count() >> dp.calculus.laplace(scale=1), rate=Fraction(1, 2))
    with pytest.raises(InvalidArgument, match="closed form"):
        dp.calculus.loss_at(sampled, 1, left=[1, 2], right=[1])


def test_the_picture_shows_every_answer_and_marks_one():
    for name, mark in (("laplace", 2), ("tenths", 0.1), ("response", "a"), ("exponential", 2), ("coin", True)):
        mechanism, left, right = CASES[name]
        figure = dp.calculus.loss_at(mechanism, mark, left=left, right=right).plot()
        assert f"at {mark!r} it is" in figure.svg.replace("&#x27;", "'").replace("&#39;", "'").replace("&apos;", "'")
    wide = dp.calculus.loss_at(NUMBER >> dp.calculus.laplace(scale=10**6), 0, left=0, right=1).plot()
    assert len(wide.svg) < 200_000
    mechanism, left, right = CASES["vector"]
    with pytest.raises(InvalidArgument, match="no picture"):
        dp.calculus.loss_at(mechanism, [1, 1], left=left, right=right).plot()
