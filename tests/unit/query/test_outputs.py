"""Intervals of means, variances and covariances hold the truth as often as they say: by enumerating every draw of the noise."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniable.kernels import noise_of
from deniable.kernels.laws import Law
from deniable.query import noise_sum
from deniable.query.aggregates import MeanOf, MomentOf
from deniable.query.columns import Adjustment, Noisy
from deniable.query.noise_sum import NoiseSum
from deniable.query.ratio import mean_intervals, moment_intervals

LAWS = list(Law)
TABLES = {
    "in the middle": [4, 6, 5, 5, 3, 7] * 8,
    "at the upper end": [10] * 40,
    "at both ends": [0, 10] * 15,
    "a few rows": [2, 9, 9],
    "one row": [1],
}
MEAN = MeanOf("s", "n", Fraction(5), Fraction(0), Fraction(10))
REACHES = (5.0, 5.0)


def draws(*noises):
    """Every combination of draws that are not too rare, with its probability, as arrays."""
    supports = []
    for noise in noises:
        reach = noise.error(Fraction(1, 10**4))
        supports.append([(at, float(noise.mass(at).midpoint)) for at in range(-reach, reach + 1)])
    rows = list(product(*supports))
    values = np.array([[at for at, _ in row] for row in rows], dtype=np.int64)
    chances = np.array([np.prod([chance for _, chance in row]) for row in rows])
    return values.T, chances


def held(intervals, truth, chances):
    """The probability that the interval holds the truth; draws that were left out count as held."""
    inside = (intervals.lower - 1e-9 <= truth) & (truth <= intervals.upper + 1e-9)
    return 1 - chances[~inside].sum()


def mean_coverage(data, law, beta, scale=1):
    noises = noise_of(law, Fraction(5 * scale)), noise_of(law, Fraction(scale))
    (of_sum, of_count), chances = draws(*noises)
    columns = {
        "s": Noisy(sum(x - 5 for x in data) + of_sum, Fraction(1), noises[0]),
        "n": Noisy(len(data) + of_count, Fraction(1), noises[1]),
    }
    found = mean_intervals(MEAN, columns, beta)
    assert (found.lower <= found.value).all()
    assert (found.value <= found.upper).all()
    assert found.lower.min() >= 0
    assert found.upper.max() <= 10
    return held(found, sum(data) / len(data), chances)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 10), Fraction(1, 20), Fraction(1, 100)])
def test_mean_intervals_hold_the_truth(law, name, beta):
    assert mean_coverage(TABLES[name], law, beta) >= 1 - beta - Fraction(1, 2000)


@pytest.mark.parametrize("law", [Law.LAPLACE, Law.GAUSSIAN])
def test_and_not_much_more_often(law):
    """With noise of some width the interval is no wider than it must be: by Fieller's inversion, not by a union bound."""
    data, beta = [5, 6, 4] * 200, Fraction(1, 10)
    assert 1 - beta <= mean_coverage(data, law, beta, scale=4) <= 1 - beta + Fraction(3, 100)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("name", "root"), [("in the middle", False), ("at both ends", True), ("a few rows", False)])
def test_variance_intervals_hold_the_truth(law, name, root):
    data, beta = TABLES[name], Fraction(1, 5)
    noises = noise_of(law, Fraction(2)), noise_of(law, Fraction(1)), noise_of(law, Fraction(1, 2))
    (of_products, of_sum, of_count), chances = draws(*noises)
    output = MomentOf("q", "s", "s", "n", Fraction(12), Fraction(0), Fraction(25), root=root, reaches=REACHES)
    columns = {
        "q": Noisy(sum((x - 5) ** 2 - 12 for x in data) + of_products, Fraction(1), noises[0]),
        "s": Noisy(sum(x - 5 for x in data) + of_sum, Fraction(1), noises[1]),
        "n": Noisy(len(data) + of_count, Fraction(1), noises[2]),
    }
    found = moment_intervals(output, columns, beta)
    truth = float(np.var(data)) ** (0.5 if root else 1)
    assert held(found, truth, chances) >= 1 - beta - Fraction(1, 1000)
    assert np.isfinite(found.value).all()


