"""Estimates that are combined: the least variance there is, by plain least squares; marginals that agree with one another."""

from itertools import combinations, product
from math import prod

import numpy as np
import pytest

import deniable as dp
from deniable.errors import InvalidArgument
from deniable.kernels.residuals import NoisyTable, residuals
from deniable.testing.scripted_entropy import Seeded

SIZES = {"a": 2, "b": 3, "c": 2, "d": 1}
SETS = [
    {("a", "b"): 2.0, ("b", "c"): 5.0},
    {("a",): 1.0, ("b",): 3.0},
    {("a", "b", "c"): 4.0, ("c", "b"): 1.0, (): 0.5},
    {("b", "a"): 2.0, ("a", "c"): 1.0, ("c", "b"): 7.0, ("d",): 1.0},
]


def _design(axes):
    """How the cells of a marginal add up the cells of the whole table."""
    names = sorted(SIZES)
    cells = list(product(*(range(SIZES[name]) for name in names)))
    rows = list(product(*(range(SIZES[name]) for name in axes)))
    return np.array(
        [[all(cell[names.index(n)] == v for n, v in zip(axes, row, strict=True)) for cell in cells] for row in rows],
        dtype=float,
    )


def _noisy(variances, seed):
    draws = Seeded(seed)
    return {
        axes: np.array([draws.bits(10) for _ in range(prod(SIZES[n] for n in axes))], dtype=float).reshape(
            [SIZES[n] for n in axes]
        )
        for axes in variances
    }


@pytest.mark.parametrize("variances", SETS, ids=str)
def test_marginals_are_the_weighted_least_squares_fit(variances):
    measured = _noisy(variances, 7)
    found = dp.calculus.consistent_marginals(measured, variances=variances)
    whole = np.vstack([_design(axes) / variances[axes] ** 0.5 for axes in variances])
    target = np.concatenate([measured[axes].ravel() / variances[axes] ** 0.5 for axes in variances])
    fit = np.linalg.lstsq(whole, target, rcond=None)[0]
    covariance = np.linalg.pinv(whole.T @ whole)
    for axes in variances:
        design = _design(axes)
        assert found.tables[axes].ravel() == pytest.approx(design @ fit, abs=1e-8)
        assert np.diag(design @ covariance @ design.T) == pytest.approx([found.variances[axes]] * len(design), abs=1e-8)
        assert found.variances[axes] <= variances[axes] + 1e-12


def test_any_table_follows_from_residuals_and_repeated_ones_count_as_often_as_they_stand():
    """Of least length where tables leave it open; a table of ("c", "a", "b") is that of ("a", "b", "c") turned."""
    given = [(axes, _noisy([axes], 5 + k)[axes], 1.0 + k) for k, axes in enumerate([*SETS[3], ("b", "a"), ("c",)])]
    found = residuals(NoisyTable(*each) for each in given)
    whole = np.vstack([_design(axes) / variance**0.5 for axes, _, variance in given])
    fit = np.linalg.lstsq(whole, np.concatenate([cells.ravel() / v**0.5 for _, cells, v in given]), rcond=None)[0]
    for axes in [(), ("c",), ("c", "a"), ("d", "b"), ("a", "b", "c"), ("c", "a", "b")]:
        assert found.table(axes).ravel() == pytest.approx(_design(axes) @ fit, abs=1e-8)
    once = residuals(NoisyTable(*each) for each in given[:-2])
    assert not np.allclose(once.table(("a", "b")), found.table(("a", "b")))


@pytest.mark.parametrize("variances", SETS, ids=str)
def test_every_two_tables_agree_on_what_they_share(variances):
    found = dp.calculus.consistent_marginals(_noisy(variances, 3), variances=variances).tables
    for one, two in combinations(variances, 2):
        shared = sorted(set(one) & set(two))
        sums = []
        for axes in (one, two):
            marginal = found[axes].sum(axis=tuple(i for i, name in enumerate(axes) if name not in shared))
            order = [name for name in axes if name in shared]
            sums.append(np.transpose(marginal, [order.index(name) for name in shared]))
        assert sums[0] == pytest.approx(sums[1], abs=1e-8)


def test_marginals_that_agree_are_left_as_they_are():
    whole = np.arange(6.0).reshape(2, 3)
    measured = {("a", "b"): whole, ("b",): whole.sum(axis=0), (): whole.sum()}
    found = dp.calculus.consistent_marginals(measured, variances=dict.fromkeys(measured, 2.0))
    for axes, cells in measured.items():
        assert found.tables[axes] == pytest.approx(cells)


def test_answers_about_one_number():
    found = dp.calculus.combine([10, 20], variances=[1, 4])
    assert (found.value, found.variance) == pytest.approx((12, 0.8))
    assert dp.calculus.combine([10, 20, 30], variances=[1, 0, 4]).value == 20
    assert dp.calculus.combine([5], variances=[3]).variance == 3
    assert dp.calculus.combine([1, 1], variances=[1e-300, 1e-300]).variance == pytest.approx(5e-301)
    marginal = dp.calculus.consistent_marginals({(): np.array(10.0)}, variances={(): 1.0})
    assert marginal.tables[()] == 10


@pytest.mark.parametrize(
    ("values", "variances"), [([], []), ([1], [1, 2]), ([1], [-1]), (["x"], [1]), ([float("nan")], [1]), ([[1]], [1])]
)
def test_bad_answers_are_refused(values, variances):
    with pytest.raises(InvalidArgument):
        dp.calculus.combine(values, variances=variances)


@pytest.mark.parametrize(
    ("measured", "variances"),
    [
        ({}, {}),
        ({("a",): [1, 2]}, {}),
        ({("a",): [1, 2]}, {("a",): 0}),
        ({("a", "b"): [1, 2]}, {("a", "b"): 1}),
        ({("a", "a"): [[1]]}, {("a", "a"): 1}),
        ({("a",): [1, 2], ("a", "b"): [[1], [2], [3]]}, {("a",): 1, ("a", "b"): 1}),
        ({("a",): [1, float("inf")]}, {("a",): 1}),
    ],
)
def test_bad_marginals_are_refused(measured, variances):
    with pytest.raises(InvalidArgument):
        dp.calculus.consistent_marginals(measured, variances=variances)
