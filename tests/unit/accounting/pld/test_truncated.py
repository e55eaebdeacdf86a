"""Truncated Laplace noise as atoms: equal to its enumerated law, and no dearer in memory however fine the grid."""

import tracemalloc
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from deniable.accounting import delta, epsilon, explain
from deniable.accounting.pld import laplace_pairs
from deniable.accounting.pld.laplace_pairs import truncated_laplace
from deniable.cost import TruncatedLaplace

LAWS = [(3, 10, 2), (Fraction(1, 2), 5, 1), (Fraction(7, 3), 4, 6), (5, 4, 8), (5, 4, 9), (50, 40, 30), (50, 40, 60)]


def enumerated(scale, radius, shift, loss):
    with mpmath.workdps(40):
        weight = {
            k: mpmath.exp(-abs(k) / mpmath.mpf(Fraction(scale).numerator) * Fraction(scale).denominator)
            for k in range(-radius, radius + 1)
        }
        gain = mpmath.exp(loss)
        return sum(max(each - gain * weight.get(k - shift, 0), 0) for k, each in weight.items()) / sum(weight.values())


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("blocks", [1 << 13, 5])
def test_atoms_enclose_the_enumerated_law(law, blocks, monkeypatch):
    """Also with blocks of several outcomes, where the ends lie further apart."""
    monkeypatch.setattr(laplace_pairs, "_BLOCKS", blocks)
    pair = truncated_laplace(Fraction(law[0]), *law[1:])
    for loss in (0.0, 0.1, 0.5, 1.0, 2.3):
        truth = enumerated(*law, loss)
        upper, lower = pair.upper(np.array([loss]))[0], pair.line(np.array([loss]), np.array([loss]))[0]
        assert lower <= truth <= upper
        assert blocks == 5 or upper - lower < 1e-12


@pytest.mark.parametrize("fine", [1, 10**3, 10**20])
def test_a_fine_grid_takes_no_more_memory(fine):
    """The law of the same noise on ever finer grids tends to one law, and so do its readings."""
    cost = TruncatedLaplace(scale=10**7 * fine, radius=10**9 * fine, sensitivity=10**6 * fine).repeated(2)
    tracemalloc.start()
    assert epsilon(cost, delta=Fraction(1, 10**6)).upper == pytest.approx(0.2, rel=2e-4)
    assert delta(cost, epsilon=Fraction(1, 100)).upper == pytest.approx(0.047432, rel=1e-3)
    assert explain(cost, delta=Fraction(1, 10**6)).alternatives
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 100_000_000
