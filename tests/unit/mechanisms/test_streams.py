"""Interactive mechanisms: what they answer, when they retire, what they refuse, and that refusals cost nothing."""

from fractions import Fraction

import pytest

import deniable as dp
from deniable.core.distance import Triple, plain
from deniable.core.domain import Lattice, Vectors, integers
from deniable.core.metric import AbsoluteDistance, LInfinity, PerPiece, RangeDistance, SymmetricDistance
from deniable.core.space import Space, rows
from deniable.core.stream import stream
from deniable.core.transformation import Transformation
from deniable.cost import Bounded, DiscreteLaplace, Gaussian
from deniable.errors import BudgetExceeded, InvalidArgument, Retired, SpaceMismatch
from deniable.kernels import noise_of
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
from deniable.mechanisms.sparse import Sparse
from deniable.testing.scripted_entropy import Seeded, Silent

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


def test_the_accuracy_of_many_queries_at_once_needs_their_number():
    endless = NUMBER >> query_stream(threshold=1, scale=2, sensitivity=1)
    many = NUMBER >> query_stream(threshold=1, scale=2, sensitivity=1, queries=50)
    assert 0 < endless.accuracy().error < many.accuracy().error == many.accuracy(simultaneous=True).error
    with pytest.raises(InvalidArgument, match="queries="):
        endless.accuracy(simultaneous=True)


def test_a_query_may_be_a_step_and_nothing_else_is_asked():
    space = rows(integers(lower=0, upper=9))
    asked = (space >> query_stream(threshold=2, scale=1, sensitivity=1))([1, 2, 3], entropy=Silent())
    with pytest.raises(SpaceMismatch, match="got a Mechanism"):
        asked.ask(dp.calculus.count() >> laplace(scale=1))
    with pytest.raises(SpaceMismatch, match="got a builtin"):
        asked.ask(len)
    assert asked.hits_left == 1
    assert asked.ask(dp.calculus.count())


STREAM = stream(NUMBER)
DAILY = stream(NUMBER, metric=PerPiece(AbsoluteDistance()))


def test_alerts_on_both_sides():
    high = STREAM >> alerts(threshold=100, scale=5, pieces=3)
    run = high([], entropy=Silent())
    assert [run.feed(20), run.feed(99), run.feed(100)] == [False, False, True]
    with pytest.raises(Retired):
        run.feed(1)
    low = (STREAM >> alerts(threshold=10, scale=5, side=Side.BELOW))([], entropy=Silent())
    assert [low.feed(20), low.feed(11), low.feed(10)] == [False, False, True]
    assert high.accuracy(confidence=0.9).error > 0
    endless = STREAM >> alerts(threshold=1, scale=5)
    assert endless.accuracy(confidence=0.9).error < high.accuracy(confidence=0.9).error
    with pytest.raises(InvalidArgument, match="pieces="):
        endless.accuracy(simultaneous=True)


def test_the_sales_alert_costs_one_and_a_half_times_what_a_book_claims():
    """A sale is at most 10, a customer buys once a day: threshold noise 10·s, query noise 20·s, all sums move one way."""
    day = rows(integers(lower=0, upper=10))
    sales = stream(day, metric=PerPiece(day.metric)) >> dp.calculus.in_each(dp.calculus.total())
    watched = sales >> alerts(threshold=100, scale=10, query_scale=20, monotonic=True)
    assert watched.cost(d_in=1) == Bounded(epsilon=Fraction(3, 2))
    assert (sales >> alerts(threshold=100, scale=15, query_scale=30, monotonic=True)).loss(d_in=1).upper == 1.0


def test_streams_are_charged_and_started_by_a_compositor():
    day = rows(integers(lower=0, upper=10))
    held = dp.calculus.compositor([], stream(day), budget=dp.budget(epsilon=5), entropy=Silent())
    sums = dp.calculus.in_each(dp.calculus.total())
    alert = held.release(sums >> alerts(threshold=12, scale=20, query_scale=20))
    assert held.spent.loss == Fraction(3, 2)
    total = held.release(stream(day) >> sums >> running_total(horizon=3, scale=10))
    assert held.spent.loss == Fraction(3, 2) + 2
    best = held.release(sums >> dp.calculus.stream_maximum(scale=20))
    with pytest.raises(BudgetExceeded):
        held.release(sums >> alerts(threshold=12, scale=10))
    assert [alert.feed([5]), alert.feed([9, 9])] == [False, True]
    assert [total.feed([5]), total.feed([9, 9]), total.feed([])] == [5, 23, 23]
    assert ([best.feed([5]), best.feed([9, 9]), best.feed([])], best.finish()) == ([0, 1, 2], 1)
    assert held.remaining.loss == Fraction(1, 2)
    noisy = dp.calculus.compositor([], stream(day), budget=dp.budget(epsilon=5), entropy=Silent()).release(
        dp.calculus.in_each(dp.calculus.total() >> laplace(scale=2))
    )
    assert noisy.feed([1, 2, 3]) == 6


