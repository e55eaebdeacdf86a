"""The bound on the work of a Rényi curve: above it a looser curve is read, which says so and is never below the truth."""

from fractions import Fraction

import pytest

import deniable as dp
from deniable.accounting.renyi_curves import DoubledCurve, GroupedCurve, LaplaceCurve, LinearCurve
from deniable.accounting.renyi_sampling import MOST_VALUES, SHORTENED, grouped_curve, work
from deniable.accounting.theorems import RenyiPrivacy, RenyiReader

ORDERS = [Fraction(9, 8), Fraction(2), Fraction(7)]
LISTED = dp.costs.Renyi((Fraction(a), Fraction(a, 400)) for a in range(2, 100))
SAMPLED = dp.costs.Mixed(
    [
        (Fraction(1, 3), dp.costs.Laplace(scale=4).sampled(rate=Fraction(1, 10))),
        (Fraction(2, 3), dp.costs.Gaussian(scale=2, sensitivity=1).sampled(rate=Fraction(1, 10))),
    ]
)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 100, 10**6])
@pytest.mark.parametrize("order", ORDERS)
def test_a_doubled_group_is_never_below_the_truth(size, order):
    """Gaussian noise that is moved k times as far, and Laplace noise that is."""
    assert DoubledCurve(LinearCurve(Fraction(1, 50)), size).at(order) >= size**2 * Fraction(1, 50) * order
    assert DoubledCurve(LaplaceCurve(Fraction(1, 9)), size).at(order) >= LaplaceCurve(Fraction(size, 9)).at(order)
    if size <= 8:
        base = LinearCurve(Fraction(1, 50))
        assert DoubledCurve(base, size).at(order) >= GroupedCurve(base, size).at(order)


def test_the_bound_decides_and_the_reading_says_so():
    few, many = grouped_curve(LinearCurve(Fraction(1)), 4), grouped_curve(LinearCurve(Fraction(1)), 10**6)
    assert isinstance(few, GroupedCurve)
    assert isinstance(many, DoubledCurve)
    assert work(few) == few.values == 22 * 22 <= MOST_VALUES
    assert not RenyiPrivacy().read(LISTED.group(2)).note
    heavy = RenyiPrivacy().read(SAMPLED.group(3))
    assert heavy.note == SHORTENED
    assert heavy.at(Fraction(2)) is not None
    assert RenyiReader(heavy).epsilon(Fraction(1, 10**6), 1e-4).note == SHORTENED
