"""Additive noise: the exact output law of the code, on neighbours, against the promised cost; both directions."""

import math
from fractions import Fraction
from statistics import NormalDist

import pytest

from deniable.accounting import delta
from deniable.audit.comparison import check_privacy, compare, hockey_stick
from deniable.audit.exact_law import PLACES, output_law
from deniable.core.distance import Root
from deniable.core.domain import Categories, Keyed, Lattice, Rows, Vectors
from deniable.core.metric import L1, L2, AbsoluteDistance, ChangeOne, LInfinity, PartitionDistance, SymmetricDistance
from deniable.core.space import Space
from deniable.cost import DiscreteLaplace, Gaussian, TruncatedLaplace
from deniable.exact import exp
from deniable.mechanisms import (
    Law,
    discrete_gaussian,
    gaussian,
    laplace,
    lower_estimate,
    private_histogram,
    truncated_laplace,
    upper_estimate,
)

NUMBER = Space(Lattice(), AbsoluteDistance())
STEPS = {"laplace": laplace, "gaussian": gaussian, "discrete_gaussian": discrete_gaussian}
SCALES = [Fraction(1, 2), Fraction(1), Fraction(7, 3)]


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("apart", [1, 2, 3])
def test_one_number(name, scale, apart):
    verdict = check_privacy(NUMBER >> STEPS[name](scale=scale), 4, 4 + apart, d_in=apart)
    assert verdict.kept
    assert not verdict.broken
    # the rounded Gaussian is priced as the continuous one, of which rounding may hide a little
    assert verdict.reaches(Fraction(1, 2) if name == "gaussian" else Fraction(999, 1000))


@pytest.mark.parametrize("name", STEPS)
def test_a_grid_is_priced_in_whole_steps(name):
    tenths = Space(Lattice(Fraction(1, 10)), AbsoluteDistance())
    mechanism = tenths >> STEPS[name](scale=Fraction(1, 5))
    assert check_privacy(mechanism, 0, 3, d_in=Fraction(39, 100)).kept  # 0.39 reaches three steps and no more
    assert check_privacy(mechanism, 0, 3, d_in=Fraction(29, 100)).broken  # 0.29 reaches two: the bound is not idle


VECTORS = [
    (L1(), 2, (1, 1)),
    (L1(), 2, (2, 0)),
    (L1(), 3, (2, -1)),
    (L2(), Fraction(2), (1, 1)),
    (LInfinity(), 1, (1, -1)),
]


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize(("metric", "d_in", "change"), VECTORS)
def test_vectors(name, metric, d_in, change):
    space = Space(Vectors(Lattice(), 2), metric)
    far = Root(d_in) if isinstance(metric, L2) else d_in
    mechanism = space >> STEPS[name](scale=1)
    verdict = check_privacy(mechanism, [5, 0], [5 + change[0], change[1]], d_in=far, tail=Fraction(1, 10**7))
    assert verdict.kept
    assert not verdict.broken


def test_a_table_under_the_partition_distance():
    space = Space(Keyed(Lattice(), ("a", "b", "c")), PartitionDistance(AbsoluteDistance()))
    for name in ("laplace", "gaussian"):
        mechanism = space >> STEPS[name](scale=Fraction(1, 2))
        left, right = {"a": 1, "b": 0, "c": 7}, {"a": 2, "b": 1, "c": 7}
        verdict = check_privacy(mechanism, left, right, d_in=(2, 2, 1), tail=Fraction(1, 10**5))
        assert verdict.kept
        assert check_privacy(mechanism, left, right, d_in=(1, 1, 1), tail=Fraction(1, 10**5)).broken


@pytest.mark.parametrize("step", [truncated_laplace, upper_estimate, lower_estimate])
@pytest.mark.parametrize(("scale", "radius", "apart"), [(1, 3, 1), (2, 5, 2), (Fraction(1, 2), 2, 2), (1, 2, 3)])
def test_bounded_noise(step, scale, radius, apart):
    mechanism = NUMBER >> step(scale=scale, radius=radius)
    losses = [0, Fraction(apart) / scale / 2, Fraction(apart) / scale, 5]
    verdict = check_privacy(mechanism, 0, apart, d_in=apart, losses=losses)
    assert verdict.kept
    assert verdict.reaches(Fraction(999, 1000))


