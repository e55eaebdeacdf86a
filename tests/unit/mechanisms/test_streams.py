"""Interactive mechanisms: what they answer, when they retire, what they refuse, and that refusals cost nothing."""

import copy
import pickle
from fractions import Fraction

import pytest

from deniable.core.domain import Lattice, Vectors
from deniable.core.metric import AbsoluteDistance, LInfinity, RangeDistance
from deniable.core.space import Space
from deniable.core.transformation import Transformation
from deniable.cost import Bounded, DiscreteLaplace, Gaussian
from deniable.errors import InvalidArgument, Retired, SpaceMismatch
from deniable.mechanisms import (
    Law,
    Side,
    above_threshold,
    above_threshold_with_gap,
    alerts,
    all_above_threshold,
    laplace,
    query_stream,
    running_total,
)
from deniable.mechanisms.additive import draws
from deniable.mechanisms.continual import sum_error
from deniable.mechanisms.sparse import Sparse
from deniable.testing.entropy import Seeded, Silent

NUMBER = Space(Lattice(), AbsoluteDistance())


def scaled(factor, step=1):
    target = Space(Lattice(Fraction(step)), AbsoluteDistance())
    return Transformation(NUMBER, target, lambda data, _: factor * data, lambda d_in: abs(factor) * d_in)


SCORES = Space(Vectors(Lattice(), 4), LInfinity())


def test_the_first_above_and_the_first_few():
    values = [1, 9, 3, 9]
    assert (SCORES >> above_threshold(threshold=5, scale=1))(values, entropy=Silent()) == 1
    assert (SCORES >> above_threshold(threshold=50, scale=1))(values, entropy=Silent()) is None
    assert (SCORES >> all_above_threshold(threshold=3, scale=1, hits=2))(values, entropy=Silent()) == [1, 2]
    hit = (SCORES >> above_threshold_with_gap(threshold=5, scale=1))(values, entropy=Silent())
    assert (hit.candidate, hit.gap) == (1, 4)


def test_the_general_loss_of_any_range_of_changes():
    terms = Sparse(0, Fraction(2), Fraction(4), 3)
    assert terms.loss(least=0, most=1) == Fraction(1, 2) + Fraction(3, 4)
    assert terms.loss(least=-1, most=1) == Fraction(1, 2) + Fraction(6, 4)
    assert terms.loss(least=1, most=1) == max(Fraction(3, 4), Fraction(1, 2))  # all scores move alike
    assert terms.loss(least=0, most=0) == 0
    assert terms.loss(least=-2, most=1) == terms.loss(least=-1, most=2)


def test_above_threshold_accuracy_covers_both_noises():
    error = (SCORES >> above_threshold(threshold=5, scale=1, query_scale=2)).accuracy(confidence=0.9).error
    assert error > (NUMBER >> laplace(scale=2)).accuracy(confidence=0.9).error


@pytest.mark.parametrize(("space", "threshold"), [(Space(Vectors(Lattice(), 2), RangeDistance()), 1), (NUMBER, 1)])
def test_spaces_that_do_not_fit(space, threshold):
    with pytest.raises(SpaceMismatch):
        space >> above_threshold(threshold=threshold, scale=1)


def test_a_threshold_off_the_grid_is_refused():
    with pytest.raises(InvalidArgument, match="multiple"):
        SCORES >> above_threshold(threshold=0.5, scale=1)


def test_a_query_stream_answers_until_its_hits_are_used():
    stream = (NUMBER >> query_stream(threshold=10, scale=1, sensitivity=1, hits=2))(7, entropy=Silent())
    assert stream.hits_left == 2
    assert [stream.ask(scaled(1)), stream.ask(scaled(-1))] == [False, False]
    twice = NUMBER >> query_stream(threshold=10, scale=1, sensitivity=2, hits=2)
    stream = twice(7, entropy=Silent())
    assert stream.ask(scaled(2))
    assert stream.gap(scaled(2)) == 4
    assert stream.hits_left == 0
    with pytest.raises(Retired, match="2 hits"):
        stream.ask(scaled(1))


def test_refused_queries_use_nothing_up():
    stream = (NUMBER >> query_stream(threshold=10, scale=1, sensitivity=1))(7, entropy=Silent())
    with pytest.raises(InvalidArgument, match="allows 1"):
        stream.ask(scaled(3))
    with pytest.raises(SpaceMismatch, match="steps of 1"):
        stream.ask(scaled(1, step=Fraction(1, 2)))
    other = Space(Lattice(lower=0), AbsoluteDistance())
    with pytest.raises(SpaceMismatch, match="asks about"):
        stream.ask(Transformation(other, NUMBER, lambda data, _: data, lambda d_in: d_in))
    assert stream.hits_left == 1


