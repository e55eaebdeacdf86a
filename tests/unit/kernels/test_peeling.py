"""Peeling leaves out what was chosen, row by row, and asks for no more than there is."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from deniable.audit.exact_law import output_law
from deniable.errors import InvalidArgument
from deniable.exact import exp
from deniable.kernels.exponential_choice import peel
from deniable.mechanisms import MaxNoise
from deniable.mechanisms.noisy_max import peeled


def test_every_round_chooses_among_what_is_left():
    scores = np.array([[3, 1, 2], [1, 5, 4]])
    best = peel(2, 3, 3, lambda left: np.where(left > 0, scores, -1).argmax(axis=1))
    assert best.tolist() == [[0, 2, 1], [1, 2, 0]]
    assert peel(0, 3, 2, lambda left: np.empty(0, dtype=np.int64)).shape == (0, 2)


def test_more_rounds_than_candidates_are_refused():
    with pytest.raises(InvalidArgument, match="k"):
        peel(1, 2, 3, lambda left: np.zeros(1, dtype=np.int64))


def test_the_law_is_that_of_choices_without_those_made():
    """P(i, j) = w(i)/Σw · w(j)/(Σw - w(i)); planted: choosing again among all gives equal pairs a chance."""
    scores, scale = [2, 0, 1], Fraction(1)
    weights = [exp(Fraction(score)).midpoint for score in scores]
    law = output_law(
        lambda entropy: tuple(peeled(np.array(scores), 2, noise=MaxNoise.GUMBEL, scale=scale, entropy=entropy))
    )
    for i, j in permutations(range(3), 2):
        expected = weights[i] / sum(weights) * weights[j] / (sum(weights) - weights[i])
        assert abs(law.probability((i, j)).midpoint - expected) < Fraction(1, 10**9)
    assert not [pair for pair in law.chances if pair[0] == pair[1]]
