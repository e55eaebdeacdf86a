"""Who is a neighbour of whom, on data people have; groups; the ways between add/remove and replace; E17, E18, E24."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import deniable as dp
from deniable import cost as costs
from deniable.accounting import epsilon
from deniable.audit.comparison import check_privacy
from deniable.audit.exact_law import output_law
from deniable.core import Texts, adjacent, frame, integers, numbers, own_mechanism, rows
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.mechanisms import gaussian, laplace

calculus = dp.calculus
BITS = rows(integers(lower=0, upper=1))


def test_adjacency_of_real_frames():
    space = frame({"who": Texts(), "visits": integers(lower=0)}, identifier="who")
    before = pd.DataFrame({"who": ["ann", "ann", "bob"], "visits": [1, 2, 3]})
    without_ann = before[before.who != "ann"]
    changed = before.assign(visits=[1, 9, 3])
    assert adjacent(before, before.sample(frac=1, random_state=0), space, d_in=0)
    assert adjacent(before, without_ann, space)
    assert not adjacent(before, changed, space)
    assert adjacent(before, changed, space, d_in=2)
    by_row = frame({"who": Texts(), "visits": integers(lower=0)})
    assert not adjacent(before, without_ann, by_row)
    assert adjacent(before, without_ann, by_row, d_in=2)


def test_adjacency_of_arrays():
    space = rows(numbers())
    data = np.array([1.0, np.nan, 3.0])
    assert adjacent(data, data[::-1], space, d_in=0)
    assert adjacent(data, data[:2], space)
    assert not adjacent(data, [1.0, np.nan, 4.0], space)
    assert adjacent(data, [1.0, np.nan, 4.0], rows(numbers(), size=3))
    with pytest.raises(InvalidArgument, match="not a member"):
        adjacent(data, data[:2], rows(numbers(), size=3))


@pytest.mark.parametrize("people", [1, 2, 3])
def test_a_group_of_people_costs_its_size(people):
    counted = BITS >> calculus.count() >> laplace(scale=2)
    assert counted.loss(d_in=people).upper == people * counted.loss(d_in=1).upper
    assert check_privacy(counted, [], [1] * people, d_in=people).kept
    if people > 1:
        assert check_privacy(counted, [], [1] * people, d_in=people - 1).broken


@pytest.mark.parametrize("people", [2, 3, 5])
def test_group_privacy_of_approximate_promises(people):
    """(epsilon, delta) becomes (k·epsilon, delta·(e^{k·epsilon} - 1)/(e^epsilon - 1)) for k people; a Gaussian needs less."""
    from math import expm1

    counted = BITS >> calculus.count() >> gaussian(scale=4)
    delta = 1e-6
    alone = counted.loss(d_in=1, delta=delta).upper
    together = delta * expm1(people * alone) / expm1(alone)
    assert counted.loss(d_in=people, delta=together).upper <= people * alone
    promised = costs.Grouped(costs.Bounded(epsilon=1, delta=Fraction(1, 10**6)), people)
    exact = Fraction(1, 10**6) * Fraction(expm1(people) / expm1(1))
    assert epsilon(promised, delta=exact * Fraction(1001, 1000)).upper <= people * 1.0001
    assert epsilon(promised, delta=exact * Fraction(999, 1000)).upper > people


def test_unbounded_to_bounded_is_the_loss_at_distance_two():
    """A mechanism for rows that come and go protects a replaced row at distance 2; saying 1 would be a lie."""
    noisy = BITS >> calculus.histogram() >> laplace(scale=1)
    assert check_privacy(noisy, [0, 0], [0, 1], d_in=2, tail=Fraction(1, 10**4)).kept
    assert check_privacy(noisy, [0, 0], [0, 1], d_in=1, tail=Fraction(1, 10**4)).broken
    sized = rows(integers(lower=0, upper=1), size=2)
    through = sized >> dp.calculus.unbounded() >> calculus.histogram() >> laplace(scale=1)
    assert through.cost(d_in=1) == noisy.cost(d_in=2)
    with pytest.raises(SpaceMismatch, match="already adds and removes"):
        BITS >> dp.calculus.unbounded()


def test_bounded_to_unbounded_only_where_the_size_is_public():
    """What assumes a size is refused on rows that come and go; after `resize` it is sound, and it costs one replaced row."""
    for needs_size in (calculus.mean(), calculus.variance(), calculus.std()):
        with pytest.raises(SpaceMismatch, match="public number of rows"):
            BITS >> needs_size
    resized = BITS >> dp.calculus.resize(size=2, constant=0) >> calculus.mean() >> laplace(scale=1)
    sized = rows(integers(lower=0, upper=1), size=2) >> calculus.mean() >> laplace(scale=1)
    assert resized.cost(d_in=1) == sized.cost(d_in=1)
    for left, right in ([[], [1]], [[1, 0], [1, 0, 1]], [[1, 1, 1], [1, 1]]):
        assert check_privacy(resized, left, right).kept


def test_e17_composition_holds_when_the_second_question_depends_on_the_first_answer():
    """Errata E17: no independence is needed; the second query and its noise are chosen from the first answer."""
    first = BITS >> calculus.count() >> laplace(scale=2)
    ones = BITS >> dp.calculus.filter_rows(lambda x: x == 1, author="test") >> calculus.count() >> laplace(scale=1)
    zeros = BITS >> dp.calculus.filter_rows(lambda x: x == 0, author="test") >> calculus.count() >> laplace(scale=1)

    def conversation(data, entropy):
        answer = first.function(data, entropy)
        following = ones if answer > 1 else zeros
        return answer, following.function(data, entropy)

    both = own_mechanism(
        BITS,
        function=conversation,
        privacy_map=lambda d: costs.composed([first.privacy_map(d), ones.privacy_map(d)]),
        author="test",
    )
    law = output_law(lambda entropy: conversation([1, 1], entropy), tail=Fraction(1, 10**6))
    some = {outcome[1] for outcome in law.chances if outcome[0] == 2} & {0, 5}
    assert some  # many second answers for one first
    for left, right in (([1], [1, 1]), ([1], [1, 0])):
        assert check_privacy(both, left, right, tail=Fraction(1, 10**4)).kept


def test_e18_privacy_compares_neighbours_not_a_data_set_with_itself():
    """Errata E18: with the same data set on both sides even publishing the data passes; between neighbours it does not."""
    shame = own_mechanism(
        BITS,
        function=lambda data, entropy: tuple(data),
        privacy_map=lambda d: costs.Bounded(epsilon=1 * d),
        author="test",
    )
    assert check_privacy(shame, [0, 1], [0, 1]).kept
    assert check_privacy(shame, [0, 1], [0]).broken


def test_e24_counts_get_whole_noise_and_no_bias():
    """Errata E24: cutting real noise to a whole number lowers a count by a half on average; ours is even around the truth."""
    truth, scale = 100, 3
    levels = np.arange(1, 20_000) / 20_000
    quantiles = -scale * np.sign(levels - 0.5) * np.log1p(-2 * np.abs(levels - 0.5))
    assert abs(np.mean(truth + quantiles) - truth) < 1e-9
    assert np.mean((truth + quantiles).astype(int)) - truth == pytest.approx(-0.5, abs=0.01)
    counted = BITS >> calculus.count() >> laplace(scale=scale)
    law = output_law(lambda entropy: counted.function([1] * truth, entropy)).chances
    assert all(isinstance(outcome, int) for outcome in law)
    assert all(law[truth + k] == law[truth - k] for k in range(40))