def test_one_sided_estimates_stay_on_their_side():
    above, below = NUMBER >> upper_estimate(scale=2, radius=4), NUMBER >> lower_estimate(scale=2, radius=4)
    assert sorted(output_law(lambda e: above.function(10, e)).chances) == list(range(10, 19))
    assert sorted(output_law(lambda e: below.function(10, e)).chances) == list(range(2, 11))


@pytest.mark.parametrize(("scale", "radius", "apart"), [(1, 3, 1), (2, 5, 2), (3, 4, 5)])
def test_errata_15_the_truncated_law_has_an_exact_delta(scale, radius, apart):
    """E15: at epsilon = apart/scale, delta = q^(R-D+1)(1-q^D)/(1+q-2q^(R+1)), q = exp(-1/scale), when R >= D - 1."""
    mechanism = NUMBER >> truncated_laplace(scale=scale, radius=radius)
    left, right = (output_law(lambda e, x=x: mechanism.function(x, e)) for x in (0, apart))
    q = [exp(-Fraction(k, scale), 120) for k in range(radius + 2)]
    formula = q[radius - apart + 1] * (1 - exp(-Fraction(apart, scale), 120)) / (1 + q[1] - 2 * q[radius + 1])
    measured = hockey_stick(left, right, Fraction(apart, scale))
    assert abs(measured.midpoint - formula.midpoint) < Fraction(1, 10**30)
    promised = delta(mechanism.cost(d_in=apart), epsilon=Fraction(apart, scale))
    assert promised.lower <= measured.midpoint <= promised.upper


def test_errata_15_a_fine_grid_tends_to_the_continuous_formula():
    """E15: delta = (e^epsilon - 1)/(2(e^(r/b) - 1)) at epsilon = sensitivity/b; on a grid of 1/1000 ours is within a thousandth."""
    steps = 1000
    cost = TruncatedLaplace(scale=2 * steps, radius=6 * steps, sensitivity=steps)
    continuous = (math.exp(0.5) - 1) / (2 * (math.exp(3) - 1))
    assert delta(cost, epsilon=Fraction(1, 2)).upper == pytest.approx(continuous, rel=2e-3)


def test_errata_16_the_metric_decides_what_a_histogram_costs():
    """E16: a row added or removed moves one count, a changed row two: L1 1 or 2, L2 1 or the root of 2."""
    element = Categories(("x", "y"))
    added, changed = Space(Rows(element), SymmetricDistance()), Space(Rows(element, size=2), ChangeOne())
    assert (added >> private_histogram(scale=2)).cost() == DiscreteLaplace(scale=2, sensitivity=1)
    assert (changed >> private_histogram(scale=2)).cost() == DiscreteLaplace(scale=2, sensitivity=2, coordinates=2)
    normal = changed >> private_histogram(scale=2, law=Law.GAUSSIAN)
    assert normal.cost() == Gaussian(scale=2, squared_sensitivity=2)
    verdict = check_privacy(changed >> private_histogram(scale=1), ["x", "y"], ["x", "x"], tail=Fraction(1, 10**6))
    assert verdict.kept
    assert verdict.reaches(Fraction(1, 2))
    one = added >> private_histogram(scale=1)
    left, right = (
        output_law(lambda e, d=d: one.function(d, e), tail=Fraction(1, 10**6)) for d in (["x", "y"], ["x", "x"])
    )
    assert compare(left, right, one.cost()).broken  # the price of an added row does not pay for a changed one


def test_errata_24_integer_noise_leaves_counts_unbiased():
    """E24: our noise on a count is whole and symmetric. Cutting float noise down to an integer shifts every count by a half."""
    law = output_law(lambda e: (NUMBER >> laplace(scale=2)).function(0, e))
    mean = sum((outcome * Fraction(low + high, 2) for outcome, (low, high) in law.chances.items()), Fraction(0)) / (
        1 << PLACES
    )
    assert abs(mean) < Fraction(1, 10**12)
    cut = sum(k * (NormalDist(0, 2).cdf(k + 1) - NormalDist(0, 2).cdf(k)) for k in range(-60, 60))
    assert abs(cut + 0.5) < 1e-9