def test_a_query_stream_is_charged_by_a_compositor():
    held = dp.calculus.compositor(7, NUMBER, budget=dp.budget(epsilon=3), entropy=Silent())
    asked = held.release(query_stream(threshold=5, scale=1, query_scale=1, sensitivity=1))
    assert held.remaining.loss == 0
    assert asked.ask(scaled(1))


@pytest.mark.parametrize(
    ("thing", "named"), [(len, "builtin"), (scaled(1), "Transformation"), (dp.costs.FREE, "Composed")]
)
def test_only_mechanisms_are_released(thing, named):
    held = dp.calculus.compositor(7, NUMBER, budget=dp.budget(epsilon=3))
    with pytest.raises(InvalidArgument, match=f"got a {named}"):
        held.release(thing)
    assert held.spent.loss == 0


def test_a_stream_begins_empty():
    for opened in (
        lambda: dp.calculus.compositor([1, 2], STREAM, budget=dp.budget(epsilon=1)),
        lambda: (STREAM >> alerts(threshold=1, scale=1))([1, 2]),
    ):
        with pytest.raises(InvalidArgument, match="2 are there"):
            opened()


def test_streams_that_do_not_fit():
    letters = Space(Vectors(Lattice(), 2), RangeDistance())
    for build in (
        lambda: stream(letters),
        lambda: stream(integers()),
        lambda: stream(NUMBER, metric=RangeDistance()),
        lambda: stream(NUMBER, metric=PerPiece(SymmetricDistance())),
        lambda: stream(rows(integers())) >> alerts(threshold=1, scale=1),
        lambda: NUMBER >> running_total(horizon=2, scale=1),
        lambda: DAILY >> running_total(horizon=2, scale=1),
        lambda: DAILY >> dp.calculus.in_each(laplace(scale=1)),
    ):
        with pytest.raises(SpaceMismatch):
            build()


@pytest.mark.parametrize("horizon", [1, 2, 3, 7, 8, 13])
def test_running_totals_are_exact_without_noise(horizon):
    run = (STREAM >> running_total(horizon=horizon, scale=1))([], entropy=Silent())
    assert [run.feed(k) for k in range(1, horizon + 1)] == [k * (k + 1) // 2 for k in range(1, horizon + 1)]
    with pytest.raises(Retired, match=str(horizon)):
        run.feed(1)


def test_running_totals_cost_one_release_per_level():
    one = (STREAM >> running_total(horizon=8, scale=2)).cost(d_in=(1, 1, 1))
    assert one == DiscreteLaplace(scale=2, sensitivity=4, coordinates=4)
    normal = STREAM >> running_total(horizon=7, scale=2, law=Law.GAUSSIAN)
    assert normal.cost(d_in=(1, 3, 3)) == Gaussian(scale=2, squared_sensitivity=27)
    assert normal.cost(d_in=(3, 3, 1)) == Gaussian(scale=2, squared_sensitivity=3 + 6 + 9)  # three pieces, three blocks
    with pytest.raises(InvalidArgument, match="triple"):
        normal.cost(d_in=1)


def test_changes_spread_over_pieces_are_priced_by_the_worst_spread():
    """A capped number moves by at most one whatever happens to a piece: two changes do most in two pieces."""
    space = rows(integers())
    capped = Transformation(
        space, NUMBER, lambda data, _: min(len(data), 1), lambda d_in: min(plain(d_in), Fraction(1))
    )
    occupied = stream(space) >> dp.calculus.in_each(capped)
    assert occupied.map(d_in=2) == Triple(Fraction(2), Fraction(2), Fraction(1))
    assert (occupied >> running_total(horizon=2, scale=1)).cost(d_in=2).sensitivity == 2 * 2  # two pieces, two levels
    assert (occupied >> running_total(horizon=1, scale=1)).cost(d_in=2).sensitivity == 1


@pytest.mark.parametrize("law", list(Law))
def test_the_error_of_a_sum_holds(law):
    bound = noise_of(law, Fraction(3)).sum_error(count=6, beta=Fraction(1, 20))
    sums = abs(noise_of(law, Fraction(3)).draw(6 * 4000, Seeded(1)).reshape(4000, 6).sum(axis=1))
    assert (sums > bound).mean() < 0.05  # the bound is Chernoff's: the true share is far below, so this cannot flicker
    assert bound < 6 * 3 * 5