def test_a_stream_made_for_near_neighbours_is_not_priced_for_far_ones():
    mechanism = NUMBER >> query_stream(threshold=1, scale=2, query_scale=4, sensitivity=1)
    assert mechanism.cost(d_in=1) == Bounded(epsilon=1)
    with pytest.raises(InvalidArgument, match="made for"):
        mechanism.cost(d_in=2)


def test_accuracy_needs_a_number_of_queries():
    with pytest.raises(InvalidArgument, match="accuracy"):
        (NUMBER >> query_stream(threshold=1, scale=2, sensitivity=1)).accuracy()
    assert (NUMBER >> query_stream(threshold=1, scale=2, sensitivity=1, queries=50)).accuracy().error > 0


def test_interactive_objects_cannot_be_copied():
    stream = (NUMBER >> query_stream(threshold=10, scale=1, sensitivity=1))(7, entropy=Silent())
    run = alerts(scaled(1), threshold=1, scale=1).start(entropy=Silent())
    total = running_total(scaled(1), horizon=2, scale=1).start(entropy=Silent())
    for live in (stream, run, total):
        with pytest.raises(TypeError, match="copied"):
            copy.copy(live)
        with pytest.raises(TypeError, match="copied"):
            pickle.dumps(live)


def test_alerts_on_both_sides():
    high = alerts(scaled(1), threshold=100, scale=5, pieces=3)
    run = high.start(entropy=Silent())
    assert [run.feed(20), run.feed(99), run.feed(100)] == [False, False, True]
    with pytest.raises(Retired):
        run.feed(1)
    low = alerts(scaled(1), threshold=10, scale=5, side=Side.BELOW).start(entropy=Silent())
    assert [low.feed(20), low.feed(11), low.feed(10)] == [False, False, True]
    assert high.accuracy(confidence=0.9).error > 0
    with pytest.raises(InvalidArgument, match="how many"):
        alerts(scaled(1), threshold=1, scale=1).accuracy()


def test_the_sales_alert_costs_one_and_a_half_times_what_a_book_claims():
    """A sale is at most 10, a customer buys once a day: threshold noise 10·s, query noise 20·s, all sums move one way."""
    sales = scaled(10)  # one more row moves the day's total by at most ten
    stream = alerts(sales, threshold=100, scale=10, query_scale=20, monotonic=True)
    assert stream.cost(d_in=1) == Bounded(epsilon=Fraction(3, 2))
    assert alerts(sales, threshold=100, scale=15, query_scale=30, monotonic=True).loss(d_in=1).upper == 1.0


@pytest.mark.parametrize("horizon", [1, 2, 3, 7, 8, 13])
def test_running_totals_are_exact_without_noise(horizon):
    run = running_total(scaled(1), horizon=horizon, scale=1).start(entropy=Silent())
    assert [run.feed(k) for k in range(1, horizon + 1)] == [k * (k + 1) // 2 for k in range(1, horizon + 1)]
    with pytest.raises(Retired, match=str(horizon)):
        run.feed(1)


def test_running_totals_cost_one_release_per_level():
    assert running_total(scaled(1), horizon=8, scale=2).cost() == DiscreteLaplace(scale=2, sensitivity=4, coordinates=4)
    normal = running_total(scaled(3), horizon=7, scale=2, law=Law.GAUSSIAN)
    assert normal.cost() == Gaussian(scale=2, squared_sensitivity=27)
    with pytest.raises(InvalidArgument, match="whole"):
        normal.cost(d_in=Fraction(1, 2))


def test_changes_spread_over_pieces_are_priced_by_the_worst_spread():
    """A capped number moves by at most one whatever happens to a piece: two changes do most in two pieces."""
    capped = Transformation(NUMBER, NUMBER, lambda data, _: min(data, 1), lambda d_in: min(d_in, Fraction(1)))
    assert running_total(capped, horizon=1, scale=1).cost(d_in=2).sensitivity == 2


@pytest.mark.parametrize("law", list(Law))
def test_the_error_of_a_sum_holds(law):
    bound = sum_error(law, scale=Fraction(3), count=6, beta=Fraction(1, 20))
    sums = abs(draws(law, Fraction(3), 6 * 4000, Seeded(1)).reshape(4000, 6).sum(axis=1))
    assert (sums > bound).mean() < 0.05  # the bound is Chernoff's: the true share is far below, so this cannot flicker
    assert bound < 6 * 3 * 5
