"""Quantiles from counts: the score is the rank distance, its spread is as stated, ties and heavy values are found."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniable.errors import InvalidArgument
from deniable.kernels.rank_scores import crowded_scores, rank_scores, rank_spread, share


def _scores(values, grid, q):
    below = np.array([sum(v < c for v in values) for c in grid])
    above = np.array([sum(v > c for v in values) for c in grid])
    return rank_scores(below, above, len(values), q)


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 10), Fraction(9, 10), Fraction(0), Fraction(1)])
def test_one_value_moves_two_scores_apart_by_at_most_the_spread(q):
    grid, worst = range(5), 0
    for size in range(4):
        for values in product(range(5), repeat=size):
            before = _scores(values, grid, q)
            for added in range(5):
                change = _scores((*values, added), grid, q) - before
                assert max(abs(change)) <= max(q, 1 - q) * q.denominator
                worst = max(worst, int(change.max() - change.min()))
    assert worst <= rank_spread(q) * q.denominator
    assert worst >= max(q, 1 - q, Fraction(1, 2)) * q.denominator  # the bound is not idle


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 10), Fraction(9, 10), Fraction(1, 3)])
def test_a_true_quantile_has_the_best_score_and_nothing_else_has(q):
    for size in range(5):
        for values in product(range(4), repeat=size):
            scores = _scores(values, range(4), q)
            for place, score in enumerate(scores.tolist()):
                below, above = (sum(v < place for v in values), sum(v > place for v in values))
                right = below <= q * size and above <= (1 - q) * size
                assert (score == 0) == right
                assert score <= 0


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 10)])
@pytest.mark.parametrize("most", [0, 1, 3])
def test_one_value_moves_crowded_scores_no_further(q, most):
    """Values on the candidates 0, 1, 2 and between them, at 0.5 and 1.5."""

    def scores(values):
        below, above, crowd = (
            np.array([sum(inside(v, c) for v in values) for c in range(3)])
            for inside in (lambda v, c: v < c, lambda v, c: v > c, lambda v, c: c < v < c + 1)
        )
        return crowded_scores(below, above, crowd, total=len(values), q=q, most=most)

    for size in range(4):
        for values in product([0, 0.5, 1, 1.5, 2], repeat=size):
            before = scores(values)
            for added in (0, 0.5, 1, 1.5, 2):
                change = scores((*values, added)) - before
                assert change.max() - change.min() <= rank_spread(q) * q.denominator


@pytest.mark.parametrize("q", [-0.1, 1.1, float("nan"), 0.1234567])
def test_bad_shares_are_refused(q):
    with pytest.raises(InvalidArgument, match="q must"):
        share(q)
