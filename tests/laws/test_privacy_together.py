"""Several mechanisms as one: the exact law of the tuple, alone and inside everything that takes a mechanism."""

from fractions import Fraction

import pytest

import deniable as dp
from deniable.audit.comparison import check_privacy
from deniable.audit.exact_law import output_law
from deniable.core import AbsoluteDistance, Booleans, DiscreteDistance, Lattice, Space, integers, rows
from deniable.cost import Composed, DiscreteLaplace, Selected, Shuffled
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact import exp
from deniable.testing.scripted_entropy import Silent

NUMBER = Space(Lattice(), AbsoluteDistance())
BITS = rows(integers(lower=0, upper=1))
COUNT = dp.calculus.count() >> dp.calculus.laplace(scale=1)
SUM = dp.calculus.total() >> dp.calculus.laplace(scale=1)
COIN = dp.calculus.randomized_response(truth=Fraction(3, 4))
TAIL = Fraction(1, 10**4)


def test_several_as_one_keep_the_promise_and_use_it_up():
    both = NUMBER >> dp.calculus.together(dp.calculus.laplace(scale=1), dp.calculus.laplace(scale=2))
    assert both.cost() == Composed((DiscreteLaplace(scale=1), DiscreteLaplace(scale=2)))
    assert check_privacy(both, 0, 1, tail=TAIL).kept
    near = check_privacy(both, 0, 1, losses=[Fraction(149, 100)], tail=TAIL)
    assert any(finding.measured.lower > 0 for finding in near.findings)


def test_the_law_of_the_tuple_is_the_product_of_the_laws():
    """Each draws noise of its own: noise shared between the two would be seen here."""
    both = NUMBER >> dp.calculus.together(dp.calculus.laplace(scale=1), dp.calculus.laplace(scale=1))
    joint = output_law(lambda entropy: both.function(3, entropy), tail=TAIL)
    alone = output_law(lambda entropy: (NUMBER >> dp.calculus.laplace(scale=1)).function(3, entropy), tail=TAIL)
    for first, second in ((3, 3), (3, 4), (1, 6)):
        product = alone.probability(first).lower * alone.probability(second).lower
        assert abs(joint.probability((first, second)).lower - product) < Fraction(1, 2**150)


def test_paying_for_one_of_two_is_caught():
    both = NUMBER >> dp.calculus.together(dp.calculus.laplace(scale=1), dp.calculus.laplace(scale=1))
    cheap = dp.calculus.own_mechanism(
        NUMBER, function=both.function, privacy_map=lambda _: DiscreteLaplace(scale=1), author="a test"
    )
    assert check_privacy(cheap, 0, 1, tail=TAIL).broken


PARTS = dp.calculus.together(COUNT, SUM)


@pytest.mark.parametrize(
    ("mechanism", "left", "right"),
    [
        (BITS >> dp.calculus.sampled(PARTS, rate=Fraction(1, 2)), [1], [1, 1]),
        (BITS >> dp.calculus.in_batches(PARTS, batches=1), [1], [1, 0]),
        (
            BITS >> dp.calculus.partition_by(lambda row: 0, keys=[0], author="a test") >> dp.calculus.in_each(PARTS),
            [1],
            [1, 0],
        ),
    ],
    ids=["sampled", "in batches", "in each"],
)
def test_combinators_take_several_as_one(mechanism, left, right):
    assert check_privacy(mechanism, left, right, losses=[0, Fraction(1, 2), 1], tail=Fraction(1, 10**3)).kept


def test_the_best_of_several_and_a_shuffler_take_several_as_one():
    bit = Space(Booleans(), DiscreteDistance())
    pair = dp.calculus.together(COIN, COIN)
    best = bit >> dp.calculus.best_of(pair, score=lambda answer: sum(answer), tries=Fraction(3, 4))
    assert isinstance(best.cost(), Selected)
    assert best.cost().cost == (bit >> pair).cost()
    assert check_privacy(best, True, False, losses=[0, 1, 2], tail=Fraction(1, 10**2)).kept
    mixed = rows(Booleans(), size=2) >> dp.calculus.shuffled(pair)
    assert isinstance(mixed.cost(), Shuffled)
    assert exp(mixed.cost().epsilon).upper >= 9  # three to one, twice
    assert check_privacy(mixed, [True, True], [False, True], losses=[0, 1, 2]).kept


def test_accuracies_are_a_tuple_and_end_with_post_processing():
    both = BITS >> dp.calculus.together(
        COUNT,
        dp.calculus.clamp(lower=0, upper=1) >> dp.calculus.total() >> dp.calculus.laplace(scale=3),
        (BITS >> COUNT) >> str,
    )
    first, second, none = both.accuracy(confidence=0.9)
    assert first == (BITS >> COUNT).accuracy(confidence=0.9)
    assert second.error > first.error
    assert none is None
    wider = both.accuracy(confidence=0.9, simultaneous=True)
    assert (
        wider[0].error == (BITS >> COUNT).accuracy(confidence=Fraction(19, 20)).error
    )  # two stated: a half of a tenth each
    assert (wider[0].confidence, wider[2]) == (Fraction(9, 10), None)
    chained = (
        BITS >> dp.calculus.count() >> dp.calculus.together(dp.calculus.laplace(scale=1), dp.calculus.laplace(scale=2))
    )
    assert len(chained.accuracy()) == 2
    with pytest.raises(InvalidArgument, match="accuracy"):
        (both >> list).accuracy()
    assert (both >> list)([1, 0, 1], entropy=Silent()) == [3, 2, "3"]


def test_what_cannot_be_put_together():
    with pytest.raises(InvalidArgument, match="at least one"):
        NUMBER >> dp.calculus.together()
    with pytest.raises(InvalidArgument, match="got a Transformation"):
        BITS >> dp.calculus.together(dp.calculus.count())
    with pytest.raises(InvalidArgument, match="got a int"):
        BITS >> dp.calculus.together(3)
    with pytest.raises(SpaceMismatch):
        BITS >> dp.calculus.together(NUMBER >> dp.calculus.laplace(scale=1))


def test_a_compositor_charges_for_all():
    held = dp.calculus.compositor([1, 0, 1], BITS, budget=dp.budget(epsilon=2), entropy=Silent())
    assert held.release(PARTS) == (3, 2)
    assert held.remaining.loss == 0