@pytest.mark.parametrize("law", [Law.LAPLACE, Law.GAUSSIAN])
def test_covariance_intervals_hold_the_truth(law):
    data, beta = [(4, 9), (1, 2), (8, 8), (5, 5), (3, 1)] * 6, Fraction(1, 5)
    noises = noise_of(law, Fraction(1)), *(noise_of(law, Fraction(1, 3)) for _ in range(3))
    offs, chances = draws(*noises)
    exact = [
        sum((x - 5) * (y - 5) for x, y in data), sum(x - 5 for x, _ in data), sum(y - 5 for _, y in data), len(data)
    ]  # fmt: skip
    columns = {
        name: Noisy(value + off, Fraction(1), noise)
        for name, value, off, noise in zip("pxyn", exact, offs, noises, strict=True)
    }
    output = MomentOf("p", "x", "y", "n", Fraction(0), Fraction(-25), Fraction(25), reaches=REACHES)
    x, y = (np.array(column, dtype=float) for column in zip(*data, strict=True))
    truth = float(((x - x.mean()) * (y - y.mean())).mean())
    assert held(moment_intervals(output, columns, beta), truth, chances) >= 1 - beta - Fraction(1, 1000)


@pytest.mark.parametrize("law", [Law.LAPLACE, Law.GAUSSIAN])
def test_a_noise_that_is_forgotten_is_found(law, monkeypatch):
    """The interval of a mean near an end of its bounds that leaves out the noise of the count fails too often."""
    exceeds = NoiseSum.exceeds
    monkeypatch.setattr(
        NoiseSum, "exceeds", lambda self, d, c, beta: exceeds(self, d, [c[0], *(0 * each for each in c[1:])], beta)
    )
    assert mean_coverage([9] * 200, law, Fraction(1, 2)) < 1 - Fraction(1, 2) - Fraction(1, 2000)


@pytest.mark.parametrize("scales", [(1.0, 1.0), (1.0, 1.0, 1.0), (3.0, 1.0), (5.0, 0.0, 2.0), (1.0, 1.0005, 2.0, 2.0)])
def test_the_tail_of_a_sum_of_laplaces_is_that_of_the_sum(scales):
    """Against the density by convolution on a fine grid; never below it."""
    step = 0.02
    grid = np.arange(-4000, 4001) * step
    mass = None
    for scale in (each for each in scales if each):
        one = np.exp(-np.abs(grid) / scale)
        one /= one.sum()
        mass = one if mass is None else np.convolve(mass, one, mode="same")
    for distance in (0.5, 2.0, 6.0, 15.0):
        exact = mass[np.abs(grid) > distance].sum()
        stated = float(noise_sum._laplace_tail(np.array([distance]), [np.array([s]) for s in scales])[0])
        assert stated == pytest.approx(exact, rel=0.05)
        assert stated >= exact * 0.985


def test_columns_of_several_laws_and_fitted_columns_keep_to_their_own_errors():
    noises = noise_of(Law.LAPLACE, Fraction(5)), noise_of(Law.GAUSSIAN, Fraction(1))
    (of_sum, of_count), chances = draws(*noises)
    data = TABLES["in the middle"]
    total = Noisy(sum(x - 5 for x in data) + of_sum, Fraction(1), noises[0])
    count = Noisy(len(data) + of_count, Fraction(1), noises[1])
    truth, beta = sum(data) / len(data), Fraction(1, 10)
    assert held(mean_intervals(MEAN, {"s": total, "n": count}, beta), truth, chances) >= 1 - beta
    fitted = replace(count, adjustment=Adjustment(count.values, count.values))
    assert held(mean_intervals(MEAN, {"s": total, "n": fitted}, beta), truth, chances) >= 1 - beta


def test_a_count_lost_in_noise_gives_the_whole_range():
    noise = noise_of(Law.LAPLACE, Fraction(3))
    columns = {
        "s": Noisy(np.array([0, 4]), Fraction(1), noise),
        "n": Noisy(np.array([-2, 1]), Fraction(1), noise),
    }
    found = mean_intervals(MEAN, columns, Fraction(1, 20))
    assert found.lower.tolist() == [0, 0]
    assert found.upper.tolist() == [10, 10]
