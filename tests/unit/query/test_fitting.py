"""Least squares over levels against a dense solver; shares that add up."""

from itertools import combinations, product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.query.totals import binary_places, fit, on_grid, whole_shares


@st.composite
def problems(draw):
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    every = [part for size in range(len(sizes) + 1) for part in combinations(range(len(sizes)), size)]
    levels = draw(st.lists(st.sampled_from(every), min_size=1, max_size=4, unique=True))
    variances = {level: draw(st.sampled_from([0.25, 1.0, 3.0, 40.0])) for level in levels}
    cells = st.integers(-50, 50)
    shapes = {level: tuple(n if axis in level else 1 for axis, n in enumerate(sizes)) for level in levels}
    tables = {
        level: np.array([draw(cells) for _ in range(int(np.prod(shape)))], dtype=float).reshape(shape)
        for level, shape in shapes.items()
    }
    return sizes, variances, tables


def dense(sizes, tables):
    """One row for each measured cell: which cells of the full table it adds up."""
    rows = []
    for level, table in tables.items():
        for cell in product(*map(range, table.shape)):
            row = np.zeros(sizes)
            row[tuple(place if axis in level else slice(None) for axis, place in enumerate(cell))] = 1
            rows.append(row.ravel())
    return np.array(rows)


@settings(max_examples=60, deadline=None)
@given(problem=problems())
def test_the_fit_is_the_least_squares_solution(problem):
    sizes, variances, tables = problem
    design = dense(sizes, tables)
    weight = np.concatenate([np.full(table.size, variances[level] ** -0.5) for level, table in tables.items()])
    measured = np.concatenate([table.ravel() for table in tables.values()])
    solution = np.linalg.lstsq(design * weight[:, None], measured * weight, rcond=None)[0].reshape(sizes)
    solved = fit(sizes, variances)
    found = solved.applied(tables)
    maps = np.linalg.pinv(design * weight[:, None]) * weight
    row = 0
    for level, table in tables.items():
        others = tuple(axis for axis in range(len(sizes)) if axis not in level)
        assert np.allclose(solution.sum(axis=others), found.sum(axis=others))
        into = design[row : row + table.size] @ maps
        assert np.allclose((into**2 / weight**2).sum(axis=1), solved.variance[level])
        assert (np.abs(into).sum(axis=1) <= solved.reach[level] + 1e-9).all()
        assert solved.variance[level] <= variances[level] * (1 + 1e-9)
        row += table.size


@given(problem=problems())
def test_what_adds_up_already_is_left_alone(problem):
    sizes, variances, _ = problem
    truth = np.arange(np.prod(sizes), dtype=float).reshape(sizes) ** 2
    shape = range(len(sizes))
    tables = {
        level: truth.sum(axis=tuple(axis for axis in shape if axis not in level), keepdims=True) for level in variances
    }
    found = fit(sizes, variances).applied(tables)
    for level, table in tables.items():
        assert np.allclose(found.sum(axis=tuple(axis for axis in shape if axis not in level), keepdims=True), table)


@given(total=st.integers(0, 1000), wanted=st.lists(st.floats(-100, 1000), min_size=1, max_size=20))
def test_whole_shares_add_up_and_are_not_negative(total, wanted):
    shares = whole_shares(total, np.array(wanted))
    assert shares.sum() == total
    assert (shares >= 0).all()


@given(counts=st.lists(st.integers(0, 100), min_size=1, max_size=20))
def test_whole_numbers_that_fit_are_kept(counts):
    assert whole_shares(sum(counts), np.array(counts, dtype=float)).tolist() == counts


@given(values=st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=30))
def test_numbers_on_the_grid_add_up_exactly_in_any_order(values):
    even = on_grid(np.array(values), binary_places(np.array(values)))
    forwards, backwards = 0.0, 0.0
    for one, other in zip(even, even[::-1], strict=True):
        forwards, backwards = forwards + one, backwards + other
    assert forwards == backwards == float(even.sum())
    assert np.abs(even - np.array(values)).max() <= 2.0 ** -binary_places(np.array(values))
